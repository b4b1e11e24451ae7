// to_char of moments.

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include <fmt/format.h>

#include "base/types.h"
#include "olap/execution/expression/date_parts.h"
#include "olap/execution/expression/row_functions.h"

namespace diptych::olap {

namespace {

// A name in the case in which the pattern is written: MONTH, Month, month; padded to `width`.
std::string name_as(std::string_view name, std::string_view written, size_t width) {
  std::string text(name);
  const bool upper = std::isupper(static_cast<unsigned char>(written[0])) != 0;
  const bool all = upper && std::isupper(static_cast<unsigned char>(written[1])) != 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (all) text[i] = static_cast<char>(std::toupper(c));
    if (!upper) text[i] = static_cast<char>(std::tolower(c));
  }
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string roman_month(uint32_t month, std::string_view written, bool plain) {
  const bool lower = std::islower(static_cast<unsigned char>(written[0])) != 0;
  return name_as(kRomanMonths[month - 1], lower ? "rm" : "RM", plain ? 0 : 4);
}

// "th" behind 11, "st" behind 1.
std::string_view ordinal_ending(std::string_view digits) {
  const bool teen = digits.size() > 1 && digits[digits.size() - 2] == '1';
  switch (teen ? '0' : digits.back()) {
    case '1': return "st";
    case '2': return "nd";
    case '3': return "rd";
    default: return "th";
  }
}

struct ToCharField {
  std::string_view name;  // upper case; longer ones first
  // `plain`: without padding.
  std::string (*text)(const DateParts& p, std::string_view written, bool plain);
};

// With zeros in front; no value is below 0.
std::string padded(int64_t value, size_t width, bool plain) {
  std::string digits = fmt::to_string(value);
  if (!plain && digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

// Digits of the second's fraction, cut off.
template <size_t kDigits>
std::string fraction(const DateParts& p, std::string_view, bool) {
  int64_t value = p.in_day % base::kMicrosPerSecond;
  for (size_t i = kDigits; i < 6; ++i) value /= 10;
  return padded(value, kDigits, false);
}

// There are no years but AD; a TIMESTAMP has no zone, and counts as UTC.
std::string era(const DateParts&, std::string_view written, bool) {
  return name_as(written[1] == '.' ? "A.D." : "AD", written, 0);
}
template <char kFirst, size_t kSize>
std::string zone(const DateParts&, std::string_view, bool) {
  return std::string("+00").substr(kFirst == '+' ? 0 : 1, kSize);
}

constexpr ToCharField kFields[] = {
    {"A.D.", era},
    {"B.C.", era},
    {"TZH", zone<'+', 3>},
    {"TZM", zone<'0', 2>},
    {"TZ", zone<'0', 0>},
    {"OF", zone<'+', 3>},
    {"AD", era},
    {"BC", era},
    {"FX", zone<'0', 0>},
    {"Y,YYY",
     [](const DateParts& p, std::string_view, bool) {
       return fmt::format("{},{:03}", p.civil.year / 1000, p.civil.year % 1000);
     }},
    {"SSSSS", [](const DateParts& p, std::string_view,
                 bool) { return fmt::to_string(p.in_day / base::kMicrosPerSecond); }},
    {"SSSS", [](const DateParts& p, std::string_view,
                bool) { return fmt::to_string(p.in_day / base::kMicrosPerSecond); }},
    {"A.M.",
     [](const DateParts& p, std::string_view w, bool) {
       return name_as(p.in_day < 12 * base::kMicrosPerHour ? "A.M." : "P.M.", w, 0);
     }},
    {"P.M.",
     [](const DateParts& p, std::string_view w, bool) {
       return name_as(p.in_day < 12 * base::kMicrosPerHour ? "A.M." : "P.M.", w, 0);
     }},
    {"IDDD",
     [](const DateParts& p, std::string_view, bool f) {
       return padded((p.civil.iso_week() - 1) * 7 + p.civil.weekday() + 1, 3, f);
     }},
    {"MONTH", [](const DateParts& p, std::string_view w,
                 bool plain) { return name_as(kMonths[p.civil.month - 1], w, plain ? 0 : 9); }},
    {"YYYY",
     [](const DateParts& p, std::string_view, bool f) { return padded(p.civil.year, 4, f); }},
    {"IYYY",
     [](const DateParts& p, std::string_view, bool f) { return padded(p.civil.iso_year(), 4, f); }},
    {"HH24", [](const DateParts& p, std::string_view,
                bool f) { return padded(p.in_day / base::kMicrosPerHour, 2, f); }},
    {"HH12", [](const DateParts& p, std::string_view,
                bool f) { return padded((p.in_day / base::kMicrosPerHour + 11) % 12 + 1, 2, f); }},
    {"MON", [](const DateParts& p, std::string_view w,
               bool) { return name_as(kMonths[p.civil.month - 1].substr(0, 3), w, 0); }},
    {"DAY",
     [](const DateParts& p, std::string_view w, bool plain) {
       return name_as(kDays[static_cast<size_t>(p.civil.weekday())], w, plain ? 0 : 9);
     }},
    {"DDD", [](const DateParts& p, std::string_view,
               bool f) { return padded(p.civil.day_of_year(), 3, f); }},
    {"YYY", [](const DateParts& p, std::string_view,
               bool f) { return padded(p.civil.year % 1000, 3, f); }},
    {"IYY", [](const DateParts& p, std::string_view,
               bool f) { return padded(p.civil.iso_year() % 1000, 3, f); }},
    {"HH", [](const DateParts& p, std::string_view,
              bool f) { return padded((p.in_day / base::kMicrosPerHour + 11) % 12 + 1, 2, f); }},
    {"MM",
     [](const DateParts& p, std::string_view, bool f) { return padded(p.civil.month, 2, f); }},
    {"MI",
     [](const DateParts& p, std::string_view, bool f) {
       return padded(p.in_day % base::kMicrosPerHour / base::kMicrosPerMinute, 2, f);
     }},
    {"MS", fraction<3>},
    {"US", fraction<6>},
    {"FF1", fraction<1>},
    {"FF2", fraction<2>},
    {"FF3", fraction<3>},
    {"FF4", fraction<4>},
    {"FF5", fraction<5>},
    {"FF6", fraction<6>},
    {"SS",
     [](const DateParts& p, std::string_view, bool f) {
       return padded(p.in_day % base::kMicrosPerMinute / base::kMicrosPerSecond, 2, f);
     }},
    {"DD", [](const DateParts& p, std::string_view, bool f) { return padded(p.civil.day, 2, f); }},
    {"DY",
     [](const DateParts& p, std::string_view w, bool) {
       return name_as(kDays[static_cast<size_t>(p.civil.weekday())].substr(0, 3), w, 0);
     }},
    {"ID", [](const DateParts& p, std::string_view,
              bool) { return fmt::to_string(p.civil.weekday() + 1); }},
    {"WW", [](const DateParts& p, std::string_view,
              bool f) { return padded((p.civil.day_of_year() - 1) / 7 + 1, 2, f); }},
    {"CC", [](const DateParts& p, std::string_view,
              bool f) { return padded(p.civil.period(100), 2, f); }},
    {"IW",
     [](const DateParts& p, std::string_view, bool f) { return padded(p.civil.iso_week(), 2, f); }},
    {"YY",
     [](const DateParts& p, std::string_view, bool f) { return padded(p.civil.year % 100, 2, f); }},
    {"IY", [](const DateParts& p, std::string_view,
              bool f) { return padded(p.civil.iso_year() % 100, 2, f); }},
    {"RM", [](const DateParts& p, std::string_view w,
              bool plain) { return roman_month(p.civil.month, w, plain); }},
    {"AM", [](const DateParts& p, std::string_view w,
              bool) { return name_as(p.in_day < 12 * base::kMicrosPerHour ? "AM" : "PM", w, 0); }},
    {"PM", [](const DateParts& p, std::string_view w,
              bool) { return name_as(p.in_day < 12 * base::kMicrosPerHour ? "AM" : "PM", w, 0); }},
    {"W", [](const DateParts& p, std::string_view,
             bool) { return fmt::to_string((p.civil.day - 1) / 7 + 1); }},
    {"Y",
     [](const DateParts& p, std::string_view, bool) { return fmt::to_string(p.civil.year % 10); }},
    {"I", [](const DateParts& p, std::string_view,
             bool) { return fmt::to_string(p.civil.iso_year() % 10); }},
    {"J", [](const DateParts& p, std::string_view,
             bool) { return fmt::to_string(p.civil.days + 2440588); }},
    {"Q", [](const DateParts& p, std::string_view,
             bool) { return fmt::to_string((p.civil.month - 1) / 3 + 1); }},
    {"D", [](const DateParts& p, std::string_view,
             bool) { return fmt::to_string((p.civil.weekday() + 1) % 7 + 1); }},
};

// The field that the pattern begins with; nullptr: none.
const ToCharField* first_field(std::string_view pattern) {
  static const auto kByLetter = [] {
    std::array<std::vector<const ToCharField*>, 26> fields;
    for (const ToCharField& field : kFields) {
      fields[static_cast<size_t>(field.name[0] - 'A')].push_back(&field);
    }
    return fields;
  }();
  if (pattern.empty()) return nullptr;
  const auto letter =
      static_cast<size_t>(std::toupper(static_cast<unsigned char>(pattern[0])) - 'A');
  if (letter >= kByLetter.size()) return nullptr;
  for (const ToCharField* field : kByLetter[letter]) {
    if (starts_with_any_case(pattern, field->name)) return field;
  }
  return nullptr;
}

// Appends a text in quotes, at whose first one the pattern begins, and takes it from the pattern. A
// backslash keeps what follows it.
void append_quoted(std::string_view* pattern, CountedText* result) {
  size_t at = 1;
  for (; at < pattern->size() && (*pattern)[at] != '"'; ++at) {
    if ((*pattern)[at] == '\\' && at + 1 < pattern->size()) ++at;
    result->push_back((*pattern)[at]);
  }
  pattern->remove_prefix(std::min(at + 1, pattern->size()));
}

// FM and TM in front of a field drop its padding: names are English in any case.
bool is_prefix(std::string_view pattern) {
  return pattern.starts_with("FM") || pattern.starts_with("fm") || pattern.starts_with("TM") ||
         pattern.starts_with("tm");
}

// Fields of the pattern become the moment's; TH behind a number is its ending; text in quotes, and
// what is no field, stays.
void moment_to_char(const RowArguments& a, CountedText* result) {
  const DateParts parts(a.integer(0));
  std::string_view pattern = a.text(1);
  while (!pattern.empty()) {
    const bool plain = is_prefix(pattern);
    if (plain) pattern.remove_prefix(2);
    if (const ToCharField* const field = first_field(pattern); field != nullptr) {
      const std::string text = field->text(parts, pattern, plain);
      *result += text;
      pattern.remove_prefix(field->name.size());
      if (pattern.starts_with("TH") || pattern.starts_with("th")) {
        const bool number = !text.empty() && std::isdigit(static_cast<unsigned char>(text.back()));
        if (number) *result += name_as(ordinal_ending(text), pattern, 0);
        pattern.remove_prefix(2);
      }
    } else if (pattern.starts_with('"')) {
      append_quoted(&pattern, result);
    } else if (!pattern.empty()) {
      if (pattern.starts_with("\\\"")) pattern.remove_prefix(1);
      result->push_back(pattern[0]);
      pattern.remove_prefix(1);
    }
  }
}

}  // namespace

TextRowFunction find_date_text_function(Function function) {
  return function == Function::kToChar ? moment_to_char : nullptr;
}

}  // namespace diptych::olap
