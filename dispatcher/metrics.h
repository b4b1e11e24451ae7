// Metrics: what the engine counted since it was opened. A value; reading it stops nobody.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "propagation/apply_steps.h"
#include "storage/buffer_figures.h"

namespace diptych::dispatcher {

// Counts in buckets of 1/32 of a power of two: values keep a relative error under 3.2 %.
class Histogram {
 public:
  void record(uint64_t value);
  void merge(const Histogram& other);
  uint64_t count() const { return count_; }
  uint64_t max() const { return max_; }
  double mean() const;
  uint64_t quantile(double q) const;  // q in [0, 1]; 0 when empty
  // What was recorded since `earlier`, an older copy of this histogram (its max is this one's).
  Histogram since(const Histogram& earlier) const;

 private:
  static constexpr size_t kBuckets = 64 * 32;
  static size_t bucket_of(uint64_t value);
  static uint64_t middle_of(size_t bucket);

  uint64_t counts_[kBuckets] = {};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t max_ = 0;
};

struct Metrics {
  // Transactions.
  uint64_t transactions_committed = 0;
  uint64_t transactions_aborted = 0;    // by the procedure or an error
  uint64_t transactions_refused = 0;    // overloaded
  uint64_t transactions_in_flight = 0;  // admitted and not completed, now
  uint64_t conflicts = 0;               // runs repeated because of a conflict
  uint64_t transaction_batches = 0;
  uint64_t slow_transactions = 0;  // runs over slow_procedure_ns that have ended
  std::string slowest_procedure;   // of those, and of what runs now; empty: none was slow
  uint64_t slowest_procedure_ns = 0;
  base::Vid last_vid;
  // The command log.
  uint64_t log_bytes = 0;
  uint64_t log_groups = 0;
  Histogram log_write_ns;  // of a group: until it is durable
  uint64_t log_files = 0;
  uint64_t checkpoints = 0;  // and other saves, since the database was opened
  // Queries.
  uint64_t queries_completed = 0;
  uint64_t queries_failed = 0;
  uint64_t query_batches = 0;
  base::Vid replica_vid;
  // Propagation.
  uint64_t updates_applied = 0;
  uint64_t apply_runs = 0;
  Histogram apply_ns;  // of applies that applied something
  // Of the same: CPU time of the thread that applies, and where the time goes, by TableId.
  uint64_t apply_cpu_ns = 0;
  std::vector<propagation::TableSteps> apply_steps;
  // When a batch of queries starts: the time since the first commit that it does not see (an upper
  // bound); 0 if it sees all. It is counted from the beginning of the first OLTP batch that may
  // hold such a commit; one that still runs counts, though it may commit nothing
  // (dispatcher/freshness_clock.h).
  Histogram freshness_ns;
  Histogram wait_apply_ns;  // per query: from submission to the start of its batch's execution
  size_t pending_update_bytes = 0;
  uint64_t back_pressure_waits = 0;  // OLTP batches that waited for the replica to catch up
  uint64_t back_pressure_ns = 0;     // that they waited, one that waits now included
  // Size and cost.
  size_t oltp_memory_bytes = 0;  // rows, versions, indexes, and update sets that wait or are empty
  size_t olap_memory_bytes = 0;
  storage::BufferFigures olap_chunks;  // of a database at a path: columns in memory and on disk
  uint64_t oltp_cpu_ns = 0;  // CPU time of the side's threads (dispatcher/side_cpu_time.h)
  uint64_t olap_cpu_ns = 0;
};

}  // namespace diptych::dispatcher
