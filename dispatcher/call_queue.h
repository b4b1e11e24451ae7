// CallQueue: the calls that one client, or all callers of one priority who have no client, have
// submitted and that no batch has taken yet; and the limit on those that are not answered.
//
// Threads    take, push: any. pop, waiting, unlist: the OLTP dispatcher's. Tokens go back on
//            whatever thread completes calls.
// Memory     fixed at construction. A client's queue is used again by a later client, and freed
//            with the dispatcher only: who completes a call may still ring its parker.
//
// Invariants
//   C1  A call is in the ring only with a token, so a push finds a slot.
//   C2  A client's queue with calls in its ring is listed: in CallTurns' arrivals or turns, once.

#pragma once

#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "dispatcher/admission_tokens.h"
#include "dispatcher/bounded_queue.h"
#include "dispatcher/call_options.h"
#include "oltp/request.h"

namespace diptych::dispatcher {

struct QueuedCall {
  oltp::Request* request = nullptr;
  uint64_t deadline_ns = 0;  // the request's, so that it need not be touched yet; 0: none
};

class CallQueue {
 public:
  enum class Of : uint8_t { kClient, kAnyone };

  CallQueue(Of whose, Priority priority, uint32_t calls_max, base::SpinPolicy spin)
      : is_clients_(whose == Of::kClient),
        priority_(priority),
        tokens_(calls_max, spin),
        ring_(calls_max) {}

  bool is_clients() const { return is_clients_; }
  Priority priority() const { return priority_; }
  AdmissionTokens& tokens() { return tokens_; }
  const AdmissionTokens& tokens() const { return tokens_; }

  // The caller has a token. True: it is to be listed.
  bool push(QueuedCall call) {
    const bool pushed = ring_.try_push(call);
    DIPTYCH_CHECK(pushed, "C1: the ring has a slot for every token");
    if (!is_clients_) return false;
    // acq_rel (L1): in the order of all exchanges, either this one finds the queue unlisted, or
    // unlist() comes after it, synchronises with it and sees the call.
    return !listed_.exchange(true, std::memory_order_acq_rel);
  }
  bool pop(QueuedCall* call) { return ring_.try_pop(call); }
  size_t waiting() const { return ring_.size(); }
  // Of an empty ring; whoever pushes from here on lists the queue again. A call that came before
  // is the next pop's: look once more.
  void unlist() {
    // acq_rel: see L1 in push.
    listed_.exchange(false, std::memory_order_acq_rel);
  }
  // A call was found after unlist(). True: nobody has listed the queue meanwhile.
  bool list_again() {
    // acq_rel: as in push.
    return !listed_.exchange(true, std::memory_order_acq_rel);
  }

 private:
  const bool is_clients_;
  const Priority priority_;
  AdmissionTokens tokens_;
  BoundedQueue<QueuedCall> ring_;
  alignas(64) std::atomic<bool> listed_{false};  // writers: pushers set, the dispatcher clears
};

}  // namespace diptych::dispatcher
