// SampledMatches: of how many of a column's sampled values a predicate is true that reads this
// column alone, in whatever expression: substring(phone, 1, 2) IN ('12', '13'), a % 10 = 3,
// lower(name) LIKE 'x%'. The values are computed as execution would, all of them as one vector.
//
// Threads    none shared.
// Cost       a compilation, and a vector of at most kSampledTexts values and a quarter more:
//            microseconds; what would take milliseconds, or many texts, is left.

#pragma once

#include <cstdint>
#include <optional>

#include "base/types.h"
#include "olap/column_sample.h"
#include "olap/plan.h"

namespace diptych::olap {

struct SampledMatches {
  uint32_t values = 0;  // that are not null
  uint32_t matches = 0;
  bool of_null = false;  // true of NULL

  // Of all rows, where so many are null. Half a match more than there were, of one value more: none
  // in a few hundred is not never.
  double share(double null_share) const {
    const double of_values = (matches + 0.5) / (values + 1.0);
    return of_values * (1 - null_share) + (of_null ? null_share : 0);
  }
};

// `type`: the column's. Nothing where the sample has no values, or the predicate fails for one, or
// takes too long.
std::optional<SampledMatches> sampled_matches(const Expression& predicate, uint32_t column,
                                              const base::DataType& type,
                                              const ColumnSample& sample);

}  // namespace diptych::olap
