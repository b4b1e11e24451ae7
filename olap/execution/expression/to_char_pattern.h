// to_char's patterns: fields of a value, with their forms, and text, which stays.
//
// A table of fields says what is written: a Field has a `name` in upper case, the type `Value` of
// what is formatted, write(value, form, to), and first(pattern), the field that the pattern begins
// with, or nullptr.

#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "olap/execution/expression/date_parts.h"
#include "olap/execution/limits/counted_text.h"

namespace diptych::olap {

// How a pattern writes a field.
struct FieldForm {
  enum class Letters : uint8_t { kLower, kAsNamed, kUpper };
  Letters letters = Letters::kAsNamed;
  bool plain = false;  // without padding
};

// By the first two letters of the field in the pattern: month, Month, MONTH.
inline FieldForm form_as_written(std::string_view field, bool plain) {
  const auto is_upper = [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; };
  if (!is_upper(field[0])) return {FieldForm::Letters::kLower, plain};
  const bool all = field.size() > 1 && is_upper(field[1]);
  return {all ? FieldForm::Letters::kUpper : FieldForm::Letters::kAsNamed, plain};
}

inline constexpr size_t kFieldBytesMax = 32;  // of a number of 64 bits, its comma and zeros, too

// Writers write at most kFieldBytesMax bytes and return where they end.

// Padded with blanks.
inline char* write_name(std::string_view name, FieldForm form, size_t width, char* to) {
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
inline char* write_digits(int64_t value, size_t width, char* to) {
  char digits[20];
  const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, value);
  const auto count = static_cast<size_t>(end.ptr - digits);
  for (size_t i = count; i < width; ++i) *to++ = '0';
  std::memcpy(to, digits, count);
  return to + count;
}

// "th" behind 11, "st" behind 1.
inline std::string_view ordinal_ending(std::string_view digits) {
  const bool teen = digits.size() > 1 && digits[digits.size() - 2] == '1';
  switch (teen ? '0' : digits.back()) {
    case '1': return "st";
    case '2': return "nd";
    case '3': return "rd";
    default: return "th";
  }
}

// FM and TM in front of a field drop its padding: names are English in any case.
inline bool is_prefix(std::string_view pattern) {
  return pattern.starts_with("FM") || pattern.starts_with("fm") || pattern.starts_with("TM") ||
         pattern.starts_with("tm");
}

// A piece of a pattern: a field of the value, or text.
template <class Field>
struct WritePiece {
  static constexpr size_t kFieldBytes = kFieldBytesMax + 2;  // with its ending

  const Field* field = nullptr;
  FieldForm form;
  std::string_view ending;  // TH or th behind a field, which a number's ending takes the place of
  std::string_view text;
};

// Takes the pattern's first piece. Text in quotes is taken one character at a time, too; `quoted`
// tells whether the pattern begins there.
template <class Field>
WritePiece<Field> take_piece(std::string_view* pattern, bool* quoted) {
  const auto take = [&](size_t bytes) {
    const std::string_view taken = pattern->substr(0, bytes);
    pattern->remove_prefix(taken.size());
    return taken;
  };
  WritePiece<Field> piece;
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
  piece.field = Field::first(*pattern);
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

template <class Field>
char* write_field(const WritePiece<Field>& piece, const typename Field::Value& value, char* to) {
  const char* const first = to;
  to = piece.field->write(value, piece.form, to);
  if (piece.ending.empty() || to == first) return to;
  if (std::isdigit(static_cast<unsigned char>(to[-1])) == 0) return to;
  const std::string_view ending = ordinal_ending({first, static_cast<size_t>(to - first)});
  return write_name(ending, form_as_written(piece.ending, true), 0, to);
}

template <class Field>
void append_piece(const WritePiece<Field>& piece, const typename Field::Value& value,
                  CountedText* result) {
  *result += piece.text;
  if (piece.field == nullptr) return;
  char bytes[WritePiece<Field>::kFieldBytes];
  result->append(bytes, write_field(piece, value, bytes));
}

// WritePattern: a pattern, which is mostly the same for all rows and then taken apart once. Longer
// ones than anybody writes are not, as their pieces would take memory that nobody counts.
template <class Field>
class WritePattern {
 public:
  void append(std::string_view pattern, const typename Field::Value& value, CountedText* result) {
    bool quoted = false;
    if (pattern.size() > kBytesKeptMax) {
      while (!pattern.empty()) append_piece(take_piece<Field>(&pattern, &quoted), value, result);
      return;
    }
    if (pattern != written_) compile(pattern);
    if (bytes_max_ > kBytesAtOnce) {
      for (const Piece& piece : pieces_) append_piece(piece, value, result);
      return;
    }
    char bytes[kBytesAtOnce];
    char* to = bytes;
    for (const Piece& piece : pieces_) {
      to = piece.field != nullptr ? write_field(piece, value, to)
                                  : std::copy(piece.text.begin(), piece.text.end(), to);
    }
    result->append(bytes, to);
  }

 private:
  using Piece = WritePiece<Field>;

  static constexpr size_t kBytesKeptMax = 1024;
  static constexpr size_t kBytesAtOnce = 512;  // a result that one append() takes

  void compile(std::string_view pattern) {
    written_ = pattern;
    pieces_.clear();
    bytes_max_ = 0;
    bool quoted = false;
    for (std::string_view rest = written_; !rest.empty();) {
      const Piece piece = take_piece<Field>(&rest, &quoted);
      const bool text = piece.field == nullptr;
      if (text && piece.text.empty()) continue;
      bytes_max_ += text ? 1 : WritePiece<Field>::kFieldBytes;
      if (text && continues_last(piece)) {
        pieces_.back().text = {pieces_.back().text.data(), pieces_.back().text.size() + 1};
      } else {
        pieces_.push_back(piece);
      }
    }
  }

  bool continues_last(const Piece& piece) const {
    if (pieces_.empty() || pieces_.back().field != nullptr) return false;
    const std::string_view last = pieces_.back().text;
    return last.data() + last.size() == piece.text.data();
  }

  std::string written_;
  std::vector<Piece> pieces_;  // of written_: this object is not moved any more
  size_t bytes_max_ = 0;       // of a result
};

}  // namespace diptych::olap
