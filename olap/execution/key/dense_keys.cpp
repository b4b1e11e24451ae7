#include "olap/execution/key/dense_keys.h"

#include <algorithm>
#include <limits>

#include "base/check.h"
#include "olap/execution/vector/probe_kernels.h"

namespace diptych::olap {

namespace {

// What the columns of a key are put together in: the slots' numbers so far, and which have a value
// out of bounds.
struct Numbering {
  const Selection& rows;
  uint32_t* numbers;
  uint32_t* outside;
  uint32_t none;  // for those, in the end
};

// Adds one column's part: the first one's makes both arrays, the last one's ends it. `Offset` is as
// wide as the values: four bytes wide, twice as many go into a register.
template <bool kFirst, bool kLast, class Value, class Offset>
void add_values(const Value* values, Offset min, Offset last, uint32_t stride,
                const Numbering& to) {
  uint32_t* const numbers = to.numbers;
  uint32_t* const outside = to.outside;
  const uint32_t none = to.none;
  for_slots(to.rows, [=](uint32_t i) {
    const Offset offset = static_cast<Offset>(values[i]) - min;
    const uint32_t is_outside = (kFirst ? 0 : outside[i]) | (offset > last ? UINT32_MAX : 0);
    const uint32_t number = (kFirst ? 0 : numbers[i]) + static_cast<uint32_t>(offset) * stride;
    if (!kLast) outside[i] = is_outside;
    numbers[i] = kLast && is_outside != 0 ? none : number;
  });
}

// Whether the keys [min, min + last] are 32-bit values.
bool fits_32_bits(int64_t min, uint64_t last) {
  return min >= std::numeric_limits<int32_t>::min() &&
         min + static_cast<int64_t>(last) <= INT32_MAX;
}

// The same for a column whose values are of any type; its keys are [min, min + last].
template <bool kFirst, bool kLast>
void add_column(const Vector& key, int64_t min, uint64_t last, uint32_t stride,
                const Numbering& to) {
  if (key.type == PhysicalType::kInt32) {
    const auto* const values = key.as<int32_t>();
    if (fits_32_bits(min, last)) {
      add_values<kFirst, kLast>(values, static_cast<uint32_t>(min), static_cast<uint32_t>(last),
                                stride, to);
    } else {
      add_values<kFirst, kLast>(values, static_cast<uint64_t>(min), last, stride, to);
    }
  } else {
    DIPTYCH_CHECK(key.type == PhysicalType::kInt64, "a dense key's columns are integers");
    add_values<kFirst, kLast>(key.as<int64_t>(), static_cast<uint64_t>(min), last, stride, to);
  }
  if (key.nulls == nullptr) return;
  uint32_t* const numbers = kLast ? to.numbers : to.outside;
  const uint32_t of_null = kLast ? to.none : UINT32_MAX;
  for_slots(to.rows, [&](uint32_t i) { numbers[i] = key.is_null(i) ? of_null : numbers[i]; });
}

}  // namespace

std::optional<DenseKeys> DenseKeys::make(std::span<const ValueBounds> bounds, uint64_t size_max,
                                         std::span<const uint32_t> order) {
  DIPTYCH_CHECK(order.empty() || order.size() == bounds.size(), "an order has all columns");
  DIPTYCH_CHECK(!bounds.empty() && size_max <= uint64_t{1} << 31, "numbers fit 32 bits");
  DenseKeys keys;
  keys.columns_.resize(bounds.size());
  uint64_t size = 1;
  for (size_t place = bounds.size(); place-- > 0;) {
    const size_t i = order.empty() ? place : order[place];
    const ValueBounds& column = bounds[i];
    const uint64_t last = static_cast<uint64_t>(column.max) - static_cast<uint64_t>(column.min);
    const uint64_t range = column.max < column.min ? 0 : last + 1;
    const bool all_values = column.max >= column.min && range == 0;  // 2^64 of them
    if (all_values || range > size_max) return std::nullopt;
    keys.columns_[i] = {column.min, range, static_cast<uint32_t>(size)};
    size *= range;
    if (size > size_max) return std::nullopt;
  }
  keys.size_ = static_cast<uint32_t>(size);
  return keys;
}

// Of columns of 32-bit values.
bool DenseKeys::number_at_once(std::span<const Vector> keys, const Selection& rows,
                               uint32_t* numbers) const {
  PlaceColumn columns[kPlaceColumnsMax] = {};
  if (keys.size() > kPlaceColumnsMax) return false;
  for (size_t c = 0; c < keys.size(); ++c) {
    const auto [min, range, stride] = columns_[c];
    if (keys[c].type != PhysicalType::kInt32 || !fits_32_bits(min, range - 1)) return false;
    columns[c] = {keys[c].as<int32_t>(), static_cast<uint32_t>(min),
                  static_cast<uint32_t>(range - 1), stride};
  }
  number_places(columns, static_cast<uint32_t>(keys.size()), rows.slots, size_, numbers);
  for (const Vector& key : keys) {
    if (key.nulls == nullptr) continue;
    for_slots(rows, [&](uint32_t i) { numbers[i] = key.is_null(i) ? size_ : numbers[i]; });
  }
  return true;
}

void DenseKeys::number(std::span<const Vector> keys, const Selection& rows,
                       uint32_t* numbers) const {
  DIPTYCH_CHECK(keys.size() == columns_.size(), "a key has the columns that it was made of");
  if (size_ == 0) {
    std::fill_n(numbers, rows.slots, 0);
    return;
  }
  if (is_dense(rows) && number_at_once(keys, rows, numbers)) return;
  uint32_t outside[kVectorRows];
  const Numbering to{rows, numbers, outside, size_};
  for (size_t c = 0; c < keys.size(); ++c) {
    const bool is_last = c + 1 == keys.size();
    const auto add = c == 0 ? (is_last ? add_column<true, true> : add_column<true, false>)
                            : (is_last ? add_column<false, true> : add_column<false, false>);
    const Column& column = columns_[c];
    add(keys[c], column.min, column.range - 1, column.stride, to);
  }
}

}  // namespace diptych::olap
