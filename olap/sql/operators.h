// Operators and functions over bound operands: the rules for their types, casts and errors.
//
// Bound      a bound operand: a typed expression, or an untyped one (a quoted text or NULL) whose
//            type its context decides.
// unify      gives several operands one type. Untyped operands take the type of the others, number
//            literals that of the column beside them if nothing is lost, and the rest is cast. A
//            construct that keeps the type, such as CASE, has the widest kind of number among its
//            operands (INT, BIGINT, decimal, DOUBLE), literals included: 2.00 beside an INT makes a
//            decimal.

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
  // Of a decimal literal with digits for which it has no room: the sign of what was dropped. Only
  // comparisons consider it.
  int8_t dropped_sign = 0;
};

// A deep copy.
inline Bound copy_of(const Bound& bound) {
  return {clone(*bound.expression), bound.untyped, bound.offset, bound.dropped_sign};
}
inline std::vector<Bound> copy_of(const std::vector<Bound>& operands) {
  std::vector<Bound> copies;
  for (const Bound& operand : operands) copies.push_back(copy_of(operand));
  return copies;
}

// True for a decimal literal with digits after the point that no value of the other operand (an
// exact number; a literal only beside dropped digits) can have, so that the two are never equal.
bool is_finer_literal(const Bound& literal, const Bound& value);

// The value of a constant INTERVAL operand; nullptr for NULL and for other operands.
inline const base::Interval* constant_interval(const Bound& bound) {
  const bool literal = bound.expression->kind == ExpressionKind::kLiteral;
  return literal ? std::get_if<base::Interval>(&bound.expression->literal) : nullptr;
}

using BoundResult = base::Result<Bound>;

// An operand of a known type, with its constants folded.
Bound typed(ExpressionPtr expression, int64_t offset);

// The type's name for messages.
std::string type_name_of(const Bound& operand);

// kUnseen: the operands are only compared with each other, so number literals of every kind take
// the column's type. kKept: the type is that of a result.
enum class TypeIs { kKept, kUnseen };
// Unifies the operands and returns their type. Fails with "<what> cannot mix <type> and <type>".
base::Result<base::DataType> unify(const SourceText& source, std::string_view what, int64_t offset,
                                   std::span<Bound*> operands, TypeIs type_is = TypeIs::kKept);

// A number as it is written: an INT, a BIGINT, a decimal or a DOUBLE. Digits behind the point for
// which a decimal has no room are dropped.
BoundResult bind_number(const SourceText& source, std::string_view number, int64_t offset);

// Converts an untyped text literal to the type; leaves other operands.
base::Result<void> adopt_type(const SourceText& source, const base::DataType& type, Bound* operand);

// Makes the operand a BOOLEAN predicate; `what` names the clause: "WHERE", "AND".
base::Result<ExpressionPtr> as_predicate(const SourceText& source, std::string_view what,
                                         Bound operand);

// Binds left <name> right for =, <>, <, <=, >, >=, +, -, *, /, %, ^, ^@, ||, and for the bit
// operators &, |, #, << and >>.
BoundResult bind_operator(const SourceText& source, std::string_view name, int64_t offset,
                          Bound left, Bound right);
// Binds ~~, ~~*, ~ and ~* (LIKE, ILIKE, regular expressions), and their negations with !.
BoundResult bind_pattern_operator(const SourceText& source, std::string_view name, int64_t offset,
                                  Bound text, Bound pattern);
inline bool is_pattern_operator(std::string_view name) {
  if (name.starts_with('!')) name.remove_prefix(1);
  return name == "~" || name == "~*" || name == "~~" || name == "~~*";
}
// Binds row comparisons: = and <> column by column; <, <=, > and >= lexicographically.
BoundResult bind_row_operator(const SourceText& source, std::string_view name, int64_t offset,
                              std::vector<Bound> left, std::vector<Bound> right);
// Binds the prefix operators -, +, ~ (of bits), @, |/ and ||/.
BoundResult bind_prefix_operator(const SourceText& source, std::string_view name, int64_t offset,
                                 Bound operand);

bool is_function(std::string_view name);
// The functions that bind_function knows, for hints.
std::vector<std::string> function_names();
// Binds name(arguments) for all functions but aggregates. Requires is_function(name).
BoundResult bind_function(const SourceText& source, std::string_view name, int64_t offset,
                          std::vector<Bound> arguments);

// Binds CAST(operand AS type). Fails if plan.h has no such cast.
BoundResult bind_cast(const SourceText& source, const base::DataType& type, int64_t offset,
                      Bound operand);

// The literal 'now', 'today', 'yesterday', 'tomorrow' or 'epoch' as a DATE or TIMESTAMP; nullopt
// for other literals and types.
std::optional<base::Value> named_moment(const SourceText& source, const base::DataType& type,
                                        const base::Value& literal);

// The time at which the statement was given.
ExpressionPtr current_timestamp(const SourceText& source);

}  // namespace diptych::olap
