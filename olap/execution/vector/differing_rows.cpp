#include "olap/execution/vector/differing_rows.h"

#include <algorithm>

namespace diptych::olap {

namespace {

// Pairs of a number and a code: what is cleared and asked lies in the first-level cache.
constexpr uint32_t kPairsMax = 4096;
constexpr uint32_t kNoNumber = UINT32_MAX;

// NULL has a code of its own.
uint32_t code_count(const Vector& column) {
  return column.coded->entry_count + (column.nulls == nullptr ? 0 : 1);
}

}  // namespace

bool DifferingRows::find(const uint32_t* numbers, uint32_t number_count,
                         std::span<const Vector> columns, const Selection& rows) {
  const auto is_coded = [](const Vector& column) {
    return column.constant || (column.coded != nullptr && column.coded->entries != nullptr);
  };
  if (!std::all_of(columns.begin(), columns.end(), is_coded)) return false;
  rows_ = rows.count;
  count_ = numbers == nullptr ? 1 : number_count;
  numbers_.resize(kVectorRows);
  bool is_refined = false;
  for (const Vector& column : columns) {
    if (column.constant) continue;
    if (uint64_t{count_} * code_count(column) > kPairsMax) return false;
    if (!is_refined) {
      if (numbers == nullptr) {
        std::fill_n(numbers_.begin(), rows_, 0);
      } else {
        std::copy_n(numbers, rows_, numbers_.begin());
      }
    }
    is_refined = true;
    refine(column, rows);
  }
  if (!is_refined || count_ > rows_ / 2) return false;
  uint64_t bits[kVectorWords] = {};
  for (uint32_t j = 0; j < count_; ++j) set_bit(bits, rows.row(first_[j]));
  select_bits(bits, rows.slots, &first_rows_);
  return true;
}

void DifferingRows::refine(const Vector& column, const Selection& rows) {
  const uint32_t codes = code_count(column);
  number_of_.assign(size_t{count_} * codes, kNoNumber);
  first_.resize(std::max<size_t>(first_.size(), std::min(count_ * codes, kVectorRows)));
  uint32_t count = 0;
  const auto number = [&](uint32_t k, uint32_t code) {
    uint32_t& found = number_of_[numbers_[k] * codes + code];
    if (found == kNoNumber) [[unlikely]] {
      first_[count] = k;
      found = count++;
    }
    numbers_[k] = found;
  };
  const uint32_t* const of_slots = column.coded->codes;
  if (column.nulls == nullptr) {
    for_numbered(rows, [&](uint32_t k, uint32_t slot) { number(k, of_slots[slot]); });
  } else {
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      number(k, bit_at(column.nulls, slot) ? codes - 1 : of_slots[slot]);
    });
  }
  count_ = count;
}

void DifferingRows::gather(const uint32_t* values, uint32_t* to) const {
  for (uint32_t j = 0; j < count_; ++j) to[j] = values[first_[j]];
}

void DifferingRows::spread(const uint32_t* values, uint32_t* to) const {
  for (uint32_t k = 0; k < rows_; ++k) to[k] = values[numbers_[k]];
}

}  // namespace diptych::olap
