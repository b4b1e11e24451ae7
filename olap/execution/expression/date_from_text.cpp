// to_date and to_timestamp: a text read by the fields of a pattern.

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/types.h"
#include "olap/date_range.h"
#include "olap/execution/expression/date_parts.h"
#include "olap/execution/expression/row_node.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

namespace {

// What has been read; 0 where it has not.
struct ReadMoment {
  int64_t year = 0;
  int64_t month = 0;
  int64_t day = 0;
  int64_t day_of_year = 0;
  int64_t week = 0;
  int64_t week_of_month = 0;
  int64_t weekday = 0;  // Monday is 1; of ISO weeks alone
  int64_t julian_day = 0;
  int64_t second_of_day = 0;
  int64_t hour = 0;
  int64_t minute = 0;
  int64_t second = 0;
  int64_t micros = 0;
  bool half_days = false;  // the hour is one of twelve
  bool morning = false;
  bool afternoon = false;
  bool iso = false;        // the year and the week are those of ISO 8601
  bool gregorian = false;  // a year, month or day is not
};

// The text that is left to read, and the whole of it for errors.
struct ToRead {
  std::string_view rest;
  std::string_view text;
  bool whole_number = false;  // numbers are read to their last digit: no digits follow at once

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
    constexpr size_t kWholeDigitsMax = 18;
    skip_blanks();
    if (whole_number) digits_max = kWholeDigitsMax;
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
  // Later names are asked first: VIII begins with VII.
  template <size_t kCount>
  size_t name(const std::array<std::string_view, kCount>& names, size_t letters,
              std::string_view field) {
    skip_blanks();
    size_t found = kCount;
    for (size_t i = 0; i < kCount; ++i) {
      const std::string_view name = names[i].substr(0, letters == 0 ? names[i].size() : letters);
      const bool longer = found == kCount || name.size() > names[found].size();
      if (longer && begins_with(name)) found = i;
    }
    if (found == kCount) fail(field);
    rest.remove_prefix(letters == 0 ? names[found].size() : letters);
    return found;
  }

 private:
  bool begins_with(std::string_view name) const {
    const auto upper = [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; };
    return rest.size() >= name.size() &&
           std::equal(name.begin(), name.end(), rest.begin(),
                      [&](char a, char b) { return upper(a) == upper(b); });
  }
};

// Digits after the point, of which those beyond a microsecond are dropped.
void read_fraction(ToRead* input, ReadMoment* moment, size_t digits_max, std::string_view field) {
  size_t digits = 0;
  input->whole_number = false;
  int64_t value = input->number(digits_max, field, &digits);
  for (; digits < 6; ++digits) value *= 10;
  moment->micros = value;
}

struct ToReadField {
  std::string_view name;  // upper case; longer ones first
  bool digits;            // is a number
  void (*read)(ToRead* input, ReadMoment* moment, std::string_view name);
};

// `kWidth` digits into a member.
template <int64_t ReadMoment::*kMember, size_t kWidth, bool ReadMoment::*kMark = nullptr>
void read_number(ToRead* input, ReadMoment* moment, std::string_view name) {
  moment->*kMember = input->number(kWidth, name);
  if constexpr (kMark != nullptr) moment->*kMark = true;
}

template <bool kHalfDays>
void read_hour(ToRead* input, ReadMoment* moment, std::string_view name) {
  moment->hour = input->number(2, name);
  if (kHalfDays) moment->half_days = true;
}

template <char kPoint>
void read_half_of_day(ToRead* input, ReadMoment* moment, std::string_view name) {
  static constexpr std::array<std::string_view, 2> kHalves = {"AM", "PM"};
  static constexpr std::array<std::string_view, 2> kPointed = {"A.M.", "P.M."};
  moment->afternoon = input->name(kPoint == '.' ? kPointed : kHalves, 0, name) == 1;
  moment->morning = !moment->afternoon;
  moment->half_days = true;
}

template <char kPoint>
void read_era(ToRead* input, ReadMoment* /*moment*/, std::string_view name) {
  static constexpr std::array<std::string_view, 2> kEras = {"AD", "BC"};
  static constexpr std::array<std::string_view, 2> kPointed = {"A.D.", "B.C."};
  if (input->name(kPoint == '.' ? kPointed : kEras, 0, name) == 1) {
    fail_value(fmt::format("date/time field value out of range: \"{}\"", input->text), "22008");
  }
}

// Of fewer than four digits, one near 2020.
template <size_t kWidth>
void read_short_year(ToRead* input, ReadMoment* moment, std::string_view name) {
  size_t digits = 0;
  int64_t year = input->number(kWidth, name, &digits);
  if (digits < 4) year += year < 70 ? 2000 : year < 100 ? 1900 : year < 520 ? 2000 : 1000;
  moment->year = year;
  moment->gregorian = true;
}

template <size_t kLetters>
void read_month_name(ToRead* input, ReadMoment* moment, std::string_view name) {
  moment->month = static_cast<int64_t>(input->name(kMonths, kLetters, name)) + 1;
  moment->gregorian = true;
}

template <size_t kLetters>
void read_day_name(ToRead* input, ReadMoment* moment, std::string_view name) {
  moment->weekday = static_cast<int64_t>(input->name(kDays, kLetters, name)) + 1;
}

template <size_t kDigits>
void read_fraction_of(ToRead* input, ReadMoment* moment, std::string_view name) {
  read_fraction(input, moment, kDigits, name);
}

constexpr ToReadField kReadFields[] = {
    {"SSSSS", true, read_number<&ReadMoment::second_of_day, 5>},
    {"MONTH", false, read_month_name<0>},
    {"Y,YYY", true,
     [](ToRead* in, ReadMoment* m, std::string_view name) {
       in->whole_number = true;
       const int64_t thousands = in->number(1, name);
       if (!in->rest.starts_with(',')) in->fail(name);
       in->rest.remove_prefix(1);
       in->whole_number = false;
       m->year = thousands * 1000 + in->number(3, name);
       m->gregorian = true;
     }},
    {"SSSS", true, read_number<&ReadMoment::second_of_day, 5>},
    {"IDDD", true, read_number<&ReadMoment::day_of_year, 3, &ReadMoment::iso>},
    {"IYYY", true, read_number<&ReadMoment::year, 4, &ReadMoment::iso>},
    {"YYYY", true, read_number<&ReadMoment::year, 4, &ReadMoment::gregorian>},
    {"HH24", true, read_hour<false>},
    {"HH12", true, read_hour<true>},
    {"A.M.", false, read_half_of_day<'.'>},
    {"P.M.", false, read_half_of_day<'.'>},
    {"A.D.", false, read_era<'.'>},
    {"B.C.", false, read_era<'.'>},
    {"MON", false, read_month_name<3>},
    {"DAY", false, read_day_name<0>},
    {"DDD", true, read_number<&ReadMoment::day_of_year, 3, &ReadMoment::gregorian>},
    {"YYY", true, read_short_year<3>},
    {"FF1", true, read_fraction_of<1>},
    {"FF2", true, read_fraction_of<2>},
    {"FF3", true, read_fraction_of<3>},
    {"FF4", true, read_fraction_of<4>},
    {"FF5", true, read_fraction_of<5>},
    {"FF6", true, read_fraction_of<6>},
    {"HH", true, read_hour<true>},
    {"MM", true, read_number<&ReadMoment::month, 2, &ReadMoment::gregorian>},
    {"MI", true, read_number<&ReadMoment::minute, 2>},
    {"MS", true, read_fraction_of<3>},
    {"US", true, read_fraction_of<6>},
    {"SS", true, read_number<&ReadMoment::second, 2>},
    {"DD", true, read_number<&ReadMoment::day, 2, &ReadMoment::gregorian>},
    {"DY", false, read_day_name<3>},
    {"YY", true, read_short_year<2>},
    {"AM", false, read_half_of_day<0>},
    {"PM", false, read_half_of_day<0>},
    {"AD", false, read_era<0>},
    {"BC", false, read_era<0>},
    {"IW", true, read_number<&ReadMoment::week, 2, &ReadMoment::iso>},
    {"ID", true, read_number<&ReadMoment::weekday, 1, &ReadMoment::iso>},
    {"WW", true, read_number<&ReadMoment::week, 2, &ReadMoment::gregorian>},
    {"RM", false,
     [](ToRead* in, ReadMoment* m, std::string_view name) {
       m->month = static_cast<int64_t>(in->name(kRomanMonths, 0, name)) + 1;
       m->gregorian = true;
     }},
    {"W", true, read_number<&ReadMoment::week_of_month, 1, &ReadMoment::gregorian>},
    {"Y", true, read_short_year<1>},
    {"Q", true, [](ToRead* in, ReadMoment*, std::string_view name) { in->number(1, name); }},
    {"J", true,
     [](ToRead* in, ReadMoment* m, std::string_view name) {
       in->whole_number = true;
       m->julian_day = in->number(1, name);
     }},
};

constexpr int64_t kReadYearMax = 200'000;  // whose microseconds 64 bits hold

[[noreturn]] void fail_range(const ToRead& input) {
  fail_value(fmt::format("date/time field value out of range: \"{}\"", input.text), "22008");
}

// By the year, week and day of ISO 8601.
int64_t iso_days(const ReadMoment& m, const ToRead& input) {
  if (m.gregorian) fail_value("invalid combination of date conventions", "22007");
  if (m.year < 1 || m.year > kReadYearMax || m.week > 53 || m.weekday > 7) fail_range(input);
  const int64_t january_4 = base::WideCivilDay::first_of(static_cast<int32_t>(m.year), 1) + 3;
  const int64_t monday = january_4 - ((january_4 + 3) % 7 + 7) % 7;
  if (m.day_of_year != 0) return monday + m.day_of_year - 1;
  return monday + std::max<int64_t>(m.week - 1, 0) * 7 + std::max<int64_t>(m.weekday - 1, 0);
}

int64_t days_of(ReadMoment m, const ToRead& input) {
  constexpr int64_t kJulianDayOfEpoch = 2'440'588;
  if (m.iso) return iso_days(m, input);
  if (m.julian_day != 0) {
    const int64_t days = m.julian_day - kJulianDayOfEpoch;
    if (!is_day(days)) fail_range(input);
    const base::CivilDate civil = base::civil_from_date(base::Date{static_cast<int32_t>(days)});
    m.year = civil.year;
    m.month = civil.month;
    if (m.day == 0) m.day = civil.day;
  }
  if (m.week != 0) m.day_of_year = (m.week - 1) * 7 + 1;
  if (m.week_of_month != 0) m.day = (m.week_of_month - 1) * 7 + 1;
  const bool in_year = m.day_of_year != 0 && (m.month <= 1 || m.day <= 1);
  if (in_year) m.month = m.day = 1;
  m.month = std::max<int64_t>(m.month, 1);
  m.day = std::max<int64_t>(m.day, 1);
  if (m.year < 1 || m.year > kReadYearMax || m.month > 12) fail_range(input);
  const auto year = static_cast<int32_t>(m.year);
  const auto month = static_cast<int32_t>(m.month);
  if (m.day > base::CivilDay::days_in_month(year, month)) fail_range(input);
  const int64_t first = base::CivilDay::first_of(year, month);
  if (!in_year) return first + m.day - 1;
  if (m.day_of_year > base::CivilDay::first_of(year + 1, 1) - first) fail_range(input);
  return first + m.day_of_year - 1;
}

int64_t moment_of(const ReadMoment& m, const ToRead& input) {
  int64_t hour = m.hour;
  if (m.half_days) {
    if (hour < 1 || hour > 12) {
      fail_value(fmt::format("hour \"{}\" is invalid for the 12-hour clock", hour), "22007");
    }
    if (m.afternoon && hour < 12) hour += 12;
    if (m.morning && hour == 12) hour = 0;
  }
  if (hour > 23 || m.minute > 59 || m.second > 59 || m.second_of_day > 86'399) fail_range(input);
  const int64_t in_day = m.second_of_day != 0
                             ? m.second_of_day * base::kMicrosPerSecond
                             : hour * base::kMicrosPerHour + m.minute * base::kMicrosPerMinute +
                                   m.second * base::kMicrosPerSecond;
  return days_of(m, input) * base::kMicrosPerDay + in_day + m.micros;
}

bool is_separator(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) == 0 && static_cast<unsigned char>(c) < 0x80;
}

const ToReadField* field_at(std::string_view pattern) {
  const auto* const field =
      std::find_if(std::begin(kReadFields), std::end(kReadFields),
                   [&](const ToReadField& f) { return starts_with_any_case(pattern, f.name); });
  return field == std::end(kReadFields) ? nullptr : field;
}

bool takes_prefix(std::string_view* pattern) {
  if (!starts_with_any_case(*pattern, "FM") && !starts_with_any_case(*pattern, "TM")) return false;
  pattern->remove_prefix(2);
  return true;
}

// True where a number before the rest of the pattern ends at its last digit.
bool ends_number(std::string_view pattern) {
  takes_prefix(&pattern);
  if (pattern.empty()) return true;
  if (const ToReadField* const next = field_at(pattern)) return !next->digits;
  return std::isdigit(static_cast<unsigned char>(pattern[0])) == 0;
}

// The letters that the pattern begins with and that are no field; at least one.
std::string_view unknown_letters(std::string_view pattern) {
  size_t count = 1;
  while (count < pattern.size() && std::isalpha(static_cast<unsigned char>(pattern[count])) != 0 &&
         field_at(pattern.substr(count)) == nullptr) {
    ++count;
  }
  return pattern.substr(0, count);
}

[[noreturn]] void fail_unknown(std::string_view letters) {
  fail_query(base::ErrorCode::kUnsupported,
             fmt::format("to_date and to_timestamp do not know \"{}\" in a pattern; text that is "
                         "no field stands in quotes there",
                         letters));
}

// What a pattern says of one piece of a text.
struct ReadStep {
  enum class Kind : uint8_t {
    kNothing,
    kField,
    kAny,        // one character of the text, whatever it is
    kBlank,      // blanks, any number
    kSeparator,  // the same and one separator, if there is one
    kUnknown     // `letters`, which fail the query where the text goes on
  };
  Kind kind = Kind::kNothing;
  bool whole_number = false;
  bool ordinal = false;
  const ToReadField* field = nullptr;
  std::string_view letters;
};

// A separator of the pattern stands for one of the text, or none; a character in quotes, a digit
// or one that is not ASCII for any. `quoted` is turned by quotes.
ReadStep take_other(std::string_view* pattern, bool* quoted) {
  using Kind = ReadStep::Kind;
  const std::string_view whole = *pattern;
  const char c = whole.front();
  pattern->remove_prefix(1);
  if (c == '"') {
    *quoted = !*quoted;
    return {};
  }
  if (*quoted) {
    if (c == '\\' && !pattern->empty()) pattern->remove_prefix(1);
    return {Kind::kAny};
  }
  if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
    return {Kind::kUnknown, false, false, nullptr, unknown_letters(whole)};
  }
  if (is_separator(c)) return {c == ' ' ? Kind::kBlank : Kind::kSeparator};
  return {Kind::kAny};
}

// Takes the pattern's first step.
ReadStep take_step(std::string_view* pattern, bool* quoted) {
  const bool plain = !*quoted && takes_prefix(pattern);
  if (pattern->empty()) return {};
  const ToReadField* const field = *quoted ? nullptr : field_at(*pattern);
  if (field == nullptr) return take_other(pattern, quoted);
  pattern->remove_prefix(field->name.size());
  const bool ordinal = starts_with_any_case(*pattern, "TH");
  if (ordinal) pattern->remove_prefix(2);
  return {ReadStep::Kind::kField, plain || ordinal || ends_number(*pattern),
          ordinal && field->digits, field};
}

void read_step(const ReadStep& step, ToRead* input, ReadMoment* moment) {
  switch (step.kind) {
    case ReadStep::Kind::kNothing: break;
    case ReadStep::Kind::kField:
      input->whole_number = step.whole_number;
      step.field->read(input, moment, step.field->name);
      if (step.ordinal) input->rest.remove_prefix(std::min<size_t>(2, input->rest.size()));
      break;
    case ReadStep::Kind::kAny: input->rest.remove_prefix(1); break;
    case ReadStep::Kind::kBlank: input->skip_blanks(); break;
    case ReadStep::Kind::kSeparator:
      input->skip_blanks();
      if (!input->rest.empty() && is_separator(input->rest[0])) input->rest.remove_prefix(1);
      break;
    case ReadStep::Kind::kUnknown: fail_unknown(step.letters);
  }
}

// ReadPattern: a pattern, which is mostly the same for all rows and then taken apart once. Longer
// ones than anybody writes are not, as their steps would take memory that nobody counts.
class ReadPattern {
 public:
  // Where the text ends, the rest of the pattern counts for nothing.
  int64_t read(std::string_view pattern, std::string_view text) {
    ToRead input{text, text};
    ReadMoment moment;
    if (pattern.size() > kBytesKeptMax) {
      bool quoted = false;
      while (!pattern.empty() && !input.rest.empty()) {
        read_step(take_step(&pattern, &quoted), &input, &moment);
      }
      return moment_of(moment, input);
    }
    if (pattern != written_) compile(pattern);
    for (const ReadStep& step : steps_) {
      if (input.rest.empty()) break;
      read_step(step, &input, &moment);
    }
    return moment_of(moment, input);
  }

 private:
  static constexpr size_t kBytesKeptMax = 1024;

  void compile(std::string_view pattern) {
    written_ = pattern;
    steps_.clear();
    bool quoted = false;
    for (std::string_view rest = written_; !rest.empty();) {
      const ReadStep step = take_step(&rest, &quoted);
      if (step.kind != ReadStep::Kind::kNothing) steps_.push_back(step);
      if (step.kind == ReadStep::Kind::kUnknown) break;
    }
  }

  std::string written_;
  std::vector<ReadStep> steps_;  // of written_: this object is not moved any more
};

}  // namespace

NodePtr make_moment_from_text(std::vector<NodePtr> children, const QueryLimits& limits) {
  return make_row_node<int64_t>(
      PhysicalType::kInt64, std::move(children), limits,
      [pattern = ReadPattern()](const RowArguments& a, VectorTexts*) mutable {
        return pattern.read(a.text(1), a.text(0));
      });
}

}  // namespace diptych::olap
