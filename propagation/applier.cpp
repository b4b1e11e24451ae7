#include "propagation/applier.h"

#include <algorithm>

#include "base/check.h"
#include "base/clock.h"

namespace diptych::propagation {
namespace {

constexpr size_t kRoutedAtFirst = 64;

}  // namespace

Applier::Applier(storage::Replica* replica, base::NumaNode node, size_t slice_records)
    : replica_(replica),
      node_(node),
      slice_records_(slice_records),
      workspaces_(replica->partition_count()) {
  DIPTYCH_CHECK(slice_records != 0, "a turn takes some records");
  add_tables(base::in_turn);
}

void Applier::add_tables(const base::ForEach& for_each) {
  std::vector<PartitionApplier*> added;
  for (uint32_t table = static_cast<uint32_t>(tables_.size()); table < replica_->table_count();
       ++table) {
    add_partitions(base::TableId(table), &tables_.emplace_back());
    for (PartitionApplier& partition : tables_.back().partitions) added.push_back(&partition);
  }
  if (added.empty()) return;
  for_each(static_cast<uint32_t>(added.size()), [&](uint32_t i) { added[i]->index_rows(); });
}

void Applier::add_partitions(base::TableId table, TableState* state) const {
  storage::Table& rows = replica_->table(table);
  for (uint32_t p = 0; p < rows.partition_count(); ++p) {
    state->partitions.emplace_back(&rows.partition(base::PartitionId(p)), &rows.layout(), node_);
  }
}

void Applier::clear_table(base::TableId table) {
  TableState& state = tables_[table.value];
  state.partitions.clear();
  add_partitions(table, &state);
  for (PartitionApplier& partition : state.partitions) partition.index_rows();
}

void Applier::order_and_route(Work* work, Slice* slice) const {
  TableState& table = *work->table;
  const uint64_t start_ns = base::steady_ns();
  const size_t room = std::min(slice_records_ * slice->routed.size(), work->merge.left_at_most());
  if (slice->ordered.size() < room) slice->ordered.resize(room);
  const size_t count = work->merge.next(std::span(slice->ordered).first(room));
  const uint64_t ordered_ns = base::steady_ns();
  route(*work->rows, std::span(slice->ordered).first(count), &slice->routed);
  table.order_ns += ordered_ns - start_ns;
  table.route_ns += base::steady_ns() - ordered_ns;
}

void Applier::route(const storage::Table& rows, Records ordered, std::vector<Routed>* routed) {
  for (Routed& records : *routed) records.count = 0;
  for (const UpdateRecord* const record : ordered) {
    Routed& records = (*routed)[rows.partition_of(record->row_id).value];
    // Room for the most that may come would be the square of the number of partitions.
    if (records.count == records.pointers.size()) [[unlikely]]
      records.pointers.resize(std::max(kRoutedAtFirst, 2 * records.count));
    records.pointers[records.count++] = record;
  }
}

ApplyCounts Applier::counts_of(std::span<const TableState* const> tables) {
  ApplyCounts sum;
  for (const TableState* const table : tables) {
    for (const PartitionApplier& partition : table->partitions) {
      sum.inserts += partition.counts().inserts;
      sum.updates += partition.counts().updates;
      sum.deletes += partition.counts().deletes;
      sum.collapsed += partition.counts().collapsed;
    }
  }
  return sum;
}

ApplyReport Applier::apply(const CollectedSets& collected, const base::ForEach& for_each) {
  DIPTYCH_CHECK(collected.snapshot >= replica_->snapshot(), "the replica only moves forward");
  ApplyReport report;
  report.snapshot = collected.snapshot;
  // A database may have many tables, of which few have records: only these are looked at.
  std::vector<base::TableId> with_records;
  for (const SealedSet& set : collected.sets) {
    DIPTYCH_CHECK(set.table.value < tables_.size(), "a set's table was added to the applier");
    report.changes += set.updates->change_count();
    report.bytes += set.updates->used_bytes();
    with_records.push_back(set.table);
  }
  std::ranges::sort(with_records);
  with_records.erase(std::unique(with_records.begin(), with_records.end()), with_records.end());
  std::vector<Work> work;
  std::vector<const TableState*> changed;
  for (const base::TableId id : with_records) {
    UpdateMerge merge(collected, id);
    if (merge.done()) continue;
    work.push_back({&tables_[id.value], &replica_->table(id), std::move(merge)});
    changed.push_back(&tables_[id.value]);
    report.tables.push_back(id);
  }
  while (slices_.size() < work.size()) {
    slices_.emplace_back().routed.resize(replica_->partition_count());
  }
  const ApplyCounts before = counts_of(changed);
  while (!work.empty()) {
    for_each(static_cast<uint32_t>(work.size()),
             [&](uint32_t i) { order_and_route(&work[i], &slices_[i]); });
    for_each(replica_->partition_count(), [&](uint32_t p) {
      for (size_t i = 0; i < work.size(); ++i) {
        work[i].table->partitions[p].apply(slices_[i].routed[p].records(), &workspaces_[p]);
      }
    });
    std::erase_if(work, [](const Work& table_work) { return table_work.merge.done(); });
  }
  const ApplyCounts after = counts_of(changed);
  report.inserts = after.inserts - before.inserts;
  report.updates = after.updates - before.updates;
  report.deletes = after.deletes - before.deletes;
  report.collapsed = after.collapsed - before.collapsed;
  DIPTYCH_CHECK(report.inserts + report.updates + report.deletes == report.changes,
                "every change is applied, once");
  replica_->set_snapshot(collected.snapshot);
  return report;
}

std::optional<base::Tid> Applier::find(base::TableId table, base::RowId row_id) const {
  const base::PartitionId partition = replica_->table(table).partition_of(row_id);
  const std::optional<uint32_t> ordinal =
      tables_[table.value].partitions[partition.value].index().find(row_id);
  if (!ordinal) return std::nullopt;
  return base::Tid{partition, *ordinal};
}

std::vector<TableSteps> Applier::steps() const {
  std::vector<TableSteps> steps(tables_.size());
  for (const base::TableId id : replica_->live_tables()) {
    if (id.value >= tables_.size()) break;  // not added yet
    const TableState& table = tables_[id.value];
    TableSteps& table_steps = steps[id.value];
    table_steps.order_ns = table.order_ns;
    table_steps.route_ns = table.route_ns;
    for (const PartitionApplier& partition : table.partitions) {
      table_steps.changes += partition.counts().changes();
      table_steps.apply_ns += partition.counts().apply_ns;
      table_steps.lookup_ns += partition.counts().lookup_ns;
    }
  }
  return steps;
}

size_t Applier::memory_bytes() const {
  size_t bytes = 0;
  for (const ApplyWorkspace& work : workspaces_) bytes += work.memory_bytes();
  for (const Slice& slice : slices_) {
    bytes += slice.ordered.capacity() * sizeof(const UpdateRecord*);
    bytes += slice.routed.capacity() * sizeof(Routed);
    for (const Routed& records : slice.routed) {
      bytes += records.pointers.capacity() * sizeof records.pointers[0];
    }
  }
  for (const base::TableId id : replica_->live_tables()) {
    if (id.value >= tables_.size()) break;  // not added yet
    for (const PartitionApplier& partition : tables_[id.value].partitions) {
      bytes += partition.memory_bytes();
    }
  }
  return bytes;
}

}  // namespace diptych::propagation
