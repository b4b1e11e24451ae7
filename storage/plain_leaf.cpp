#include "storage/plain_leaf.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/check.h"
#include "storage/buffered_chunk.h"
#include "storage/cell.h"

namespace diptych::storage {
namespace {

// Calls fn(position) for each row that lives and is not null.
template <class Function>
void for_each_value(const uint64_t* live, const uint64_t* nulls, size_t words, Function&& fn) {
  for (size_t word = 0; word < words; ++word) {
    uint64_t bits = nulls == nullptr ? live[word] : live[word] & ~nulls[word];
    for (; bits != 0; bits &= bits - 1) {
      fn(word * 64 + static_cast<size_t>(std::countr_zero(bits)));
    }
  }
}

}  // namespace

PlainLeaf::PlainLeaf(const LeafFormat& format, uint32_t first_ordinal, uint32_t capacity,
                     std::byte* data, const SharedRef<StringHeap>& heap)
    : Leaf(LeafForm::kPlain),
      format_(&format),
      data_(data),
      heap_(heap),
      capacity_(capacity),
      has_null_(format.columns.size()) {
  DIPTYCH_CHECK(capacity % 64 == 0, "null maps and live bits are whole words");
  first_ordinal_ = first_ordinal;
  live_bits_.assign(capacity / 64, 0);
  for (const ColumnFormat& column : format.columns) {
    Bounds none{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
    if (column.kind == CellKind::kDouble) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      none = {std::bit_cast<int64_t>(kInfinity), std::bit_cast<int64_t>(-kInfinity)};
    }
    bounds_.push_back(none);
  }
}

template <class Function>
void PlainLeaf::for_each_cell(Function&& fn) const {
  for (const ColumnFormat& column : format_->columns) {
    if (!column.is_string()) continue;
    auto* const slots = reinterpret_cast<base::StringRef*>(values(column));
    for (uint32_t i = 0; i < row_slots_; ++i) {
      if (!slots[i].is_short()) fn(&slots[i]);
    }
  }
}

PlainLeaf::PlainLeaf(const PlainLeaf& from, std::byte* data)
    : Leaf(from),
      format_(from.format_),
      data_(data),
      heap_(from.heap_),
      capacity_(from.capacity_),
      bounds_(from.bounds_),
      has_null_(from.has_null_) {
  std::memcpy(data_, from.data_, format_->leaf_bytes(capacity_));
  for_each_cell([&](base::StringRef* slot) { *slot = heap_->store(slot->view()); });
}

void PlainLeaf::release_strings() {
  for_each_cell([&](base::StringRef* slot) { heap_->release(slot); });
}

size_t PlainLeaf::string_bytes() const {
  size_t bytes = 0;
  for_each_cell([&](const base::StringRef* slot) { bytes += slot->size(); });
  return bytes;
}

base::Result<PinnedColumn> PlainLeaf::pin(base::ColumnId column) const {
  const ColumnFormat& format = format_->columns[column.value];
  const uint64_t* const null_words = has_null_[column.value] != 0 ? nulls(format) : nullptr;
  return PinnedColumn(values(format), encoding::value_kind(format.type), null_words);
}

base::Result<PinnedColumn> PlainLeaf::pin_row_ids() const {
  return PinnedColumn(data_, encoding::ValueKind::kInt64, nullptr);
}

ColumnSummary PlainLeaf::summary(base::ColumnId column) const {
  const Bounds& bounds = bounds_[column.value];
  ColumnSummary summary;
  summary.has_null = has_null_[column.value] != 0;
  switch (format_->columns[column.value].kind) {
    case CellKind::kInt32:
    case CellKind::kInt64:
      summary.known = true;
      summary.min = bounds.min;
      summary.max = bounds.max;
      break;
    case CellKind::kDouble:
      summary.min_double = std::bit_cast<double>(bounds.min);
      summary.max_double = std::bit_cast<double>(bounds.max);
      summary.known = !std::isnan(summary.min_double);
      break;
    case CellKind::kBoolean:
    case CellKind::kInlineString:
    case CellKind::kLongString: break;
  }
  return summary;
}

ColumnStorage PlainLeaf::storage(base::ColumnId column) const {
  return {"uncompressed", size_t{capacity_} * format_->columns[column.value].value_bytes};
}

void PlainLeaf::widen(size_t column, double value) {
  Bounds& bounds = bounds_[column];
  if (std::isnan(value)) {
    bounds = {std::bit_cast<int64_t>(value), std::bit_cast<int64_t>(value)};
    return;
  }
  // Both are false once the bounds are NaN, which stay NaN (P2).
  if (value < std::bit_cast<double>(bounds.min)) bounds.min = std::bit_cast<int64_t>(value);
  if (value > std::bit_cast<double>(bounds.max)) bounds.max = std::bit_cast<int64_t>(value);
}

template <class Value>
void PlainLeaf::write_values(size_t column, uint32_t first, std::span<const NewRow> rows) {
  using Bound = std::conditional_t<std::is_floating_point_v<Value>, double, int64_t>;
  const ColumnFormat& format = format_->columns[column];
  std::byte* slot = values(format) + size_t{first} * sizeof(Value);
  const size_t cell_offset = format.cell_offset;  // the compiler does not know that it stays
  if (!format.nullable && !std::is_floating_point_v<Value>) {
    Value least = std::numeric_limits<Value>::max();
    Value greatest = std::numeric_limits<Value>::min();
    for (const NewRow& row : rows) {
      const auto value = load<Value>(row.row + cell_offset);
      std::memcpy(slot, &value, sizeof value);
      slot += sizeof value;
      least = std::min(least, value);
      greatest = std::max(greatest, value);
    }
    widen(column, static_cast<Bound>(least));
    widen(column, static_cast<Bound>(greatest));
    return;
  }
  uint64_t* const map = format.nullable ? nulls(format) : nullptr;
  uint32_t position = first;
  for (const NewRow& row : rows) {
    const std::byte* const cell = row.row + cell_offset;
    const auto value = load<Value>(cell);
    std::memcpy(slot, &value, sizeof value);
    slot += sizeof value;
    if (map != nullptr && store_null(map, format, column, position++, cell)) continue;
    widen(column, static_cast<Bound>(value));
  }
}

void PlainLeaf::write_booleans(size_t column, uint32_t first, std::span<const NewRow> rows) {
  const ColumnFormat& format = format_->columns[column];
  std::byte* slot = values(format) + first;
  uint32_t position = first;
  for (const NewRow& row : rows) {
    const std::byte* const cell = row.row + format.cell_offset;
    *slot++ = std::byte{*cell != std::byte{0}};
    if (format.nullable) store_null(format, column, position++, cell);
  }
}

// The slots are of dead rows, and so empty (P1).
void PlainLeaf::write_strings(size_t column, uint32_t first, std::span<const NewRow> rows) {
  const ColumnFormat& format = format_->columns[column];
  auto* slot = reinterpret_cast<base::StringRef*>(values(format)) + first;
  uint32_t position = first;
  for (const NewRow& row : rows) {
    const std::byte* const cell = row.row + format.cell_offset;
    const bool is_null = format.nullable && store_null(format, column, position++, cell);
    if (!is_null) *slot = heap_->store(cell_string(format.kind, cell, row.strings_base));
    ++slot;
  }
}

void PlainLeaf::set_live(uint32_t first, uint32_t end) {
  for (uint32_t at = first; at < end;) {
    const uint32_t count = std::min(end - at, 64 - at % 64);
    const uint64_t bits = ~uint64_t{0} >> (64 - count) << (at % 64);
    uint64_t& word = live_bits_[at / 64];
    DIPTYCH_CHECK((word & bits) == 0, "L1: an insert takes dead slots");
    word |= bits;
    at += count;
  }
}

void PlainLeaf::write_rows(uint32_t first, std::span<const NewRow> rows) {
  const auto end = first + static_cast<uint32_t>(rows.size());
  DIPTYCH_CHECK(end <= capacity_, "rows are inserted where there is room");
  auto* const row_ids = reinterpret_cast<uint64_t*>(data_) + first;
  for (size_t i = 0; i < rows.size(); ++i) row_ids[i] = rows[i].row_id.value;
  for (size_t i = 0; i < format_->columns.size(); ++i) {
    switch (format_->columns[i].kind) {
      case CellKind::kInt32: write_values<int32_t>(i, first, rows); break;
      case CellKind::kInt64: write_values<int64_t>(i, first, rows); break;
      case CellKind::kDouble: write_values<double>(i, first, rows); break;
      case CellKind::kBoolean: write_booleans(i, first, rows); break;
      case CellKind::kInlineString:
      case CellKind::kLongString: write_strings(i, first, rows); break;
    }
  }
  set_live(first, end);
  live_rows_ += static_cast<uint32_t>(rows.size());
  row_slots_ = std::max(row_slots_, end);
}

template <class Value, class Widen>
void PlainLeaf::update_values(const ColumnFormat& format, size_t column,
                              std::span<const Place> places,
                              std::span<const std::byte* const> records, size_t cell_offset) {
  PlainLeaf* leaf = nullptr;
  std::byte* slots = nullptr;
  uint64_t* map = nullptr;
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i].leaf != leaf) {
      leaf = places[i].leaf;
      slots = leaf->values(format);
      if (format.nullable) map = leaf->nulls(format);
    }
    DIPTYCH_DCHECK(leaf->lives(places[i].position), "only a live row is updated");
    const std::byte* const cell = records[i] + cell_offset;
    if (map != nullptr && leaf->store_null(map, format, column, places[i].position, cell)) continue;
    const auto value = load<Value>(cell);
    std::memcpy(slots + size_t{places[i].position} * sizeof value, &value, sizeof value);
    leaf->widen(column, static_cast<Widen>(value));
  }
}

void PlainLeaf::update_strings(const ColumnFormat& format, size_t column,
                               std::span<const Place> places,
                               std::span<const std::byte* const> records, size_t cell_offset) {
  // Most new strings overwrite the old one's bytes, which nobody has brought near yet.
  for (const Place& place : places) {
    const auto* const slot =
        reinterpret_cast<const base::StringRef*>(place.leaf->values(format)) + place.position;
    __builtin_prefetch(slot->data(), 1);
  }
  for (size_t i = 0; i < places.size(); ++i) {
    PlainLeaf& leaf = *places[i].leaf;
    DIPTYCH_DCHECK(leaf.lives(places[i].position), "only a live row is updated");
    const std::byte* const cell = records[i] + cell_offset;
    auto* const slot = reinterpret_cast<base::StringRef*>(leaf.values(format)) + places[i].position;
    if (format.nullable && leaf.store_null(format, column, places[i].position, cell)) {
      leaf.heap_->release(slot);
    } else {
      leaf.heap_->assign(slot, cell_string(format.kind, cell, records[i]));
    }
  }
}

void PlainLeaf::write_cells(const ColumnFormat& format, base::ColumnId column,
                            std::span<const Place> places,
                            std::span<const std::byte* const> records, size_t cell_offset) {
  const size_t c = column.value;
  switch (format.kind) {
    case CellKind::kInt32:
      return update_values<int32_t, int64_t>(format, c, places, records, cell_offset);
    case CellKind::kInt64:
      return update_values<int64_t, int64_t>(format, c, places, records, cell_offset);
    case CellKind::kDouble:
      return update_values<double, double>(format, c, places, records, cell_offset);
    case CellKind::kBoolean:
      for (size_t i = 0; i < places.size(); ++i) {
        PlainLeaf& leaf = *places[i].leaf;
        const std::byte* const cell = records[i] + cell_offset;
        leaf.values(format)[places[i].position] = std::byte{*cell != std::byte{0}};
        if (format.nullable) leaf.store_null(format, c, places[i].position, cell);
      }
      return;
    case CellKind::kInlineString:
    case CellKind::kLongString: return update_strings(format, c, places, records, cell_offset);
  }
}

void PlainLeaf::copy_rows(const Leaf& from, uint32_t first) {
  DIPTYCH_CHECK(row_slots_ == 0 && first % 64 == 0 && first < from.row_slots(),
                "a new leaf takes a run of used positions");
  row_slots_ = std::min(capacity_, from.row_slots() - first);
  const size_t words = encoding::bitmap_words(row_slots_);
  std::copy_n(from.live_bits() + first / 64, words, live_bits_.begin());
  for (const uint64_t word : live_bits_) live_rows_ += static_cast<uint32_t>(std::popcount(word));
  DecodeBuffer buffer;
  const PinnedColumn row_ids = value_or_throw(from.pin_row_ids());
  std::memcpy(data_, row_ids.view(first, row_slots_, &buffer).values,
              row_slots_ * sizeof(uint64_t));
  for (size_t c = 0; c < format_->columns.size(); ++c) {
    const ColumnFormat& column = format_->columns[c];
    const PinnedColumn source = value_or_throw(from.pin(base::ColumnId(static_cast<uint16_t>(c))));
    const ColumnView view = source.view(first, row_slots_, &buffer);
    if (view.nulls != nullptr) std::copy_n(view.nulls, words, nulls(column));
    if (!column.is_string()) {
      std::memcpy(values(column), view.values, size_t{row_slots_} * column.value_bytes);
      continue;
    }
    auto* const slots = reinterpret_cast<base::StringRef*>(values(column));
    for_each_value(live_bits_.data(), view.nulls, words, [&](size_t position) {
      slots[position] = heap_->store(view.as<base::StringRef>()[position].view());
    });
  }
  tighten_bounds();
}

void PlainLeaf::erase_row(uint32_t position) {
  for (const ColumnFormat& column : format_->columns) {
    if (!column.is_string()) continue;
    std::byte* const slot = values(column) + size_t{position} * column.value_bytes;
    heap_->release(reinterpret_cast<base::StringRef*>(slot));
  }
  clear_live(position);
}

void PlainLeaf::clear_slots(uint32_t first, uint32_t count) {
  for (const ColumnFormat& column : format_->columns) {
    if (!column.is_string()) continue;
    auto* const slots = reinterpret_cast<base::StringRef*>(values(column)) + first;
    for (uint32_t i = 0; i < count; ++i) heap_->release(&slots[i]);
  }
}

void PlainLeaf::prefetch_row(uint32_t position) const {
  for (const ColumnFormat& column : format_->columns) {
    __builtin_prefetch(values(column) + size_t{position} * column.value_bytes, 1);
  }
}

void PlainLeaf::tighten_bounds() {
  const size_t words = live_bits_.size();
  for (size_t i = 0; i < format_->columns.size(); ++i) {
    const ColumnFormat& column = format_->columns[i];
    const uint64_t* const null_words = column.nullable ? nulls(column) : nullptr;
    has_null_[i] = 0;
    for (size_t word = 0; null_words != nullptr && word < words; ++word) {
      if ((live_bits_[word] & null_words[word]) != 0) has_null_[i] = 1;
    }
    const std::byte* const from = values(column);
    const auto scan = [&](auto zero, auto widen_to) {
      using Value = decltype(zero);
      for_each_value(live_bits_.data(), null_words, words, [&](size_t position) {
        widen(i, static_cast<decltype(widen_to)>(load<Value>(from + position * sizeof(Value))));
      });
    };
    if (column.kind == CellKind::kInt32) scan(int32_t{}, int64_t{});
    if (column.kind == CellKind::kInt64) scan(int64_t{}, int64_t{});
    if (column.kind == CellKind::kDouble) scan(double{}, double{});
  }
}

}  // namespace diptych::storage
