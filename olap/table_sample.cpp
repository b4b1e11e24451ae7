#include "olap/table_sample.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/string_ref.h"

namespace diptych::olap {

using storage::ChangeWatch;

namespace {

// A column's values are given out anew, and sorted anew, once so many have changed since.
constexpr size_t kChangeShare = 8;
constexpr size_t kChangesMin = 64;
// And while at most this share of what is drawn is not in memory.
constexpr size_t kUnreadShare = 4;

uint64_t key_of(base::Tid tid) {
  return uint64_t{tid.partition.value} << 32 | tid.ordinal;
}

// The level that draws at most so many rows; the one that is there, while it draws about as many.
uint32_t fitting_level(uint32_t level, uint64_t rows, uint64_t most) {
  const uint64_t drawn = rows >> level;
  if (drawn <= most + most / 4 && (level == 0 || drawn >= most * 2 / 5)) return level;
  level = 0;
  while (rows >> level > most && level < ChangeWatch::kLevelMax) ++level;
  return level;
}

double number_at(const base::DataType& type, const storage::ColumnView& view, uint32_t i) {
  if (view.is_null(i)) return SampledValues::kNull;
  switch (type.kind) {
    case base::TypeKind::kInt:
    case base::TypeKind::kDate: return view.as<int32_t>()[i];
    case base::TypeKind::kDouble: {
      const double number = view.as<double>()[i];
      return std::isnan(number) ? SampledValues::kNull : number;
    }
    case base::TypeKind::kBoolean: return view.as<uint8_t>()[i];
    case base::TypeKind::kChar:
    case base::TypeKind::kVarchar: return text_number(view.as<base::StringRef>()[i].view());
    default: return static_cast<double>(view.as<int64_t>()[i]);
  }
}

}  // namespace

TableSample::TableSample(const base::TableSchema& schema, Levels levels) : levels_(levels) {
  for (const base::ColumnSchema& column : schema.columns) {
    columns_.emplace_back().type = column.type;
  }
}

bool TableSample::lacks_some() const {
  return std::any_of(columns_.begin(), columns_.end(),
                     [](const Column& column) { return !column.unread.empty(); });
}

void TableSample::refresh(storage::Table* table, const Changes& changes,
                          const std::vector<bool>& changed) {
  const uint64_t rows = table->live_rows();
  const Levels levels{fitting_level(levels_.rows, rows, kSampledRows),
                      fitting_level(levels_.texts, rows, kSampledTexts)};
  const bool is_new = levels != levels_ || std::any_of(changes.begin(), changes.end(),
                                                       [](const auto& one) { return one.is_all; });
  const bool has_grown = std::exchange(rows_, rows) != rows;
  levels_ = levels;
  gone_.clear();
  const std::vector<Place> places = is_new ? draw(table) : follow(*table, changes);
  for (size_t c = 0; c < columns_.size(); ++c) {
    Column& column = columns_[c];
    if (is_new || changed[c]) add_unread(places, &column);
    column.is_old = column.is_old || is_new || has_grown;
    refresh_column(*table, base::ColumnId(static_cast<uint16_t>(c)));
  }
}

std::vector<TableSample::Place> TableSample::draw(storage::Table* table) {
  slots_.clear();
  free_.clear();
  slot_of_.clear();
  for (Column& column : columns_) column.clear();
  std::vector<Place> places;
  for (uint32_t p = 0; p < table->partition_count(); ++p) {
    const base::PartitionId id(p);
    table->partition(id).watch().draw(levels_.rows);
    const storage::Partition& partition = table->partition(id);
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      const storage::Leaf& leaf = partition.leaf(l);
      if (leaf.live_rows() == 0) continue;
      for (uint32_t i = 0; i < leaf.row_slots(); ++i) {
        const base::Tid tid{id, leaf.first_ordinal() + i};
        if (!ChangeWatch::is_drawn(tid.ordinal, levels_.rows) || !leaf.lives(i)) continue;
        places.push_back({tid, take_slot(tid)});
      }
    }
  }
  return places;
}

std::vector<TableSample::Place> TableSample::follow(const storage::Table& table,
                                                    const Changes& changes) {
  std::vector<Place> places;
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    const storage::Partition& partition = table.partition(base::PartitionId(p));
    const uint32_t row_slots = partition.row_slots();
    for (const uint32_t ordinal : changes[p].rows) {
      const base::Tid tid{base::PartitionId(p), ordinal};
      uint32_t position = 0;
      const bool lives =
          ordinal < row_slots && partition.leaf_of(ordinal, &position).lives(position);
      const auto found = slot_of_.find(key_of(tid));
      if (lives) {
        places.push_back({tid, found == slot_of_.end() ? take_slot(tid) : found->second});
      } else if (found != slot_of_.end()) {
        drop_slot(found->second);
      }
    }
  }
  std::sort(places.begin(), places.end());
  return places;
}

TableSample::Slot TableSample::take_slot(base::Tid tid) {
  auto slot = static_cast<Slot>(slots_.size());
  if (free_.empty()) {
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  slots_[slot] = {tid, true};
  slot_of_.emplace(key_of(tid), slot);
  return slot;
}

void TableSample::drop_slot(Slot slot) {
  slot_of_.erase(key_of(slots_[slot].tid));
  slots_[slot].lives = false;
  free_.push_back(slot);
  gone_.push_back(slot);
}

void TableSample::add_unread(const std::vector<Place>& places, Column* column) const {
  std::vector<Place>& unread = column->unread;
  std::erase_if(unread, [&](const Place& place) { return !is_current(place); });
  const bool was_empty = unread.empty();
  unread.insert(unread.end(), places.begin(), places.end());
  if (was_empty) return;
  std::sort(unread.begin(), unread.end());
  unread.erase(std::unique(unread.begin(), unread.end()), unread.end());
}

void TableSample::refresh_column(const storage::Table& table, base::ColumnId id) {
  Column& column = columns_[id.value];
  for (const Slot slot : gone_) {
    column.set_number(slot, SampledValues::kNone);
    column.set_text(slot, std::nullopt);
  }
  std::vector<Place> absent;
  for (size_t at = 0; at < column.unread.size();) {
    const std::span<const Place> rest = std::span(column.unread).subspan(at);
    size_t done = read_leaf(table, id, rest, &column);
    if (done == 0) {
      done = places_of_leaf(table, rest);
      absent.insert(absent.end(), rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(done));
    }
    at += done;
  }
  if (absent.empty() && !column.unread.empty()) column.is_old = true;  // what is missing has come
  column.unread = std::move(absent);
  const size_t drawn = slots_.size() - free_.size();
  if (rows_ == 0) {
    column.sample = nullptr;
    column.is_old = true;
  } else if (column.is_old && column.unread.size() <= drawn / kUnreadShare) {
    const bool is_whole = levels_.rows == 0 && column.unread.empty();
    column.give_out(is_whole ? SampledColumn::Extent::kWhole : SampledColumn::Extent::kSome, rows_);
  }
}

size_t TableSample::places_of_leaf(const storage::Table& table, std::span<const Place> places) {
  uint32_t position = 0;
  const base::Tid first = places.front().tid;
  const storage::Leaf& leaf = table.partition(first.partition).leaf_of(first.ordinal, &position);
  const base::Tid end{first.partition, leaf.first_ordinal() + leaf.row_slots()};
  const auto is_before = [](const Place& place, const base::Tid& tid) { return place.tid < tid; };
  return static_cast<size_t>(std::lower_bound(places.begin(), places.end(), end, is_before) -
                             places.begin());
}

bool TableSample::Column::has_many_changes() const {
  return changes.size() > numbers.size() / kChangeShare + kChangesMin;
}

void TableSample::Column::clear() {
  numbers.clear();
  texts.clear();
  given = nullptr;
  given_texts = nullptr;
  changes.clear();
  unread.clear();
}

void TableSample::Column::set_number(Slot slot, double number) {
  const bool is_there = slot < numbers.size();
  const double before = is_there ? numbers[slot] : SampledValues::kNone;
  if (std::bit_cast<uint64_t>(before) == std::bit_cast<uint64_t>(number)) return;
  if (!is_there) numbers.resize(slot + 1, SampledValues::kNone);
  numbers[slot] = number;
  is_old = true;
  if (given == nullptr) return;
  if (has_many_changes()) {
    given = nullptr;  // given out anew
    changes.clear();
  } else {
    changes.push_back({slot, number});
  }
}

void TableSample::Column::set_text(Slot slot, std::optional<std::string_view> text) {
  const auto found = texts.find(slot);
  if (found == texts.end() ? !text.has_value() : text == found->second) return;
  if (text.has_value()) {
    texts.insert_or_assign(slot, std::string(*text));
  } else {
    texts.erase(found);
  }
  is_old = true;
  given_texts = nullptr;
}

void TableSample::Column::give_out(SampledColumn::Extent extent, uint64_t table_rows) {
  if (given == nullptr || has_many_changes()) {
    given.reset(new SampledValues(numbers));
    changes.clear();
  }
  if (type.is_string() && given_texts == nullptr) given_texts.reset(new SampledTexts(texts));
  sample.reset(new SampledColumn(given, changes, given_texts, extent, table_rows));
  is_old = false;
}

// Values of one run of rows, decoded together, are read one after the other.
size_t TableSample::read_leaf(const storage::Table& table, base::ColumnId id,
                              std::span<const Place> places, Column* column) const {
  const base::PartitionId partition = places.front().tid.partition;
  uint32_t position = 0;
  const storage::Leaf& leaf =
      table.partition(partition).leaf_of(places.front().tid.ordinal, &position);
  if (!leaf.in_memory(id)) return 0;
  const auto pinned = leaf.pin(id);
  if (!pinned) return 0;
  const base::Tid end{partition, leaf.first_ordinal() + leaf.row_slots()};
  storage::DecodeBuffer buffer;
  std::vector<uint16_t> run;
  size_t done = 0;
  while (done < places.size() && places[done].tid < end) {
    const uint32_t first = (places[done].tid.ordinal - leaf.first_ordinal()) / 64 * 64;
    const base::Tid run_end{partition, leaf.first_ordinal() + first + storage::kVectorRows};
    run.clear();
    for (size_t i = done; i < places.size() && places[i].tid < std::min(end, run_end); ++i) {
      run.push_back(static_cast<uint16_t>(places[i].tid.ordinal - leaf.first_ordinal() - first));
    }
    const uint32_t count = run.back() + 1U;
    const auto some = pinned->view_some(first, count, run, &buffer);
    const storage::ColumnView view = some ? *some : pinned->view(first, count, &buffer);
    for (const uint16_t i : run) {
      const Place& place = places[done++];
      column->set_number(place.slot, number_at(column->type, view, i));
      if (!column->type.is_string() || !ChangeWatch::is_drawn(place.tid.ordinal, levels_.texts))
        continue;
      std::optional<std::string_view> text;
      if (!view.is_null(i)) text = view.as<base::StringRef>()[i].view();
      column->set_text(place.slot, text);
    }
  }
  return done;
}

}  // namespace diptych::olap
