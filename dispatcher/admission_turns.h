// AdmissionTurns: which of the calls, or queries, that wait are in the next batch.
//
//   priorities   a batch's room is shared out 16 : 4 : 1; what one leaves the others take, the
//                higher first. So a higher priority goes first, and none starves.
//   clients      those of one priority that have items take turns, `turn_max` items each; callers
//                without a client are one of them. Whose turn is over, or who comes, goes to the
//                end of the line; a turn that the batch's end cuts short goes on in the next batch.
//                So who has queued thousands holds nobody up for longer than a turn of each.
//
// Threads    arrive: any. waiting, fill, drop_expired: the side's dispatcher's.
// Cost       without clients: a look at each of three rings a batch, and nothing an item. With
//            clients: an atomic exchange an item, and a step for each client that has items.
//
// Invariants
//   C3  A line has each queue that is listed and was taken from arrivals_, once; and the queue of
//       callers without a client of that priority, always.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <vector>

#include "dispatcher/admission.h"
#include "dispatcher/admission_queue.h"
#include "dispatcher/bounded_queue.h"

namespace diptych::dispatcher {

template <class Item>
class AdmissionTurns {
 public:
  using Queue = AdmissionQueue<Item>;
  using Items = std::vector<Item>;

  // `anonymous`: by Priority; they outlive this, as all queues do.
  AdmissionTurns(const std::array<Queue*, kPriorities>& anonymous, size_t queues_max,
                 size_t turn_max);

  // A client's queue has items, and push() said that it is to be listed.
  void arrive(Queue* queue);

  // How many items wait; some may come later than that.
  size_t waiting();
  // Adds items to `batch` until it has `items_max`; those whose deadline has passed go to
  // `expired`.
  void fill(size_t items_max, uint64_t now_ns, Items* batch, Items* expired);
  // While no batch can begin: only the latter. A step for each item that waits.
  void drop_expired(uint64_t now_ns, Items* expired);

 private:
  struct Class {
    std::deque<Queue*> line;  // the first one's turn it is
    size_t taken = 0;         // in this turn
  };
  struct Filling {
    uint64_t now_ns;
    Items* batch;
    Items* expired;
  };

  void take_arrivals();
  void take(Class* from, size_t items_max, const Filling& filling);
  // Items taken; fewer than items_max: no more could be had.
  static size_t take(Queue* queue, size_t items_max, const Filling& filling);

  const size_t turn_max_;
  BoundedQueue<Queue*> arrivals_;
  std::array<Class, kPriorities> classes_;
  size_t small_batches_ = 0;
};

}  // namespace diptych::dispatcher
