// to_char of intervals: fields of a span, each as it is in its part. What only a moment has, such
// as the name of a month, is 22007.

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/interval.h"
#include "base/types.h"
#include "olap/execution/expression/row_node.h"
#include "olap/execution/expression/to_char_pattern.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

namespace {

// Parts of one sign each: years and months, days, and the time.
struct SpanParts {
  explicit SpanParts(const base::Interval& span)
      : years(span.months / 12), months(span.months % 12), days(span.days), micros(span.micros) {}

  int64_t hours() const { return micros / base::kMicrosPerHour; }
  int64_t fraction() const { return micros % base::kMicrosPerSecond; }
  // A year has 360 days here.
  int64_t all_days() const { return (years * 12 + months) * 30 + days; }

  int64_t years;
  int64_t months;
  int64_t days;
  int64_t micros;
};

struct SpanField {
  using Value = SpanParts;
  static const SpanField* first(std::string_view pattern);

  std::string_view name;  // longer ones first
  char* (*write)(const SpanParts& p, FieldForm form, char* to);
};

// With zeros between a minus and the digits; `width` digits.
char* write_number(int64_t value, size_t width, char* to) {
  if (value < 0) *to++ = '-';
  return write_digits(std::abs(value), width, to);
}

template <size_t kWidth>
char* write_number(int64_t value, FieldForm form, char* to) {
  return write_number(value, form.plain ? 0 : kWidth, to);
}

template <bool kPoints>
char* half_of_span(const SpanParts& p, FieldForm form, char* to) {
  const bool morning = p.hours() % 24 < 12;
  if (kPoints) return write_name(morning ? "A.M." : "P.M.", form, 0, to);
  return write_name(morning ? "AM" : "PM", form, 0, to);
}

char* hours_of_twelve(const SpanParts& p, FieldForm form, char* to) {
  const int64_t hours = p.hours() % 12;
  // Twelve for none, of the width that the sign of the hours gives it.
  if (hours == 0 && p.hours() < 0 && !form.plain) return write_digits(12, 3, to);
  return write_number<2>(hours == 0 ? 12 : hours, form, to);
}

// C's printf has zeros for a width that the minus is part of.
template <size_t kWidth>
char* write_in_width(int64_t value, FieldForm form, char* to) {
  const size_t width = form.plain ? 0 : value < 0 ? kWidth - 1 : kWidth;
  return write_number(value, width, to);
}

template <size_t kDigits>
char* fraction_of_span(const SpanParts& p, FieldForm, char* to) {
  int64_t value = p.fraction();
  for (size_t i = kDigits; i < 6; ++i) value /= 10;
  return write_number(value, value < 0 ? kDigits - 1 : kDigits, to);
}

char* seconds_of_span(const SpanParts& p, FieldForm, char* to) {
  return write_number(p.micros / base::kMicrosPerSecond, 0, to);
}

[[noreturn]] char* of_moments_only(const SpanParts&, FieldForm, char*) {
  fail_value("invalid format specification for an interval value", "22007");
}

// Of years, weeks and days that a calendar would have to count.
[[noreturn]] char* of_calendar(const SpanParts&, FieldForm, char*) {
  fail_value("to_char of an interval does not support ISO weeks, Julian days and Roman months",
             "0A000");
}

char* nothing(const SpanParts&, FieldForm, char* to) {
  return to;
}

constexpr SpanField kSpanFields[] = {
    {"A.D.", of_moments_only},
    {"B.C.", of_moments_only},
    {"TZH", of_moments_only},
    {"TZM", of_moments_only},
    {"TZ", of_moments_only},
    {"OF", of_moments_only},
    {"AD", of_moments_only},
    {"BC", of_moments_only},
    {"FX", nothing},
    {"Y,YYY",
     [](const SpanParts& p, FieldForm, char* to) {
       to = write_number(p.years / 1000, 0, to);
       *to++ = ',';
       const int64_t rest = p.years % 1000;
       return write_number(rest, rest < 0 ? 2 : 3, to);
     }},
    {"SSSSS", seconds_of_span},
    {"SSSS", seconds_of_span},
    {"A.M.", half_of_span<true>},
    {"P.M.", half_of_span<true>},
    {"IDDD", of_calendar},
    {"MONTH", of_moments_only},
    {"YYYY", [](const SpanParts& p, FieldForm form,
                char* to) { return write_number<4>(p.years, form, to); }},
    {"IYYY", of_calendar},
    {"HH24", [](const SpanParts& p, FieldForm form,
                char* to) { return write_number<2>(p.hours(), form, to); }},
    {"HH12", hours_of_twelve},
    {"MON", of_moments_only},
    {"DAY", of_moments_only},
    {"DDD", [](const SpanParts& p, FieldForm form,
               char* to) { return write_in_width<3>(p.all_days(), form, to); }},
    {"YYY", [](const SpanParts& p, FieldForm form,
               char* to) { return write_number<3>(p.years % 1000, form, to); }},
    {"IYY", of_calendar},
    {"HH", hours_of_twelve},
    {"MM", [](const SpanParts& p, FieldForm form,
              char* to) { return write_number<2>(p.months, form, to); }},
    {"MI",
     [](const SpanParts& p, FieldForm form, char* to) {
       return write_number<2>(p.micros % base::kMicrosPerHour / base::kMicrosPerMinute, form, to);
     }},
    {"MS", fraction_of_span<3>},
    {"US", fraction_of_span<6>},
    {"FF1", fraction_of_span<1>},
    {"FF2", fraction_of_span<2>},
    {"FF3", fraction_of_span<3>},
    {"FF4", fraction_of_span<4>},
    {"FF5", fraction_of_span<5>},
    {"FF6", fraction_of_span<6>},
    {"SS",
     [](const SpanParts& p, FieldForm form, char* to) {
       return write_number<2>(p.micros % base::kMicrosPerMinute / base::kMicrosPerSecond, form, to);
     }},
    {"DD", [](const SpanParts& p, FieldForm form,
              char* to) { return write_in_width<2>(p.days, form, to); }},
    {"DY", of_moments_only},
    {"ID", of_moments_only},
    {"WW", [](const SpanParts& p, FieldForm form,
              char* to) { return write_in_width<2>((p.all_days() - 1) / 7 + 1, form, to); }},
    {"CC", [](const SpanParts& p, FieldForm form,
              char* to) { return write_number<2>(p.years / 100, form, to); }},
    {"IW", of_calendar},
    {"YY", [](const SpanParts& p, FieldForm form,
              char* to) { return write_number<2>(p.years % 100, form, to); }},
    {"IY", of_calendar},
    {"RM", of_calendar},
    {"AM", half_of_span<false>},
    {"PM", half_of_span<false>},
    {"W", [](const SpanParts& p, FieldForm,
             char* to) { return write_number((p.days - 1) / 7 + 1, 0, to); }},
    {"Y",
     [](const SpanParts& p, FieldForm, char* to) { return write_number(p.years % 10, 0, to); }},
    {"I", of_calendar},
    {"J", of_calendar},
    {"Q",
     [](const SpanParts& p, FieldForm, char* to) {
       return p.months == 0 ? to : write_number((p.months - 1) / 3 + 1, 0, to);
     }},
    {"D", of_moments_only},
};

const SpanField* SpanField::first(std::string_view pattern) {
  const auto* const found = std::find_if(
      std::begin(kSpanFields), std::end(kSpanFields),
      [&](const SpanField& field) { return starts_with_any_case(pattern, field.name); });
  return found == std::end(kSpanFields) ? nullptr : found;
}

}  // namespace

NodePtr make_interval_to_char(std::vector<NodePtr> children, const QueryLimits& limits) {
  return make_row_node<base::StringRef>(
      PhysicalType::kString, std::move(children), limits,
      [pattern = WritePattern<SpanField>()](const RowArguments& a, VectorTexts* texts) mutable {
        return texts->make(
            [&](CountedText* text) { pattern.append(a.text(1), SpanParts(a.interval(0)), text); });
      });
}

}  // namespace diptych::olap
