// OltpDispatcher: takes calls of procedures in, and runs them in batches on the OLTP replica.
//
//   submit ─► queues ─turns─► batch ──► gate ──► Engine::run_batch ──► CommandLog ──► completions
//                               ▲                        │
//                               └──── report.again ◄─────┘
//
// One thread, pinned to the first OLTP core; it is the engine's leader. A batch is what run_batch
// gave back, then what is queued, by priorities and clients in turn (admission_turns.h), up
// to `batch_requests_max`; and, over kBatchMin, no more than half of what is in flight, so that
// while one half runs the other is written to the log and answered. Completions run after the
// batch, in its order: on this thread, or, where there is a log, on the log's, once it is durable.
//
// Back-pressure  no batch starts while the update queue holds more than `pending_update_bytes_max`;
//                the waits are counted and timed, and the first time a line on standard error says
//                how much is pending, and how old the replica is. Nor does one start while the log
//                has no room for it (CommandLog::wait_for_room).
// Room           before a batch the engine is told what rows may still take (Engine::set_room).
// Deadlines      a call whose deadline has passed when its turn comes is completed without being
//                run; so is one that waits for its run to be repeated. Where all wait for room or
//                at the gate, calls are answered as their deadlines pass (kLateAnswerNs). What has
//                run waits for the log, and is answered by its deadline where that waits for space.
// Threads        submit: any, completions included: on a dispatcher's thread it never waits.
//
// Invariants
//   D1  What AdmissionQueues admits is bounded; each call of it completes exactly once.
//   D2  A call completes after the updates of its transaction were pushed to the update queue, and,
//       where there is a log, after its batch and all before it are durable, or with an error
//       (CommandLog's L2).

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/notice.h"
#include "base/parker.h"
#include "base/thread.h"
#include "base/topology.h"
#include "base/types.h"
#include "dispatcher/admission_queues.h"
#include "dispatcher/batch_gate.h"
#include "dispatcher/command_log/command_log.h"
#include "dispatcher/freshness_clock.h"
#include "dispatcher/metrics.h"
#include "dispatcher/procedure_directory.h"
#include "dispatcher/slow_procedure_watch.h"
#include "oltp/engine.h"
#include "oltp/request.h"
#include "propagation/export/update_queue.h"

namespace diptych::dispatcher {

struct OltpDispatcherOptions {
  base::SidePlacement placement;
  base::SpinPolicy spin = base::SpinPolicy::kNever;
  AdmissionLimits limits;
  uint32_t batch_requests_max = 0;
  size_t pending_update_bytes_max = 0;
  // A wait is reported again only after this long without one; tests shorten it.
  uint64_t wait_notice_pause_ns = 60'000'000'000;
  uint64_t random_seed = 0;
  std::optional<base::Timestamp> time_origin;  // as DatabaseOptions'
  SlowProcedureWatch* slow_watch = nullptr;    // may be null
  CommandLog* log = nullptr;                   // null: nothing is logged
  std::function<size_t()> data_room;           // bytes that data may still take; null: no limit
};

class OltpDispatcher {
 public:
  static constexpr size_t kBatchMin = 64;
  // `apply_now` asks the OLAP dispatcher to apply what is pending, whatever its interval.
  OltpDispatcher(const OltpDispatcherOptions& options, oltp::Engine* engine,
                 const ProcedureDirectory* procedures, propagation::UpdateQueue* updates,
                 BatchGate* gate, FreshnessClock* clock, std::function<void()> apply_now);
  ~OltpDispatcher();  // stops

  // kInvalidArgument: no such procedure, or arguments, reply or completion do not fit. kClosed.
  // Errors of AdmissionQueues::admit. As the log's refusal() where it refuses.
  base::Result<void> submit(oltp::Request* request, CallQueue* queue, Admission admission);
  CallQueues& queues() { return queues_; }

  // Gives their tokens back and completes them. The dispatcher's thread, or the log's.
  void complete(std::span<oltp::Request* const> ended);

  // Waits until back-pressure, and the log, let a batch start; true if back-pressure made it wait.
  // A replay, which runs batches before anything is submitted, calls it too. Calls `meanwhile`
  // every kLateAnswerNs.
  bool wait_until_batch_may_start(const std::function<void()>& meanwhile = [] {});
  // Inside of an exclusive section of the gate: the engine is useless. Calls end with the error.
  void lose_engine(const base::Error& error) { engine_failure_ = error; }
  void regain_engine() { engine_failure_.reset(); }

  // Rejects further calls, ends what was admitted, and ends the thread. Again: no effect.
  void stop();

  bool runs_this_thread() const { return base::is_this_thread_of(this); }
  uint64_t back_pressure_waits() const;
  uint64_t back_pressure_ns() const;  // in these waits, one that goes on included
  // Adds this side's figures.
  void report(Metrics* metrics) const;

 private:
  // Guarded by figures_mutex_, which is taken once a batch, and for each call that fails.
  struct Figures {
    std::array<uint64_t, base::kErrorCodes> failed{};  // calls, by ErrorCode
    Histogram batch_calls;
    Histogram batch_ns;
    Histogram call_wait_ns;
  };
  base::Result<void> check(const oltp::Request& request) const;
  base::Result<void> try_submit(oltp::Request* request, CallQueue* queue, Admission admission);
  base::Timestamp now() const;  // of a transaction
  void run();
  bool fill_batch();  // false: nothing to run
  size_t batch_limit();
  void run_one_batch();
  // Moves those of the calls to expired_ whose deadline has passed.
  void drop_expired(std::vector<oltp::Request*>* requests, uint64_t now_ns);
  void complete_expired();
  void tell_room();
  void answer_late_calls();  // of batch_, and queued ones
  void refuse_batch(const base::Error& why);
  void collect_ended();
  void note_batch(uint64_t start_ns);  // that has run

  const OltpDispatcherOptions options_;
  const uint64_t begin_ns_;  // when time_origin was
  oltp::Engine* const engine_;
  const ProcedureDirectory* const procedures_;
  propagation::UpdateQueue* const updates_;
  BatchGate* const gate_;
  FreshnessClock* const clock_;
  const std::function<void()> apply_now_;
  const std::function<void()> while_batch_waits_;

  CallQueues queues_;
  uint64_t taken_ = 0;                 // calls that batches took; the dispatcher's thread's
  std::atomic<uint64_t> answered_{0};  // of them; writers: it and the log's thread
  base::Parker arrivals_;
  std::atomic<uint64_t> seeds_;                   // writers: submitters
  std::atomic<uint64_t> back_pressure_waits_{0};  // writer: the dispatcher's thread
  std::atomic<uint64_t> back_pressure_ns_{0};     // likewise: of waits that have ended
  std::atomic<uint64_t> waits_since_ns_{0};       // likewise; 0: it does not wait
  std::optional<base::Error> engine_failure_;     // the gate's
  std::vector<oltp::Request*> batch_;             // the dispatcher's thread only
  std::vector<oltp::Request*> again_;             // likewise: goes first into the next batch
  std::vector<oltp::Request*> ended_;    // likewise: those of batch_ that are not in again_
  std::vector<oltp::Request*> expired_;  // likewise: their deadline has passed
  base::NoticePause wait_notice_;        // likewise: that batches wait for room
  base::NoticePause full_notice_;        // likewise: that there is no memory for more data
  uint64_t oldest_ns_ = 0;               // likewise: submission of the batch's first new request
  mutable std::mutex figures_mutex_;
  Figures figures_;  // guarded by figures_mutex_
  base::Thread thread_;
};

}  // namespace diptych::dispatcher
