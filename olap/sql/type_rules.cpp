#include "olap/sql/type_rules.h"

#include <algorithm>
#include <cmath>

namespace diptych::olap {
namespace {

using base::DataType;
using base::TypeKind;

constexpr unsigned kIntDigits = 10;
constexpr unsigned kBigIntDigits = 19;

DataType integer_as_decimal(const DataType& type) {
  if (type.kind == TypeKind::kDecimal) return type;
  return decimal_type(type.kind == TypeKind::kInt ? kIntDigits : kBigIntDigits, 0);
}

// A length of 0 is unlimited.
DataType char_of_both(const DataType& a, const DataType& b) {
  const bool limited = a.length != 0 && b.length != 0;
  return {TypeKind::kChar, 0, 0, limited ? std::max(a.length, b.length) : 0};
}

unsigned digits_of(int64_t number) {
  unsigned digits = 1;
  for (int64_t rest = number / 10; rest != 0; rest /= 10) ++digits;
  return digits;
}

}  // namespace

DataType decimal_type(unsigned precision, unsigned scale) {
  return {TypeKind::kDecimal,
          static_cast<uint8_t>(std::min<unsigned>(precision, kWideDecimalDigitsMax)),
          static_cast<uint8_t>(scale), 0};
}

unsigned scale_beside_integers(unsigned scale) {
  return std::min(scale, kWideDecimalDigitsMax - 1U);
}

bool is_integer(const DataType& type) {
  return type.kind == TypeKind::kInt || type.kind == TypeKind::kBigInt;
}

bool is_numeric(const DataType& type) {
  return is_integer(type) || type.kind == TypeKind::kDecimal || type.kind == TypeKind::kDouble;
}

bool is_datetime(const DataType& type) {
  return type.kind == TypeKind::kDate || type.kind == TypeKind::kTimestamp;
}

bool same_representation(const DataType& a, const DataType& b) {
  if (a.is_string() && b.is_string()) return true;
  return a.kind == b.kind && a.scale == b.scale && is_wide(a) == is_wide(b);
}

std::optional<DataType> common_type(const DataType& a, const DataType& b) {
  if (a == b) return a;
  if (a.is_string() && b.is_string()) {
    return a.kind == TypeKind::kChar ? char_of_both(a, b) : kTextType;
  }
  if (is_numeric(a) && is_numeric(b)) {
    if (a.kind == TypeKind::kDouble || b.kind == TypeKind::kDouble) return kDoubleType;
    if (is_integer(a) && is_integer(b)) return kBigIntType;
    const DataType x = integer_as_decimal(a);
    const DataType y = integer_as_decimal(b);
    const auto integers =
        static_cast<unsigned>(std::max(x.precision - x.scale, y.precision - y.scale));
    unsigned scale = std::max(x.scale, y.scale);
    if (integers != 0) scale = scale_beside_integers(scale);
    return decimal_type(integers + scale, scale);
  }
  if (is_datetime(a) && is_datetime(b)) return kTimestampType;
  return std::nullopt;
}

std::optional<DataType> compared_type(const DataType& a, const DataType& b) {
  const bool strings = a.is_string() && b.is_string();
  if (!strings || a.kind == b.kind) return common_type(a, b);
  return a == kTextType || b == kTextType ? kTextType : char_of_both(a, b);
}

DataType as_decimal(const Expression& expression) {
  const auto* number = is_literal(expression) ? std::get_if<int64_t>(&expression.literal) : nullptr;
  if (number != nullptr) return decimal_type(digits_of(*number), 0);
  return integer_as_decimal(expression.type);
}

ExpressionPtr convert_literal(const Expression& literal, const DataType& type) {
  DIPTYCH_CHECK(is_literal(literal), "only literals are converted while binding");
  if (type.is_string() && !literal.type.is_string() && !is_null_literal(literal)) return nullptr;
  auto value = base::convert_value(type, literal.literal);
  if (!value) return nullptr;
  return make_literal(type, *std::move(value));
}

ExpressionPtr cast_to(ExpressionPtr expression, const DataType& type) {
  const bool drops_blanks =
      type.kind == TypeKind::kChar && expression->type.kind == TypeKind::kVarchar;
  if (!drops_blanks && same_representation(expression->type, type)) return expression;
  if (is_literal(*expression)) {
    if (ExpressionPtr converted = convert_literal(*expression, type)) return converted;
  }
  return make_expression(ExpressionKind::kCast, type, std::move(expression));
}

std::optional<int64_t> rounded_number(const base::Value& literal) {
  if (const auto* integer = std::get_if<int64_t>(&literal)) return *integer;
  if (const auto* decimal = std::get_if<base::DecimalValue>(&literal)) {
    const base::int128_t one = base::power_of_ten(decimal->scale);
    const base::int128_t half = decimal->units < 0 ? -one / 2 : one / 2;
    const base::int128_t rounded = (decimal->units + half) / one;
    if (rounded != static_cast<int64_t>(rounded)) return std::nullopt;
    return static_cast<int64_t>(rounded);
  }
  const double rounded = std::nearbyint(std::get<double>(literal));
  constexpr double kEnd = 0x1p63;
  if (!(rounded >= -kEnd && rounded < kEnd)) return std::nullopt;
  return static_cast<int64_t>(rounded);
}

}  // namespace diptych::olap
