// to_char of moments.

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/types.h"
#include "olap/execution/expression/date_parts.h"
#include "olap/execution/expression/row_node.h"
#include "olap/execution/expression/to_char_pattern.h"

namespace diptych::olap {

namespace {

template <size_t kWidth>
char* write_padded(int64_t value, FieldForm form, char* to) {
  if (form.plain || value < 0 || value >= (kWidth == 2 ? 100 : 10'000)) {
    return write_digits(value, form.plain ? 0 : kWidth, to);
  }
  const auto digits = static_cast<uint32_t>(value);
  if constexpr (kWidth == 4) {
    *to++ = static_cast<char>('0' + digits / 1000);
    *to++ = static_cast<char>('0' + digits / 100 % 10);
  }
  *to++ = static_cast<char>('0' + digits / 10 % 10);
  *to++ = static_cast<char>('0' + digits % 10);
  return to;
}

struct ToCharField {
  using Value = DateParts;
  static const ToCharField* first(std::string_view pattern);

  std::string_view name;  // longer ones first
  char* (*write)(const DateParts& p, FieldForm form, char* to);
};

// Digits of the second's fraction, cut off.
template <size_t kDigits>
char* fraction(const DateParts& p, FieldForm, char* to) {
  int64_t value = p.in_day % base::kMicrosPerSecond;
  for (size_t i = kDigits; i < 6; ++i) value /= 10;
  return write_digits(value, kDigits, to);
}

// There are no years but AD; a TIMESTAMP has no zone, and counts as UTC.
template <bool kPoints>
char* era(const DateParts&, FieldForm form, char* to) {
  return write_name(kPoints ? "A.D." : "AD", form, 0, to);
}
template <char kFirst, size_t kSize>
char* zone(const DateParts&, FieldForm, char* to) {
  constexpr std::string_view kUtc = "+00";
  return std::copy_n(kUtc.begin() + (kFirst == '+' ? 0 : 1), kSize, to);
}

template <bool kPoints>
char* half_of_day(const DateParts& p, FieldForm form, char* to) {
  const bool morning = p.in_day < 12 * base::kMicrosPerHour;
  if (kPoints) return write_name(morning ? "A.M." : "P.M.", form, 0, to);
  return write_name(morning ? "AM" : "PM", form, 0, to);
}

// The first letters of a name, or all of it.
template <size_t kLetters, size_t kWidth>
char* month_name(const DateParts& p, FieldForm form, char* to) {
  return write_name(kMonths[static_cast<size_t>(p.civil.month - 1)].substr(0, kLetters), form,
                    kWidth, to);
}
template <size_t kLetters, size_t kWidth>
char* day_name(const DateParts& p, FieldForm form, char* to) {
  return write_name(kDays[static_cast<size_t>(p.civil.weekday())].substr(0, kLetters), form, kWidth,
                    to);
}

char* hour_of_twelve(const DateParts& p, FieldForm form, char* to) {
  return write_padded<2>((p.in_day / base::kMicrosPerHour + 11) % 12 + 1, form, to);
}

char* second_of_day(const DateParts& p, FieldForm, char* to) {
  return write_digits(p.in_day / base::kMicrosPerSecond, 0, to);
}

constexpr ToCharField kFields[] = {
    {"A.D.", era<true>},
    {"B.C.", era<true>},
    {"TZH", zone<'+', 3>},
    {"TZM", zone<'0', 2>},
    {"TZ", zone<'0', 0>},
    {"OF", zone<'+', 3>},
    {"AD", era<false>},
    {"BC", era<false>},
    {"FX", zone<'0', 0>},
    {"Y,YYY",
     [](const DateParts& p, FieldForm, char* to) {
       to = write_digits(p.civil.year / 1000, 0, to);
       *to++ = ',';
       return write_digits(p.civil.year % 1000, 3, to);
     }},
    {"SSSSS", second_of_day},
    {"SSSS", second_of_day},
    {"A.M.", half_of_day<true>},
    {"P.M.", half_of_day<true>},
    {"IDDD",
     [](const DateParts& p, FieldForm form, char* to) {
       return write_digits((p.civil.iso_week() - 1) * 7 + p.civil.weekday() + 1, form.plain ? 0 : 3,
                           to);
     }},
    {"MONTH", month_name<9, 9>},
    {"YYYY", [](const DateParts& p, FieldForm form,
                char* to) { return write_padded<4>(p.civil.year, form, to); }},
    {"IYYY", [](const DateParts& p, FieldForm form,
                char* to) { return write_padded<4>(p.civil.iso_year(), form, to); }},
    {"HH24", [](const DateParts& p, FieldForm form,
                char* to) { return write_padded<2>(p.in_day / base::kMicrosPerHour, form, to); }},
    {"HH12", hour_of_twelve},
    {"MON", month_name<3, 0>},
    {"DAY", day_name<9, 9>},
    {"DDD", [](const DateParts& p, FieldForm form,
               char* to) { return write_digits(p.civil.day_of_year(), form.plain ? 0 : 3, to); }},
    {"YYY", [](const DateParts& p, FieldForm form,
               char* to) { return write_digits(p.civil.year % 1000, form.plain ? 0 : 3, to); }},
    {"IYY",
     [](const DateParts& p, FieldForm form, char* to) {
       return write_digits(p.civil.iso_year() % 1000, form.plain ? 0 : 3, to);
     }},
    {"HH", hour_of_twelve},
    {"MM", [](const DateParts& p, FieldForm form,
              char* to) { return write_padded<2>(p.civil.month, form, to); }},
    {"MI",
     [](const DateParts& p, FieldForm form, char* to) {
       return write_padded<2>(p.in_day % base::kMicrosPerHour / base::kMicrosPerMinute, form, to);
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
     [](const DateParts& p, FieldForm form, char* to) {
       return write_padded<2>(p.in_day % base::kMicrosPerMinute / base::kMicrosPerSecond, form, to);
     }},
    {"DD", [](const DateParts& p, FieldForm form,
              char* to) { return write_padded<2>(p.civil.day, form, to); }},
    {"DY", day_name<3, 0>},
    {"ID", [](const DateParts& p, FieldForm,
              char* to) { return write_digits(p.civil.weekday() + 1, 0, to); }},
    {"WW", [](const DateParts& p, FieldForm form,
              char* to) { return write_padded<2>((p.civil.day_of_year() - 1) / 7 + 1, form, to); }},
    {"CC", [](const DateParts& p, FieldForm form,
              char* to) { return write_padded<2>(p.civil.period(100), form, to); }},
    {"IW", [](const DateParts& p, FieldForm form,
              char* to) { return write_padded<2>(p.civil.iso_week(), form, to); }},
    {"YY", [](const DateParts& p, FieldForm form,
              char* to) { return write_padded<2>(p.civil.year % 100, form, to); }},
    {"IY", [](const DateParts& p, FieldForm form,
              char* to) { return write_padded<2>(p.civil.iso_year() % 100, form, to); }},
    {"RM",
     [](const DateParts& p, FieldForm form, char* to) {
       return write_name(kRomanMonths[static_cast<size_t>(p.civil.month - 1)], form, 4, to);
     }},
    {"AM", half_of_day<false>},
    {"PM", half_of_day<false>},
    {"W", [](const DateParts& p, FieldForm,
             char* to) { return write_digits((p.civil.day - 1) / 7 + 1, 0, to); }},
    {"Y", [](const DateParts& p, FieldForm,
             char* to) { return write_digits(p.civil.year % 10, 0, to); }},
    {"I", [](const DateParts& p, FieldForm,
             char* to) { return write_digits(p.civil.iso_year() % 10, 0, to); }},
    {"J", [](const DateParts& p, FieldForm,
             char* to) { return write_digits(p.civil.days + 2440588, 0, to); }},
    {"Q", [](const DateParts& p, FieldForm,
             char* to) { return write_digits((p.civil.month - 1) / 3 + 1, 0, to); }},
    {"D", [](const DateParts& p, FieldForm,
             char* to) { return write_digits((p.civil.weekday() + 1) % 7 + 1, 0, to); }},
};

const ToCharField* ToCharField::first(std::string_view pattern) {
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

}  // namespace

NodePtr make_moment_to_char(std::vector<NodePtr> children, const QueryLimits& limits) {
  return make_row_node<base::StringRef>(
      PhysicalType::kString, std::move(children), limits,
      [pattern = WritePattern<ToCharField>()](const RowArguments& a, VectorTexts* texts) mutable {
        return texts->make(
            [&](CountedText* text) { pattern.append(a.text(1), DateParts(a.integer(0)), text); });
      });
}

}  // namespace diptych::olap
