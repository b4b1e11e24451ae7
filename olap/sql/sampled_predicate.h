// SampledMatches: the number of a column's sampled values for which a predicate is true. The
// predicate reads this column alone, in any expression: substring(phone, 1, 2) IN ('12', '13'),
// a % 10 = 3, lower(name) LIKE 'x%'. It is evaluated as in execution, on one vector of values.
//
// Threads    any; nothing is shared.
// Cost       a compilation and one vector of at most 1.25 * kSampledTexts values: microseconds.
//            Predicates that would take milliseconds, or make many texts, are not evaluated.

#pragma once

#include <cstdint>
#include <optional>

#include "base/types.h"
#include "olap/column_sample.h"
#include "olap/plan.h"

namespace diptych::olap {

struct SampledMatches {
  uint32_t values = 0;  // sampled values that are not null
  uint32_t matches = 0;
  bool of_null = false;  // the predicate is true for NULL

  // The estimated share of all rows, given the share of nulls. Half a match and one value are
  // added, because no match in a few hundred values does not mean none at all.
  double share(double null_share) const {
    const double of_values = (matches + 0.5) / (values + 1.0);
    return of_values * (1 - null_share) + (of_null ? null_share : 0);
  }
};

// `type` is the column's. nullopt if the sample has no values, or if the predicate fails for one or
// takes too long.
std::optional<SampledMatches> sampled_matches(const Expression& predicate, uint32_t column,
                                              const base::DataType& type,
                                              const ColumnSample& sample);

}  // namespace diptych::olap
