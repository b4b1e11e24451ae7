// BatchOrder: assigns the requests of a batch to workers, and orders each worker's requests.
//
//   submitted   x0 y1 y0 z- x1 x0        x, y, z: procedures; 0, 1: their hints; -: none
//   worker 0    x0 x0 y0                 its hints' requests, each procedure's next to each other
//   worker 1    x1 y1 z-                 requests without a hint fill up
//
// Requests with the same hint (ProcedureOptions::partition) share rows and index pages. If one
// worker runs them, it has these in its cache and does not contend with others. A hint's home is
// the same worker in each batch: hint modulo workers. A worker gets at most a fair share plus an
// eighth. If a group's home is full, the group goes to the next worker that has room for all of it,
// or else is split. Requests of one procedure are adjacent, because its code then stays in the
// core's nearest cache: with TPC-C's five procedures mixed, calls take 3 to 8 % longer. Correctness
// does not depend on the order.
//
// Cost       linear in the batch; no allocation once the largest batch has been seen. With one
//            worker, hints are ignored.
// Threads    one: the leader, between batches.
//
// Invariants
//   O1  Every request is in exactly one share; the shares are the batch.
//   O2  Requests of one procedure in a share are adjacent and, with several workers, so are those
//       of one hint among them. These, and requests without a hint, keep their order of submission.
//       Procedures come in the order of their first requests in the batch. Left-over requests come
//       first in the next batch, and those of the procedure that was cut short come last among them
//       (oltp/worker.cpp), so that procedures take turns and none waits for ever.
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

  // Arranges a batch for at least one worker. `hints` has one for each request, or none with one
  // worker.
  void arrange(std::span<Request* const> requests, std::span<const Hint> hints, size_t workers);

  // A worker's share of the last arranged batch.
  std::span<Request* const> share(size_t worker) const {
    return part_of(std::span(ordered_), worker);
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  // The requests of one hint, and their destinations: the pieces in pieces_[first_piece ...].
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
  void rank_procedures(std::span<Request* const> requests);
  void put_by_procedure(std::span<Request* const> requests, std::span<Request*> grouped);
  template <class Pointer>
  std::span<Pointer> part_of(std::span<Pointer> batch, size_t worker) const {
    return batch.subspan(begins_[worker], begins_[worker + 1] - begins_[worker]);
  }

  uint64_t generation_ = 0;
  std::vector<Bucket> buckets_;  // open addressing by hint; a power of two, at most half full
  std::vector<Group> groups_;    // in the order of their first requests; last: those without a hint
  std::vector<uint32_t> group_;  // [request]: in groups_
  std::vector<Piece> pieces_;
  std::vector<uint32_t> loads_;   // [worker]
  std::vector<uint32_t> begins_;  // [worker], and the end
  std::vector<Request*> by_hint_;
  size_t roomy_ = 0;  // workers below it are full

  uint32_t ranked_ = 0;
  std::vector<Bucket> ranks_;     // [ProcedureId]: in the order of their first requests
  std::vector<uint32_t> places_;  // [rank]: where the next one of a share's goes
  std::vector<Request*> ordered_;
};

}  // namespace diptych::oltp
