// Functions of dates and timestamps that are computed row by row.

#include <fmt/format.h>

#include "olap/date_range.h"
#include "olap/execution/date_parts.h"
#include "olap/execution/query_failure.h"
#include "olap/execution/row_functions.h"

namespace diptych::olap {

namespace {

// Millionths of the field.
int64_t extract_field(const RowArguments& a) {
  const int64_t micros = a.integer(0);
  const std::string_view field = a.text(1);
  const DateParts p(micros);
  const auto whole = [](int64_t value) { return value * 1'000'000; };
  if (field == "epoch") return micros;
  if (field == "second") return p.in_day % DateParts::kMinute;
  if (field == "milliseconds") return p.in_day % DateParts::kMinute * 1000;
  if (field == "microseconds") return whole(p.in_day % DateParts::kMinute);
  if (field == "minute") return whole(p.in_day % DateParts::kHour / DateParts::kMinute);
  if (field == "hour") return whole(p.in_day / DateParts::kHour);
  if (field == "day") return whole(p.civil.day);
  if (field == "month") return whole(p.civil.month);
  if (field == "quarter") return whole((p.civil.month - 1) / 3 + 1);
  if (field == "year") return whole(p.civil.year);
  if (field == "dow") return whole((p.weekday() + 1) % 7);
  if (field == "isodow") return whole(p.weekday() + 1);
  if (field == "doy") return whole(p.day_of_year());
  if (field == "week") return whole(p.iso_week());
  if (field == "isoyear") return whole(p.iso_year());
  if (field == "decade") return whole(divide_down(p.civil.year, 10));
  if (field == "century") return whole(century_of(p.civil.year));
  if (field == "millennium") return whole((p.civil.year + 999) / 1000);
  fail_value(fmt::format("unit \"{}\" not recognized", field), "22023");
}

int64_t truncated(const RowArguments& a) {
  const int64_t micros = a.integer(0);
  const std::string_view field = a.text(1);
  const DateParts p(micros);
  const auto date = [](int64_t year, uint32_t month) {
    return int64_t{base::date_from_civil({static_cast<int32_t>(year), month, 1}).days} *
           base::kMicrosPerDay;
  };
  if (field == "microseconds") return micros;
  if (field == "milliseconds") return micros - p.in_day % 1000;
  if (field == "second") return micros - p.in_day % DateParts::kSecond;
  if (field == "minute") return micros - p.in_day % DateParts::kMinute;
  if (field == "hour") return micros - p.in_day % DateParts::kHour;
  if (field == "day") return micros - p.in_day;
  if (field == "week") return (p.days - p.weekday()) * base::kMicrosPerDay;
  if (field == "month") return date(p.civil.year, p.civil.month);
  if (field == "quarter") return date(p.civil.year, (p.civil.month - 1) / 3 * 3 + 1);
  if (field == "year") return date(p.civil.year, 1);
  if (field == "decade") return date(divide_down(p.civil.year, 10) * 10, 1);
  if (field == "century") return date((century_of(p.civil.year) - 1) * 100 + 1, 1);
  if (field == "millennium") return date((p.civil.year + 999) / 1000 * 1000 - 999, 1);
  fail_value(fmt::format("unit \"{}\" not recognized", field), "22023");
}

// The decade of the first years would begin before there is a year.
int64_t truncate_field(const RowArguments& a) {
  const int64_t micros = truncated(a);
  if (micros < kMicrosFirst) fail_value("timestamp out of range", "22008");
  return micros;
}

int64_t make_date(const RowArguments& a) {
  const int64_t year = a.integer(0);
  const int64_t month = a.integer(1);
  const int64_t day = a.integer(2);
  const bool plausible = year >= 1 && year <= 9999 && month >= 1 && month <= 12 && day >= 1;
  if (plausible && day <= 31) {
    const base::CivilDate civil{static_cast<int32_t>(year), static_cast<uint32_t>(month),
                                static_cast<uint32_t>(day)};
    const base::Date date = base::date_from_civil(civil);
    const base::CivilDate back = base::civil_from_date(date);
    if (back.month == civil.month && back.day == civil.day) return date.days;
  }
  fail_value(fmt::format("date field value out of range: {}-{:02}-{:02}", year, month, day),
             "22008");
}

// The years and months, days and time from one moment to another, in the fields of a calendar; what
// is missing in one is borrowed from the month of the earlier moment.
base::Interval age_of(const DateParts& late, const DateParts& early) {
  int64_t months = (late.civil.year - early.civil.year) * int64_t{12} + late.civil.month;
  months -= early.civil.month;
  int64_t days = int64_t{late.civil.day} - early.civil.day;
  int64_t time = late.in_day - early.in_day;
  if (time < 0) {
    time += base::kMicrosPerDay;
    --days;
  }
  if (days < 0) {
    days += early.days_of_month();
    --months;
  }
  return {static_cast<int32_t>(months), static_cast<int32_t>(days), time};
}

}  // namespace

base::Interval age_between(int64_t to, int64_t from) {
  if (to >= from) return age_of(DateParts(to), DateParts(from));
  const base::Interval age = age_of(DateParts(from), DateParts(to));
  return {-age.months, -age.days, -age.micros};
}

IntegerRowFunction find_date_function(Function function) {
  switch (function) {
    case Function::kDaysBetween:
      return [](const RowArguments& a) { return int64_t{a.date(0)} - a.date(1); };
    case Function::kMicrosBetween:
      return [](const RowArguments& a) {
        int64_t result;
        if (__builtin_sub_overflow(a.integer(0), a.integer(1), &result)) {
          fail_value(kIntervalOutOfRange, "22008");
        }
        return result;
      };
    case Function::kExtractField: return extract_field;
    case Function::kTruncateField: return truncate_field;
    case Function::kMakeDate: return make_date;
    case Function::kToTimestamp: return moment_from_text;
    default: return nullptr;
  }
}

}  // namespace diptych::olap
