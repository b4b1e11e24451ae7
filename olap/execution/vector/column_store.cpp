#include "olap/execution/vector/column_store.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace diptych::olap {

namespace {

constexpr uint64_t kAbsorbedRowsAWorkerMin = 16 * kVectorRows;
// An estimate may be wrong: a block of memory may have so many times the bytes that are used.
constexpr uint64_t kExpectedFactorMax = 16;
constexpr double kExpectedRowsMax = 1 << 24;

// Whether each number stands at its own place.
bool are_in_order(std::span<const uint32_t> numbers) {
  uint32_t place = 0;
  return std::ranges::all_of(numbers, [&](uint32_t number) { return number == place++; });
}

}  // namespace

ColumnStore::ColumnStore(std::span<const base::DataType> types, const std::vector<bool>& needed)
    : ColumnStore(types) {
  DIPTYCH_CHECK(needed.size() == types.size(), "every column is needed or not");
  for (size_t c = 0; c < columns_.size(); ++c) columns_[c].needed = needed[c];
}

ColumnStore::ColumnStore(std::span<const base::DataType> types) {
  columns_.reserve(types.size());
  for (const base::DataType& type : types) {
    Column column;
    column.type = physical_type(type);
    column.width = physical_bytes(column.type);
    columns_.push_back(std::move(column));
  }
}

size_t ColumnStore::memory_bytes() const {
  size_t bytes = heap_.memory_bytes();
  for (const Column& column : columns_) bytes += column.bytes.bytes() + column.nulls.bytes();
  return bytes;
}

void ColumnStore::expect(double rows) {
  expected_rows_ = static_cast<uint64_t>(std::min(std::max(rows, 0.0), kExpectedRowsMax));
}

void ColumnStore::make_expected_room() {
  const uint64_t rows = std::exchange(expected_rows_, 0);
  for (Column& column : columns_) {
    if (column.needed) column.bytes.reserve(rows * column.width);
  }
}

void ColumnStore::append_nulls(Column* column, const Vector& vector, const Selection& selection) {
  if (vector.nulls == nullptr && !column->has_nulls) return;
  if (!column->has_nulls) {
    column->has_nulls = true;
    column->nulls.resize(rows_, 0);
  }
  column->nulls.resize(rows_ + selection.count);
  uint8_t* const nulls = column->nulls.data() + rows_;
  for_numbered(selection, [&](uint32_t k, uint32_t slot) {
    nulls[k] = static_cast<uint8_t>(vector.is_null(slot));
  });
}

void ColumnStore::append(std::span<const Vector> vectors, const Selection& selection) {
  DIPTYCH_DCHECK(vectors.size() >= columns_.size(), "a store's columns are its input's");
  if (rows_ + selection.count > expected_rows_ / kExpectedFactorMax && expected_rows_ != 0) {
    make_expected_room();
  }
  for (size_t c = 0; c < columns_.size(); ++c) {
    Column& column = columns_[c];
    if (!column.needed) continue;
    const Vector& vector = vectors[c];
    DIPTYCH_DCHECK(vector.type == column.type, "a store's types are its input's");
    column.bytes.resize((rows_ + selection.count) * column.width);
    append_nulls(&column, vector, selection);
    with_physical_type(column.type, [&](auto value) {
      using T = decltype(value);
      const T* const from = vector.as<T>();
      T* const to = reinterpret_cast<T*>(column.bytes.data()) + rows_;
      if constexpr (std::is_same_v<T, base::StringRef>) {
        const bool copy = vector.string_life == StringLife::kBatch;
        for_numbered(selection, [&](uint32_t k, uint32_t slot) {
          if (vector.is_null(slot)) {
            to[k] = base::StringRef();
          } else {
            to[k] = copy ? heap_.keep(from[slot]) : from[slot];
          }
        });
      } else {
        for_numbered(selection, [&](uint32_t k, uint32_t slot) { to[k] = from[slot]; });
      }
    });
  }
  rows_ += selection.count;
}

void ColumnStore::absorb(ColumnStore&& other) {
  if (rows_ == 0) {
    std::swap(columns_, other.columns_);
    std::swap(rows_, other.rows_);
    std::swap(heap_, other.heap_);
    return;
  }
  for (size_t c = 0; c < columns_.size(); ++c) {
    Column& column = columns_[c];
    if (!column.needed) continue;
    Column& source = other.columns_[c];
    column.bytes.resize((rows_ + other.rows_) * column.width);
    if (other.rows_ != 0) {
      std::memcpy(column.bytes.data() + rows_ * column.width, source.bytes.data(),
                  other.rows_ * column.width);
    }
    if (!column.has_nulls && !source.has_nulls) continue;
    if (!column.has_nulls) column.nulls.resize(rows_, 0);
    column.has_nulls = true;
    column.nulls.resize(rows_ + other.rows_, 0);
    if (source.has_nulls && other.rows_ != 0) {
      std::memcpy(column.nulls.data() + rows_, source.nulls.data(), other.rows_);
    }
  }
  rows_ += other.rows_;
  heap_.absorb(std::move(other.heap_));
  other.columns_.clear();
  other.rows_ = 0;
}

void ColumnStore::absorb_all(std::span<ColumnStore* const> others, const Workers& workers) {
  uint64_t rows = rows_;
  for (const ColumnStore* other : others) rows += other->rows_;
  if (workers.count_for(rows, kAbsorbedRowsAWorkerMin) == 1) {
    for (ColumnStore* other : others) absorb(std::move(*other));
    return;
  }
  for (size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].needed) absorb_column(c, others, rows, workers);
  }
  rows_ = rows;
  for (ColumnStore* other : others) {
    heap_.absorb(std::move(other->heap_));
    other->columns_.clear();
    other->rows_ = 0;
  }
}

// All stores' values of a column to new memory, which the workers are the first to touch.
void ColumnStore::absorb_column(size_t c, std::span<ColumnStore* const> others, uint64_t rows,
                                const Workers& workers) {
  std::vector<ColumnStore*> stores = {this};
  stores.insert(stores.end(), others.begin(), others.end());
  Column& column = columns_[c];
  const size_t width = column.width;
  GrowingArray<std::byte> bytes;
  bytes.resize(rows * width);
  GrowingArray<uint8_t> nulls;
  const bool has_nulls = std::any_of(stores.begin(), stores.end(), [c](const ColumnStore* store) {
    return store->rows_ != 0 && store->columns_[c].has_nulls;
  });
  if (has_nulls) nulls.resize(rows);
  workers.run_ranges(rows, kAbsorbedRowsAWorkerMin, [&](RowRange range) {
    uint64_t first = 0;  // of the store
    for (const ColumnStore* store : stores) {
      const uint64_t begin = std::max(range.begin, first);
      const uint64_t end = std::min(range.end, first + store->rows_);
      if (begin < end) {
        const Column& from = store->columns_[c];
        std::memcpy(bytes.data() + begin * width, from.bytes.data() + (begin - first) * width,
                    (end - begin) * width);
        if (has_nulls && from.has_nulls) {
          std::memcpy(nulls.data() + begin, from.nulls.data() + (begin - first), end - begin);
        } else if (has_nulls) {
          std::memset(nulls.data() + begin, 0, end - begin);
        }
      }
      first += store->rows_;
    }
  });
  column.bytes = std::move(bytes);
  column.nulls = std::move(nulls);
  column.has_nulls = has_nulls;
  for (ColumnStore* other : others) {
    if (other->rows_ == 0) continue;
    other->columns_[c].bytes = GrowingArray<std::byte>();
    other->columns_[c].nulls = GrowingArray<uint8_t>();
  }
}

template <class Move>
void ColumnStore::move_rows(const Workers& workers, const Move& move) {
  for (Column& column : columns_) {
    if (!column.needed) continue;
    GrowingArray<std::byte> bytes;
    GrowingArray<uint8_t> nulls;
    bytes.resize(rows_ * column.width);
    if (column.has_nulls) nulls.resize(rows_);
    workers.run_ranges(rows_, kAbsorbedRowsAWorkerMin, [&](RowRange range) {
      with_physical_type(column.type, [&](auto value) {
        using T = decltype(value);
        move(range, reinterpret_cast<const T*>(column.bytes.data()),
             reinterpret_cast<T*>(bytes.data()));
      });
      if (column.has_nulls) move(range, column.nulls.data(), nulls.data());
    });
    column.bytes = std::move(bytes);
    column.nulls = std::move(nulls);
  }
}

void ColumnStore::reorder(const GrowingArray<uint32_t>& to, const Workers& workers) {
  DIPTYCH_CHECK(to.size() == rows_, "each row has its place");
  if (are_in_order({to.data(), to.size()})) return;
  move_rows(workers, [&](RowRange range, const auto* from, auto* moved) {
    for (uint64_t r = range.begin; r < range.end; ++r) moved[to[r]] = from[r];
  });
}

void ColumnStore::put_in_order(std::span<const uint32_t> order, const Workers& workers) {
  DIPTYCH_CHECK(order.size() == rows_, "each row has its place");
  if (are_in_order(order)) return;
  move_rows(workers, [&](RowRange range, const auto* from, auto* moved) {
    for (uint64_t r = range.begin; r < range.end; ++r) {
      workers.stop().check_at(r);
      moved[r] = from[order[r]];
    }
  });
}

Vector ColumnStore::view(size_t c, uint64_t first, uint32_t count, uint64_t* nulls) const {
  const Column& column = columns_[c];
  Vector result;
  result.type = column.type;
  if (!column.needed) return result;
  result.values = column.bytes.data() + first * column.width;
  if (!column.has_nulls) return result;
  std::fill_n(nulls, words_of(count), uint64_t{0});
  for (uint32_t i = 0; i < count; ++i) {
    nulls[i / 64] |= uint64_t{column.nulls[first + i] != 0} << (i % 64);
  }
  result.nulls = nulls;
  return result;
}

void ColumnStore::append_rows(const ColumnStore& other, std::span<const uint32_t> rows) {
  for (size_t c = 0; c < columns_.size(); ++c) {
    Column& column = columns_[c];
    if (!column.needed) continue;
    const Column& source = other.columns_[c];
    column.bytes.resize((rows_ + rows.size()) * column.width);
    with_physical_type(column.type, [&](auto value) {
      using T = decltype(value);
      const T* const from = reinterpret_cast<const T*>(source.bytes.data());
      T* const to = reinterpret_cast<T*>(column.bytes.data()) + rows_;
      for (size_t k = 0; k < rows.size(); ++k) {
        if constexpr (std::is_same_v<T, base::StringRef>) {
          to[k] = heap_.keep(from[rows[k]]);
        } else {
          to[k] = from[rows[k]];
        }
      }
    });
    if (!source.has_nulls && !column.has_nulls) continue;
    if (!column.has_nulls) column.nulls.resize(rows_, 0);
    column.has_nulls = true;
    column.nulls.resize(rows_ + rows.size(), 0);
    if (!source.has_nulls) continue;
    for (size_t k = 0; k < rows.size(); ++k) column.nulls[rows_ + k] = source.nulls[rows[k]];
  }
  rows_ += rows.size();
}

void ColumnStore::widen(size_t column, ValueBounds* bounds) const {
  const uint8_t* const nulls = columns_[column].has_nulls ? columns_[column].nulls.data() : nullptr;
  const auto take = [&](const auto* values) {
    ValueBounds found;
    for (uint64_t i = 0; i < rows_; ++i) {
      if (nulls != nullptr && nulls[i] != 0) continue;
      found.min = std::min<int64_t>(found.min, values[i]);
      found.max = std::max<int64_t>(found.max, values[i]);
    }
    bounds->min = std::min(bounds->min, found.min);
    bounds->max = std::max(bounds->max, found.max);
  };
  if (type(column) == PhysicalType::kInt32) {
    take(values<int32_t>(column));
  } else {
    take(values<int64_t>(column));
  }
}

WideBounds ColumnStore::bounds(size_t column) const {
  WideBounds bounds;
  if (type(column) != PhysicalType::kInt128) {
    ValueBounds narrow;
    widen(column, &narrow);
    if (narrow.min <= narrow.max) bounds = {narrow.min, narrow.max};
    return bounds;
  }
  const int128_t* const values = this->values<int128_t>(column);
  for (uint64_t i = 0; i < rows_; ++i) {
    if (is_null(column, i)) continue;
    const bool is_first = bounds.min > bounds.max;
    bounds.min = is_first ? values[i] : std::min(bounds.min, values[i]);
    bounds.max = is_first ? values[i] : std::max(bounds.max, values[i]);
  }
  return bounds;
}

Vector ColumnStore::gather(size_t c, const uint32_t* rows, const Selection& selection,
                           VectorBuffer* results) const {
  const Column& column = columns_[c];
  if (!column.needed) {
    Vector nothing;
    nothing.type = column.type;
    return nothing;
  }
  bool outer = false;
  with_physical_type(column.type, [&](auto value) {
    using T = decltype(value);
    const T* const from = reinterpret_cast<const T*>(column.bytes.data());
    T* const to = results->values<T>();
    for_numbered(selection, [&](uint32_t k, uint32_t slot) {
      if (rows[k] == kNoRow) {
        outer = true;
      } else {
        to[slot] = from[rows[k]];
      }
    });
  });
  Vector result = results->view();
  if (!outer && !column.has_nulls) return result;
  results->clear_nulls();
  for_numbered(selection, [&](uint32_t k, uint32_t slot) {
    if (rows[k] == kNoRow || (column.has_nulls && column.nulls[rows[k]] != 0)) {
      set_bit(results->nulls(), slot);
    }
  });
  result.nulls = results->nulls();
  return result;
}

}  // namespace diptych::olap
