// AdmissionQueue: the calls, or the queries, that one client, or all callers of one priority who
// have no client, have submitted and that no batch has taken yet; and the limit on those that are
// not answered.
//
// Threads    tokens, push: any. pop, drop_expired, leave: the side's dispatcher's. waiting:
//            likewise; on others a figure. Tokens go back on whatever thread answers.
// Memory     fixed at construction, but for what drop_expired kept and pop has not taken yet. A
//            client's queue is used again by a later client, and freed with the dispatcher only:
//            who answers may still ring its parker.
//
// Invariants
//   C1  An item is in the ring only with a token, so a push finds a slot.
//   C2  A client's queue with items is listed: in AdmissionTurns' arrivals or turns, once.
//   C4  What is kept came before what is in the ring.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "dispatcher/admission.h"
#include "dispatcher/admission_tokens.h"
#include "dispatcher/bounded_queue.h"

namespace diptych::oltp {
struct Request;
}  // namespace diptych::oltp

namespace diptych::dispatcher {

struct QueryJob;

template <class Item>
class AdmissionQueue {
 public:
  enum class Of : uint8_t { kClient, kAnyone };
  struct Entry {
    Item item{};
    uint64_t deadline_ns = 0;  // the item's, so that it need not be touched yet; 0: none
  };

  AdmissionQueue(Of whose, Priority priority, uint32_t items_max, base::SpinPolicy spin)
      : is_clients_(whose == Of::kClient),
        priority_(priority),
        tokens_(items_max, spin),
        ring_(items_max) {}

  bool is_clients() const { return is_clients_; }
  Priority priority() const { return priority_; }
  AdmissionTokens& tokens() { return tokens_; }
  const AdmissionTokens& tokens() const { return tokens_; }

  // The caller has a token. True: it is to be listed.
  bool push(Entry entry) {
    const bool pushed = ring_.try_push(entry);
    DIPTYCH_CHECK(pushed, "C1: the ring has a slot for every token");
    if (!is_clients_) return false;
    // acq_rel (C2): in the order of all exchanges, either this one finds the queue unlisted, or
    // leave() comes after it, synchronises with it and sees the item.
    return !listed_.exchange(true, std::memory_order_acq_rel);
  }
  bool pop(Entry* entry) {
    if (kept_.empty()) return ring_.try_pop(entry);
    *entry = std::move(kept_.front());
    kept_.pop_front();
    note_kept();
    return true;
  }
  // Moves the items whose deadline has passed to the end of `expired`, wherever they are in line.
  void drop_expired(uint64_t now_ns, std::vector<Item>* expired) {
    Entry entry;
    while (ring_.try_pop(&entry)) kept_.push_back(std::move(entry));  // C4
    const auto end = std::stable_partition(kept_.begin(), kept_.end(), [&](const Entry& each) {
      return each.deadline_ns == 0 || each.deadline_ns > now_ns;
    });
    for (auto late = end; late != kept_.end(); ++late) expired->push_back(std::move(late->item));
    kept_.erase(end, kept_.end());
    note_kept();
  }
  size_t waiting() const {  // those whose push goes on included
    // relaxed: on another thread than the dispatcher's, a figure.
    return kept_count_.load(std::memory_order_relaxed) + ring_.size();
  }
  // Of a queue that was found empty, and is listed. True: it is not any more, or whoever pushed
  // meanwhile has listed it anew. False: something came before, and it stays where it is.
  bool leave() {
    // acq_rel: see C2 in push.
    listed_.exchange(false, std::memory_order_acq_rel);
    if (waiting() == 0) return true;
    // acq_rel: as in push.
    return listed_.exchange(true, std::memory_order_acq_rel);
  }

 private:
  void note_kept() {
    // relaxed: as where it is read.
    kept_count_.store(kept_.size(), std::memory_order_relaxed);
  }

  const bool is_clients_;
  const Priority priority_;
  AdmissionTokens tokens_;
  BoundedQueue<Entry> ring_;
  std::deque<Entry> kept_;             // the dispatcher's: popped from the ring, and not expired
  std::atomic<size_t> kept_count_{0};  // writer: the dispatcher
  alignas(64) std::atomic<bool> listed_{false};  // writers: pushers set, the dispatcher clears
};

using CallQueue = AdmissionQueue<oltp::Request*>;
using QueryQueue = AdmissionQueue<std::unique_ptr<QueryJob>>;

}  // namespace diptych::dispatcher
