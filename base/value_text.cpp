// Values as texts (value.h).

#include <charconv>
#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "base/value.h"

namespace diptych::base {

namespace {

// At least `width` digits.
char* write_number(uint32_t number, unsigned width, char* to) {
  char digits[10];
  unsigned count = 0;
  for (; number != 0 || count < width; number /= 10) {
    digits[count++] = static_cast<char>('0' + number % 10);
  }
  while (count > 0) *to++ = digits[--count];
  return to;
}

// Of a number below 100.
char* write_two(uint32_t number, char* to) {
  *to++ = static_cast<char>('0' + number / 10);
  *to++ = static_cast<char>('0' + number % 10);
  return to;
}

char* write_year(int32_t year, char* to) {
  if (year >= 0 && year < 10'000) [[likely]] {
    to = write_two(static_cast<uint32_t>(year) / 100, to);
    return write_two(static_cast<uint32_t>(year) % 100, to);
  }
  if (year < 0) *to++ = '-';
  return write_number(static_cast<uint32_t>(std::abs(year)), year < 0 ? 3 : 4, to);
}

char* write_date(Date date, char* to) {
  const CivilDate civil = civil_from_date(date);
  to = write_year(civil.year, to);
  *to++ = '-';
  to = write_two(civil.month, to);
  *to++ = '-';
  return write_two(civil.day, to);
}

// The fewest digits that mean the number, with an exponent from 1e15 on and below 1e-4.
std::string double_to_string(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
  if (std::abs(number) < 1e15) return fmt::format("{}", number);
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, number, std::chars_format::scientific);
  return {text, end.ptr};
}

}  // namespace

std::string decimal_to_string(int128_t units, uint8_t scale) {
  char digits[320];  // of any scale, a point, a sign
  char* const end = digits + sizeof digits;
  char* at = end;
  const auto put = [&](auto rest) {
    for (unsigned digit = 0; rest != 0 || digit <= scale; ++digit) {
      if (digit == scale && scale != 0) *--at = '.';
      *--at = static_cast<char>('0' + static_cast<int>(rest % 10));
      rest /= 10;
    }
  };
  // The least 128-bit number has no positive twin.
  const auto magnitude = units < 0 ? -static_cast<uint128_t>(units) : static_cast<uint128_t>(units);
  if (magnitude <= UINT64_MAX) {
    put(static_cast<uint64_t>(magnitude));
  } else {
    put(magnitude);
  }
  if (units < 0) *--at = '-';
  return {at, end};
}

std::string to_string(Date date) {
  char text[32];
  return {text, write_date(date, text)};
}

std::string to_string(Timestamp timestamp) {
  int64_t days = timestamp.micros / kMicrosPerDay;
  int64_t micros = timestamp.micros % kMicrosPerDay;
  if (micros < 0) {
    micros += kMicrosPerDay;
    --days;
  }
  const auto seconds = static_cast<uint32_t>(micros / kMicrosPerSecond);
  char text[64];
  char* to = write_date(Date{static_cast<int32_t>(days)}, text);
  *to++ = ' ';
  to = write_two(seconds / 3600, to);
  *to++ = ':';
  to = write_two(seconds / 60 % 60, to);
  *to++ = ':';
  to = write_two(seconds % 60, to);
  if (const auto fraction = static_cast<uint32_t>(micros % kMicrosPerSecond); fraction != 0) {
    *to++ = '.';
    to = write_number(fraction, 6, to);
    while (to[-1] == '0') --to;
  }
  return {text, to};
}

std::string to_string(const Value& value) {
  struct Printer {
    std::string operator()(std::monostate) const { return "NULL"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(int64_t number) const { return fmt::format("{}", number); }
    std::string operator()(double number) const { return double_to_string(number); }
    std::string operator()(const DecimalValue& decimal) const {
      return decimal_to_string(decimal.units, decimal.scale);
    }
    std::string operator()(Date date) const { return to_string(date); }
    std::string operator()(Timestamp timestamp) const { return to_string(timestamp); }
    std::string operator()(const Interval& interval) const { return to_string(interval); }
    std::string operator()(const std::string& text) const { return text; }
  };
  return std::visit(Printer{}, value);
}

}  // namespace diptych::base
