#include "base/value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/civil_day.h"
#include "base/quoted.h"

namespace diptych::base {
namespace {

Error invalid(std::string message, SqlState state = "22P02") {
  return {ErrorCode::kInvalidArgument, state, std::move(message)};
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

Error out_of_range(std::string_view text, const DataType& type) {
  if (type.kind == TypeKind::kDecimal) {
    return invalid(fmt::format("{} is out of range for {}: at most {} digits before the point",
                               quoted(text), type.to_string(), type.precision - type.scale),
                   "22003");
  }
  const bool narrow = type.kind == TypeKind::kInt;
  return invalid(fmt::format("{} is out of range for {} ({} to {})", quoted(text), type.to_string(),
                             narrow ? INT32_MIN : INT64_MIN, narrow ? INT32_MAX : INT64_MAX),
                 "22003");
}

bool fits(const DataType& type, int64_t number) {
  return type.kind == TypeKind::kBigInt || (number >= INT32_MIN && number <= INT32_MAX);
}

Result<Value> parse_integer(const DataType& type, std::string_view text) {
  std::string_view digits = trimmed(text);
  if (digits.size() > 1 && digits[0] == '+' && is_digit(digits[1])) digits.remove_prefix(1);
  int64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = end == digits.data() + digits.size();
  if (whole && error == std::errc::result_out_of_range) return out_of_range(text, type);
  if (!whole || error != std::errc()) {
    return invalid(fmt::format("{} is not a whole number", quoted(text)));
  }
  if (!fits(type, number)) return out_of_range(text, type);
  return Value(number);
}

Result<Value> parse_double(std::string_view text) {
  std::string_view digits = trimmed(text);
  if (digits.size() > 1 && digits[0] == '+' && digits[1] != '-') digits.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = end == digits.data() + digits.size();
  if (whole && error == std::errc::result_out_of_range) {
    return invalid(fmt::format("{} is out of range for DOUBLE", quoted(text)), "22003");
  }
  if (!whole || error != std::errc()) {
    return invalid(fmt::format("{} is not a number", quoted(text)));
  }
  return Value(number);
}

// Digits of a decimal number in three parts; `fraction` without trailing zeros.
struct DecimalText {
  bool negative = false;
  std::string_view integer;
  std::string_view fraction;
};

Result<DecimalText> split_decimal(std::string_view text) {
  std::string_view rest = trimmed(text);
  DecimalText parts;
  if (!rest.empty() && (rest[0] == '-' || rest[0] == '+')) {
    parts.negative = rest[0] == '-';
    rest.remove_prefix(1);
  }
  const size_t point = rest.find('.');
  parts.integer = rest.substr(0, point);
  if (point != std::string_view::npos) parts.fraction = rest.substr(point + 1);
  if (parts.integer.empty() && parts.fraction.empty()) {
    return invalid(fmt::format("{} is not a decimal number", quoted(text)));
  }
  for (const std::string_view digits : {parts.integer, parts.fraction}) {
    for (const char c : digits) {
      if (!is_digit(c)) return invalid(fmt::format("{} is not a decimal number", quoted(text)));
    }
  }
  while (parts.integer.starts_with('0')) parts.integer.remove_prefix(1);
  while (parts.fraction.ends_with('0')) parts.fraction.remove_suffix(1);
  return parts;
}

// "-1.5e2" as "-150"; nullopt without an exponent, or for what is no number.
std::optional<std::string> without_exponent(std::string_view text) {
  const std::string_view number = trimmed(text);
  const size_t e = number.find_first_of("eE");
  const bool follows = e != std::string_view::npos && e > 0;
  if (!follows || !(is_digit(number[e - 1]) || number[e - 1] == '.')) return std::nullopt;
  const auto parts = split_decimal(number.substr(0, e));
  std::string_view written = number.substr(e + 1);
  if (written.size() > 1 && written[0] == '+' && is_digit(written[1])) written.remove_prefix(1);
  int64_t exponent = 0;
  const char* const end = written.data() + written.size();
  const std::from_chars_result read = std::from_chars(written.data(), end, exponent);
  if (!parts || read.ptr != end || read.ec == std::errc::invalid_argument) return std::nullopt;
  // Far beyond any DECIMAL, so that the number stays out of its range, unless it is 0.
  constexpr int64_t kExponentMax = 1000;
  if (read.ec != std::errc()) exponent = written.starts_with('-') ? -kExponentMax : kExponentMax;
  exponent = std::clamp(exponent, -kExponentMax, kExponentMax);
  std::string digits = fmt::format("{}{}", parts->integer, parts->fraction);
  if (digits.find_first_not_of('0') == std::string::npos) return "0";
  int64_t point = static_cast<int64_t>(parts->integer.size()) + exponent;
  if (point < 0) digits.insert(0, static_cast<size_t>(-std::exchange(point, 0)), '0');
  const auto place = static_cast<size_t>(point);
  digits.resize(std::max(digits.size(), place), '0');
  digits.insert(place, ".");
  return (parts->negative ? "-" : "") + digits;
}

Result<Value> parse_decimal(const DataType& type, std::string_view text) {
  auto parts = split_decimal(text);
  std::optional<std::string> plain;
  if (!parts && (plain = without_exponent(text))) parts = split_decimal(*plain);
  if (!parts) return parts.error();
  if (parts->fraction.size() > type.scale) {
    return invalid(fmt::format("{} has {} digits after the point; {} keeps {}", quoted(text),
                               parts->fraction.size(), type.to_string(), type.scale));
  }
  if (parts->integer.size() > static_cast<size_t>(type.precision - type.scale)) {
    return out_of_range(text, type);
  }
  int128_t units = 0;
  for (const char c : parts->integer) units = units * 10 + (c - '0');
  for (const char c : parts->fraction) units = units * 10 + (c - '0');
  units *= power_of_ten(static_cast<unsigned>(type.scale - parts->fraction.size()));
  return Value(DecimalValue{parts->negative ? -units : units, type.scale});
}

Result<Value> parse_boolean(std::string_view text) {
  std::string word(trimmed(text));
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  const auto begins = [&](std::string_view whole) {
    return !word.empty() && whole.starts_with(word);
  };
  if (begins("true") || begins("yes") || word == "on" || word == "1") return Value(true);
  const bool off = word.size() > 1 && begins("off");  // "o" might be "on"
  if (begins("false") || begins("no") || off || word == "0") return Value(false);
  return invalid(fmt::format("{} is not a BOOLEAN (true or false)", quoted(text)));
}

// The string as the column keeps it: CHAR without trailing blanks. Fails where it is too long.
Result<std::string_view> fit_string(const DataType& type, std::string_view text) {
  if (type.kind == TypeKind::kChar) text = without_trailing_blanks(text);
  if (type.length != 0 && text.size() > type.length) {
    return invalid(fmt::format("{} has {} bytes; {} keeps {}", quoted(text), text.size(),
                               type.to_string(), type.length));
  }
  if (text.size() > UINT32_MAX) return invalid("a string has at most 4 GiB");
  return text;
}

template <class Parsed>
Result<Value> as_value(Result<Parsed> parsed) {
  if (!parsed) return parsed.error();
  return Value(*std::move(parsed));
}

std::string_view kind_of(const Value& value) {
  static constexpr std::array<std::string_view, std::variant_size_v<Value>> kNames = {
      "NULL", "BOOLEAN", "BIGINT", "DOUBLE", "DECIMAL", "DATE", "TIMESTAMP", "INTERVAL", "TEXT"};
  return kNames[value.index()];
}

Error no_conversion(const DataType& type, const Value& value) {
  const std::string text = to_string(value);
  return invalid(
      fmt::format("{} {} cannot be taken as {}", kind_of(value), quoted(text), type.to_string()));
}

Result<Value> convert_to_integer(const DataType& type, const Value& value) {
  int128_t number = 0;
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    number = *integer;
  } else if (const auto* decimal = std::get_if<DecimalValue>(&value)) {
    const int128_t power = power_of_ten(decimal->scale);
    if (decimal->units % power != 0) return no_conversion(type, value);
    number = decimal->units / power;
  } else {
    return no_conversion(type, value);
  }
  if (number < INT64_MIN || number > INT64_MAX || !fits(type, static_cast<int64_t>(number))) {
    return out_of_range(to_string(value), type);
  }
  return Value(static_cast<int64_t>(number));
}

Result<Value> convert_to_decimal(const DataType& type, const Value& value) {
  DecimalValue decimal;
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    decimal.units = *integer;
  } else if (const auto* other = std::get_if<DecimalValue>(&value)) {
    decimal = *other;
  } else {
    return no_conversion(type, value);  // a DOUBLE too: its binary fraction is not the decimal
  }
  if (decimal.scale > type.scale) {
    const int128_t power = power_of_ten(static_cast<unsigned>(decimal.scale - type.scale));
    if (decimal.units % power != 0) {
      return invalid(fmt::format("{} has more digits after the point than {} keeps",
                                 quoted(to_string(value)), type.to_string()));
    }
    decimal.units /= power;
    decimal.scale = type.scale;
  }
  const int128_t limit =
      power_of_ten(static_cast<unsigned>(type.precision - type.scale + decimal.scale));
  if (decimal.units <= -limit || decimal.units >= limit) {
    return out_of_range(to_string(value), type);
  }
  decimal.units *= power_of_ten(static_cast<unsigned>(type.scale - decimal.scale));
  decimal.scale = type.scale;
  return Value(decimal);
}

Result<Value> convert_to_double(const DataType& type, const Value& value) {
  if (std::holds_alternative<double>(value)) return value;
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    const auto number = static_cast<double>(*integer);
    // The comparison with 2^63 keeps the cast back in range.
    const bool exact = number < 0x1p63 && static_cast<int64_t>(number) == *integer;
    if (!exact) return no_conversion(type, value);
    return Value(number);
  }
  if (std::holds_alternative<DecimalValue>(value)) return parse_double(to_string(value));
  return no_conversion(type, value);
}

template <class Cell>
void put(const ColumnLayout& column, std::byte* row, Cell cell) {
  std::memcpy(row + column.offset, &cell, sizeof cell);
}

template <class Cell>
Cell get(const ColumnLayout& column, const std::byte* row) {
  Cell cell;
  std::memcpy(&cell, row + column.offset, sizeof cell);
  return cell;
}

void put_string(const ColumnLayout& column, std::string_view text, std::byte* row) {
  if (!column.type.is_inline()) {
    put(column, row, Text(text));
    return;
  }
  put(column, row, static_cast<uint8_t>(text.size()));
  std::memcpy(row + column.offset + 1, text.data(), text.size());
}

void put_value(const ColumnLayout& column, const Value& value, std::byte* row) {
  switch (column.type.kind) {
    case TypeKind::kInt: put(column, row, static_cast<int32_t>(std::get<int64_t>(value))); return;
    case TypeKind::kBigInt: put(column, row, std::get<int64_t>(value)); return;
    case TypeKind::kDecimal:
      put(column, row, static_cast<int64_t>(std::get<DecimalValue>(value).units));
      return;
    case TypeKind::kDouble: put(column, row, std::get<double>(value)); return;
    case TypeKind::kBoolean: put(column, row, std::get<bool>(value)); return;
    case TypeKind::kDate: put(column, row, std::get<Date>(value)); return;
    case TypeKind::kTimestamp: put(column, row, std::get<Timestamp>(value)); return;
    case TypeKind::kInterval: break;  // no column's
    case TypeKind::kChar:
    case TypeKind::kVarchar: put_string(column, std::get<std::string>(value), row); return;
  }
}

}  // namespace

Result<Value> parse_value(const DataType& type, std::string_view text) {
  switch (type.kind) {
    case TypeKind::kInt:
    case TypeKind::kBigInt: return parse_integer(type, text);
    case TypeKind::kDecimal: return parse_decimal(type, text);
    case TypeKind::kDouble: return parse_double(text);
    case TypeKind::kBoolean: return parse_boolean(text);
    case TypeKind::kDate: return as_value(parse_date(text));
    case TypeKind::kTimestamp: return as_value(parse_timestamp(text));
    case TypeKind::kInterval: return as_value(parse_interval(text));
    case TypeKind::kChar:
    case TypeKind::kVarchar: {
      const auto fitted = fit_string(type, text);
      if (!fitted) return fitted.error();
      return Value(std::string(*fitted));
    }
  }
  return no_conversion(type, Value(std::string(text)));
}

CivilDate civil_from_date(Date date) {
  const WideCivilDay civil(date.days);
  return {civil.year, static_cast<uint32_t>(civil.month), static_cast<uint32_t>(civil.day)};
}

Date date_from_civil(CivilDate civil) {
  const int32_t first = WideCivilDay::first_of(civil.year, static_cast<int32_t>(civil.month));
  // Modulo 2^32: the least day's month begins before there are days.
  return {static_cast<int32_t>(static_cast<uint32_t>(first) + civil.day - 1)};
}

Result<Value> convert_value(const DataType& type, const Value& value) {
  if (is_null(value)) return value;
  if (const auto* text = std::get_if<std::string>(&value)) return parse_value(type, *text);
  switch (type.kind) {
    case TypeKind::kInt:
    case TypeKind::kBigInt: return convert_to_integer(type, value);
    case TypeKind::kDecimal: return convert_to_decimal(type, value);
    case TypeKind::kDouble: return convert_to_double(type, value);
    case TypeKind::kBoolean:
      if (std::holds_alternative<bool>(value)) return value;
      break;
    case TypeKind::kDate:
      if (std::holds_alternative<Date>(value)) return value;
      if (const auto* timestamp = std::get_if<Timestamp>(&value);
          timestamp != nullptr && timestamp->micros % kMicrosPerDay == 0) {
        return Value(Date{static_cast<int32_t>(timestamp->micros / kMicrosPerDay)});
      }
      break;
    case TypeKind::kTimestamp:
      if (std::holds_alternative<Timestamp>(value)) return value;
      if (const auto* date = std::get_if<Date>(&value)) {
        int64_t micros = 0;
        if (__builtin_mul_overflow(int64_t{date->days}, kMicrosPerDay, &micros)) break;
        return Value(Timestamp{micros});
      }
      break;
    case TypeKind::kInterval:
      if (std::holds_alternative<Interval>(value)) return value;
      break;
    case TypeKind::kChar:
    case TypeKind::kVarchar: break;
  }
  return no_conversion(type, value);
}

Result<void> store_value(const ColumnLayout& column, const Value& value, std::byte* row) {
  if (is_null(value)) {
    if (!column.nullable) {
      return Error(ErrorCode::kNotNull,
                   fmt::format("NULL, and the column is {} NOT NULL", column.type.to_string()));
    }
    std::memset(row + column.offset, 0, column.bytes);
    row[column.null_offset] = std::byte{1};
    return {};
  }
  if (const auto* text = std::get_if<std::string>(&value);
      text != nullptr && column.type.is_string()) {
    // Not through a converted copy: the cell of a long string points at the caller's bytes.
    const auto fitted = fit_string(column.type, *text);
    if (!fitted) return fitted.error();
    std::memset(row + column.offset, 0, column.bytes);
    put_string(column, *fitted, row);
    return {};
  }
  const auto converted = convert_value(column.type, value);
  if (!converted) return converted.error();
  std::memset(row + column.offset, 0, column.bytes);
  put_value(column, *converted, row);
  return {};
}

std::string_view load_string(const ColumnLayout& column, const std::byte* row) {
  DIPTYCH_DCHECK(column.type.is_string(), "only string cells have a view");
  if (!column.type.is_inline()) return get<Text>(column, row).view();
  const auto size = static_cast<uint8_t>(row[column.offset]);
  return {reinterpret_cast<const char*>(row + column.offset + 1),
          std::min<size_t>(size, column.type.length)};
}

bool string_fits(const ColumnLayout& column, const std::byte* row) {
  DIPTYCH_DCHECK(column.type.is_string(), "only string cells have a length");
  if (column.type.length == 0 || is_null_cell(column, row)) return true;
  const size_t size = column.type.is_inline() ? static_cast<uint8_t>(row[column.offset])
                                              : get<Text>(column, row).size;
  return size <= column.type.length;
}

Value load_value(const ColumnLayout& column, const std::byte* row) {
  if (is_null_cell(column, row)) return {};
  switch (column.type.kind) {
    case TypeKind::kInt: return Value(int64_t{get<int32_t>(column, row)});
    case TypeKind::kBigInt: return Value(get<int64_t>(column, row));
    case TypeKind::kDecimal:
      return Value(DecimalValue{get<int64_t>(column, row), column.type.scale});
    case TypeKind::kDouble: return Value(get<double>(column, row));
    case TypeKind::kBoolean: return Value(get<uint8_t>(column, row) != 0);
    case TypeKind::kDate: return Value(get<Date>(column, row));
    case TypeKind::kTimestamp: return Value(get<Timestamp>(column, row));
    case TypeKind::kInterval: break;  // no column's
    case TypeKind::kChar:
    case TypeKind::kVarchar: return Value(std::string(load_string(column, row)));
  }
  return {};
}

}  // namespace diptych::base
