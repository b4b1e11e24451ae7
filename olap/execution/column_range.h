// ColumnRange: what a comparison with a literal says of one integer column.
//
// The column may be under a cast from INT to BIGINT, which keeps its values.

#pragma once

#include <cstdint>
#include <optional>

#include "olap/plan.h"

namespace diptych::olap {

// A row can only satisfy the predicate where the column is not null and in [min, max].
struct ColumnRange {
  const Expression* column = nullptr;
  int64_t min = INT64_MIN;
  int64_t max = INT64_MAX;
};

// The column that the expression is, but for such a cast; nullptr where it is none.
const Expression* column_of(const Expression& expression);

// A literal as the integer that stands for it in a column: of integers, dates, timestamps and
// decimals of 64 bits.
std::optional<int64_t> integer_of(const base::Value& value);

// Of =, <, <=, > and >= between an integer column and a literal. The range is exact: every value in
// it satisfies the predicate. Nothing for other predicates.
std::optional<ColumnRange> column_range(const Expression& predicate);

}  // namespace diptych::olap
