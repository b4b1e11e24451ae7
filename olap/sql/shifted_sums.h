// Shifted sums: the sums of one expression with different constants added, computed from one sum.
//
//   sum(x), sum(x + 1), sum(3 - x)  ─►  s, s + 1 * n, 3 * n - s
//                                       of s = sum(x), n = count(x), least = min(x), most = max(x)
//
// So each row adds to one sum, whatever the number of constants. This holds for integers and
// decimals, whose sums are exact, and over no values, where s is NULL. x + 1 fails for some x of a
// group if and only if it fails for the least or the greatest one: `checks` computes it for both,
// for every group, so that an overflow is the error that it was.
//
// A sum can overflow where the shifted one would not, only with over 2^32 values in a group. Sums
// with DISTINCT stay, and so do those of few constants, for which counting and comparing costs what
// it saves.

#pragma once

#include <cstdint>
#include <vector>

#include "olap/sql/query_block.h"

namespace diptych::olap {

// From so many sums of one expression on they are computed from one. Measured in
// docs/measurements/execution.md.
inline constexpr size_t kShiftedSumsMin = 4;

struct SharedSums {
  Expressions values;  // of the former aggregates, over the slots of those that replace them
  Expressions checks;  // true for every group, or they fail
};

// Replaces shifted sums among a block's aggregates, and their slots, by what they are computed
// from. No values: there are too few of them, and nothing has changed.
SharedSums share_shifted_sums(std::vector<Aggregate>* aggregates, std::vector<uint32_t>* slots,
                              SlotTable* table);

}  // namespace diptych::olap
