#include "propagation/applier.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "base/check.h"
#include "base/clock.h"

namespace diptych::propagation {
namespace {

constexpr size_t kGroup = 16;                     // records whose cache misses overlap
constexpr size_t kKeptRecords = size_t{1} << 18;  // a bulk load's larger vectors are given back
constexpr uint32_t kUnknown = std::numeric_limits<uint32_t>::max();

// Walks the records of one worker for one table, set by set: a run that is sorted by VID.
class Run {
 public:
  explicit Run(base::WorkerId worker) : worker_(worker) {}

  base::WorkerId worker() const { return worker_; }
  void add(const UpdateSet* set) { sets_.push_back(set); }
  void start() { find_chunk(); }

  const UpdateRecord* head() const { return head_; }  // nullptr: at the end
  void advance() {
    const base::Vid before = head_->vid;
    head_ = head_->next();
    if (reinterpret_cast<const std::byte*>(head_) == chunk_end_) {
      ++chunk_;
      find_chunk();
    }
    DIPTYCH_CHECK(head_ == nullptr || head_->vid >= before, "a worker's sets are in VID order");
  }

 private:
  void find_chunk() {
    for (; set_ < sets_.size(); ++set_, chunk_ = 0) {
      const std::span<const UpdateSet::Chunk> chunks = sets_[set_]->chunks();
      if (chunk_ == chunks.size()) continue;
      head_ = reinterpret_cast<const UpdateRecord*>(chunks[chunk_].data);
      chunk_end_ = chunks[chunk_].data + chunks[chunk_].used;
      return;
    }
    head_ = nullptr;
  }

  base::WorkerId worker_;
  std::vector<const UpdateSet*> sets_;
  size_t set_ = 0;
  size_t chunk_ = 0;
  const UpdateRecord* head_ = nullptr;
  const std::byte* chunk_end_ = nullptr;
};

template <class T>
void clear_and_trim(std::vector<T>* records) {
  records->clear();
  if (records->capacity() > kKeptRecords) records->shrink_to_fit();
}

std::vector<Run> runs_of(const CollectedSets& collected, base::TableId table) {
  std::vector<Run> runs;
  for (const SealedSet& set : collected.sets) {
    if (set.table != table || set.updates->empty()) continue;
    auto run = std::find_if(runs.begin(), runs.end(),
                            [&](const Run& r) { return r.worker() == set.worker; });
    if (run == runs.end()) run = runs.insert(runs.end(), Run(set.worker));
    run->add(set.updates.get());
  }
  for (Run& run : runs) run.start();
  return runs;
}

}  // namespace

Applier::Applier(storage::Replica* replica, base::NumaNode node)
    : replica_(replica), node_(node), counts_(replica->partition_count()) {
  for (size_t i = 0; i < replica->table_count(); ++i) {
    add_table(base::TableId(static_cast<uint32_t>(i)));
  }
}

void Applier::add_table(base::TableId table) {
  if (table.value < tables_.size()) return;  // the constructor met it
  DIPTYCH_CHECK(table.value == tables_.size(), "tables are added in the order of TableIds");
  const storage::Table& rows = replica_->table(table);
  TableIndexes& indexes = tables_.emplace_back();
  for (uint32_t p = 0; p < replica_->partition_count(); ++p) {
    RowIndex& index = indexes.partitions.emplace_back(node_);
    const storage::Partition& partition = rows.partition(base::PartitionId(p));
    for (size_t i = 0; i < partition.leaf_count(); ++i) {
      const storage::Leaf& leaf = partition.leaf(i);
      for (uint32_t word = 0; word * 64 < leaf.row_slots(); ++word) {
        for (uint64_t bits = leaf.live_bits()[word]; bits != 0; bits &= bits - 1) {
          const uint32_t position = word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
          index.insert(leaf.row_id(position), leaf.first_ordinal() + position);
        }
      }
    }
  }
  routed_.resize(tables_.size() * replica_->partition_count());
  steps_.resize(tables_.size());
}

void Applier::order(const CollectedSets& collected, base::TableId table) {
  clear_and_trim(&ordered_);
  std::vector<Run> runs = runs_of(collected, table);
  // As many runs as workers: a linear search for the least head is as quick as a heap, and it is
  // done once a transaction.
  while (!runs.empty()) {
    auto least = runs.begin();
    base::Vid next(std::numeric_limits<uint64_t>::max());  // the least head of the others
    for (auto run = runs.begin() + 1; run != runs.end(); ++run) {
      if (run->head()->vid < least->head()->vid) {
        next = least->head()->vid;
        least = run;
      } else {
        next = std::min(next, run->head()->vid);
      }
    }
    do {
      DIPTYCH_CHECK(least->head()->vid <= collected.snapshot, "sets end at their snapshot");
      ordered_.push_back(least->head());
      least->advance();
    } while (least->head() != nullptr && least->head()->vid <= next);
    if (least->head() == nullptr) runs.erase(least);
  }
}

void Applier::route(base::TableId table) {
  const storage::Table& rows = replica_->table(table);
  for (const UpdateRecord* record : ordered_) {
    routed(table, rows.partition_of(record->row_id)).push_back({record->row_id, record});
  }
}

// The three stages of Chen, Ailamaki, Gibbons and Mowry's group prefetching. What stage 2 found
// holds in stage 3 unless a record of the same group moved the row: so after a delete, and for a
// row that was absent, stage 3 looks again (in a bucket that is in the cache by then). An ordinal,
// not a pointer, is what is kept: the index may grow and pages may be added in between.
void Applier::apply_group(std::span<const Routed> group, storage::Partition* partition,
                          RowIndex* index, const base::RowLayout& layout, Counts* counts) {
  std::array<uint32_t, kGroup> ordinals;
  for (size_t i = 0; i < group.size(); ++i) {
    const UpdateRecord& record = *group[i].record;
    ordinals[i] = kUnknown;
    if (record.type == UpdateType::kInsert) continue;
    const std::optional<uint32_t> found = index->find(group[i].row_id);
    if (!found) continue;
    ordinals[i] = *found;
    if (record.type != UpdateType::kUpdate) {
      partition->prefetch(*found);
      continue;
    }
    const auto* piece = reinterpret_cast<const UpdatePiece*>(record.body());
    for (uint16_t p = 0; p < record.pieces; ++p, piece = piece->next()) {
      partition->prefetch(*found, piece->column);
    }
  }
  bool rows_moved = false;
  for (size_t i = 0; i < group.size(); ++i) {
    const UpdateRecord& record = *group[i].record;
    const auto* const strings_base = reinterpret_cast<const std::byte*>(&record);
    switch (record.type) {
      case UpdateType::kInsert:
        index->insert(record.row_id, partition->insert(record.row_id, record.body(), strings_base));
        ++counts->inserts;
        break;
      case UpdateType::kDelete: {
        const std::optional<uint32_t> ordinal = index->erase(record.row_id);
        DIPTYCH_CHECK(ordinal.has_value(), "A2: only a row that lives is deleted");
        partition->erase(*ordinal);
        rows_moved = true;
        ++counts->deletes;
        break;
      }
      case UpdateType::kReplace: {
        const std::optional<uint32_t> found = index->find(record.row_id);
        DIPTYCH_CHECK(found.has_value(), "A2: only a row that lives is replaced");
        for (size_t c = 0; c < layout.columns.size(); ++c) {
          partition->update(*found, base::ColumnId(static_cast<uint16_t>(c)),
                            record.body() + layout.columns[c].offset, strings_base);
        }
        ++counts->updates;
        break;
      }
      case UpdateType::kUpdate: {
        uint32_t ordinal = ordinals[i];
        if (rows_moved || ordinal == kUnknown) {
          const std::optional<uint32_t> found = index->find(record.row_id);
          DIPTYCH_CHECK(found.has_value(), "A2: only a row that lives is updated");
          ordinal = *found;
        }
        const auto* piece = reinterpret_cast<const UpdatePiece*>(record.body());
        for (uint16_t p = 0; p < record.pieces; ++p, piece = piece->next()) {
          partition->update(ordinal, piece->column, piece->cell(), strings_base);
        }
        ++counts->updates;
        break;
      }
    }
  }
}

void Applier::apply_partition(base::TableId table, base::PartitionId partition) {
  const std::vector<Routed>& records = routed(table, partition);
  if (records.empty()) return;
  RowIndex& index = tables_[table.value].partitions[partition.value];
  storage::Partition& rows = replica_->table(table).partition(partition);
  // Stage 1 runs one group ahead, so that the bucket and the record are there when stage 2 asks.
  const auto prefetch_group = [&](size_t first) {
    const size_t end = std::min(first + kGroup, records.size());
    for (size_t i = first; i < end; ++i) {
      index.prefetch(records[i].row_id);
      __builtin_prefetch(records[i].record);
    }
  };
  prefetch_group(0);
  for (size_t first = 0; first < records.size(); first += kGroup) {
    prefetch_group(first + kGroup);
    const size_t count = std::min(kGroup, records.size() - first);
    apply_group({records.data() + first, count}, &rows, &index, replica_->table(table).layout(),
                &counts_[partition.value]);
  }
}

ApplyReport Applier::apply(const CollectedSets& collected,
                           const ForEachPartition& for_each_partition) {
  DIPTYCH_CHECK(collected.snapshot >= replica_->snapshot(), "the replica only moves forward");
  ApplyReport report;
  report.snapshot = collected.snapshot;
  for (const SealedSet& set : collected.sets) {
    DIPTYCH_CHECK(set.table.value < tables_.size(), "a set's table was added to the applier");
    report.records += set.updates->record_count();
    report.bytes += set.updates->used_bytes();
  }
  if (report.records == 0) {
    replica_->set_snapshot(collected.snapshot);
    return report;
  }
  for (std::vector<Routed>& records : routed_) clear_and_trim(&records);
  counts_.assign(counts_.size(), Counts());
  for (uint32_t t = 0; t < tables_.size(); ++t) {
    const uint64_t start = base::steady_ns();
    order(collected, base::TableId(t));
    const uint64_t ordered = base::steady_ns();
    route(base::TableId(t));
    const uint64_t routed_at = base::steady_ns();
    steps_[t].records += ordered_.size();
    steps_[t].order_ns += ordered - start;
    steps_[t].route_ns += routed_at - ordered;
    report.order_ns += ordered - start;
    report.route_ns += routed_at - ordered;
  }
  const uint64_t start = base::steady_ns();
  for_each_partition(replica_->partition_count(), [&](base::PartitionId partition) {
    uint64_t begin = base::steady_ns();
    for (uint32_t t = 0; t < tables_.size(); ++t) {
      apply_partition(base::TableId(t), partition);
      const uint64_t end = base::steady_ns();
      steps_[t].apply_ns += end - begin;
      begin = end;
    }
  });
  report.apply_ns = base::steady_ns() - start;
  for (const Counts& counts : counts_) {
    report.inserts += counts.inserts;
    report.updates += counts.updates;
    report.deletes += counts.deletes;
  }
  DIPTYCH_CHECK(report.inserts + report.updates + report.deletes == report.records,
                "every record is applied, once");
  replica_->set_snapshot(collected.snapshot);
  return report;
}

std::optional<base::Tid> Applier::find(base::TableId table, base::RowId row_id) const {
  const base::PartitionId partition = replica_->table(table).partition_of(row_id);
  const std::optional<uint32_t> ordinal =
      tables_[table.value].partitions[partition.value].find(row_id);
  if (!ordinal) return std::nullopt;
  return base::Tid{partition, *ordinal};
}

size_t Applier::memory_bytes() const {
  size_t bytes = ordered_.capacity() * sizeof(const UpdateRecord*);
  for (const TableIndexes& table : tables_) {
    for (const RowIndex& index : table.partitions) bytes += index.memory_bytes();
  }
  for (const std::vector<Routed>& records : routed_) bytes += records.capacity() * sizeof(Routed);
  return bytes;
}

}  // namespace diptych::propagation
