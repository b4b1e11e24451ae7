// to_char of moments.

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <string>
#include <vector>

#include "base/types.h"
#include "olap/execution/expression/date_parts.h"
#include "olap/execution/expression/row_node.h"

namespace diptych::olap {

namespace {

// How a pattern writes a field.
struct FieldForm {
  enum class Letters : uint8_t { kLower, kAsNamed, kUpper };
  Letters letters = Letters::kAsNamed;
  bool plain = false;  // without padding
};

// By the first two letters of the field in the pattern: month, Month, MONTH.
FieldForm form_as_written(std::string_view field, bool plain) {
  const auto is_upper = [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; };
  if (!is_upper(field[0])) return {FieldForm::Letters::kLower, plain};
  const bool all = field.size() > 1 && is_upper(field[1]);
  return {all ? FieldForm::Letters::kUpper : FieldForm::Letters::kAsNamed, plain};
}

constexpr size_t kFieldBytesMax = 32;  // of a number of 64 bits, its comma and zeros, too

// Writers write at most kFieldBytesMax bytes and return where they end.

// Padded with blanks.
char* write_name(std::string_view name, FieldForm form, size_t width, char* to) {
  for (const char letter : name) {
    const auto c = static_cast<unsigned char>(letter);
    switch (form.letters) {
      case FieldForm::Letters::kLower: *to++ = static_cast<char>(std::tolower(c)); break;
      case FieldForm::Letters::kAsNamed: *to++ = letter; break;
      case FieldForm::Letters::kUpper: *to++ = static_cast<char>(std::toupper(c)); break;
    }
  }
  for (size_t i = name.size(); i < width && !form.plain; ++i) *to++ = ' ';
  return to;
}

// With zeros in front; no value is below 0.
char* write_digits(int64_t value, size_t width, char* to) {
  char digits[20];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, value);
  const auto count = static_cast<size_t>(end.ptr - digits);
  for (size_t i = count; i < width; ++i) *to++ = '0';
  std::memcpy(to, digits, count);
  return to + count;
}

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

// FM and TM in front of a field drop its padding: names are English in any case.
bool is_prefix(std::string_view pattern) {
  return pattern.starts_with("FM") || pattern.starts_with("fm") || pattern.starts_with("TM") ||
         pattern.starts_with("tm");
}

// A piece of a pattern: a field of the moment, or text, which stays.
struct WritePiece {
  static constexpr size_t kFieldBytes = kFieldBytesMax + 2;  // with its ending

  const ToCharField* field = nullptr;
  FieldForm form;
  std::string_view ending;  // TH or th behind a field, which a number's ending takes the place of
  std::string_view text;
};

// Takes the pattern's first piece. Text in quotes is taken one character at a time, too; `quoted`
// tells whether the pattern begins there.
WritePiece take_piece(std::string_view* pattern, bool* quoted) {
  const auto take = [&](size_t bytes) {
    const std::string_view taken = pattern->substr(0, bytes);
    pattern->remove_prefix(taken.size());
    return taken;
  };
  WritePiece piece;
  if (*quoted) {
    if (pattern->front() == '"') {
      *quoted = false;
      take(1);
    } else {
      if (pattern->front() == '\\' && pattern->size() > 1) take(1);
      piece.text = take(1);
    }
    return piece;
  }
  const bool plain = is_prefix(*pattern);
  if (plain) take(2);
  piece.field = first_field(*pattern);
  if (piece.field != nullptr) {
    piece.form = form_as_written(take(piece.field->name.size()), plain);
    if (pattern->starts_with("TH") || pattern->starts_with("th")) piece.ending = take(2);
  } else if (pattern->starts_with('"')) {
    *quoted = true;
    take(1);
  } else {
    if (pattern->starts_with("\\\"")) take(1);
    piece.text = take(1);
  }
  return piece;
}

char* write_field(const WritePiece& piece, const DateParts& parts, char* to) {
  const char* const first = to;
  to = piece.field->write(parts, piece.form, to);
  if (piece.ending.empty() || to == first) return to;
  if (std::isdigit(static_cast<unsigned char>(to[-1])) == 0) return to;
  const std::string_view ending = ordinal_ending({first, static_cast<size_t>(to - first)});
  return write_name(ending, form_as_written(piece.ending, true), 0, to);
}

void append_piece(const WritePiece& piece, const DateParts& parts, CountedText* result) {
  *result += piece.text;
  if (piece.field == nullptr) return;
  char bytes[WritePiece::kFieldBytes];
  result->append(bytes, write_field(piece, parts, bytes));
}

// WritePattern: a pattern, which is mostly the same for all rows and then taken apart once. Longer
// ones than anybody writes are not, as their pieces would take memory that nobody counts.
class WritePattern {
 public:
  void append(std::string_view pattern, int64_t moment, CountedText* result) {
    const DateParts parts(moment);
    bool quoted = false;
    if (pattern.size() > kBytesKeptMax) {
      while (!pattern.empty()) append_piece(take_piece(&pattern, &quoted), parts, result);
      return;
    }
    if (pattern != written_) compile(pattern);
    if (bytes_max_ > kBytesAtOnce) {
      for (const WritePiece& piece : pieces_) append_piece(piece, parts, result);
      return;
    }
    char bytes[kBytesAtOnce];
    char* to = bytes;
    for (const WritePiece& piece : pieces_) {
      to = piece.field != nullptr ? write_field(piece, parts, to)
                                  : std::copy(piece.text.begin(), piece.text.end(), to);
    }
    result->append(bytes, to);
  }

 private:
  static constexpr size_t kBytesKeptMax = 1024;
  static constexpr size_t kBytesAtOnce = 512;  // a result that one append() takes

  void compile(std::string_view pattern) {
    written_ = pattern;
    pieces_.clear();
    bytes_max_ = 0;
    bool quoted = false;
    for (std::string_view rest = written_; !rest.empty();) {
      const WritePiece piece = take_piece(&rest, &quoted);
      const bool text = piece.field == nullptr;
      if (text && piece.text.empty()) continue;
      bytes_max_ += text ? 1 : WritePiece::kFieldBytes;
      if (text && continues_last(piece)) {
        pieces_.back().text = {pieces_.back().text.data(), pieces_.back().text.size() + 1};
      } else {
        pieces_.push_back(piece);
      }
    }
  }

  bool continues_last(const WritePiece& piece) const {
    if (pieces_.empty() || pieces_.back().field != nullptr) return false;
    const std::string_view last = pieces_.back().text;
    return last.data() + last.size() == piece.text.data();
  }

  std::string written_;
  std::vector<WritePiece> pieces_;  // of written_: this object is not moved any more
  size_t bytes_max_ = 0;            // of a result
};

}  // namespace

NodePtr make_moment_to_char(std::vector<NodePtr> children, const QueryLimits& limits) {
  return make_row_node<base::StringRef>(
      PhysicalType::kString, std::move(children), limits,
      [pattern = WritePattern()](const RowArguments& a, VectorTexts* texts) mutable {
        return texts->make(
            [&](CountedText* text) { pattern.append(a.text(1), a.integer(0), text); });
      });
}

}  // namespace diptych::olap
