#include "propagation/partition_applier.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "base/clock.h"
#include "storage/buffered_chunk.h"

namespace diptych::propagation {
namespace {

constexpr uint64_t kSampledGroups = 16;  // one of them is timed
// Updates are looked through for ones to collapse where they are so many for each row.
constexpr size_t kCollapsedPerRow = 4;
constexpr size_t kSeenPlaces = 512;
constexpr size_t kLineBytes = 64;
constexpr size_t kWordColumns = sizeof(uint64_t) / sizeof(base::ColumnId);
constexpr size_t kLoadedTogether = 1024;
constexpr uint64_t kMix = 0x9e3779b97f4a7c15ULL;

}  // namespace

PartitionApplier::PartitionApplier(storage::Partition* partition, const base::RowLayout* layout,
                                   base::NumaNode node)
    : partition_(partition), layout_(layout), index_(node) {
  for (size_t i = 0; i < layout->columns.size(); ++i) {
    whole_row_.columns.emplace_back(static_cast<uint16_t>(i));
    whole_row_.cell_offsets.push_back(static_cast<uint32_t>(sizeof(UpdateRecord)) +
                                      layout->columns[i].offset);
  }
}

void PartitionApplier::index_rows() {
  partition_->finish_restore();
  for (size_t i = 0; i < partition_->leaf_count(); ++i) {
    const storage::Leaf& leaf = partition_->leaf(i);
    const storage::PinnedColumn row_ids = storage::value_or_throw(leaf.pin_row_ids());
    storage::DecodeBuffer buffer;
    const auto* const ids = row_ids.view(0, leaf.row_slots(), &buffer).as<base::RowId>();
    for (uint32_t word = 0; word * 64 < leaf.row_slots(); ++word) {
      for (uint64_t bits = leaf.live_bits()[word]; bits != 0; bits &= bits - 1) {
        const uint32_t position = word * 64 + static_cast<uint32_t>(std::countr_zero(bits));
        index_.insert(ids[position], leaf.first_ordinal() + position);
      }
    }
  }
}

bool PartitionApplier::is_of(const Plan& plan, const UpdateRecord& update) {
  uint64_t first_columns;  // and cells behind them: a body has eight bytes at least
  std::memcpy(&first_columns, update.body(), sizeof first_columns);
  if (((first_columns ^ plan.first_columns) & plan.columns_mask) != 0) return false;
  if (update.pieces != plan.columns.size()) return false;
  return update.pieces <= kWordColumns || std::ranges::equal(update.columns(), plan.columns);
}

const PartitionApplier::Plan* PartitionApplier::plan_of(const UpdateRecord& update) {
  if (last_plan_ != nullptr && is_of(*last_plan_, update)) return last_plan_;
  for (const Plan& plan : plans_) {
    if (is_of(plan, update)) return last_plan_ = &plan;
  }
  const std::span<const base::ColumnId> columns = update.columns();
  Plan& plan = plans_.emplace_back();
  plan.columns.assign(columns.begin(), columns.end());
  const size_t word_bytes = std::min(columns.size(), kWordColumns) * sizeof(base::ColumnId);
  std::memcpy(&plan.first_columns, columns.data(), word_bytes);
  std::memset(&plan.columns_mask, 0xff, word_bytes);
  size_t offset = sizeof(UpdateRecord) + columns.size_bytes();
  for (const base::ColumnId column : columns) {
    plan.cell_offsets.push_back(static_cast<uint32_t>(offset));
    offset += layout_->column(column).bytes;
  }
  return last_plan_ = &plan;
}

// From the last record to the first: an update whose row and columns were met before is dropped,
// since that later one writes the same cells (or the row is gone by then). What was met is kept in
// a few places that may be taken over, which only means that less is dropped.
std::span<const UpdateRecord* const> PartitionApplier::collapse(
    std::span<const UpdateRecord* const> records) {
  struct Seen {
    base::RowId row_id;
    const Plan* plan = nullptr;
  };
  std::array<Seen, kSeenPlaces> seen{};
  kept_.resize(records.size());
  size_t first = records.size();
  for (size_t i = records.size(); i-- != 0;) {
    const UpdateRecord& record = *records[i];
    if (record.type == UpdateType::kUpdate) {
      const Plan* const plan = plan_of(record);
      const uint64_t key = record.row_id.value + reinterpret_cast<uintptr_t>(plan);
      Seen& place = seen[key * kMix >> (64 - std::countr_zero(kSeenPlaces))];
      if (place.plan == plan && place.row_id == record.row_id) {
        ++counts_.collapsed;
        ++counts_.updates;
        continue;
      }
      place = {record.row_id, plan};
    }
    kept_[--first] = records[i];
  }
  return std::span(kept_).subspan(first);
}

void PartitionApplier::find(std::span<const UpdateRecord* const> records, Group* group) {
  group->records = records;
  group->run_count = 0;
  if (records.empty()) return;
  Run run{};
  for (uint32_t i = 0; i < records.size(); ++i) {
    const UpdateRecord& record = *records[i];
    group->entries[i] = index_.entry(record.row_id);
    __builtin_prefetch(group->entries[i], 1);
    const bool is_update = record.type == UpdateType::kUpdate;
    if (i != 0 && record.type == run.type && (!is_update || is_of(*run.plan, record))) continue;
    if (i != 0) group->add_run(run, i);
    run = {record.type, i, 0, nullptr};
    if (is_update) run.plan = plan_of(record);
    if (record.type == UpdateType::kReplace) run.plan = &whole_row_;
  }
  group->add_run(run, static_cast<uint32_t>(records.size()));
}

// Of rows that are not there yet, and those whose ordinal is about to change, nothing or the wrong
// cells are prefetched: a hint.
void PartitionApplier::approach(const Group& group) const {
  for (const Run& run : std::span(group.runs).first(group.run_count)) {
    if (run.type == UpdateType::kInsert) continue;
    std::array<uint32_t, kGroup> ordinals;
    size_t count = 0;
    for (uint32_t i = run.first; i < run.end; ++i) {
      const RowIndex::Entry entry = *group.entries[i];
      if (entry != 0) ordinals[count++] = entry - 1;
    }
    const std::span<const uint32_t> found = std::span(ordinals).first(count);
    if (run.type == UpdateType::kDelete) {
      for (const uint32_t ordinal : found) partition_->prefetch_erase(ordinal);
      continue;
    }
    std::array<storage::RowPlace, kGroup> places;
    partition_->locate(found, places.data());
    partition_->prefetch(std::span(places).first(count), run.plan->columns);
  }
}

void PartitionApplier::insert(std::span<const UpdateRecord* const> records) {
  std::array<storage::NewRow, kGroup> rows;
  std::array<uint32_t, kGroup> ordinals;
  for (size_t i = 0; i < records.size(); ++i) {
    const UpdateRecord& record = *records[i];
    rows[i] = {record.row_id, record.body(), reinterpret_cast<const std::byte*>(&record)};
  }
  partition_->insert(std::span(rows).first(records.size()), ordinals.data());
  for (size_t i = 0; i < records.size(); ++i) index_.insert(records[i]->row_id, ordinals[i]);
  counts_.inserts += records.size();
}

void PartitionApplier::erase(std::span<const UpdateRecord* const> records) {
  for (const UpdateRecord* const record : records) {
    const std::optional<uint32_t> ordinal = index_.erase(record->row_id);
    DIPTYCH_CHECK(ordinal.has_value(), "A2: only a row that lives is deleted");
    partition_->erase(*ordinal);
  }
  counts_.deletes += records.size();
}

void PartitionApplier::update(const Group& group, const Run& run) {
  const size_t count = run.end - run.first;
  std::array<uint32_t, kGroup> ordinals;
  std::array<storage::RowPlace, kGroup> places;
  std::array<const std::byte*, kGroup> bytes;
  for (size_t i = 0; i < count; ++i) {
    const RowIndex::Entry entry = *group.entries[run.first + i];
    DIPTYCH_CHECK(entry != 0, "A2: only a row that lives is updated");
    ordinals[i] = entry - 1;
    bytes[i] = reinterpret_cast<const std::byte*>(group.records[run.first + i]);
  }
  partition_->find(std::span(ordinals).first(count), places.data());
  const std::span<const storage::RowPlace> found = std::span(places).first(count);
  partition_->note_writes(found);
  for (size_t c = 0; c < run.plan->columns.size(); ++c) {
    const auto stay = partition_->update(found, run.plan->columns[c], std::span(bytes).first(count),
                                         run.plan->cell_offsets[c]);
    if (stay == storage::Partition::Places::kMoved) {
      partition_->find(std::span(ordinals).first(count), places.data());
    }
  }
  counts_.updates += count;
}

void PartitionApplier::write(const Group& group) {
  for (const Run& run : std::span(group.runs).first(group.run_count)) {
    const auto records = group.records.subspan(run.first, run.end - run.first);
    switch (run.type) {
      case UpdateType::kInsert: insert(records); break;
      case UpdateType::kDelete: erase(records); break;
      case UpdateType::kUpdate:
      case UpdateType::kReplace: update(group, run); break;
    }
  }
}

void PartitionApplier::apply(std::span<const UpdateRecord* const> records) {
  if (records.empty()) return;
  const uint64_t begin_ns = base::steady_ns();
  if (records.size() >= kCollapsedPerRow * partition_->live_rows()) records = collapse(records);
  const auto group_of = [&](size_t number) {
    const size_t first = std::min(number * kGroup, records.size());
    return records.subspan(first, std::min<size_t>(kGroup, records.size() - first));
  };
  std::array<Group, 3> groups;
  find(group_of(0), &groups[0]);
  find(group_of(1), &groups[1]);
  approach(groups[0]);
  const size_t count = (records.size() + kGroup - 1) / kGroup;
  for (size_t k = 0; k < count; ++k) {
    const bool sampled = ++groups_ % kSampledGroups == 0;
    const uint64_t start_ns = sampled ? base::steady_ns() : 0;
    for (const UpdateRecord* const record : group_of(k + 4)) {
      __builtin_prefetch(record);
      __builtin_prefetch(reinterpret_cast<const std::byte*>(record) + kLineBytes);
    }
    for (const UpdateRecord* const record : group_of(k + 3)) index_.prefetch(record->row_id);
    find(group_of(k + 2), &groups[(k + 2) % 3]);
    approach(groups[(k + 1) % 3]);
    const uint64_t found_ns = sampled ? base::steady_ns() : 0;
    write(groups[k % 3]);
    if (!sampled) continue;
    counts_.sampled_lookup_ns += found_ns - start_ns;
    counts_.sampled_write_ns += base::steady_ns() - found_ns;
  }
  index_.trim();
  counts_.apply_ns += base::steady_ns() - begin_ns;
}

size_t PartitionApplier::load(std::span<const storage::NewRow> rows) {
  const uint64_t room = partition_->slots_before_block();
  if (room == 0 && rows.size() == partition_->block_rows()) {
    if (const std::optional<uint32_t> first = partition_->append_block(rows)) {
      for (size_t i = 0; i < rows.size(); ++i) {
        index_.insert(rows[i].row_id, *first + static_cast<uint32_t>(i));
      }
      return rows.size();
    }
  }
  if (room != 0) rows = rows.first(std::min<uint64_t>(rows.size(), room));
  std::array<uint32_t, kLoadedTogether> ordinals;
  for (size_t at = 0; at < rows.size(); at += kLoadedTogether) {
    const auto some = rows.subspan(at, std::min(kLoadedTogether, rows.size() - at));
    partition_->insert(some, ordinals.data());
    for (size_t i = 0; i < some.size(); ++i) index_.insert(some[i].row_id, ordinals[i]);
  }
  // So that a load that takes this way leaves no more than a range of pages behind it.
  if (partition_->slots_before_block() == 0) partition_->compact_all();
  return rows.size();
}

void PartitionApplier::unload(const RowIdRuns& loaded) {
  loaded.for_each([&](base::RowId row_id) {
    if (const std::optional<uint32_t> ordinal = index_.erase(row_id)) partition_->erase(*ordinal);
  });
  index_.trim();
  partition_->drop_dead_ranges();
}

size_t PartitionApplier::memory_bytes() const {
  return index_.memory_bytes() + kept_.capacity() * sizeof(const UpdateRecord*);
}

}  // namespace diptych::propagation
