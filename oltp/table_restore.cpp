#include "oltp/table_restore.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/check.h"

namespace diptych::oltp {
namespace {

constexpr size_t kPrefetchedSlots = 8;

}  // namespace

TableRestore::TableRestore(EngineCore* core, Table* table, uint64_t rows_max, uint32_t lanes)
    : table_(table), pause_(core->memory_place().preparer) {
  DIPTYCH_CHECK(table->row_count == 0, "rows are put back into an empty table");
  for (const auto& index : table->indexes) {
    builds_.push_back(index->index->begin_build(rows_max, lanes));
    if (!index->unique) continue;
    builds_.back()->ask([&index](base::RowId a, base::RowId b) { return index->share_key(a, b); });
  }
  lanes_.reserve(lanes);
  for (uint32_t lane = 0; lane < lanes; ++lane) lanes_.emplace_back(&core->strings);
}

void TableRestore::begin_run(uint32_t lane, uint64_t rows_max) {
  for (const auto& build : builds_) build->begin_run(lane, rows_max);
}

base::Result<std::span<std::byte* const>> TableRestore::begin(uint32_t lane,
                                                              std::span<const base::RowId> ids) {
  Lane& own = lanes_[lane];
  own.ids.assign(ids.begin(), ids.end());
  own.rows.clear();
  for (const base::RowId id : ids) {
    if (id.value < RowTable::kSlotsMax) continue;
    return base::Error(base::ErrorCode::kCorrupt, fmt::format("table \"{}\" cannot have a row {}",
                                                              table_->schema->name, id.value));
  }
  table_->rows.cover(ids);
  const uint64_t live = live_word(base::Vid());
  for (size_t i = 0; i < ids.size(); ++i) {
    // The exchange below waits for its own cache line, and lets no other one come meanwhile.
    const base::RowId ahead = ids[std::min(i + kPrefetchedSlots, ids.size() - 1)];
    __builtin_prefetch(&table_->rows.slot(ahead), 1);
    const base::RowId id = ids[i];
    RowSlot& slot = table_->rows.slot(id);
    uint64_t dead = 0;
    // relaxed: rows are read by who finds them in an index, or later.
    if (!slot.word.compare_exchange_strong(dead, live, std::memory_order_relaxed)) {
      return base::Error(base::ErrorCode::kCorrupt, fmt::format("table \"{}\" has two rows {}",
                                                                table_->schema->name, id.value));
    }
    for (uint32_t group = 1; group < table_->layout.group_count; ++group) {
      // relaxed: as above.
      slot.group(group).word.store(live, std::memory_order_relaxed);
    }
    own.rows.push_back(slot.row());
  }
  return std::span<std::byte* const>(own.rows);
}

base::Result<void> TableRestore::end(uint32_t lane) {
  Lane& own = lanes_[lane];
  for (size_t i = 0; i < builds_.size(); ++i) {
    const TableIndex& index = *table_->indexes[i];
    for (size_t row = 0; row < own.rows.size(); ++row) {
      base::Key key;
      index.encoder.encode(own.rows[row], &key);
      if (!key.ok()) return index.key_too_long();
      builds_[i]->add(lane, key.bytes(), own.ids[row]);
    }
  }
  own.row_count += own.rows.size();
  return {};
}

void TableRestore::end_run(uint32_t lane) {
  for (const auto& build : builds_) build->end_run(lane);
}

uint32_t TableRestore::make_steps(uint32_t steps_max) {
  for (const auto& build : builds_) {
    const uint32_t steps = build->make_steps(steps_max);
    for (uint32_t i = 0; i < steps; ++i) steps_.push_back({build.get(), i});
  }
  return static_cast<uint32_t>(steps_.size());
}

void TableRestore::step(uint32_t number) {
  steps_[number].build->step(steps_[number].number);
}

base::Result<void> TableRestore::finish() {
  base::Result<void> finished;
  for (size_t i = 0; i < builds_.size(); ++i) {
    const TableIndex& index = *table_->indexes[i];
    const auto same = builds_[i]->finish();
    if (same && finished) finished = index.several_rows_have_key(same->second);
  }
  builds_.clear();
  for (Lane& lane : lanes_) {
    lane.strings.give_back();
    table_->row_count += lane.row_count;
  }
  return finished;
}

}  // namespace diptych::oltp
