// ColumnRange: what a comparison says of one integer column: with a literal; or with a column of a
// join's build side, of which the bounds are known once it is built.
//
// The column may be under a cast that keeps its values: from INT to BIGINT; beside the build side
// also to a DECIMAL with room for all of them, as beside an average.

#pragma once

#include <cstdint>
#include <optional>

#include "base/int128.h"
#include "olap/plan.h"

namespace diptych::olap {

// Of the values that are there.
struct ValueBounds {
  int64_t min = INT64_MAX;  // above max: there is no value
  int64_t max = INT64_MIN;
};

// Of values that a column of any integers may have, decimals of 38 digits among them.
struct WideBounds {
  base::int128_t min = 1;  // above max: there is no value
  base::int128_t max = 0;
};

// An expression whose values are a column's times `unit`, and so in the column's order.
struct ScaledColumn {
  const Expression* column;
  base::int128_t unit;
};

// A row can only satisfy the predicate where the column is not null and in [min, max].
struct ColumnRange {
  const Expression* column = nullptr;
  int64_t min = INT64_MIN;
  int64_t max = INT64_MAX;
};

// The column that the expression is, but for such a cast; nullptr where it is none.
const Expression* column_of(const Expression& expression);

// The integer column that the expression is, but for such a cast.
std::optional<ScaledColumn> scaled_column(const Expression& expression);

// Whether a column of the type has a range: INT, BIGINT, dates, timestamps, decimals of 64 bits.
bool holds_integers(const base::DataType& type);

// A literal as the integer that stands for it in a column: of integers, dates, timestamps and
// decimals of 64 bits.
std::optional<int64_t> integer_of(const base::Value& value);

// Of =, <, <=, > and >= between an integer column and a literal. The range is exact: every value in
// it satisfies the predicate. Nothing for other predicates.
std::optional<ColumnRange> column_range(const Expression& predicate);

// The column's values for which `scaled kind value` can hold of some value in the bounds; none (min
// > max) where there is no value. Exact where they are bounds of one value. Nothing for kinds other
// than the five above.
std::optional<ColumnRange> column_range(const ScaledColumn& scaled, ExpressionKind kind,
                                        const WideBounds& bounds);

// integer_of() the other way, for a column of the type.
base::Value value_of(int64_t integer, const base::DataType& type);

// A predicate that holds for the values in the range, which is of one comparison.
ExpressionPtr comparison(const ColumnRange& range);
// `column kind value`, with a value of the column's type; `column IS NULL`.
ExpressionPtr comparison(ExpressionKind kind, const Expression& column, base::Value value);
ExpressionPtr null_test(const Expression& column);

// kLess of kGreater and so on: a kind b is b mirrored(kind) a.
ExpressionKind mirrored(ExpressionKind kind);

}  // namespace diptych::olap
