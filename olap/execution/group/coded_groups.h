// CodedGroups: finds the groups of rows whose keys are texts with dictionary codes (TextCodes). A
// dictionary lasts for many vectors, those of a block. Each combination of codes is looked up once
// for these, and an array holds its group:
//
//   codes of p_brand   17   3  17      groups by code: 17 -> 5, 3 -> not known yet
//
// Threads    one worker.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "olap/execution/vector/vector.h"

namespace diptych::olap {

class CodedGroups {
 public:
  // Sets numbers[k] to the group of the k-th selected row's combination of codes, as far as it is
  // known, and unknown() to the other rows. Returns false if a key has no codes of a dictionary, or
  // if the array would not pay: for too many combinations, or if most rows were unknown before.
  // Benchmark: BM_CodedGroups.
  bool find(std::span<const Vector> keys, const Selection& rows, uint32_t* numbers);
  const Selection& unknown() const { return unknown_; }
  // groups[j] is the group of the j-th unknown row, which the numbers of find() get, too.
  void learn(const uint32_t* groups, uint32_t* numbers);

  size_t memory_bytes() const { return groups_.capacity() * sizeof(uint32_t); }

 private:
  // The array stays in the second-level cache.
  static constexpr uint64_t kCombinationsMax = uint64_t{64} << 10;
  static constexpr uint64_t kTrialRows = 64 * kVectorRows;
  static constexpr uint32_t kNoGroup = UINT32_MAX;

  bool follow(std::span<const Vector> keys);
  void combine(std::span<const Vector> keys, const Selection& rows);

  std::vector<uint64_t> dictionaries_;  // by key; those of groups_
  std::vector<uint32_t> groups_;        // by combination
  std::vector<uint32_t> combinations_;  // by selected row
  Selection unknown_;
  std::vector<uint32_t> unknown_rows_;  // their numbers among the selected rows
  uint64_t rows_ = 0;                   // so far
  uint64_t work_ = 0;                   // unknown ones, and a share of the cleared array
};

}  // namespace diptych::olap
