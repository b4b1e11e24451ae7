// Functions of dates and timestamps that are computed row by row.

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/value.h"
#include "olap/execution/query_failure.h"
#include "olap/execution/row_functions.h"

namespace diptych::olap {

namespace {

constexpr int64_t kSecond = base::kMicrosPerSecond;
constexpr int64_t kMinute = 60 * kSecond;
constexpr int64_t kHour = 60 * kMinute;

int64_t divide_down(int64_t value, int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

// A timestamp taken apart.
struct Parts {
  explicit Parts(int64_t micros)
      : days(divide_down(micros, base::kMicrosPerDay)),
        in_day(micros - days * base::kMicrosPerDay),
        civil(base::civil_from_date(base::Date{static_cast<int32_t>(days)})) {}

  int64_t weekday() const { return ((days + 3) % 7 + 7) % 7; }  // Monday is 0
  int64_t day_of_year() const { return days - first_day(civil.year) + 1; }
  static int64_t first_day(int32_t year) { return base::date_from_civil({year, 1, 1}).days; }

  // Of ISO 8601: the week with the year's first Thursday is its first.
  int64_t iso_year() const {
    return base::civil_from_date(base::Date{static_cast<int32_t>(days - weekday() + 3)}).year;
  }
  int64_t iso_week() const {
    const int64_t thursday = days - weekday() + 3;
    return (thursday - first_day(static_cast<int32_t>(iso_year()))) / 7 + 1;
  }

  int64_t days;
  int64_t in_day;  // microseconds
  base::CivilDate civil;
};

int64_t century_of(int64_t year) {
  return year > 0 ? (year + 99) / 100 : -((99 - (year - 1)) / 100);
}

// Millionths of the field.
int64_t extract_field(const RowArguments& a) {
  const int64_t micros = a.integer(0);
  const std::string_view field = a.text(1);
  const Parts p(micros);
  const auto whole = [](int64_t value) { return value * 1'000'000; };
  if (field == "epoch") return micros;
  if (field == "second") return p.in_day % kMinute;
  if (field == "milliseconds") return p.in_day % kMinute * 1000;
  if (field == "microseconds") return whole(p.in_day % kMinute);
  if (field == "minute") return whole(p.in_day % kHour / kMinute);
  if (field == "hour") return whole(p.in_day / kHour);
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

int64_t truncate_field(const RowArguments& a) {
  const int64_t micros = a.integer(0);
  const std::string_view field = a.text(1);
  const Parts p(micros);
  const auto date = [](int64_t year, uint32_t month) {
    return int64_t{base::date_from_civil({static_cast<int32_t>(year), month, 1}).days} *
           base::kMicrosPerDay;
  };
  if (field == "microseconds") return micros;
  if (field == "milliseconds") return micros - p.in_day % 1000;
  if (field == "second") return micros - p.in_day % kSecond;
  if (field == "minute") return micros - p.in_day % kMinute;
  if (field == "hour") return micros - p.in_day % kHour;
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

constexpr std::array<std::string_view, 12> kMonths = {
    "January", "February", "March",     "April",   "May",      "June",
    "July",    "August",   "September", "October", "November", "December"};
constexpr std::array<std::string_view, 7> kDays = {"Monday", "Tuesday",  "Wednesday", "Thursday",
                                                   "Friday", "Saturday", "Sunday"};

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

struct ToCharField {
  std::string_view name;  // upper case; longer ones first
  std::string (*text)(const Parts& p, std::string_view written, bool plain);
};

std::string padded(int64_t value, size_t width, bool plain) {
  return plain ? fmt::to_string(value) : fmt::format("{:0{}}", value, width);
}

constexpr ToCharField kFields[] = {
    {"MONTH", [](const Parts& p, std::string_view w,
                 bool plain) { return name_as(kMonths[p.civil.month - 1], w, plain ? 0 : 9); }},
    {"YYYY", [](const Parts& p, std::string_view, bool f) { return padded(p.civil.year, 4, f); }},
    {"IYYY", [](const Parts& p, std::string_view, bool f) { return padded(p.iso_year(), 4, f); }},
    {"HH24",
     [](const Parts& p, std::string_view, bool f) { return padded(p.in_day / kHour, 2, f); }},
    {"HH12", [](const Parts& p, std::string_view,
                bool f) { return padded((p.in_day / kHour + 11) % 12 + 1, 2, f); }},
    {"MON", [](const Parts& p, std::string_view w,
               bool) { return name_as(kMonths[p.civil.month - 1].substr(0, 3), w, 0); }},
    {"DAY",
     [](const Parts& p, std::string_view w, bool plain) {
       return name_as(kDays[static_cast<size_t>(p.weekday())], w, plain ? 0 : 9);
     }},
    {"DDD", [](const Parts& p, std::string_view, bool f) { return padded(p.day_of_year(), 3, f); }},
    {"YYY",
     [](const Parts& p, std::string_view, bool f) { return padded(p.civil.year % 1000, 3, f); }},
    {"HH", [](const Parts& p, std::string_view,
              bool f) { return padded((p.in_day / kHour + 11) % 12 + 1, 2, f); }},
    {"MM", [](const Parts& p, std::string_view, bool f) { return padded(p.civil.month, 2, f); }},
    {"MI", [](const Parts& p, std::string_view,
              bool f) { return padded(p.in_day % kHour / kMinute, 2, f); }},
    {"MS", [](const Parts& p, std::string_view,
              bool f) { return padded(p.in_day % kSecond / 1000, 3, f); }},
    {"US",
     [](const Parts& p, std::string_view, bool f) { return padded(p.in_day % kSecond, 6, f); }},
    {"SS", [](const Parts& p, std::string_view,
              bool f) { return padded(p.in_day % kMinute / kSecond, 2, f); }},
    {"DD", [](const Parts& p, std::string_view, bool f) { return padded(p.civil.day, 2, f); }},
    {"DY",
     [](const Parts& p, std::string_view w, bool) {
       return name_as(kDays[static_cast<size_t>(p.weekday())].substr(0, 3), w, 0);
     }},
    {"ID", [](const Parts& p, std::string_view, bool) { return fmt::to_string(p.weekday() + 1); }},
    {"IW", [](const Parts& p, std::string_view, bool f) { return padded(p.iso_week(), 2, f); }},
    {"YY",
     [](const Parts& p, std::string_view, bool f) { return padded(p.civil.year % 100, 2, f); }},
    {"AM", [](const Parts& p, std::string_view w,
              bool) { return name_as(p.in_day < 12 * kHour ? "AM" : "PM", w, 0); }},
    {"PM", [](const Parts& p, std::string_view w,
              bool) { return name_as(p.in_day < 12 * kHour ? "AM" : "PM", w, 0); }},
    {"Q", [](const Parts& p, std::string_view,
             bool) { return fmt::to_string((p.civil.month - 1) / 3 + 1); }},
    {"D", [](const Parts& p, std::string_view,
             bool) { return fmt::to_string((p.weekday() + 1) % 7 + 1); }},
};

bool starts_with_any_case(std::string_view text, std::string_view upper) {
  if (text.size() < upper.size()) return false;
  for (size_t i = 0; i < upper.size(); ++i) {
    if (std::toupper(static_cast<unsigned char>(text[i])) != upper[i]) return false;
  }
  return true;
}

// Fields of the pattern become the moment's; FM in front of one drops its padding; text in quotes,
// and what is no field, stays.
void to_char(const RowArguments& a, std::string* result) {
  const Parts parts(a.integer(0));
  std::string_view pattern = a.text(1);
  bool plain = false;
  while (!pattern.empty()) {
    if (pattern[0] == '"') {
      const size_t end = std::min(pattern.find('"', 1), pattern.size() - 1);
      *result += pattern.substr(1, end - 1);
      pattern.remove_prefix(end + 1);
      continue;
    }
    if (starts_with_any_case(pattern, "FM")) {
      plain = true;
      pattern.remove_prefix(2);
      continue;
    }
    const auto* const field =
        std::find_if(std::begin(kFields), std::end(kFields),
                     [&](const ToCharField& f) { return starts_with_any_case(pattern, f.name); });
    if (field == std::end(kFields)) {
      result->push_back(pattern[0]);
      pattern.remove_prefix(1);
    } else {
      *result += field->text(parts, pattern, plain);
      pattern.remove_prefix(field->name.size());
    }
    plain = false;
  }
}

}  // namespace

TextRowFunction find_date_text_function(Function function) {
  return function == Function::kToChar ? to_char : nullptr;
}

IntegerRowFunction find_date_function(Function function) {
  switch (function) {
    case Function::kDaysBetween:
      return [](const RowArguments& a) { return int64_t{a.date(0)} - a.date(1); };
    case Function::kMicrosBetween:
      return [](const RowArguments& a) {
        int64_t result;
        if (__builtin_sub_overflow(a.integer(0), a.integer(1), &result)) {
          fail_value("interval out of range", "22008");
        }
        return result;
      };
    case Function::kExtractField: return extract_field;
    case Function::kTruncateField: return truncate_field;
    case Function::kMakeDate: return make_date;
    default: return nullptr;
  }
}

}  // namespace diptych::olap
