#include "olap/decimal_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/check.h"
#include "base/quoted.h"
#include "olap/plan.h"

namespace diptych::olap {
namespace {

using base::DataType;
using base::Error;
using base::ErrorCode;
using base::int128_t;
using base::Result;

constexpr int64_t kExponentMax = 1'000'000;  // far beyond any DECIMAL's digits

// Rounding asks for no digit beyond those that any type has.
constexpr size_t kDigitsKept = kWideDecimalDigitsMax + 1;

// 0.<digits> * 10^point; the first digit is not 0.
struct DecimalDigits {
  bool negative = false;
  std::string digits;  // the first of them
  int64_t count = 0;
  int64_t point = 0;
};

Error not_a_number(std::string_view text) {
  return {ErrorCode::kInvalidArgument, "22P02",
          fmt::format("{} is not a decimal number", base::quoted(text))};
}

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// What stands behind the digits: nothing, or e and a whole number. nullopt where it is anything
// else.
std::optional<int64_t> exponent_of(std::string_view rest) {
  if (rest.empty()) return 0;
  if (rest.front() != 'e' && rest.front() != 'E') return std::nullopt;
  rest.remove_prefix(1);
  if (rest.starts_with('+')) {
    rest.remove_prefix(1);
    if (rest.starts_with('-')) return std::nullopt;
  }
  int64_t exponent = 0;
  const auto [end, fault] = std::from_chars(rest.data(), rest.data() + rest.size(), exponent);
  if (end != rest.data() + rest.size() || fault == std::errc::invalid_argument) return std::nullopt;
  if (fault != std::errc()) return rest.starts_with('-') ? -kExponentMax : kExponentMax;
  return std::clamp(exponent, -kExponentMax, kExponentMax);
}

Result<DecimalDigits> read_digits(std::string_view text) {
  std::string_view rest = without_blanks(text);
  DecimalDigits number;
  if (rest.starts_with('-') || rest.starts_with('+')) {
    number.negative = rest.front() == '-';
    rest.remove_prefix(1);
  }
  bool any = false;
  bool behind_point = false;
  for (; !rest.empty(); rest.remove_prefix(1)) {
    const char c = rest.front();
    if (c == '.' && !behind_point) {
      behind_point = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    any = true;
    if (!number.digits.empty() || c != '0') {
      if (number.digits.size() < kDigitsKept) number.digits.push_back(c);
      ++number.count;
      number.point += behind_point ? 0 : 1;
    } else {
      number.point -= behind_point ? 1 : 0;
    }
  }
  const auto exponent = exponent_of(rest);
  if (!any || !exponent) return not_a_number(text);
  number.point += *exponent;
  return number;
}

}  // namespace

Result<base::Value> cast_to_decimal(const DataType& type, std::string_view text) {
  const auto number = read_digits(text);
  if (!number) return number.error();
  const std::string& digits = number->digits;
  const int64_t kept = number->point + type.scale;
  int128_t units = 0;
  bool fits = digits.empty() || kept <= type.precision;
  if (!digits.empty() && fits && kept >= 0) {
    for (int64_t i = 0; i < kept; ++i) {
      const auto at = static_cast<size_t>(i);
      units = units * 10 + (at < digits.size() ? digits[at] - '0' : 0);
    }
    const auto next = static_cast<size_t>(kept);
    if (next < digits.size() && digits[next] >= '5') ++units;
    fits = units < base::power_of_ten(type.precision);
  }
  if (!fits) {
    return Error(ErrorCode::kInvalidArgument, "22003",
                 fmt::format("{} is out of range for {}: at most {} digits before the point",
                             base::quoted(text), type.to_string(), type.precision - type.scale));
  }
  return base::Value(base::DecimalValue{number->negative ? -units : units, type.scale});
}

Result<DataType> decimal_type_of(std::string_view text) {
  const auto number = read_digits(text);
  if (!number) return number.error();
  const int64_t behind = number->count - number->point;
  const int64_t room = kWideDecimalDigitsMax - std::max<int64_t>(number->point, 0);
  DataType type{base::TypeKind::kDecimal, kWideDecimalDigitsMax, 0, 0};
  type.scale = static_cast<uint8_t>(std::max<int64_t>(std::min(behind, room), 0));
  return type;
}

std::optional<int128_t> double_as_decimal(double value, uint8_t scale) {
  if (!std::isfinite(value)) return std::nullopt;
  constexpr int kDigits = 15;
  std::array<char, 32> text;  // d.dddddddddddddde-308
  const auto written = std::to_chars(text.data(), text.data() + text.size(), std::abs(value),
                                     std::chars_format::scientific, kDigits - 1);
  DIPTYCH_CHECK(written.ec == std::errc(), "the digits of a DOUBLE fit their place");
  int128_t units = text[0] - '0';
  for (int i = 2; i <= kDigits; ++i) units = units * 10 + (text[static_cast<size_t>(i)] - '0');
  int exponent = 0;
  const char* sign = text.data() + kDigits + 2;
  std::from_chars(*sign == '+' ? sign + 1 : sign, written.ptr, exponent);

  const int shift = exponent - (kDigits - 1) + scale;  // of the last digit, in units
  if (units != 0 && shift > kWideDecimalDigitsMax - kDigits) return std::nullopt;
  if (shift < -kDigits || units == 0) return 0;
  const int128_t power = base::power_of_ten(static_cast<unsigned>(std::abs(shift)));
  units = shift >= 0 ? units * power : (units + power / 2) / power;
  return value < 0 ? -units : units;
}

double decimal_as_double(int128_t units, uint8_t scale) {
  const std::string text = base::decimal_to_string(units, scale);
  double value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  DIPTYCH_CHECK(read.ec == std::errc(), "a decimal's text is a number of DOUBLE's range");
  return value;
}

}  // namespace diptych::olap
