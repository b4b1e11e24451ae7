// to_char of numbers, and to_number, which reads what it writes: find_number_text_function and
// number_of_text of row_functions.h.
//
//   9, 0    a digit; 0 also where the number has none     , and G   between digits
//   . or D  the point                                      FM        without blanks around it
//   S       the sign, as the first or last of the pattern  MI        a minus or a blank
//   "text" and anything else stand for themselves, a \" outside for the quote, within the character
//   behind a backslash; what PostgreSQL gives another meaning is refused

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include <fmt/format.h>

#include "olap/decimal_text.h"
#include "olap/execution/expression/row_functions.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/vector/utf8_text.h"

namespace diptych::olap {

namespace {

enum class PartKind : uint8_t { kDigit, kZero, kComma, kPoint, kSign, kMinus, kText };
struct PatternPart {
  PartKind kind;
  char text;
};

struct NumberPattern {
  std::vector<PatternPart> parts;
  size_t whole_digits = 0;
  size_t fraction_digits = 0;
  size_t first_zero = SIZE_MAX;  // which digit of the whole ones is the first 0
  bool has_point = false;
  bool has_sign = false;   // S
  bool has_minus = false;  // MI
  bool fills = true;
};

bool same_letters(std::string_view text, std::string_view upper) {
  if (text.size() < upper.size()) return false;
  for (size_t i = 0; i < upper.size(); ++i) {
    if ((text[i] & ~0x20) != upper[i]) return false;
  }
  return true;
}

void add_digit(char digit, NumberPattern* pattern) {
  if (pattern->has_point) {
    ++pattern->fraction_digits;
  } else {
    if (digit == '0') pattern->first_zero = std::min(pattern->first_zero, pattern->whole_digits);
    ++pattern->whole_digits;
  }
  pattern->parts.push_back({digit == '0' ? PartKind::kZero : PartKind::kDigit, digit});
}

void add_point(NumberPattern* pattern) {
  if (pattern->has_point) fail_value("multiple decimal points", "42601");
  pattern->has_point = true;
  pattern->parts.push_back({PartKind::kPoint, '.'});
}

// MI may come twice.
void add_sign(PartKind kind, NumberPattern* pattern) {
  const bool is_sign = kind == PartKind::kSign;
  if (pattern->has_sign || (is_sign && pattern->has_minus)) {
    fail_value("cannot use \"S\" twice, or with \"MI\"", "42601");
  }
  (is_sign ? pattern->has_sign : pattern->has_minus) = true;
  pattern->parts.push_back({kind, '-'});
}

NumberPattern parse_number_pattern(std::string_view text) {
  NumberPattern pattern;
  for (size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    const char c = text[i];
    if (c == '9' || c == '0') {
      add_digit(c, &pattern);
    } else if (c == '.' || (c & ~0x20) == 'D') {
      add_point(&pattern);
    } else if (c == ',' || (c & ~0x20) == 'G') {
      pattern.parts.push_back({PartKind::kComma, ','});
    } else if (same_letters(rest, "FM")) {
      pattern.fills = false;
      ++i;
    } else if (same_letters(rest, "MI")) {
      add_sign(PartKind::kMinus, &pattern);
      ++i;
    } else if ((c & ~0x20) == 'S' && !same_letters(rest, "SG")) {
      add_sign(PartKind::kSign, &pattern);
    } else if (rest.starts_with("\\\"")) {
      pattern.parts.push_back({PartKind::kText, text[++i]});
    } else if (c == '"') {
      while (++i < text.size() && text[i] != '"') {
        if (text[i] == '\\' && i + 1 < text.size()) ++i;
        pattern.parts.push_back({PartKind::kText, text[i]});
      }
    } else {
      for (const std::string_view other :
           {"PR", "RN", "SG", "PL", "TH", "EEEE", "L", "V", "C", "B"}) {
        if (!same_letters(rest, other)) continue;
        fail_value(fmt::format("a number's pattern does not know \"{}\" yet",
                               rest.substr(0, other.size())),
                   "0A000");
      }
      pattern.parts.push_back({PartKind::kText, c});
    }
  }
  return pattern;
}

constexpr std::string_view kNan = "NaN";

// A number's digits before and behind the point, as many behind it as are wanted.
struct NumberDigits {
  bool negative = false;
  std::string whole;  // none for 0; kNan for what is no number
  std::string fraction;
};

NumberDigits digits_of(std::string_view number, size_t fraction_digits) {
  NumberDigits digits;
  if (number == kNan) {
    digits.whole = kNan;
    digits.fraction.resize(fraction_digits, '0');
    return digits;
  }
  digits.negative = number.starts_with('-');
  if (digits.negative) number.remove_prefix(1);
  const size_t point = std::min(number.find('.'), number.size());
  digits.whole = "0" + std::string(number.substr(0, point));
  digits.fraction = point < number.size() ? number.substr(point + 1) : std::string_view();
  const bool up =
      digits.fraction.size() > fraction_digits && digits.fraction[fraction_digits] >= '5';
  digits.fraction.resize(fraction_digits, '0');
  bool carry = up;
  for (std::string* text : {&digits.fraction, &digits.whole}) {
    for (size_t i = text->size(); carry && i-- > 0;) {
      carry = (*text)[i] == '9';
      (*text)[i] = static_cast<char>(carry ? '0' : (*text)[i] + 1);
    }
  }
  digits.whole.erase(0, std::min(digits.whole.find_first_not_of('0'), digits.whole.size()));
  const bool zero =
      digits.whole.empty() && digits.fraction.find_first_not_of('0') == std::string::npos;
  digits.negative = digits.negative && !zero;
  return digits;
}

// As PostgreSQL writes it: rounded by its binary value, and to no more digits than a DOUBLE has.
std::string text_of(double number, size_t fraction_digits) {
  if (std::isnan(number)) return std::string(kNan);
  // What is infinite has more digits than any pattern.
  constexpr size_t kDigitsOfInfinity = 4096;
  if (std::isinf(number)) {
    return (number < 0 ? "-" : "") + std::string(kDigitsOfInfinity, '9');
  }
  constexpr size_t kDigits = std::numeric_limits<double>::digits10;
  const size_t whole = fmt::formatted_size("{:.0f}", std::fabs(number));
  const size_t room = kDigits - std::min(kDigits, whole);
  return fmt::format("{:.{}f}", number, std::min(fraction_digits, room));
}

// Writes the pattern's parts from left to right.
class NumberWriter {
 public:
  NumberWriter(const NumberPattern& pattern, NumberDigits digits, CountedText* result)
      : pattern_(pattern), digits_(std::move(digits)), result_(*result) {
    // Any number has a digit before the point, for which ".99" has no place.
    too_large_ = std::max<size_t>(digits_.whole.size(), 1) > pattern.whole_digits;
    if (too_large_) {
      digits_.whole.assign(pattern.whole_digits, '#');
      digits_.fraction.assign(pattern.fraction_digits, '#');
    }
    kept_fraction_ = pattern.fraction_digits;
    if (!pattern.fills && !too_large_) drop_zeros();
    // The last digit of a number without a fraction is there, though it be 0.
    if (digits_.whole.empty() && pattern.whole_digits > 0 && kept_fraction_ == 0) {
      digits_.whole = "0";
    }
    blank_digits_ = pattern.whole_digits - digits_.whole.size();
    shown_from_ = std::min(blank_digits_, pattern.first_zero);
  }

  void write() {
    for (const PatternPart& part : pattern_.parts) {
      // A point with no digit behind it ends the text; so does any point of a NaN.
      const bool bare = pattern_.fraction_digits == 0 || digits_.whole == kNan;
      if (part.kind == PartKind::kPoint && bare && !too_large_) return;
      write_part(part);
    }
  }

 private:
  // FM leaves out zeros at the end that only a 9 stands for.
  void drop_zeros() {
    size_t needed = 0;
    size_t at = 0;
    bool behind = false;
    for (const PatternPart& part : pattern_.parts) {
      if (part.kind == PartKind::kPoint) behind = true;
      const bool digit = part.kind == PartKind::kDigit || part.kind == PartKind::kZero;
      if (!behind || !digit) continue;
      if (part.kind == PartKind::kZero || digits_.fraction[at] != '0') needed = at + 1;
      ++at;
    }
    kept_fraction_ = needed;
  }

  void write_sign() {
    if (sign_is_written_) return;
    sign_is_written_ = true;
    if (sign_leads_) result_ += digits_.negative ? '-' : '+';
    if (pattern_.has_sign || pattern_.has_minus) return;
    if (digits_.negative) {
      result_ += '-';
    } else if (pattern_.fills) {
      result_ += ' ';
    }
  }

  void write_blank() {
    if (pattern_.fills) result_ += ' ';
  }

  void write_whole_digit() {
    const size_t place = whole_place_++;
    if (place < shown_from_) return write_blank();
    write_sign();
    result_ += place < blank_digits_ ? '0' : digits_.whole[place - blank_digits_];
  }

  void write_part(const PatternPart& part) {
    switch (part.kind) {
      case PartKind::kDigit:
      case PartKind::kZero:
        if (!behind_point_) return write_whole_digit();
        if (fraction_place_ < kept_fraction_) result_ += digits_.fraction[fraction_place_];
        ++fraction_place_;
        return;
      case PartKind::kComma:
        if (behind_point_) {
          const bool kept = fraction_place_ > 0 && fraction_place_ <= kept_fraction_;
          if (kept || pattern_.fills) result_ += ',';
        } else if (whole_place_ > shown_from_) {
          result_ += ',';
        } else {
          write_blank();
        }
        return;
      case PartKind::kPoint:
        behind_point_ = true;
        write_sign();
        result_ += '.';
        return;
      case PartKind::kSign:
        if (whole_place_ > 0 || behind_point_) {
          result_ += digits_.negative ? '-' : '+';
        } else {
          sign_leads_ = true;
        }
        return;
      case PartKind::kMinus:
        if (digits_.negative) {
          result_ += '-';
        } else {
          write_blank();
        }
        return;
      case PartKind::kText: result_ += part.text; return;
    }
  }

  const NumberPattern& pattern_;
  NumberDigits digits_;
  CountedText& result_;
  bool too_large_ = false;
  size_t blank_digits_ = 0;   // of the whole ones, those that the number does not have
  size_t shown_from_ = 0;     // the first that is written
  size_t kept_fraction_ = 0;  // digits
  size_t whole_place_ = 0;
  size_t fraction_place_ = 0;
  bool behind_point_ = false;
  bool sign_leads_ = false;  // an S, which stands before the first digit
  bool sign_is_written_ = false;
};

// The number as text, and the pattern.
void number_to_char(const RowArguments& a, CountedText* result) {
  const NumberPattern pattern = parse_number_pattern(a.text(1));
  NumberWriter(pattern, digits_of(a.text(0), pattern.fraction_digits), result).write();
}

void double_to_char(const RowArguments& a, CountedText* result) {
  const NumberPattern pattern = parse_number_pattern(a.text(1));
  const std::string number = text_of(a.number(0), pattern.fraction_digits);
  NumberWriter(pattern, digits_of(number, pattern.fraction_digits), result).write();
}

// NumberReader: to_number(). A part of the pattern takes at most one character; a digit or point of
// the pattern takes either of them, and passes over another character, as PostgreSQL has it.
class NumberReader {
 public:
  NumberReader(const NumberPattern& pattern, std::string_view text)
      : pattern_(pattern), rest_(text) {}

  // The number with its sign and point; "" without a digit.
  std::string read() {
    for (const PatternPart& part : pattern_.parts) {
      if (rest_.empty()) break;
      read_part(part);
    }
    if (whole_.size() + fraction_.size() == 0) return {};
    return fmt::format("{}{}.{}", sign_ == '-' ? "-" : "", whole_, fraction_);
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }
  static bool is_sign(char c) { return c == '-' || c == '+'; }
  bool no_digits() const { return whole_.empty() && fraction_.empty(); }

  void pass(size_t bytes = 1) { rest_.remove_prefix(std::min(bytes, rest_.size())); }
  void pass_character() { pass(character_bytes(rest_, 0)); }

  void read_part(const PatternPart& part) {
    switch (part.kind) {
      case PartKind::kDigit:
      case PartKind::kZero:
      case PartKind::kPoint: return read_digit_or_point(part.kind != PartKind::kPoint);
      case PartKind::kComma:
        if (pattern_.fills && rest_.front() == ',') pass();
        return;
      case PartKind::kSign: return;
      case PartKind::kMinus:
        if (rest_.front() == '-') {
          sign_ = '-';
          pass();
        } else if (std::string_view("0123456789.,+-").find(rest_.front()) ==
                   std::string_view::npos) {
          pass_character();
        }
        return;
      case PartKind::kText:
        // One character of the text for each of the pattern, whose further bytes are parts, too.
        if ((static_cast<unsigned char>(part.text) & 0xC0) != 0x80) pass_character();
        return;
    }
  }

  void read_digit_or_point(bool is_digit_part) {
    if (rest_.front() == ' ') pass();
    if (is_digit_part && sign_ == 0 && no_digits() && !rest_.empty() && is_sign(rest_.front())) {
      sign_ = rest_.front();
      pass();
    }
    if (rest_.empty()) return;
    const bool was_read = take_digit_or_point();
    if (!full_ && sign_ == 0 && !no_digits()) take_sign_behind(was_read);
    full_ = false;
    pass();
  }

  // The character is passed over by the caller.
  bool take_digit_or_point() {
    const char c = rest_.front();
    if (is_digit(c)) {
      full_ = behind_point_ && fraction_.size() == pattern_.fraction_digits;
      if (!full_) (behind_point_ ? fraction_ : whole_) += c;
      return !full_;
    }
    if (c != '.' || behind_point_ || !pattern_.has_point) return false;
    behind_point_ = true;
    return true;
  }

  // An S stands directly behind a digit; an MI may be met before its turn.
  void take_sign_behind(bool was_read) {
    if (pattern_.has_sign && was_read) {
      if (rest_.size() > 1 && is_sign(rest_[1])) {
        pass();
        sign_ = rest_.front();
      }
    } else if (!was_read && pattern_.has_minus && is_sign(rest_.front())) {
      sign_ = rest_.front();
    }
  }

  const NumberPattern& pattern_;
  std::string_view rest_;
  std::string whole_;
  std::string fraction_;
  char sign_ = 0;
  bool behind_point_ = false;
  bool full_ = false;  // the fraction, which drops a digit
};

}  // namespace

int128_t number_of_text(const RowArguments& a) {
  const NumberPattern pattern = parse_number_pattern(a.text(1));
  const std::string number = NumberReader(pattern, a.text(0)).read();
  if (number.empty()) fail_value("invalid input syntax for type numeric: \" \"", "22P02");
  const auto scale = static_cast<uint8_t>(a.integer(2));
  const size_t first = std::min(number.find_first_not_of("-0"), number.find('.'));
  if (number.find('.') - first > pattern.whole_digits)
    fail_value("numeric field overflow", "22003");
  const base::DataType type{base::TypeKind::kDecimal, kWideDecimalDigitsMax, scale};
  const auto value = cast_to_decimal(type, number);
  if (!value) fail_value(value.error().message, value.error().state);
  return std::get<base::DecimalValue>(*value).units;
}

size_t number_pattern_fraction(std::string_view pattern) {
  try {
    return parse_number_pattern(pattern).fraction_digits;
  } catch (const QueryFailure&) {
    return 0;
  }
}

TextRowFunction find_number_text_function(Function function) {
  if (function == Function::kToCharDouble) return double_to_char;
  return function == Function::kToCharNumber ? number_to_char : nullptr;
}

}  // namespace diptych::olap
