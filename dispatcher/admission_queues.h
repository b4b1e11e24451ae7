// AdmissionQueues: what waits for the batches of a side: one queue for each client, and one for all
// callers of a priority who have none; who is admitted to them, and whose turn it is.
//
//   admit ──token──► push ──► a queue ──turns──► fill ──► (a batch) ──► the token is given back
//
// Threads    admit, push, connect, disconnect, close, drained, report: any. waiting, fill,
//            drop_expired: the side's dispatcher's.
//
// Invariants
//   B1  Of each priority at most `anyone_max` items are admitted and not answered, and of each
//       client at most `client_max`.
//   B2  Once closed and drained, nothing is pushed any more.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/parker.h"
#include "base/result.h"
#include "dispatcher/admission.h"
#include "dispatcher/admission_queue.h"
#include "dispatcher/admission_turns.h"

namespace diptych::dispatcher {

struct AdmissionLimits {
  uint32_t anyone_max = 0;   // of each priority: items of callers without a client
  uint32_t client_max = 0;   // items of a client
  uint32_t clients_max = 0;  // of each priority
  size_t turn_max = 0;       // items that a client has taken at a time, where others wait
};

struct AdmissionFigures {
  std::array<uint64_t, kPriorities> in_flight{};      // admitted and not answered
  std::array<uint64_t, kPriorities> waiting{};        // of these, that no batch has taken
  std::array<uint64_t, base::kErrorCodes> refused{};  // items, by ErrorCode
  uint64_t clients = 0;                               // connected
  uint64_t clients_refused = 0;
};

template <class Item>
class AdmissionQueues {
 public:
  using Queue = AdmissionQueue<Item>;
  using Items = std::vector<Item>;

  AdmissionQueues(const AdmissionLimits& limits, base::SpinPolicy spin);

  // Of callers without a client.
  Queue* of(Priority priority) const { return anonymous_[static_cast<size_t>(priority)]; }
  // A queue of its own for a client. kOverloaded: there are `clients_max` of the priority. kClosed.
  base::Result<Queue*> connect(Priority priority);
  // Nothing is admitted to the queue any more; what was is answered.
  void disconnect(Queue* queue);

  // Takes a token of the queue. kOverloaded, where it is not to wait; kDeadlineExceeded, where it
  // waited until then; kClosed.
  base::Result<void> admit(Queue* queue, Admission admission, uint64_t deadline_ns);
  // An item is not taken, by admit or for another reason: counts it.
  void note_refusal(base::ErrorCode why);
  // An item that was admitted. Ringing the dispatcher is the caller's.
  void push(Queue* queue, Item item, uint64_t deadline_ns);

  // As AdmissionTurns'.
  size_t waiting() { return turns_.waiting(); }
  void fill(size_t items_max, uint64_t now_ns, Items* batch, Items* expired) {
    turns_.fill(items_max, now_ns, batch, expired);
  }
  void drop_expired(uint64_t now_ns, Items* expired) { turns_.drop_expired(now_ns, expired); }

  void close();
  bool drained() const;  // B2

  AdmissionFigures figures() const;

 private:
  const AdmissionLimits limits_;
  const base::SpinPolicy spin_;
  mutable std::mutex mutex_;
  bool closed_ = false;                         // guarded by mutex_
  std::vector<std::unique_ptr<Queue>> queues_;  // guarded by it; the first are the anonymous
  std::vector<Queue*> disconnected_;            // guarded by it: to be used again
  std::array<uint32_t, kPriorities> made_{};    // guarded by it: of queues_, clients' by Priority
  uint64_t clients_refused_ = 0;                // guarded by it
  std::array<Queue*, kPriorities> anonymous_;   // by Priority; set for good
  AdmissionTurns<Item> turns_;
  std::atomic<bool> closing_{false};                                // writer: close
  std::array<std::atomic<uint64_t>, base::kErrorCodes> refused_{};  // writers: submitters
};

using CallQueues = AdmissionQueues<oltp::Request*>;
using QueryQueues = AdmissionQueues<std::unique_ptr<QueryJob>>;

}  // namespace diptych::dispatcher
