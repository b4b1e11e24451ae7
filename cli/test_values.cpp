#include "cli/test_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <md5.h>
#include <re2/re2.h>

namespace diptych::cli {
namespace {

constexpr uint8_t kDigits = 3;  // after the point, of R

std::string printable(std::string text) {
  if (text.empty()) return "(empty)";
  for (char& c : text) {
    if (c < ' ' || c > '~') c = '@';
  }
  return text;
}

// Half away from zero, exactly: a decimal is not rounded by way of a double.
std::string rounded(const base::DecimalValue& value) {
  base::int128_t units = value.units;
  uint8_t scale = value.scale;
  for (bool half = false; scale > kDigits; --scale) {
    const auto digit = static_cast<int>(units % 10);
    units /= 10;
    half = scale == kDigits + 1 && (digit >= 5 || digit <= -5);
    if (half) units += digit > 0 ? 1 : -1;
  }
  std::string text = base::decimal_to_string(units, scale);
  if (scale == 0) text += '.';
  return text.append(kDigits - scale, '0');
}

std::string whole(const base::Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "1" : "0";
  if (const auto* decimal = std::get_if<base::DecimalValue>(&value)) {
    base::int128_t units = decimal->units;
    for (uint8_t scale = decimal->scale; scale > 0; --scale) units /= 10;
    return base::decimal_to_string(units, 0);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return fmt::format("{:.0f}", std::trunc(*number) + 0.0);  // -0 is 0
  }
  return base::to_string(value);
}

std::string real(const base::Value& value) {
  if (const auto* number = std::get_if<double>(&value)) {
    const std::string text = fmt::format("{:.{}f}", *number, kDigits);
    return text == "-0.000" ? "0.000" : text;
  }
  if (const auto* number = std::get_if<int64_t>(&value)) return fmt::format("{}.000", *number);
  if (const auto* decimal = std::get_if<base::DecimalValue>(&value)) return rounded(*decimal);
  return base::to_string(value);
}

std::optional<double> number_of(const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (text.empty() || read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return number;
}

}  // namespace

std::string test_value(const base::Value& value, char type) {
  if (base::is_null(value)) return "NULL";
  if (const auto* text = std::get_if<std::string>(&value)) return printable(*text);
  if (type == 'I') return whole(value);
  if (type == 'R') return real(value);
  return base::to_string(value);
}

bool is_expected(const std::string& shown, const std::string& expected, Exactness exactness) {
  if (shown == expected) return true;
  for (const std::string_view mark : {"<REGEX>:", "<!REGEX>:"}) {
    if (!expected.starts_with(mark)) continue;
    const RE2 regex("(?s)" + expected.substr(mark.size()), RE2::Quiet);
    return regex.ok() && RE2::FullMatch(shown, regex) == (mark[1] == 'R');
  }
  if (shown == "true" || shown == "false") return expected == (shown == "true" ? "1" : "0");
  const std::optional<double> number = number_of(shown);
  const std::optional<double> wanted = number_of(expected);
  if (!number || !wanted) return false;
  if (exactness == Exactness::kExact) return *number == *wanted;
  return std::abs(*number - *wanted) <= std::abs(*wanted) * 0.01 + 1e-8;
}

std::vector<std::string> sorted_values(TestRows rows, TestSort sort) {
  if (sort == TestSort::kRows) std::sort(rows.begin(), rows.end());
  std::vector<std::string> values;
  for (std::vector<std::string>& row : rows) {
    std::move(row.begin(), row.end(), std::back_inserter(values));
  }
  if (sort == TestSort::kValues) std::sort(values.begin(), values.end());
  return values;
}

std::string hash_line(const std::vector<std::string>& values) {
  MD5_CTX sum;
  MD5Init(&sum);
  for (const std::string& value : values) {
    MD5Update(&sum, reinterpret_cast<const uint8_t*>(value.data()), value.size());
    MD5Update(&sum, reinterpret_cast<const uint8_t*>("\n"), 1);
  }
  char digits[MD5_DIGEST_STRING_LENGTH];
  return fmt::format("{} values hashing to {}", values.size(), MD5End(&sum, digits));
}

std::vector<std::string> expected_values(const std::vector<std::string>& lines, size_t columns,
                                         TestSort sort) {
  const auto is_row = [&](const std::string& line) {
    return static_cast<size_t>(std::count(line.begin(), line.end(), '\t')) + 1 == columns;
  };
  if (columns <= 1 || !std::all_of(lines.begin(), lines.end(), is_row)) {
    if (columns == 0 || lines.size() % columns != 0) return lines;
    TestRows rows;
    for (size_t i = 0; i < lines.size(); i += columns) {
      const auto first = lines.begin() + static_cast<std::ptrdiff_t>(i);
      rows.emplace_back(first, first + static_cast<std::ptrdiff_t>(columns));
    }
    return sorted_values(std::move(rows), sort);
  }
  TestRows rows;
  for (const std::string& line : lines) {
    std::vector<std::string>& row = rows.emplace_back();
    for (size_t begin = 0; begin <= line.size();) {
      const size_t end = std::min(line.find('\t', begin), line.size());
      row.push_back(line.substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return sorted_values(std::move(rows), sort);
}

}  // namespace diptych::cli
