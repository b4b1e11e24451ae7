// Applier: brings the columnar replica up to a snapshot VID, between two batches of queries
// (BatchDB, section 5 and figure 4).
//
//   step 1  order    the records of all workers' sets, by VID: update_merge.h
//   step 2  route    pointers to records to partitions, by hash(RowID)
//   step 3  apply    each partition's records through its RowIndex: partition_applier.h
//
// Steps 1 and 2 run tables side by side, step 3 partitions. They take turns, a slice of each
// table's records at a time: so that step 3 meets records that the steps before have brought into
// the cache, and the vectors of pointers stay small.
//
// Threads    apply() is called by the OLAP dispatcher while no query runs. What runs side by side
//            runs through `for_each`, which the caller provides. add_tables and apply have one
//            caller at a time; find() runs while neither does.
// Memory     vectors of pointers to a slice, for as many tables as had records at once; and what a
//            slice is applied with. Nothing is allocated a record.
// Errors     a record that does not fit (an update of an absent row) is our bug, and checked. Where
//            the disk fails or a chunk is damaged, apply() and add_tables() throw ChunkFailure
//            (storage/buffered_chunk.h): the replica has then part of the updates, and is useless.
//
// Invariants
//   A1  The records of one row reach its partition in VID order, those of one VID as they were
//       appended: insert, updates, delete, insert again of a reused RowID.
//   A2  A RowIndex has exactly the live rows of its partition.

#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/alignment.h"
#include "base/for_each.h"
#include "base/ids.h"
#include "propagation/apply_steps.h"
#include "propagation/apply_workspace.h"
#include "propagation/export/update_queue.h"
#include "propagation/partition_applier.h"
#include "propagation/update_merge.h"
#include "storage/table.h"

namespace diptych::propagation {

struct ApplyReport {
  base::Vid snapshot;
  uint64_t changes = 0;
  uint64_t inserts = 0;
  uint64_t updates = 0;
  uint64_t deletes = 0;
  uint64_t collapsed = 0;  // of the updates: not written, as a later one wrote the same cells
  uint64_t bytes = 0;
  std::vector<base::TableId> tables;  // that had changes, ascending
};

class Applier {
 public:
  // `slice_records`: of a table for each partition, that a turn of the steps takes.
  Applier(storage::Replica* replica, base::NumaNode node, size_t slice_records = 2048);

  // Tables that were added to the replica since, empty or filled by load_replica: their rows get
  // indexed, partitions side by side.
  void add_tables(const base::ForEach& for_each);
  // After Replica::clear_table of a table that was added.
  void clear_table(base::TableId table);

  // Applies all collected sets; the replica then shows collected.snapshot. The caller recycles the
  // sets afterwards.
  ApplyReport apply(const CollectedSets& collected, const base::ForEach& for_each);

  // For a bulk load (bulk_load.h), which writes partitions side by side while nobody applies.
  PartitionApplier& partition(base::TableId table, base::PartitionId partition) {
    return tables_[table.value].partitions[partition.value];
  }

  // Where the row lives now, if it does. For comparing replicas.
  std::optional<base::Tid> find(base::TableId table, base::RowId row_id) const;

  // Where the time of all applies went, by TableId. For who may also call apply().
  std::vector<TableSteps> steps() const;
  size_t memory_bytes() const;

 private:
  using Records = std::span<const UpdateRecord* const>;
  // Records of one partition.
  struct Routed {
    std::vector<const UpdateRecord*> pointers;  // `count` of them, and room for more
    size_t count = 0;

    Records records() const { return std::span(pointers).first(count); }
  };
  // A cache line of its own, as tables run side by side; likewise the next.
  struct alignas(base::kLineBytes) TableState {
    std::deque<PartitionApplier> partitions;
    uint64_t order_ns = 0;
    uint64_t route_ns = 0;
  };
  // Of one table in one turn; another one's in the next, or in the next apply.
  struct alignas(base::kLineBytes) Slice {
    std::vector<const UpdateRecord*> ordered;  // by VID; not routed yet
    std::vector<Routed> routed;                // [partition], by VID
  };
  // A table that has records to apply.
  struct Work {
    TableState* table;
    const storage::Table* rows;
    UpdateMerge merge;
  };

  void add_partitions(base::TableId table, TableState* state) const;
  void order_and_route(Work* work, Slice* slice) const;
  static void route(const storage::Table& rows, Records ordered, std::vector<Routed>* routed);
  static ApplyCounts counts_of(std::span<const TableState* const> tables);

  storage::Replica* replica_;
  base::NumaNode node_;
  size_t slice_records_;
  std::vector<ApplyWorkspace> workspaces_;  // [partition], of all tables
  std::deque<TableState> tables_;           // [TableId]
  std::deque<Slice> slices_;                // of the first tables that have records
};

}  // namespace diptych::propagation
