// OlapDispatcher: takes queries in, and runs them in batches on the newest snapshot of the replica
// (BatchDB, section 5).
//
//   submit ──► queue ──► batch ──► gate ──► collect ──► apply ──► compile ──► run ──► done(...)
//
// One thread, pinned to the OLAP cores. It sleeps until a query comes; where updates are pending it
// applies them every `apply_interval_ns` though nobody asks, or at once when apply_now() says so.
// It compacts what it applied to, and where no updates come goes on as often until that is done.
// A batch is what is queued, by priorities and clients in turn (admission_turns.h), up to
// `batch_queries_max`. Its statements are compiled once what was collected is applied, so that
// their plans follow the statistics of the snapshot that they run on. Queries whose deadline has
// passed, or that were cancelled, when their turn comes are not compiled.
//
// Why a query sees what was acknowledged before it was submitted: an OLTP batch pushes its updates
// before its completions run (D2), the query is queued after that, and this thread collects after
// it took the query from the queue.
//
// A job is answered when its last statement has ended, whatever else of its batch still runs: by
// the query watch meanwhile, by this thread where the batch ends with it and nobody is waiting for
// the watch. Where there is a log, results are given out once all that they show is durable; a job
// that ends before that waits for the end of its batch. Queries that take too long, or would, leave
// their batch for the long lane (dispatcher/long_lane.h).
//
// Threads    submit, apply_now, report: any. bring_up_to_date: who holds the gate, as this side's
//            batch or exclusively.
//
// Invariants
//   A1  What AdmissionQueues admits is bounded; each job of it is answered exactly once, in or
//       after its batch or by the long lane or, where it was stopped, before these.
//   A2  The replica changes only while no query runs, but for those of the long lane.

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/parker.h"
#include "base/result.h"
#include "base/schema.h"
#include "base/thread.h"
#include "base/topology.h"
#include "dispatcher/admission_queues.h"
#include "dispatcher/batch_gate.h"
#include "dispatcher/command_log/command_log.h"
#include "dispatcher/freshness_clock.h"
#include "dispatcher/long_lane.h"
#include "dispatcher/metrics.h"
#include "dispatcher/query_job.h"
#include "dispatcher/query_watch.h"
#include "olap/query.h"
#include "propagation/applier.h"
#include "propagation/export/update_queue.h"
#include "storage/table.h"

namespace diptych::dispatcher {

struct OlapDispatcherOptions {
  base::SidePlacement placement;
  base::SpinPolicy spin = base::SpinPolicy::kNever;
  AdmissionLimits limits;
  uint32_t batch_queries_max = 0;
  uint64_t apply_interval_ns = 0;
  CommandLog* log = nullptr;    // null: nothing is logged
  QueryWatch* watch = nullptr;  // is stopped after the dispatcher
  uint64_t long_query_ns = 0;   // these three: of DatabaseOptions
  double long_query_rows = 0;
  uint32_t long_queries_max = 1;
};

// The parts of the replica, which outlive the dispatcher.
struct OlapReplica {
  storage::Replica* tables;
  propagation::Applier* applier;
  olap::Executor* executor;
};

class OlapDispatcher {
 public:
  // Compiles the job's statement against the catalog of the moment; the gate is held. Called by
  // several threads at once, each with a job of its own.
  using Prepare = std::function<void(QueryJob*, size_t statement, const olap::TableRows&)>;

  OlapDispatcher(const OlapDispatcherOptions& options, const OlapReplica& replica,
                 propagation::UpdateQueue* updates, BatchGate* gate, FreshnessClock* clock,
                 Prepare prepare, std::function<void()> run_checkpoint);
  ~OlapDispatcher();  // stops

  // Errors of AdmissionQueues::admit; the job is not answered then.
  base::Result<void> submit(std::unique_ptr<QueryJob> job, QueryQueue* queue, Admission admission);
  QueryQueues& queues() { return queues_; }

  // Applies pending updates soon, whatever the interval.
  void apply_now();

  // Has `run_checkpoint` called soon, between two batches, inside of the gate.
  void wish_checkpoint();
  // Takes back what it had, soon.
  void snapshot_has_gone();
  // Some that wait may be among them.
  void queries_were_stopped();

  // Applies every update that was pushed, compresses and freezes within a time limit, and brings
  // the replica within its memory; this thread goes on with what is left to compress. The caller
  // holds the gate.
  void bring_up_to_date();
  // Set once the disk failed, or a damaged chunk was met, while updates were applied: the replica
  // has some of them and no longer shows any snapshot. Updates are dropped from then on, and
  // queries, saves and comparisons fail with this. The caller holds the gate.
  base::Result<void> check_replica() const {
    if (!replica_failure_) return {};
    return *replica_failure_;
  }
  void lose_replica(const base::Error& error) noexcept;

  // Takes the table's rows: it is empty for queries that come later. The caller holds the gate, and
  // has brought the replica up to date.
  void clear_table(base::TableId table, const BatchGate::Exclusive& gate_held);
  // The same, of a table that the catalog has no more.
  void drop_table(base::Catalog::DroppedTable table, const BatchGate::Exclusive& gate_held);

  // After the replica was filled without the applier. The caller holds the gate.
  void publish_figures(const BatchGate::Exclusive& gate_held);

  // The replica's memory, as of the last updates that were applied. Any thread.
  size_t replica_bytes() const {
    // relaxed: a figure.
    return replica_bytes_.load(std::memory_order_relaxed);
  }

  // Queries that have not ended by now end soon, with kCancelled.
  void cancel_queries();

  // Rejects further queries, ends what was admitted, and ends the thread. Again: no effect.
  void stop();

  bool runs_this_thread() const {
    return base::is_this_thread_of(this) ||
           (long_lane_ != nullptr && long_lane_->runs_this_thread());
  }
  // Queries that failed before they came here.
  void count_failed(base::ErrorCode why);
  // Adds this side's figures.
  void report(Metrics* metrics) const;

 private:
  using Jobs = QueryQueues::Items;

  void run();
  // Indexes, and counts, the rows that were there before, which opening does not wait for.
  void get_ready();
  void take_jobs(Jobs* jobs);
  bool turn_is_due(uint64_t now_ns);
  void sleep(uint32_t arrival_ticket, uint32_t update_ticket);
  void take_turn();  // the caller holds the gate, for this side's batch
  void run_one_batch(Jobs* jobs);
  void compile(const Jobs& jobs);
  void compile(QueryJob* job);
  struct Place {
    size_t job;
    size_t statement;
  };
  // By job: the statements that are the long lane's.
  using Moved = std::vector<std::vector<size_t>>;
  void run(std::span<const olap::QueryRun> queries, const olap::DeliverResult& deliver);
  // Jobs that were answered, or soon are by the watch, are gone from *jobs.
  Moved execute(Jobs* jobs);
  bool answer_soon(QueryJob& job);  // false: there is no memory for it
  // With what is left of them.
  void move_to_long_lane(Jobs* jobs, Moved* moved, base::Vid snapshot);
  bool is_long(const olap::Plan& plan) const;  // as the planner thinks
  void put(QueryJob& job, size_t statement, base::Result<olap::QueryResult> result,
           base::Vid snapshot);
  // All its statements were put. Any thread.
  void answer(QueryJob& job, base::Vid snapshot, TokenReturn* tokens);
  void answer(QueryAnswer& answer, AdmissionTokens* admitted_by, TokenReturn* tokens);
  // All its statements fail.
  void fail(QueryJob& job, const base::Error& error);
  void begin_long_queries();  // the caller holds the gate
  void answer_stopped();      // of the long lane: their tokens are given back
  void end_unrun(const LongQuery& query, const base::Error& error);
  // Anew, where its plans are of an earlier snapshot than this, on which it begins; with them
  // statements of the job that have ended on that one, so that all show one state.
  void compile(LongQuery* query, base::Vid snapshot);
  void wake();
  void index_rows();  // of tables that are new to the applier
  propagation::ApplyReport apply(const propagation::CollectedSets& collected);
  void compact();
  void plan_compaction();
  void table_was_cleared(base::TableId table);
  void reclaim();
  void trim();
  // The caller holds the gate, here and below.
  void refresh_statistics();
  void refresh_statistics(std::span<const base::TableId> tables);  // others are as they were
  // The caller holds figures_mutex_, too. With many tables a hundredth of the time goes to
  // publish_sizes_soon at most, and what it leaves out is told in a later turn.
  void publish_sizes();
  void publish_sizes_soon();

  const OlapDispatcherOptions options_;
  const OlapReplica replica_;
  propagation::UpdateQueue* const updates_;
  BatchGate* const gate_;
  FreshnessClock* const clock_;
  const Prepare prepare_;
  const std::function<void()> run_checkpoint_;

  QueryQueues queues_;
  base::Parker arrivals_;
  Jobs expired_;                                // this thread only: their deadline has passed
  std::atomic<bool> apply_wanted_{false};       // writers: apply_now sets, this thread clears
  std::atomic<bool> checkpoint_wanted_{false};  // likewise: wish_checkpoint
  olap::StopFlag stop_queries_{false};          // writer: cancel_queries, for good
  uint64_t pending_since_ns_ = 0;               // this thread only; 0: no update was pending
  // 0: there is nothing to compact. Writer: the gate's holder.
  std::atomic<uint64_t> compaction_due_ns_{0};

  std::optional<base::Error> replica_failure_;  // the gate's holder only, as the next ten
  uint32_t first_to_compact_ = 0;  // the table and partition that come first, one on each call
  uint64_t compacted_ns_ = 0;      // when, last
  bool trim_failed_ = false;       // the last time; said once
  bool lacks_samples_ = false;     // some column that was not in memory
  bool has_remade_ = false;        // blocks, since all statistics were refreshed
  bool sizes_are_old_ = false;     // publish_sizes_soon has left them out
  uint64_t sized_ns_ = 0;          // when they were published, and how long it took
  uint64_t sizing_ns_ = 0;         // likewise
  std::vector<olap::StatisticsKeeper> keepers_;  // by TableId, as the next
  olap::TableRows table_rows_;

  std::atomic<size_t> replica_bytes_{0};  // writer: publish_sizes
  mutable std::mutex figures_mutex_;
  Metrics figures_;  // guarded by figures_mutex_: this side's part

  std::unique_ptr<LongLane> long_lane_;
  base::Thread thread_;
};

}  // namespace diptych::dispatcher
