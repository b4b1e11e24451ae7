// Dates and timestamps from text: parse_date and parse_timestamp of value.h.
//
// The forms are PostgreSQL's of its default DateStyle (ISO, MDY), as programs and people write
// them. A zone is read and, as a TIMESTAMP has none, ignored.

#include <algorithm>
#include <array>
#include <chrono>
#include <string>

#include <fmt/format.h>

#include "base/quoted.h"
#include "base/value.h"

namespace diptych::base {
namespace {

enum class MomentState : uint8_t {
  kGood,
  kBadForm,
  kNoSuchDay,
  kNoSuchTime,
  kNoSuchZone,
  kBeyondTimestamps
};

constexpr std::array<std::string_view, 12> kMonthNames = {
    "january", "february", "march",     "april",   "may",      "june",
    "july",    "august",   "september", "october", "november", "december"};
constexpr std::array<std::string_view, 7> kWeekdayNames = {
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};
constexpr std::string_view kEpoch = "epoch";  // SQL's name of 1970-01-01

class MomentReader {
 public:
  explicit MomentReader(std::string_view text) : rest_(text) {}

  MomentState read() {
    skip(kBlanks);
    while (!rest_.empty() &&
           std::ranges::any_of(kBlanks, [&](char c) { return c == rest_.back(); })) {
      rest_.remove_suffix(1);
    }
    const MomentState day = read_date();
    if (day == MomentState::kBadForm || rest_.empty()) return day;
    const MomentState time = read_time();
    return time == MomentState::kBadForm || day == MomentState::kGood ? time : day;
  }

  Date date() const { return date_; }
  int64_t micros() const { return micros_; }  // since midnight

 private:
  static constexpr std::string_view kBlanks = " \t\r\n";
  static constexpr std::string_view kBetween = " \t\r\n,";
  static constexpr uint32_t kYearLast = 5'874'897;  // PostgreSQL's; its days are 32 bits

  struct Number {
    uint32_t value = 0;
    size_t digits = 0;  // 0: there is none
  };

  static bool is_digit_of(char c) { return c >= '0' && c <= '9'; }
  static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
  bool at_digit() const { return !rest_.empty() && is_digit_of(rest_.front()); }
  bool at_letter() const { return !rest_.empty() && is_letter(rest_.front()); }

  void skip(std::string_view characters) {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(characters), rest_.size()));
  }

  bool take(char expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // One of "-/." or none.
  char take_separator() {
    if (rest_.empty() || std::string_view("-/.").find(rest_.front()) == std::string_view::npos) {
      return '\0';
    }
    const char separator = rest_.front();
    rest_.remove_prefix(1);
    return separator;
  }

  // All digits that stand here, but at most so many.
  Number take_number(size_t digits_max) {
    Number number;
    while (number.digits < digits_max && at_digit()) {
      number.value = number.value * 10 + static_cast<uint32_t>(rest_.front() - '0');
      ++number.digits;
      rest_.remove_prefix(1);
    }
    return number;
  }

  std::string_view take_digits() {
    const size_t end = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    const std::string_view digits = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return digits;
  }

  // Whether the digits behind `whole` make it one more.
  static bool rounds_up(std::string_view digits, uint32_t whole) {
    const size_t end = digits.find_last_not_of('0') + 1;
    const int beyond_half = digits.substr(0, end).compare("5");
    return beyond_half > 0 || (beyond_half == 0 && whole % 2 != 0);
  }

  // The letters that stand here, in lower case.
  std::string take_word() {
    std::string word;
    for (; at_letter(); rest_.remove_prefix(1)) word += static_cast<char>(rest_.front() | 0x20);
    return word;
  }

  // A name's number from 1, whole or by its first three letters; 0: it is none of them.
  template <size_t kCount>
  static uint32_t number_of_name(const std::array<std::string_view, kCount>& names,
                                 std::string_view word) {
    for (uint32_t i = 0; i < kCount; ++i) {
      if (word == names[i] || word == names[i].substr(0, 3)) return i + 1;
    }
    return 0;
  }

  static bool is_weekday(std::string_view word) {
    return number_of_name(kWeekdayNames, word) != 0 || word == "tues" || word == "weds" ||
           word == "thur" || word == "thurs";
  }

  static uint32_t month_of(std::string_view word) {
    return word == "sept" ? 9 : number_of_name(kMonthNames, word);
  }

  // A year of two digits is of 1970 to 2069.
  static uint32_t year_of(Number number) {
    if (number.digits > 2) return number.value;
    return number.value + (number.value < 70 ? 2000 : 1900);
  }

  MomentState set_date(uint32_t year, uint32_t month, uint32_t day) {
    // std::chrono has 32,767 years, and 400 of them are all that there are.
    const std::chrono::year_month_day civil(std::chrono::year(static_cast<int>(year % 400)),
                                            std::chrono::month(month), std::chrono::day(day));
    const bool in_bytes = month <= 12 && day <= 31;
    if (!in_bytes || !civil.ok() || year == 0 || year > kYearLast) return MomentState::kNoSuchDay;
    date_ = date_from_civil({static_cast<int32_t>(year), month, day});
    return MomentState::kGood;
  }

  MomentState read_date() {
    if (at_digit()) return read_date_of_number();
    std::string word = take_word();
    if (is_weekday(word)) {
      skip(kBetween);
      if (at_digit()) return read_date_of_number();
      word = take_word();
    }
    const uint32_t month = month_of(word);
    if (month == 0) return MomentState::kBadForm;
    if (take_separator() == '\0') skip(kBlanks);
    const Number day = take_number(2);
    if (at_digit()) return MomentState::kBadForm;
    if (take_separator() == '\0') skip(kBetween);
    const Number year = take_number(7);
    if (day.digits == 0 || year.digits == 0) return MomentState::kBadForm;
    return set_date(year_of(year), month, day.value);
  }

  // YYYYMMDD, Y-M-D, M-D-Y, D-Mon-Y, Y-Mon-D, the last two with blanks as well.
  MomentState read_date_of_number() {
    const Number first = take_number(8);
    const bool year_first = first.digits > 2;
    const char separator = take_separator();
    if (at_letter() || separator == '\0') {
      if (first.digits == 8 && separator == '\0') {
        return set_date(first.value / 10'000, first.value / 100 % 100, first.value % 100);
      }
      skip(kBlanks);
      const uint32_t month = month_of(take_word());
      if (month == 0) return MomentState::kBadForm;
      if (separator != '\0' ? !take(separator) : take_separator() != '\0') {
        return MomentState::kBadForm;
      }
      skip(kBetween);
      const Number last = take_number(7);
      if (last.digits == 0) return MomentState::kBadForm;
      return year_first ? set_date(first.value, month, last.value)
                        : set_date(year_of(last), month, first.value);
    }
    const Number second = take_number(2);
    if (second.digits == 0 || !take(separator)) return MomentState::kBadForm;
    const Number third = take_number(year_first ? 2 : 7);
    if (third.digits == 0 || first.digits > 7) return MomentState::kBadForm;
    return year_first ? set_date(first.value, second.value, third.value)
                      : set_date(year_of(third), first.value, second.value);
  }

  // What follows a date: a time of day, its half of the day, and a zone; each may be missing.
  MomentState read_time() {
    const size_t before = rest_.size();
    skip(kBetween);
    const bool t = rest_.size() > 1 && (rest_[0] | 0x20) == 't' && is_digit_of(rest_[1]);
    if (t) rest_.remove_prefix(1);
    const bool timed = at_digit() && rest_.size() < before;
    if (timed) {
      if (const MomentState state = read_time_of_day(t); state != MomentState::kGood) return state;
    }
    while (!rest_.empty()) {
      skip(kBlanks);
      const bool plus = rest_.starts_with('+');
      const MomentState state =
          plus || (timed && rest_.starts_with('-')) ? read_displacement() : read_mark(timed);
      if (state != MomentState::kGood) return state;
    }
    return MomentState::kGood;
  }

  // H:M[:S[.f]], each of one or two digits, up to 24:00; behind a T also HHMM[SS[.f]]. What is
  // beyond a microsecond is rounded, half to even.
  MomentState read_time_of_day(bool after_t) {
    const size_t digits = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    const bool together = after_t && (digits == 4 || digits == 6);
    hour_ = take_number(2).value;
    if (!together && !take(':')) return MomentState::kBadForm;
    const Number minute = take_number(2);
    if (minute.digits == 0) return MomentState::kBadForm;
    Number second;
    if (together ? digits == 6 : take(':')) {
      second = take_number(2);
      if (second.digits == 0) return MomentState::kBadForm;
    }
    const bool has_fraction = second.digits != 0 && take('.');
    Number fraction;
    if (has_fraction) {
      fraction = take_number(6);
      if (fraction.digits == 0) return MomentState::kBadForm;
      for (; fraction.digits < 6; ++fraction.digits) fraction.value *= 10;
      if (at_digit()) fraction.value += rounds_up(take_digits(), fraction.value) ? 1 : 0;
    }
    if (at_digit()) return MomentState::kBadForm;
    if (minute.value > 59 || second.value > 60) return MomentState::kNoSuchTime;
    micros_ = (int64_t{hour_} * 3600 + minute.value * 60 + second.value) * kMicrosPerSecond +
              fraction.value;
    return micros_ <= kMicrosPerDay ? MomentState::kGood : MomentState::kNoSuchTime;
  }

  // AM, PM, or the name of the zone that others count from.
  MomentState read_mark(bool timed) {
    const std::string word = take_word();
    if (word == "z" || word == "utc" || word == "gmt" || word == "ut") {
      if (zoned_) return MomentState::kBadForm;
      zoned_ = true;
      const bool counted = word != "z" && (rest_.starts_with('+') || rest_.starts_with('-'));
      return counted ? read_hours() : MomentState::kGood;
    }
    if (!timed || half_ || (word != "am" && word != "pm")) return MomentState::kBadForm;
    half_ = true;
    if (hour_ > 12) return MomentState::kNoSuchTime;
    constexpr int64_t kHalfDay = kMicrosPerDay / 2;
    if (word == "am" && hour_ == 12) micros_ -= kHalfDay;
    if (word == "pm" && hour_ != 12) micros_ += kHalfDay;
    return MomentState::kGood;
  }

  MomentState read_displacement() {
    if (zoned_) return MomentState::kBadForm;
    zoned_ = true;
    return read_hours();
  }

  // A sign, then h, hh, hmm, hhmm, hh:m, hh:mm or hh:mm:ss.
  MomentState read_hours() {
    rest_.remove_prefix(1);
    const Number first = take_number(4);
    if (first.digits == 0 || at_digit()) return MomentState::kBadForm;
    const bool together = first.digits > 2;
    const uint32_t hours = together ? first.value / 100 : first.value;
    uint32_t minutes = together ? first.value % 100 : 0;
    uint32_t seconds = 0;
    for (uint32_t* const part : {&minutes, &seconds}) {
      if (together || !take(':')) break;
      const Number number = take_number(2);
      if (number.digits == 0) return MomentState::kBadForm;
      *part = number.value;
    }
    constexpr uint32_t kHoursMax = 15;  // PostgreSQL's
    const bool good = hours <= kHoursMax && minutes <= 59 && seconds <= 59;
    return good ? MomentState::kGood : MomentState::kNoSuchZone;
  }

  std::string_view rest_;
  Date date_;
  int64_t micros_ = 0;
  uint32_t hour_ = 0;
  bool half_ = false;   // AM or PM has been read
  bool zoned_ = false;  // so has a zone
};

Error bad_moment(std::string_view text, MomentState state, std::string_view type) {
  const auto wrong = [&](std::string_view what, SqlState sqlstate) {
    return Error{ErrorCode::kInvalidArgument, sqlstate, fmt::format("{} {}", quoted(text), what)};
  };
  switch (state) {
    case MomentState::kGood:
    case MomentState::kNoSuchDay: return wrong("names no day of the calendar", "22008");
    case MomentState::kBeyondTimestamps:
      return wrong("is beyond the last TIMESTAMP, in January of 294247", "22008");
    case MomentState::kNoSuchTime: return wrong("names no time of a day", "22008");
    case MomentState::kNoSuchZone: return wrong("names no time zone", "22009");
    case MomentState::kBadForm: break;
  }
  return wrong(fmt::format("is not a {}", type), "22007");
}

}  // namespace

Result<Date> parse_date(std::string_view text) {
  if (text == kEpoch) return Date{0};
  MomentReader reader(text);
  const MomentState state = reader.read();
  if (state == MomentState::kGood) return reader.date();
  return bad_moment(text, state, "DATE (YYYY-MM-DD)");
}

Result<Timestamp> parse_timestamp(std::string_view text) {
  if (text == kEpoch) return Timestamp{0};
  MomentReader reader(text);
  MomentState state = reader.read();
  int64_t at = 0;
  if (state == MomentState::kGood &&
      (__builtin_mul_overflow(reader.date().days, kMicrosPerDay, &at) ||
       __builtin_add_overflow(at, reader.micros(), &at))) {
    state = MomentState::kBeyondTimestamps;
  }
  if (state != MomentState::kGood) {
    return bad_moment(text, state, "TIMESTAMP (YYYY-MM-DD HH:MM:SS.ffffff)");
  }
  return Timestamp{at};
}

}  // namespace diptych::base
