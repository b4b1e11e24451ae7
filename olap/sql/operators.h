// Operators and functions over bound operands: the rules that give them types, casts and errors.
//
// Bound      an operand as the binder knows it: a typed expression; a quoted text or NULL whose
//            type its surroundings decide (untyped); or an INTERVAL, a literal or the difference of
//            two timestamps, which arithmetic and comparisons take.
// unify      makes operands of one type of several: untyped ones take the type of the others,
//            number literals that of the column beside them where nothing is lost; the rest is
//            cast.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "olap/sql/expression_tree.h"
#include "olap/sql/source_text.h"

namespace diptych::olap {

struct Interval {
  int64_t months = 0;
  int64_t days = 0;
  int64_t micros = 0;
};

struct Bound {
  // Of an interval: nullptr, or the microseconds (BIGINT) that it has besides.
  ExpressionPtr expression;
  std::optional<Interval> interval;
  bool untyped = false;
  int64_t offset = -1;  // of its first character, for errors
  // Of an interval: what its constant part is multiplied by (BIGINT); nullptr: 1.
  ExpressionPtr times = nullptr;
  // Of an interval: nullptr, or the months (BIGINT) that it has besides.
  ExpressionPtr months = nullptr;
};

// With copies of what it owns.
inline Bound copy_of(const Bound& bound) {
  const auto copy = [](const ExpressionPtr& e) { return e == nullptr ? nullptr : clone(*e); };
  return {copy(bound.expression), bound.interval,    bound.untyped,
          bound.offset,           copy(bound.times), copy(bound.months)};
}

// An interval without anything that is computed from rows.
inline bool is_constant_interval(const Bound& bound) {
  return bound.interval && bound.expression == nullptr && bound.times == nullptr &&
         bound.months == nullptr;
}

using BoundResult = base::Result<Bound>;

// An operand of a known type, its constants computed.
Bound typed(ExpressionPtr expression, int64_t offset);

// Type name for messages; "INTERVAL" for an interval.
std::string type_name_of(const Bound& operand);

// The type that the operands now have. Fails with "<what> cannot mix <type> and <type>".
base::Result<base::DataType> unify(const SourceText& source, std::string_view what, int64_t offset,
                                   std::span<Bound*> operands);

// An untyped text literal as a value of the type; any other operand stays.
base::Result<void> adopt_type(const SourceText& source, const base::DataType& type, Bound* operand);

// The operand as a BOOLEAN predicate; `what` names the clause: "WHERE", "AND".
base::Result<ExpressionPtr> as_predicate(const SourceText& source, std::string_view what,
                                         Bound operand);

// left <name> right for =, <>, <, <=, >, >=, +, -, *, /, %, ^, ^@, ||, and of bits
// &, |, #, << and >>.
BoundResult bind_operator(const SourceText& source, std::string_view name, int64_t offset,
                          Bound left, Bound right);
// The same of rows: = and <> column by column, <, <=, > and >= from the left.
BoundResult bind_row_operator(const SourceText& source, std::string_view name, int64_t offset,
                              std::vector<Bound> left, std::vector<Bound> right);
BoundResult bind_negation(const SourceText& source, int64_t offset, Bound operand);
// ~ (of bits), @, |/ and ||/.
BoundResult bind_prefix_operator(const SourceText& source, std::string_view name, int64_t offset,
                                 Bound operand);

// name(arguments) for everything but aggregates.
BoundResult bind_function(const SourceText& source, std::string_view name, int64_t offset,
                          std::vector<Bound> arguments);

// CAST(operand AS type). Fails where plan.h has no such cast.
BoundResult bind_cast(const SourceText& source, const base::DataType& type, int64_t offset,
                      Bound operand);

// The literal 'now', 'today', 'yesterday', 'tomorrow' or 'epoch' as a DATE or TIMESTAMP; nothing
// where it is none of them, or the type neither.
std::optional<base::Value> named_moment(const SourceText& source, const base::DataType& type,
                                        const base::Value& literal);

// The statement's moment.
ExpressionPtr current_timestamp(const SourceText& source);

// Intervals: what is beyond them fails with 22008. A constant part's months and days have 32 bits.

// In microseconds, a month as 30 days.
base::Result<ExpressionPtr> micros_of(const SourceText& source, Bound interval);
// sign: 1 or -1, of the right one.
BoundResult add_intervals(const SourceText& source, int64_t sign, Bound left, Bound right);
// A constant interval times ("*", in any order) or by ("/") a constant number, or times any whole
// one.
BoundResult scale_interval(const SourceText& source, std::string_view name, int64_t offset,
                           Bound left, Bound right);

// "3 months", "1 year 2 days", "90" with a unit from INTERVAL '90' DAY.
base::Result<Interval> parse_interval(const SourceText& source, int64_t offset,
                                      std::string_view text, std::string_view default_unit);

}  // namespace diptych::olap
