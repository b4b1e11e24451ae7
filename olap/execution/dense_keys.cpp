#include "olap/execution/dense_keys.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace diptych::olap {

namespace {

// Adds one column's part to the numbers, and marks the slots whose value is out of bounds.
// `Offset` is as wide as the values: four bytes wide, twice as many go into a register.
template <class Value, class Offset>
void add_column(const Value* values, Offset min, Offset last, uint32_t stride,
                const Selection& rows, uint32_t* numbers, uint32_t* outside) {
  for_slots(rows, [&](uint32_t i) {
    const Offset offset = static_cast<Offset>(values[i]) - min;
    outside[i] |= offset > last ? UINT32_MAX : 0;
    numbers[i] += static_cast<uint32_t>(offset) * stride;
  });
}

}  // namespace

std::optional<DenseKeys> DenseKeys::make(std::span<const Bounds> bounds, uint64_t size_max) {
  DIPTYCH_CHECK(!bounds.empty() && size_max <= uint64_t{1} << 31, "numbers fit 32 bits");
  DenseKeys keys;
  keys.columns_.resize(bounds.size());
  uint64_t size = 1;
  for (size_t i = bounds.size(); i-- > 0;) {
    const Bounds& column = bounds[i];
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

void DenseKeys::number(std::span<const Vector> keys, const Selection& rows,
                       uint32_t* numbers) const {
  DIPTYCH_CHECK(keys.size() == columns_.size(), "a key has the columns that it was made of");
  std::fill_n(numbers, rows.slots, 0);
  if (size_ == 0) return;
  uint32_t outside[kVectorRows];
  std::fill_n(outside, rows.slots, 0);
  for (size_t c = 0; c < keys.size(); ++c) {
    const Column& column = columns_[c];
    const uint64_t last = column.range - 1;
    if (keys[c].type == PhysicalType::kInt32) {
      const auto* const values = keys[c].as<int32_t>();
      const bool fits = column.min >= std::numeric_limits<int32_t>::min() &&
                        column.min + static_cast<int64_t>(last) <= INT32_MAX;
      if (fits) {
        add_column(values, static_cast<uint32_t>(column.min), static_cast<uint32_t>(last),
                   column.stride, rows, numbers, outside);
      } else {
        add_column(values, static_cast<uint64_t>(column.min), last, column.stride, rows, numbers,
                   outside);
      }
    } else {
      DIPTYCH_CHECK(keys[c].type == PhysicalType::kInt64, "a dense key's columns are integers");
      add_column(keys[c].as<int64_t>(), static_cast<uint64_t>(column.min), last, column.stride,
                 rows, numbers, outside);
    }
    if (keys[c].nulls == nullptr) continue;
    for_slots(rows, [&](uint32_t i) { outside[i] |= keys[c].is_null(i) ? UINT32_MAX : 0; });
  }
  const uint32_t none = size_;
  for_slots(rows, [&](uint32_t i) { numbers[i] = outside[i] != 0 ? none : numbers[i]; });
}

}  // namespace diptych::olap
