// CallTurns: which of the calls that wait is in the next batch.
//
//   priorities   a batch's room is shared out 16 : 4 : 1; what one leaves the others take, the
//                higher first. So a higher priority goes first, and none starves.
//   clients      those of one priority that have calls take turns, kTurnCalls each; callers without
//                a client are one of them. So who has queued thousands holds nobody up for longer
//                than a turn of each.
//
// Threads    arrive: any. waiting, fill: the OLTP dispatcher's.
// Cost       without clients: a look at each of three rings a batch, and nothing a call. With
//            clients: an atomic exchange a call, and a step for each client that has calls.
//
// Invariants
//   C3  turns_ has each queue that is listed and was taken from arrivals_, once; and the queue of
//       callers without a client of that priority, always.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "dispatcher/bounded_queue.h"
#include "dispatcher/call_queue.h"

namespace diptych::dispatcher {

class CallTurns {
 public:
  static constexpr size_t kTurnCalls = 8;

  // `anonymous`: by Priority; they outlive this, as all queues do.
  CallTurns(const std::array<CallQueue*, kPriorities>& anonymous, size_t clients_max);

  // A client's queue has calls, and push() said that it is to be listed.
  void arrive(CallQueue* queue);

  // How many calls wait; some may come later than that.
  size_t waiting();
  // Adds calls to `batch` until it has `calls_max`; those whose deadline has passed go to
  // `expired`.
  void fill(size_t calls_max, uint64_t now_ns, std::vector<oltp::Request*>* batch,
            std::vector<oltp::Request*>* expired);

 private:
  struct Class {
    std::vector<CallQueue*> turns;
    size_t next = 0;  // whose turn it is
  };
  struct Filling {
    uint64_t now_ns;
    std::vector<oltp::Request*>* batch;
    std::vector<oltp::Request*>* expired;
  };

  void take_arrivals();
  void take(Class* from, size_t calls_max, const Filling& filling);
  // Calls taken; fewer than calls_max: the queue is empty.
  static size_t take(CallQueue* queue, size_t calls_max, const Filling& filling);
  // False: it has calls after all, and stays.
  bool leave(CallQueue* queue, const Filling& filling);

  BoundedQueue<CallQueue*> arrivals_;
  std::array<Class, kPriorities> classes_;
  size_t small_batches_ = 0;
};

}  // namespace diptych::dispatcher
