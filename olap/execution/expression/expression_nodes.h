// Functions that make expression nodes, by source file (expression_*.cpp); only expression.cpp uses
// them. Children are compiled already. The functions check that the children's physical types
// follow plan.h's typing.

#pragma once

#include <vector>

#include "olap/execution/expression/expression.h"
#include "olap/execution/expression/unit_rounding.h"
#include "olap/execution/vector/vector_texts.h"

namespace diptych::olap {

NodePtr make_literal(const base::DataType& type, const base::Value& value);

// expression_arithmetic.cpp: kNegate, kAdd, kSubtract, kMultiply, kDivide, kModulo
NodePtr make_arithmetic(const Expression& expression, std::vector<NodePtr> children,
                        const QueryLimits& limits);
// A lossless conversion between int32, int64 and int128; the node itself if the types are equal.
NodePtr make_widening(NodePtr child, PhysicalType type);

// expression_interval.cpp: kNegate, kAdd, kSubtract of intervals; kMultiply and kDivide of an
// interval and a DOUBLE
NodePtr make_interval_arithmetic(ExpressionKind kind, std::vector<NodePtr> children,
                                 const QueryLimits& limits);

// expression_comparison.cpp: the six comparisons, kIsNull, kIsNotNull, kInList, kLike
NodePtr make_comparison(ExpressionKind kind, NodePtr left, NodePtr right);
NodePtr make_is_null(ExpressionKind kind, NodePtr child);
NodePtr make_in_list(const Expression& expression, NodePtr child);
// Whether LIKE matches the child's texts as they are or in lower case.
enum class LetterCases : uint8_t { kKept, kLowered };
NodePtr make_like(const Expression& expression, NodePtr child, LetterCases cases,
                  const QueryLimits& limits);

// expression_logic.cpp: kAnd, kOr, kNot, kCase, kCoalesce, kNullIf
NodePtr make_logic(const Expression& expression, std::vector<NodePtr> children,
                   const QueryLimits& limits);

// expression_logic.cpp: kSingleRow
NodePtr make_single_row(std::vector<NodePtr> children);

// expression_cast.cpp: kCast
NodePtr make_cast(const base::DataType& from, const base::DataType& to, NodePtr child,
                  const QueryLimits& limits);
// Rounds decimals and appends `zeros` zeros, which gives units of the DECIMAL `to`.
NodePtr make_decimal_rounding(const base::DataType& to, const UnitRounding& rounding,
                              uint32_t zeros, NodePtr child);

// expression_text.cpp: kConcat and the functions of texts; expression_date.cpp: those of dates and
// timestamps; expression_arithmetic.cpp: those of numbers
NodePtr make_text_function(const Expression& expression, std::vector<NodePtr> children,
                           const QueryLimits& limits);
NodePtr make_date_function(const Expression& expression, std::vector<NodePtr> children,
                           const QueryLimits& limits);
NodePtr make_number_function(const Expression& expression, std::vector<NodePtr> children,
                             const QueryLimits& limits);
NodePtr make_sign(NodePtr child);
// kBitAnd, kBitOr, kBitXor, kShiftLeft, kShiftRight: of BIGINTs, as a BIGINT or INT.
NodePtr make_bit_function(Function function, PhysicalType type, std::vector<NodePtr> children);

// expression_by_entry.cpp: computes `node`, which reads only the text column `column`, once for
// each dictionary entry
NodePtr make_by_entry(uint32_t column, NodePtr node);

}  // namespace diptych::olap
