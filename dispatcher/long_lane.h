// LongLane: queries that would hold up the others, each on a snapshot of its own, behind all other
// threads: what BatchDB's section 7 leaves open.
//
//   add ──► waiting ──begin: a snapshot, cut between two OLAP batches──► running ──► ended
//
// A query comes here with the statements that are left of it, waits until one of `queries_max`
// threads is free, and gets a snapshot then: so no more of them are held than run. Batches and
// applies go on meanwhile; what they write first is copied (storage/replica_snapshot.h).
//
// Threads    `queries_max` of its own, on the OLAP side's cores, at the lowest priority; each runs
//            one query at a time. add, wants_snapshot, begin, give_up, take_stopped: the OLAP
//            dispatcher's.
//            report: any. The callbacks are called on the lane's threads.
//
// Invariants
//   J1  A query that was added is ended once, whatever becomes of it.
//   J2  At most `queries_max` snapshots are held, each by one that runs.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/thread.h"
#include "base/topology.h"
#include "dispatcher/metrics.h"
#include "dispatcher/query_job.h"
#include "olap/query.h"
#include "storage/replica_snapshot.h"

namespace diptych::dispatcher {

// What is left of a job.
struct LongQuery {
  std::unique_ptr<QueryJob> job;
  std::vector<size_t> statements;
  base::Vid compiled_for;  // the snapshot with whose statistics
  uint64_t added_ns = 0;   // when it came to the lane
};

struct LongLaneOptions {
  std::vector<uint32_t> cores;
  uint32_t queries_max = 1;
};

class LongLane {
 public:
  struct Callbacks {
    // A statement has ended, as of the snapshot.
    std::function<void(const LongQuery&, size_t statement, base::Result<olap::QueryResult> result,
                       base::Vid snapshot)>
        put;
    // All have, and the snapshot has gone.
    std::function<void(LongQuery, base::Vid snapshot)> ended;
    // Memory that snapshots of the replica keep now, all of them.
    std::function<size_t()> snapshot_bytes;
  };

  // Queries keep memory within `beside`'s limits; `stop` ends all of them. Both outlive it.
  LongLane(const LongLaneOptions& options, const olap::Executor* beside, const olap::StopFlag* stop,
           Callbacks callbacks);
  ~LongLane();  // stops

  // Throws std::bad_alloc before it takes anything; so does begin().
  void add(LongQuery&& query);
  // One waits, and there is room for it.
  bool wants_snapshot() const;
  // The one that does; it stays there until begin() or give_up().
  LongQuery& next();
  // It runs on this one.
  void begin(std::unique_ptr<storage::ReplicaSnapshot> snapshot);

  // The same one, which gets none.
  LongQuery give_up();
  // Those that wait and were stopped: they wait no longer.
  std::vector<LongQuery> take_stopped();

  // Ends the threads, once their last callbacks have returned. None waits or runs any more. Again:
  // no effect.
  void stop();

  void report(Metrics* metrics) const;
  bool runs_this_thread() const { return base::is_this_thread_of(this); }

 private:
  struct Run {
    LongQuery query;
    std::unique_ptr<storage::ReplicaSnapshot> snapshot;
  };

  void work();
  void execute(olap::Executor* executor, Run run);

  const LongLaneOptions options_;
  const olap::Executor* const beside_;
  const olap::StopFlag* const stop_;
  const Callbacks callbacks_;

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<LongQuery> waiting_;
  std::deque<Run> begun_;  // that no thread has taken yet
  uint32_t running_ = 0;   // these included
  uint64_t added_ = 0;
  bool stopping_ = false;

  std::vector<base::Thread> threads_;
};

}  // namespace diptych::dispatcher
