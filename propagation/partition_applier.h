// PartitionApplier: step 3 of applying, for one partition of one table: finds the rows of records
// and writes them.
//
// Records go through three stages, group by group (Chen, Ailamaki, Gibbons and Mowry's group
// prefetching), so that the cache misses of a group overlap and are over when they are needed:
//
//   find      group k + 2   where each RowID's entry of the index is            prefetch the entry
//   approach  group k + 1   the ordinal, and from it where the cells are        prefetch the cells
//   write     group k       the ordinal again: a record in between may have moved the row
//
// A group falls into runs of records that do the same: inserts, erases, updates of the same
// columns. A run is written column by column.
//
// Threads    one at a time; different partitions side by side. find() while nobody applies.
// Memory     a few groups; plans, one for each choice of columns that updates had.
// Errors     none: a record that does not fit (an update of an absent row) is our bug, and checked.
//
// Invariants (A1 and A2 of applier.h)
//   P1  Runs are written in the order of their records, and in a run what meets one row or cell is
//       written in their order, too.

#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/row_layout.h"
#include "propagation/export/row_id_runs.h"
#include "propagation/export/update_set.h"
#include "propagation/row_index.h"
#include "storage/table.h"

namespace diptych::propagation {

struct ApplyCounts {
  uint64_t inserts = 0;
  uint64_t updates = 0;
  uint64_t deletes = 0;
  uint64_t collapsed = 0;  // of `updates`: not written, as a later one wrote the same cells
  uint64_t apply_ns = 0;
  // Of every 16th group: finding and approaching; writing.
  uint64_t sampled_lookup_ns = 0;
  uint64_t sampled_write_ns = 0;
};

class alignas(64) PartitionApplier {
 public:
  static constexpr uint32_t kGroup = 32;

  PartitionApplier(storage::Partition* partition, const base::RowLayout* layout,
                   base::NumaNode node);
  // Before anything else: indexes the rows that the partition has, and finishes its restore.
  void index_rows();

  // The partition's records, in VID order (A1).
  void apply(std::span<const UpdateRecord* const> records);

  // Of a bulk load: takes the first of a block's rows, or of the last ones that there are, and
  // returns how many. A block's where the partition can take one; else at least one, into pages.
  size_t load(std::span<const storage::NewRow> rows);
  // The load is taken back: erases those of its rows that came here, and drops ranges of them
  // alone.
  void unload(const RowIdRuns& loaded);

  const RowIndex& index() const { return index_; }
  const ApplyCounts& counts() const { return counts_; }  // so far
  size_t memory_bytes() const;

 private:
  // The columns of an update, and where their cells are from the record's beginning.
  struct Plan {
    std::vector<base::ColumnId> columns;
    std::vector<uint32_t> cell_offsets;
    uint64_t first_columns = 0;  // the first four, as a record's first word has them
    uint64_t columns_mask = 0;   // of that word
  };
  struct Run {
    UpdateType type;
    uint32_t first;  // in the group
    uint32_t end;
    const Plan* plan;  // of updates and replacements
  };
  struct Group {
    std::span<const UpdateRecord* const> records;
    std::array<const RowIndex::Entry*, kGroup> entries;
    std::array<Run, kGroup> runs;
    uint32_t run_count = 0;

    void add_run(Run run, uint32_t end) {
      run.end = end;
      runs[run_count++] = run;
    }
  };

  static bool is_of(const Plan& plan, const UpdateRecord& update);
  const Plan* plan_of(const UpdateRecord& update);
  std::span<const UpdateRecord* const> collapse(std::span<const UpdateRecord* const> records);
  void find(std::span<const UpdateRecord* const> records, Group* group);
  void approach(const Group& group) const;
  void write(const Group& group);
  void insert(std::span<const UpdateRecord* const> records);
  void erase(std::span<const UpdateRecord* const> records);
  void update(const Group& group, const Run& run);

  storage::Partition* partition_;
  const base::RowLayout* layout_;
  RowIndex index_;
  Plan whole_row_;
  std::deque<Plan> plans_;
  const Plan* last_plan_ = nullptr;
  std::vector<const UpdateRecord*> kept_;  // by collapse()
  uint64_t groups_ = 0;
  ApplyCounts counts_;
};

}  // namespace diptych::propagation
