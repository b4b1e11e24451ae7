// Type rules: which types may be combined, the type of the result, and where casts are added.
//
//   INT op INT               INT
//   INT op BIGINT            BIGINT (the INT is cast first)
//   decimal + - decimal      scale: the larger; one digit more before the point; at most 38 digits
//   decimal * decimal        scale: the sum; digits: the sum, at most 38
//   integer / integer        as above, truncated
//   decimal / decimal        16 digits after the point, or as many as an operand; 38 digits
//   DOUBLE op numeric        DOUBLE
//   DATE with TIMESTAMP      TIMESTAMP
//
//   CHAR with CHAR           CHAR
//   CHAR with VARCHAR(n)     compared as CHAR: blanks at the end of neither count
//   CHAR with TEXT           compared as TEXT
//   other strings, in CASE   the first one's: CHAR, or else TEXT
//
// A CHAR of length 0 has no limit. A value of a CHAR never ends in blanks, so that a cast from
// VARCHAR to CHAR drops them.
//
// Two types have the same representation if execution needs no cast between them: strings of any
// kind and length, and decimals of one scale and one width (64 or 128 bits).

#pragma once

#include <optional>

#include "olap/sql/expression_tree.h"

namespace diptych::olap {

inline constexpr base::DataType kBooleanType{base::TypeKind::kBoolean};
inline constexpr base::DataType kIntType{base::TypeKind::kInt};
inline constexpr base::DataType kBigIntType{base::TypeKind::kBigInt};
inline constexpr base::DataType kDoubleType{base::TypeKind::kDouble};
inline constexpr base::DataType kTextType{base::TypeKind::kVarchar};
inline constexpr base::DataType kDateType{base::TypeKind::kDate};
inline constexpr base::DataType kTimestampType{base::TypeKind::kTimestamp};
inline constexpr base::DataType kIntervalType{base::TypeKind::kInterval};

// The digits after the point of an average or quotient of exact numbers, unless the operands have
// more. PostgreSQL gives 16 or more significant digits.
inline constexpr unsigned kQuotientScale = 16;

base::DataType decimal_type(unsigned precision, unsigned scale);  // precision capped at 38
// The scale of a result that may have a digit before the point: at most 37.
unsigned scale_beside_integers(unsigned scale);

bool is_integer(const base::DataType& type);
bool is_numeric(const base::DataType& type);
bool is_datetime(const base::DataType& type);  // DATE or TIMESTAMP
bool same_representation(const base::DataType& a, const base::DataType& b);

// The type of a CASE of both.
std::optional<base::DataType> common_type(const base::DataType& a, const base::DataType& b);

// The type in which values of both types compare.
std::optional<base::DataType> compared_type(const base::DataType& a, const base::DataType& b);

// The type of a number as a decimal: INT is DECIMAL(10,0), BIGINT is DECIMAL(19,0), and a literal
// has its own number of digits.
base::DataType as_decimal(const Expression& expression);

// Casts the expression to `type`; literals are converted at once if nothing is lost.
ExpressionPtr cast_to(ExpressionPtr expression, const base::DataType& type);

// Converts the literal to exactly `type`, or returns nullptr if that would lose something.
ExpressionPtr convert_literal(const Expression& literal, const base::DataType& type);

// A numeric literal rounded to a BIGINT; nullopt if it is out of range.
std::optional<int64_t> rounded_number(const base::Value& literal);

}  // namespace diptych::olap
