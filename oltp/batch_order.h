// BatchOrder: which worker runs which requests of a batch, where procedures say what belongs
// together (ProcedureOptions::partition).
//
//   submitted   a3 b1 a1 -- b2 a2        a, b: hints; --: none
//   worker 0    a3 a1 a2                 its hints' requests, each next to its like
//   worker 1    b1 b2 --                 requests without a hint fill up
//
// Requests with the same hint share rows and index pages, which one worker then has in its cache
// and does not fight others for. A hint has a home, the same in each batch: hint modulo workers. A
// worker gets at most a fair share and an eighth; a group that finds its home full goes to the next
// worker with room if that has room for all of it, or else is split. Correctness never depends on
// any of this.
//
// Cost       linear in the batch, and no allocation once the largest batch has been seen. A batch
//            without any hint is only looked through.
// Threads    one: the leader, between batches.
//
// Invariants
//   O1  Every request is in exactly one share; the shares are the batch.
//   O2  Requests of one hint in one share lie next to each other; these, and those without a hint
//       in a share, are in their order of submission.
//   O3  No share is larger than share_max(requests, workers).

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "oltp/request.h"

namespace diptych::oltp {

class BatchOrder {
 public:
  using Hint = std::optional<uint64_t>;

  static size_t share_max(size_t requests, size_t workers) {
    const size_t fair = (requests + workers - 1) / workers;
    return fair + fair / 8 + 1;
  }

  // `hints`, one a request; at least one worker. False: there are no hints, and no shares.
  bool arrange(std::span<Request* const> requests, std::span<const Hint> hints, size_t workers);

  // After arrange returned true; valid until the next call.
  std::span<Request* const> share(size_t worker) const {
    return std::span<Request* const>(ordered_).subspan(begins_[worker],
                                                       begins_[worker + 1] - begins_[worker]);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // Requests of one hint, and where they go: its pieces in pieces_[first_piece ...].
  struct Group {
    uint64_t hint = 0;
    uint32_t count = 0;
    uint32_t first_piece = 0;
  };
  struct Piece {
    uint32_t worker = 0;
    uint32_t at = 0;    // in the worker's share
    uint32_t left = 0;  // to be put there
  };
  struct Bucket {
    uint64_t generation = 0;  // of the batch that filled it
    uint32_t group = 0;
  };

  uint32_t group_of(uint64_t hint);
  void count_groups(std::span<const Hint> hints);
  void place_groups(size_t workers, size_t most);
  void place(Group* group, size_t workers, size_t most);
  void put(size_t worker, size_t count);
  void fill_up(size_t unhinted, size_t workers, size_t fair);
  void put_requests(std::span<Request* const> requests, size_t workers);

  uint64_t generation_ = 0;
  std::vector<Bucket> buckets_;  // open addressing by hint; a power of two, at most half full
  std::vector<Group> groups_;    // in the order of their first requests; last: those without a hint
  std::vector<uint32_t> group_;  // [request]: in groups_
  std::vector<Piece> pieces_;
  std::vector<uint32_t> loads_;   // [worker]
  std::vector<uint32_t> begins_;  // [worker], and the end
  std::vector<Request*> ordered_;
  size_t roomy_ = 0;  // workers below it are full
};

}  // namespace diptych::oltp
