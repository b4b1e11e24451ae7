// Engine between batches: tables and indexes, loading, restoring, reading everything.

#include <algorithm>
#include <new>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "base/key.h"
#include "oltp/engine.h"
#include "oltp/engine_state.h"
#include "oltp/index_build.h"
#include "oltp/table_restore.h"

namespace diptych::oltp {
namespace {

void note_name(std::vector<std::string>* names, size_t id, const std::string& name) {
  if (id >= names->size()) names->resize(id + 1);
  (*names)[id] = name;
}

TableIndex& attach_index(EngineCore* core, Table* table, const base::IndexSchema& schema) {
  const bool primary = table->indexes.empty();
  core->indexes.resize(std::max<size_t>(core->indexes.size(), schema.id.value + 1), nullptr);
  note_name(&core->index_names, schema.id.value, schema.name);
  // Between batches the leader is alone (State::run_on_workers).
  table->indexes.push_back(std::make_unique<TableIndex>(
      table, schema, primary, Concurrency::kSingle, core->memory_place()));
  core->indexes[schema.id.value] = table->indexes.back().get();
  table->update_column_flags();
  return *table->indexes.back();
}

// Of an index of so many rows, at most, about: while it is filled, its entries are there twice.
size_t index_bytes(const Table& table, const base::IndexSchema& schema, uint64_t rows) {
  constexpr size_t kHashEntryBytes = 24;
  if (schema.kind == base::IndexKind::kHash) return kHashEntryBytes * rows;
  const auto key = base::longest_key(table.layout, schema.columns);
  return 2 * rows * (key.value_or(base::kKeyBytesMax) + sizeof(base::RowId));
}

// What a load has taken so far, by which it is limited, and not by what a batch may take: slots and
// blocks of rows that have gone do not count, nor do its indexes' entries of such slots.
class LoadMemory {
 public:
  LoadMemory(EngineCore* core, const Table& table)
      : core_(core),
        table_(table),
        rows_before_(table.rows.allocated_bytes()),
        strings_before_(core->strings.allocated_bytes()) {
    core->strings.let_grow(true);
    for (const auto& index : table.indexes) entry_bytes_ += index_bytes(table, index->schema, 1);
  }

  LoadMemory(const LoadMemory&) = delete;
  LoadMemory& operator=(const LoadMemory&) = delete;
  ~LoadMemory() { core_->strings.let_grow(core_->may_grow()); }

  size_t bytes() const {
    const size_t slots = table_.rows.allocated_bytes() - rows_before_;
    const size_t entries = slots / table_.rows.slot_bytes() * entry_bytes_;
    return slots + entries + core_->strings.allocated_bytes() - strings_before_;
  }

 private:
  EngineCore* const core_;
  const Table& table_;
  const size_t rows_before_;
  const size_t strings_before_;
  size_t entry_bytes_ = 0;  // of a row
};

// Adds every row. kAlreadyExists: two of them have the same key.
base::Result<void> fill_index(Table* table, TableIndex* index) try {
  const auto build = index->index->begin_build(table->row_count, 1);
  if (index->unique) {
    build->ask([&](base::RowId a, base::RowId b) { return index->share_key(a, b); });
  }
  base::Result<void> filled;
  build->begin_run(0, table->row_count);
  table->rows.for_each([&](base::RowId row_id, const std::byte* row) {
    base::Key key;
    index->encoder.encode(row, &key);
    if (key.ok()) {
      build->add(0, key.bytes(), row_id);
    } else {
      filled = index->key_too_long();
    }
  });
  build->end_run(0);
  const uint32_t steps = build->make_steps(1);
  for (uint32_t i = 0; i < steps; ++i) build->step(i);
  const auto same = build->finish();
  if (same && filled) filled = index->several_rows_have_key(same->second);
  return filled;
} catch (const std::bad_alloc&) {
  return base::Error(
      base::ErrorCode::kOutOfMemory,
      fmt::format("index \"{}\": the system has no memory left to build it", index->schema.name));
}

}  // namespace

void Engine::add_table(base::TableId id) {
  EngineCore& core = state_->core;
  if (core.find_table(id) != nullptr) return;  // the constructor has added it
  const base::TableSchema& schema = core.catalog->table(id);
  if (id.value >= core.tables.size()) core.tables.resize(id.value + 1);
  note_name(&core.table_names, id.value, schema.name);
  core.tables[id.value] = std::make_unique<Table>(schema, core.memory_place());
  for (const base::IndexSchema& index : schema.indexes) {
    attach_index(&core, core.tables[id.value].get(), index);
  }
  for (auto& worker : state_->workers) worker->add_table();
}

void Engine::drop_table(base::TableId id) {
  EngineCore& core = state_->core;
  Table& table = core.table(id);
  if (!table.layout.long_strings.empty()) {
    table.rows.for_each(
        [&](base::RowId, const std::byte* row) { state_->leader().retire_strings(table, row); });
  }
  for (auto& worker : state_->workers) worker->forget_table(id);
  for (const auto& index : table.indexes) core.indexes[index->schema.id.value] = nullptr;
  core.tables[id.value] = nullptr;
  state_->reach_boundary();
}

base::Result<void> Engine::add_index(base::TableId table_id, base::IndexId id) {
  EngineCore& core = state_->core;
  Table& table = core.table(table_id);
  if (id.value < core.indexes.size() && core.indexes[id.value] != nullptr) return {};
  const auto& schemas = table.schema->indexes;
  const auto schema = std::find_if(schemas.begin(), schemas.end(),
                                   [&](const base::IndexSchema& index) { return index.id == id; });
  DIPTYCH_CHECK(schema != schemas.end(), "the catalog has the index");
  const size_t bytes = index_bytes(table, *schema, table.row_count);
  if (bytes > core.room) {
    return base::Error(
        base::ErrorCode::kOutOfMemory,
        fmt::format("index \"{}\" would take up to {} MiB; {}: there is room for {} MiB",
                    schema->name, (bytes >> 20) + 1, kNoRoom, core.room >> 20));
  }
  const size_t before = table.indexes.size();
  const auto take_back = [&] {
    if (id.value < core.indexes.size()) core.indexes[id.value] = nullptr;
    table.indexes.erase(table.indexes.begin() + static_cast<ptrdiff_t>(before),
                        table.indexes.end());
    table.update_column_flags();
  };
  base::Result<void> filled;
  try {
    filled = fill_index(&table, &attach_index(&core, &table, *schema));
  } catch (...) {
    take_back();
    throw;
  }
  if (!filled) take_back();
  for (auto& worker : state_->workers) worker->change_indexes();
  state_->leader().touch(table);
  return filled;
}

base::Vid Engine::truncate_table(base::TableId id) {
  drop_table(id);
  add_table(id);
  // relaxed: between batches nobody else runs.
  const base::Vid vid(state_->core.last_vid.load(std::memory_order_relaxed) + 1);
  // release: pairs with the acquire at a transaction's begin (C1).
  state_->core.last_vid.store(vid.value, std::memory_order_release);
  state_->reach_boundary();
  return vid;
}

void Engine::set_room(size_t bytes) {
  EngineCore& core = state_->core;
  const bool could_grow = core.may_grow();
  core.room = bytes;
  if (core.may_grow() != could_grow) core.strings.let_grow(core.may_grow());
}

void Engine::drop_index(base::TableId table_id, base::IndexId id) {
  Table& table = state_->core.table(table_id);
  DIPTYCH_CHECK(table.indexes.front()->schema.id != id, "a table keeps its primary key");
  state_->core.indexes[id.value] = nullptr;
  std::erase_if(table.indexes, [&](const auto& index) { return index->schema.id == id; });
  table.update_column_flags();
  for (auto& worker : state_->workers) worker->change_indexes();
}

base::Result<base::Vid> Engine::load(base::TableId table_id,
                                     const std::function<base::Result<RowBatch>()>& next,
                                     propagation::LoadSink* sink) {
  EngineCore& core = state_->core;
  Table& table = core.table(table_id);
  Worker& leader = state_->leader();
  // relaxed: between batches nobody else runs, here and below.
  const base::Vid vid(core.last_vid.load(std::memory_order_relaxed) + 1);
  propagation::RowIdRuns loaded;
  std::vector<propagation::LoadedRow> given;
  // What is not taken back would be the next commit's: where there is no memory for that, the
  // process ends, and the log brings all but the load back.
  const auto unload = [&](base::RowId row_id) noexcept { leader.unload_row(&table, row_id); };
  const auto undo = [&](base::Error error) noexcept {
    given = {};  // makes room
    if (sink != nullptr) sink->discard(loaded);
    loaded.for_each(unload);
    state_->reach_boundary();
    return error;
  };
  const LoadMemory taken(&core, table);
  uint64_t rows = 0;
  try {
    while (true) {
      const auto batch = next();
      if (!batch) return undo(batch.error());
      if (batch->count == 0) break;
      given.clear();
      given.reserve(batch->count);
      for (size_t i = 0; i < batch->count; ++i) {
        auto row_id = leader.load_row(&table, batch->rows + i * table.layout.bytes, vid);
        if (!row_id) {
          return undo(row_id.error().within(
              fmt::format("table \"{}\", row {}", table.schema->name, rows + 1)));
        }
        ++rows;
        given.push_back({*row_id, table.rows.slot(*row_id).row()});
        loaded.append(*row_id);
      }
      if (sink != nullptr) sink->take(given);
      if (taken.bytes() > core.room) {
        return undo(base::Error(base::ErrorCode::kOutOfMemory,
                                fmt::format("table \"{}\", row {}: {}: there is room for {} MiB",
                                            table.schema->name, rows, kNoRoom, core.room >> 20)));
      }
    }
  } catch (const std::bad_alloc&) {
    const uint64_t row = loaded.size() + 1;
    if (rows > loaded.size()) unload(given.back().row_id);
    const base::Error undone = undo(base::ErrorCode::kOutOfMemory);
    return undone.within(fmt::format(
        "table \"{}\", row {}: the system has no memory left to load it", table.schema->name, row));
  } catch (...) {
    if (rows > loaded.size()) unload(given.back().row_id);
    static_cast<void>(undo(base::ErrorCode::kAborted));
    throw;
  }
  if (loaded.size() == 0) return last_vid();
  // release: pairs with the acquire at a transaction's begin (C1).
  core.last_vid.store(vid.value, std::memory_order_release);
  state_->reach_boundary();
  return vid;
}

std::unique_ptr<TableRestore> Engine::restore_table(base::TableId table, uint64_t rows_max,
                                                    uint32_t lanes) {
  return std::make_unique<TableRestore>(&state_->core, &state_->core.table(table), rows_max, lanes);
}

void Engine::lose() {
  // relaxed: workers stop a little sooner or later; the leader decides what is lost.
  state_->core.lost.store(true, std::memory_order_relaxed);
}

void Engine::clear() {
  EngineCore& core = state_->core;
  core.indexes.clear();
  core.tables.clear();
  core.strings.clear();
  set_room(SIZE_MAX);
  for (auto& worker : state_->workers) worker->forget_rows();
  for (const base::TableSchema& table : core.catalog->tables()) add_table(table.id);
  state_->take_back_batch();
  // relaxed: between batches nobody else runs.
  core.lost.store(false, std::memory_order_relaxed);
}

void Engine::finish_restore(base::Vid vid) {
  // release: pairs with the acquire at a transaction's begin (C1).
  state_->core.last_vid.store(vid.value, std::memory_order_release);
  state_->finish_restore(vid);
}

void Engine::release_free_slots() {
  for (auto& worker : state_->workers) worker->forget_free_slots();
  for (const auto& table : state_->core.tables) {
    if (table != nullptr) table->rows.free_dead_slots(table->row_count);
  }
}

void Engine::for_each_row(
    base::TableId table,
    const std::function<void(base::RowId, const std::byte* row)>& visit) const {
  state_->core.table(table).rows.for_each(visit);
}

uint64_t Engine::row_count(base::TableId table) const {
  return state_->core.table(table).row_count;
}

void Engine::check_indexes() const {
  for (const TableIndex* const index : state_->core.indexes) {
    if (index != nullptr) index->check();
  }
}

}  // namespace diptych::oltp
