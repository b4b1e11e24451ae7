#include "olap/execution/group/coded_groups.h"

#include <algorithm>

namespace diptych::olap {
namespace {

// So many places are cleared in the time of a look-up.
constexpr uint64_t kPlacesALookup = 32;

bool has_dictionary(const Vector& key) {
  return key.coded != nullptr && key.coded->dictionary != 0;
}

// NULL has a code of its own.
uint64_t code_count(const Vector& key) {
  return uint64_t{key.coded->entry_count} + 1;
}

}  // namespace

bool CodedGroups::find(std::span<const Vector> keys, const Selection& rows, uint32_t* numbers) {
  if (rows_ >= kTrialRows && work_ * 2 > rows_) return false;
  if (!std::all_of(keys.begin(), keys.end(), has_dictionary) || !follow(keys)) return false;
  combine(keys, rows);
  rows_ += rows.count;
  uint64_t unknown[kVectorWords] = {};
  unknown_rows_.clear();
  for_numbered(rows, [&](uint32_t k, uint32_t slot) {
    numbers[k] = groups_[combinations_[k]];
    if (numbers[k] != kNoGroup) [[likely]]
      return;
    set_bit(unknown, slot);
    unknown_rows_.push_back(k);
  });
  select_bits(unknown, rows.slots, &unknown_);
  work_ += unknown_rows_.size();
  return true;
}

// Goes on to the keys' dictionaries. False: they have too many combinations.
bool CodedGroups::follow(std::span<const Vector> keys) {
  uint64_t combinations = 1;
  for (const Vector& key : keys) {
    combinations *= code_count(key);
    if (combinations > kCombinationsMax) return false;
  }
  const bool is_same =
      std::equal(keys.begin(), keys.end(), dictionaries_.begin(), dictionaries_.end(),
                 [](const Vector& key, uint64_t known) { return key.coded->dictionary == known; });
  if (is_same) return true;
  dictionaries_.clear();
  for (const Vector& key : keys) dictionaries_.push_back(key.coded->dictionary);
  groups_.assign(combinations, kNoGroup);
  work_ += combinations / kPlacesALookup;
  return true;
}

void CodedGroups::combine(std::span<const Vector> keys, const Selection& rows) {
  combinations_.assign(kVectorRows, 0);
  for (const Vector& key : keys) {
    const uint32_t* const codes = key.coded->codes;
    const auto radix = static_cast<uint32_t>(code_count(key));
    if (key.nulls == nullptr) {
      for_numbered(rows, [&](uint32_t k, uint32_t slot) {
        combinations_[k] = combinations_[k] * radix + codes[slot];
      });
    } else {
      for_numbered(rows, [&](uint32_t k, uint32_t slot) {
        const uint32_t code = bit_at(key.nulls, slot) ? radix - 1 : codes[slot];
        combinations_[k] = combinations_[k] * radix + code;
      });
    }
  }
}

void CodedGroups::learn(const uint32_t* groups, uint32_t* numbers) {
  for (size_t j = 0; j < unknown_rows_.size(); ++j) {
    const uint32_t k = unknown_rows_[j];
    numbers[k] = groups[j];
    groups_[combinations_[k]] = groups[j];
  }
}

}  // namespace diptych::olap
