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
  int64_t days_of_month() const {
    const base::CivilDate next = civil.month == 12
                                     ? base::CivilDate{civil.year + 1, 1, 1}
                                     : base::CivilDate{civil.year, civil.month + 1, 1};
    return base::date_from_civil(next).days - (days - civil.day + 1);
  }
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

// The years and months, days and time from one moment to another, in the fields of a calendar; what
// is missing in one is borrowed from the month of the earlier moment.
base::Interval age_of(const Parts& late, const Parts& early) {
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

std::string roman_month(uint32_t month, std::string_view written, bool plain) {
  static constexpr std::array<std::string_view, 12> kRoman = {
      "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"};
  const bool lower = std::islower(static_cast<unsigned char>(written[0])) != 0;
  return name_as(kRoman[month - 1], lower ? "rm" : "RM", plain ? 0 : 4);
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
  std::string (*text)(const Parts& p, std::string_view written, bool plain);
};

std::string padded(int64_t value, size_t width, bool plain) {
  return plain ? fmt::to_string(value) : fmt::format("{:0{}}", value, width);
}

constexpr ToCharField kFields[] = {
    {"Y,YYY",
     [](const Parts& p, std::string_view, bool) {
       return fmt::format("{},{:03}", p.civil.year / 1000, p.civil.year % 1000);
     }},
    {"SSSSS",
     [](const Parts& p, std::string_view, bool) { return fmt::to_string(p.in_day / kSecond); }},
    {"SSSS",
     [](const Parts& p, std::string_view, bool) { return fmt::to_string(p.in_day / kSecond); }},
    {"A.M.", [](const Parts& p, std::string_view w,
                bool) { return name_as(p.in_day < 12 * kHour ? "A.M." : "P.M.", w, 0); }},
    {"P.M.", [](const Parts& p, std::string_view w,
                bool) { return name_as(p.in_day < 12 * kHour ? "A.M." : "P.M.", w, 0); }},
    {"IDDD", [](const Parts& p, std::string_view,
                bool f) { return padded((p.iso_week() - 1) * 7 + p.weekday() + 1, 3, f); }},
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
    {"IYY",
     [](const Parts& p, std::string_view, bool f) { return padded(p.iso_year() % 1000, 3, f); }},
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
    {"WW", [](const Parts& p, std::string_view,
              bool f) { return padded((p.day_of_year() - 1) / 7 + 1, 2, f); }},
    {"CC", [](const Parts& p, std::string_view,
              bool f) { return padded(century_of(p.civil.year), 2, f); }},
    {"IW", [](const Parts& p, std::string_view, bool f) { return padded(p.iso_week(), 2, f); }},
    {"YY",
     [](const Parts& p, std::string_view, bool f) { return padded(p.civil.year % 100, 2, f); }},
    {"IY",
     [](const Parts& p, std::string_view, bool f) { return padded(p.iso_year() % 100, 2, f); }},
    {"RM", [](const Parts& p, std::string_view w,
              bool plain) { return roman_month(p.civil.month, w, plain); }},
    {"AM", [](const Parts& p, std::string_view w,
              bool) { return name_as(p.in_day < 12 * kHour ? "AM" : "PM", w, 0); }},
    {"PM", [](const Parts& p, std::string_view w,
              bool) { return name_as(p.in_day < 12 * kHour ? "AM" : "PM", w, 0); }},
    {"W", [](const Parts& p, std::string_view,
             bool) { return fmt::to_string((p.civil.day - 1) / 7 + 1); }},
    {"Y", [](const Parts& p, std::string_view, bool) { return fmt::to_string(p.civil.year % 10); }},
    {"I", [](const Parts& p, std::string_view, bool) { return fmt::to_string(p.iso_year() % 10); }},
    {"J", [](const Parts& p, std::string_view, bool) { return fmt::to_string(p.days + 2440588); }},
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

// Fields of the pattern become the moment's; FM in front of one drops its padding, TH behind a
// number is its ending; text in quotes, and what is no field, stays.
void moment_to_char(const RowArguments& a, CountedText* result) {
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
      const std::string text = field->text(parts, pattern, plain);
      *result += text;
      pattern.remove_prefix(field->name.size());
      if (pattern.starts_with("TH") || pattern.starts_with("th")) {
        if (std::isdigit(static_cast<unsigned char>(text.back())) != 0) {
          *result += name_as(ordinal_ending(text), pattern, 0);
        }
        pattern.remove_prefix(2);
      }
    }
    plain = false;
  }
}

// What to_date and to_timestamp have read.
struct ReadMoment {
  int64_t year = 1;
  int64_t month = 1;
  int64_t day = 1;
  int64_t day_of_year = 0;  // where it counts; 0: it does not
  int64_t hour = 0;
  int64_t minute = 0;
  int64_t second = 0;
  int64_t micros = 0;
  bool half_days = false;  // the hour is one of twelve
  bool afternoon = false;
};

// The text that is left to read, and the whole of it for errors.
struct ToRead {
  std::string_view rest;
  std::string_view text;

  [[noreturn]] void fail(std::string_view field) const {
    fail_value(
        fmt::format("invalid value \"{}\" for \"{}\" in \"{}\"", rest.substr(0, 10), field, text),
        "22007");
  }
  void skip_blanks() {
    while (!rest.empty() && std::isspace(static_cast<unsigned char>(rest[0])) != 0) {
      rest.remove_prefix(1);
    }
  }
  // A number of at most so many digits; how many there were in *digits.
  int64_t number(size_t digits_max, std::string_view field, size_t* digits = nullptr) {
    skip_blanks();
    size_t count = 0;
    int64_t value = 0;
    for (; count < std::min(digits_max, rest.size()) && rest[count] >= '0' && rest[count] <= '9';
         ++count) {
      value = value * 10 + (rest[count] - '0');
    }
    if (count == 0) fail(field);
    rest.remove_prefix(count);
    if (digits != nullptr) *digits = count;
    return value;
  }
  // Which of the names the text begins with, in any case; of `letters` of each, or all where 0.
  template <size_t kCount>
  size_t name(const std::array<std::string_view, kCount>& names, size_t letters,
              std::string_view field) {
    skip_blanks();
    for (size_t i = 0; i < kCount; ++i) {
      const std::string_view name = names[i].substr(0, letters == 0 ? names[i].size() : letters);
      std::string upper(name);
      for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      if (!starts_with_any_case(rest, upper)) continue;
      rest.remove_prefix(name.size());
      return i;
    }
    fail(field);
  }
};

int64_t fraction_of_second(ToRead* input, size_t digits_max, std::string_view field) {
  size_t digits = 0;
  int64_t value = input->number(digits_max, field, &digits);
  for (; digits < 6; ++digits) value *= 10;
  return value;
}

struct ToReadField {
  std::string_view name;  // upper case; longer ones first
  void (*read)(ToRead* input, ReadMoment* moment, std::string_view name);
};

// `kWidth` digits into a member.
template <int64_t ReadMoment::*kMember, size_t kWidth>
void read_number(ToRead* input, ReadMoment* moment, std::string_view name) {
  moment->*kMember = input->number(kWidth, name);
}

template <bool kHalfDays>
void read_hour(ToRead* input, ReadMoment* moment, std::string_view name) {
  moment->hour = input->number(2, name);
  moment->half_days = kHalfDays;
}

void read_half_of_day(ToRead* input, ReadMoment* moment, std::string_view name) {
  constexpr std::array<std::string_view, 2> kHalves = {"AM", "PM"};
  moment->afternoon = input->name(kHalves, 0, name) == 1;
}

constexpr ToReadField kReadFields[] = {
    {"MONTH",
     [](ToRead* in, ReadMoment* m, std::string_view name) {
       m->month = static_cast<int64_t>(in->name(kMonths, 0, name)) + 1;
     }},
    {"YYYY", read_number<&ReadMoment::year, 4>},
    {"HH24", read_hour<false>},
    {"HH12", read_hour<true>},
    {"MON",
     [](ToRead* in, ReadMoment* m, std::string_view name) {
       m->month = static_cast<int64_t>(in->name(kMonths, 3, name)) + 1;
     }},
    {"DAY", [](ToRead* in, ReadMoment*, std::string_view name) { in->name(kDays, 0, name); }},
    {"DDD", read_number<&ReadMoment::day_of_year, 3>},
    {"HH", read_hour<true>},
    {"MM", read_number<&ReadMoment::month, 2>},
    {"MI", read_number<&ReadMoment::minute, 2>},
    {"MS", [](ToRead* in, ReadMoment* m,
              std::string_view name) { m->micros = fraction_of_second(in, 3, name); }},
    {"US", [](ToRead* in, ReadMoment* m,
              std::string_view name) { m->micros = fraction_of_second(in, 6, name); }},
    {"SS", read_number<&ReadMoment::second, 2>},
    {"DD", read_number<&ReadMoment::day, 2>},
    {"DY", [](ToRead* in, ReadMoment*, std::string_view name) { in->name(kDays, 3, name); }},
    {"YY",
     [](ToRead* in, ReadMoment* m, std::string_view name) {
       const int64_t year = in->number(2, name);
       m->year = year + (year < 70 ? 2000 : 1900);
     }},
    {"AM", read_half_of_day},
    {"PM", read_half_of_day},
};

int64_t moment_of(const ReadMoment& m, const ToRead& input) {
  int64_t hour = m.hour;
  if (m.half_days) {
    if (hour < 1 || hour > 12) {
      fail_value(fmt::format("hour \"{}\" is invalid for the 12-hour clock", hour), "22007");
    }
    hour = hour % 12 + (m.afternoon ? 12 : 0);
  }
  base::CivilDate civil{static_cast<int32_t>(m.year), static_cast<uint32_t>(m.month),
                        static_cast<uint32_t>(m.day)};
  const bool in_year = m.day_of_year != 0;
  if (in_year) civil.month = civil.day = 1;
  const bool plausible = m.year >= 1 && civil.month >= 1 && civil.month <= 12 && civil.day >= 1 &&
                         civil.day <= 31 && hour < 24 && m.minute < 60 && m.second < 60 &&
                         m.day_of_year <= 366;
  const base::Date first = plausible ? base::date_from_civil(civil) : base::Date{};
  const base::CivilDate back = base::civil_from_date(first);
  if (!plausible || back.month != civil.month || back.day != civil.day) {
    fail_value(fmt::format("date/time field value out of range: \"{}\"", input.text), "22008");
  }
  const int64_t days = first.days + (in_year ? m.day_of_year - 1 : 0);
  return days * base::kMicrosPerDay + hour * kHour + m.minute * kMinute + m.second * kSecond +
         m.micros;
}

bool is_separator(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) == 0;
}

// Reads the text by the pattern's fields. A separator of the pattern stands for one of the text, or
// none; another character for any.
int64_t to_timestamp(const RowArguments& a) {
  ToRead input{a.text(0), a.text(0)};
  std::string_view pattern = a.text(1);
  ReadMoment moment;
  while (!pattern.empty()) {
    if (starts_with_any_case(pattern, "FM")) {
      pattern.remove_prefix(2);
      continue;
    }
    const auto* const field =
        std::find_if(std::begin(kReadFields), std::end(kReadFields),
                     [&](const ToReadField& f) { return starts_with_any_case(pattern, f.name); });
    if (field != std::end(kReadFields)) {
      field->read(&input, &moment, field->name);
      pattern.remove_prefix(field->name.size());
      continue;
    }
    input.skip_blanks();
    const bool taken = !input.rest.empty() && (!is_separator(pattern[0]) ||
                                               (pattern[0] != ' ' && is_separator(input.rest[0])));
    if (taken) input.rest.remove_prefix(1);
    pattern.remove_prefix(1);
  }
  return moment_of(moment, input);
}

}  // namespace

base::Interval age_between(int64_t to, int64_t from) {
  if (to >= from) return age_of(Parts(to), Parts(from));
  const base::Interval age = age_of(Parts(from), Parts(to));
  return {-age.months, -age.days, -age.micros};
}

TextRowFunction find_date_text_function(Function function) {
  return function == Function::kToChar ? moment_to_char : nullptr;
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
    case Function::kToTimestamp: return to_timestamp;
    default: return nullptr;
  }
}

}  // namespace diptych::olap
