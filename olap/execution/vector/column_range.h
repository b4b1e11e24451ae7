// ColumnRange: the range that a comparison implies for one integer column. It compares the column
// with a literal, or with a column of a join's build side, whose bounds are known once it is built.
//
// The column may be under a cast that keeps its values: from INT to BIGINT or, in a comparison with
// the build side, to a DECIMAL with room for all of them (as for an average).

#pragma once

#include <cstdint>
#include <optional>

#include "base/int128.h"
#include "olap/plan.h"

namespace diptych::olap {

// The bounds of a set of values; min > max if it is empty.
struct ValueBounds {
  int64_t min = INT64_MAX;
  int64_t max = INT64_MIN;
};

// The same for integers of any width, including decimals of 38 digits.
struct WideBounds {
  base::int128_t min = 1;
  base::int128_t max = 0;
};

// An expression whose values are a column's values times `unit`, so that their order is the
// column's.
struct ScaledColumn {
  const Expression* column;
  base::int128_t unit;
};

// A row can satisfy the predicate only if the column is not null and in [min, max].
struct ColumnRange {
  const Expression* column = nullptr;
  int64_t min = INT64_MIN;
  int64_t max = INT64_MAX;
};

// The column under such a cast, or the column itself; nullptr for other expressions.
const Expression* column_of(const Expression& expression);

// The integer column under such a cast, or the column itself; nullopt for other expressions.
std::optional<ScaledColumn> scaled_column(const Expression& expression);

// True for types whose columns have ranges: INT, BIGINT, DATE, TIMESTAMP, decimals of 64 bits.
bool holds_integers(const base::DataType& type);

// The integer that represents a literal in a column of such a type.
std::optional<int64_t> integer_of(const base::Value& value);

// The range of =, <, <=, > or >= between an integer column and a literal. It is exact: every value
// in it satisfies the predicate. nullopt for other predicates.
std::optional<ColumnRange> column_range(const Expression& predicate);

// The column's values for which `scaled kind value` can hold for some value in the bounds; empty
// (min > max) if the bounds are. Exact if the bounds contain one value. nullopt for kinds other
// than the five above.
std::optional<ColumnRange> column_range(const ScaledColumn& scaled, ExpressionKind kind,
                                        const WideBounds& bounds);

// The inverse of integer_of(), for a column of the type.
base::Value value_of(int64_t integer, const base::DataType& type);

// A predicate that holds for the values in the range, which comes from one comparison.
ExpressionPtr comparison(const ColumnRange& range);
// `column kind value`, with a value of the column's type; `column IS NULL`.
ExpressionPtr comparison(ExpressionKind kind, const Expression& column, base::Value value);
ExpressionPtr null_test(const Expression& column);

// The comparison with exchanged operands: `a kind b` equals `b mirrored(kind) a`.
ExpressionKind mirrored(ExpressionKind kind);

}  // namespace diptych::olap
