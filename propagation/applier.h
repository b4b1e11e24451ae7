// Applier: brings the columnar replica up to a snapshot VID, between two batches of queries
// (BatchDB, section 5 and figure 4).
//
//   step 1  order    the records of all workers' sets, by VID: a merge of sorted runs, one a
//                    worker; a transaction's records move together, so the merge costs one step a
//                    transaction
//   step 2  route    record pointers to partitions, by hash(RowID)
//   step 3  apply    each partition's records through its RowIndex: grouped prefetch in three
//                    stages (bucket, then row, then write); inserts fill freed slots first
//
// Threads    apply() is called by the OLAP dispatcher while no query runs. Step 3 runs partitions
//            in parallel through `for_each_partition`, which the caller provides. add_table and
//            apply have one caller at a time; find() runs while neither does.
// Memory     three vectors of pointers, kept between calls; nothing is allocated a record.
// Errors     none: a record that does not fit (an update of an absent row) is our bug, and checked.
//
// Invariants
//   A1  The records of one row reach its partition in VID order, those of one VID as they were
//       appended: insert, updates, delete, insert again of a reused RowID.
//   A2  A RowIndex has exactly the live rows of its partition.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "propagation/apply_steps.h"
#include "propagation/export/update_queue.h"
#include "propagation/row_index.h"
#include "storage/table.h"

namespace diptych::propagation {

// Runs body(p) for every partition, in parallel or not, and returns when all are done.
using ForEachPartition =
    std::function<void(uint32_t partitions, const std::function<void(base::PartitionId)>& body)>;

struct ApplyReport {
  base::Vid snapshot;
  uint64_t records = 0;
  uint64_t inserts = 0;
  uint64_t updates = 0;
  uint64_t deletes = 0;
  uint64_t bytes = 0;
  uint64_t order_ns = 0;  // step 1
  uint64_t route_ns = 0;  // step 2
  uint64_t apply_ns = 0;  // step 3
};

class Applier {
 public:
  Applier(storage::Replica* replica, base::NumaNode node);

  // A table was added to the replica (empty, or filled by load_replica: its rows get indexed).
  void add_table(base::TableId table);

  // Applies all collected sets; the replica then shows collected.snapshot. The caller recycles the
  // sets afterwards.
  ApplyReport apply(const CollectedSets& collected, const ForEachPartition& for_each_partition);

  // Where the row lives now, if it does. For comparing replicas.
  std::optional<base::Tid> find(base::TableId table, base::RowId row_id) const;

  size_t memory_bytes() const;

  // By TableId. For who may also call apply().
  const std::vector<TableSteps>& steps() const { return steps_; }

 private:
  // A record on its way; the RowID is at hand for prefetching before the record is.
  struct Routed {
    base::RowId row_id;
    const UpdateRecord* record;
  };
  // What one partition's step 3 counted; a cache line each, as partitions run in parallel.
  struct alignas(64) Counts {
    uint64_t inserts = 0;
    uint64_t updates = 0;
    uint64_t deletes = 0;
  };
  struct TableIndexes {
    std::vector<RowIndex> partitions;
  };

  void order(const CollectedSets& collected, base::TableId table);
  void route(base::TableId table);
  void apply_partition(base::TableId table, base::PartitionId partition);
  // Step 3 for up to kGroup records: see applier.cpp.
  void apply_group(std::span<const Routed> group, storage::Partition* partition, RowIndex* index,
                   const base::RowLayout& layout, Counts* counts);
  std::vector<Routed>& routed(base::TableId table, base::PartitionId partition) {
    return routed_[table.value * replica_->partition_count() + partition.value];
  }

  storage::Replica* replica_;
  base::NumaNode node_;
  std::vector<TableIndexes> tables_;
  // Reused between calls.
  std::vector<const UpdateRecord*> ordered_;  // of one table, by VID
  std::vector<std::vector<Routed>> routed_;   // [table, partition], by VID
  std::vector<Counts> counts_;                // [partition]
  std::vector<TableSteps> steps_;
};

}  // namespace diptych::propagation
