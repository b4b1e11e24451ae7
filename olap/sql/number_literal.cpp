// bind_number of operators.h.

#include <algorithm>

#include <fmt/format.h>

#include "olap/sql/operators.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

// A number that is written without an exponent.
bool is_plain(std::string_view digits) {
  return digits.find_first_not_of("0123456789.") == std::string_view::npos;
}

// Zeros in front are no digits of a number: 007 has one.
std::string_view without_leading_zeros(std::string_view digits) {
  while (digits.size() > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9') {
    digits.remove_prefix(1);
  }
  return digits;
}

struct KeptDigits {
  std::string_view text;
  bool dropped = false;  // a digit that is not 0
};

// As many digits behind the point as a decimal has room for; the 0 of 0.5 takes none.
KeptDigits within_decimal(std::string_view digits) {
  const size_t point = digits.find('.');
  if (!is_plain(digits) || point >= kWideDecimalDigitsMax) return {digits};
  const bool below_one = digits.starts_with("0.") || point == 0;
  const size_t end = point + 1 + kWideDecimalDigitsMax - (below_one ? 0 : point);
  if (digits.size() <= end) return {digits};
  const bool dropped = digits.find_first_not_of('0', end) != std::string_view::npos;
  std::string_view kept = digits.substr(0, end);
  // Without this 0 the type has room for a digit before the point.
  if (below_one && kept.ends_with('0')) kept.remove_suffix(1);
  return {kept, dropped};
}

// A number with a point, or beyond BIGINT, has as many digits as are written.
BoundResult bind_decimal(const SourceText& source, std::string_view sign, std::string_view digits,
                         int64_t offset) {
  const auto [kept, dropped] = within_decimal(digits);
  const size_t point = kept.find('.');
  const size_t scale = point == kept.npos ? 0 : kept.size() - point - 1;
  const size_t written = std::max<size_t>(kept.size() - (point != kept.npos ? 1 : 0), 1);
  const size_t precision = scale == kWideDecimalDigitsMax && point <= 1 ? scale : written;
  if (precision > kWideDecimalDigitsMax) {  // not a DOUBLE: it would equal numbers that it is not
    return source.wrong(
        offset,
        fmt::format("a number of more than {} digits is out of range", kWideDecimalDigitsMax),
        "22003");
  }
  const base::DataType type =
      decimal_type(static_cast<unsigned>(precision), static_cast<unsigned>(scale));
  auto value = base::parse_value(type, fmt::format("{}{}", sign, kept));
  if (!value) return source.wrong(offset, value.error().message, value.error().state);
  Bound bound = typed(make_literal(type, *std::move(value)), offset);
  if (dropped) bound.dropped_sign = sign.empty() ? 1 : -1;
  return bound;
}

}  // namespace

BoundResult bind_number(const SourceText& source, std::string_view number, int64_t offset) {
  const std::string_view sign = number.substr(0, number.starts_with('-') ? 1 : 0);
  const std::string_view digits = without_leading_zeros(number.substr(sign.size()));
  for (const base::DataType& type : {kIntType, kBigIntType}) {  // the grammar knows no INT32_MIN
    if (auto integer = base::parse_value(type, number)) {
      return typed(make_literal(type, *std::move(integer)), offset);
    }
  }
  if (is_plain(digits)) return bind_decimal(source, sign, digits, offset);
  // With an exponent it is DOUBLE.
  auto value = base::parse_value(kDoubleType, number);
  if (!value) return source.wrong(offset, value.error().message, value.error().state);
  return typed(make_literal(kDoubleType, *std::move(value)), offset);
}

}  // namespace diptych::olap
