// Operators and functions over bound operands: the rules that give them types, casts and errors.
//
// Bound      an operand as the binder knows it: a typed expression, or a quoted text or NULL whose
//            type its surroundings decide (untyped).
// unify      makes operands of one type of several: untyped ones take the type of the others,
//            number literals that of the column beside them where nothing is lost; the rest is
//            cast. What keeps the type, as CASE does, has the widest kind of number among them
//            (INT, BIGINT, decimal, DOUBLE), be it a literal's: 2.00 beside an INT is a decimal.

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/interval.h"
#include "base/result.h"
#include "olap/sql/expression_tree.h"
#include "olap/sql/source_text.h"

namespace diptych::olap {

struct Bound {
  ExpressionPtr expression;
  bool untyped = false;
  int64_t offset = -1;  // of its first character, for errors
};

// With a copy of what it owns.
inline Bound copy_of(const Bound& bound) {
  return {clone(*bound.expression), bound.untyped, bound.offset};
}
inline std::vector<Bound> copy_of(const std::vector<Bound>& operands) {
  std::vector<Bound> copies;
  for (const Bound& operand : operands) copies.push_back(copy_of(operand));
  return copies;
}

// True for a decimal literal that has digits behind the point which no value of the other operand,
// an exact number and no literal, has: the two are never equal.
bool is_finer_literal(const Bound& literal, const Bound& value);

// The value of an operand that is a constant INTERVAL; nullptr: it is none, or NULL.
inline const base::Interval* constant_interval(const Bound& bound) {
  const bool literal = bound.expression->kind == ExpressionKind::kLiteral;
  return literal ? std::get_if<base::Interval>(&bound.expression->literal) : nullptr;
}

using BoundResult = base::Result<Bound>;

// An operand of a known type, its constants computed.
Bound typed(ExpressionPtr expression, int64_t offset);

// Type name for messages.
std::string type_name_of(const Bound& operand);

// What becomes of the type: kUnseen where operands are only compared with each other, and number
// literals of every kind take the column's.
enum class TypeIs { kKept, kUnseen };
// The type that the operands now have. Fails with "<what> cannot mix <type> and <type>".
base::Result<base::DataType> unify(const SourceText& source, std::string_view what, int64_t offset,
                                   std::span<Bound*> operands, TypeIs type_is = TypeIs::kKept);

// An untyped text literal as a value of the type; any other operand stays.
base::Result<void> adopt_type(const SourceText& source, const base::DataType& type, Bound* operand);

// The operand as a BOOLEAN predicate; `what` names the clause: "WHERE", "AND".
base::Result<ExpressionPtr> as_predicate(const SourceText& source, std::string_view what,
                                         Bound operand);

// left <name> right for =, <>, <, <=, >, >=, +, -, *, /, %, ^, ^@, ||, and of bits
// &, |, #, << and >>.
BoundResult bind_operator(const SourceText& source, std::string_view name, int64_t offset,
                          Bound left, Bound right);
// ~~, ~~*, ~ and ~* (LIKE, ILIKE, regular expressions), and these with ! before them.
BoundResult bind_pattern_operator(const SourceText& source, std::string_view name, int64_t offset,
                                  Bound text, Bound pattern);
inline bool is_pattern_operator(std::string_view name) {
  if (name.starts_with('!')) name.remove_prefix(1);
  return name == "~" || name == "~*" || name == "~~" || name == "~~*";
}
// The same of rows: = and <> column by column, <, <=, > and >= from the left.
BoundResult bind_row_operator(const SourceText& source, std::string_view name, int64_t offset,
                              std::vector<Bound> left, std::vector<Bound> right);
BoundResult bind_negation(const SourceText& source, int64_t offset, Bound operand);
// ~ (of bits), @, |/ and ||/.
BoundResult bind_prefix_operator(const SourceText& source, std::string_view name, int64_t offset,
                                 Bound operand);

bool is_function(std::string_view name);
// Those of bind_function: for hints.
std::vector<std::string> function_names();
// name(arguments) for everything but aggregates. is_function(name).
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

}  // namespace diptych::olap
