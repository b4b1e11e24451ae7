// The SQL types of columns, and the C++ types that hold one cell of each.
//
//   SQL                 C++ cell               bytes in a row
//   INT                 int32_t                4
//   BIGINT              int64_t                8
//   DECIMAL(p,s)        Decimal<p,s>           8    scaled integer, p <= 18; never floating point
//   DOUBLE              double                 8
//   BOOLEAN             bool                   1
//   DATE                Date                   4    days since 1970-01-01
//   TIMESTAMP           Timestamp              8    microseconds since 1970-01-01 00:00:00
//   CHAR(n), VARCHAR(n) Char<n>, Varchar<n>    1+n  if n <= kInlineStringBytesMax, else 16
//   TEXT                Text                   16
//   any, without NOT NULL   Nullable<cell>     cell, then one byte, then padding
//
// INTERVAL (base/interval.h) is the type of values that queries compute, and of no column.
//
// A string's n counts bytes of UTF-8. CHAR(n) keeps no trailing blanks. A long string's bytes lie
// outside the row: Text points at them, and whoever gave the row out says how long they stay.
// A cell may be made of any string: one that is longer than its column does not fit(), no key and
// no row has it, and the database refuses a row that would. Of a std::string it is made without a
// word if it copies the bytes, as those of up to kInlineStringBytesMax do.

#pragma once

#include <algorithm>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/check.h"

namespace diptych::base {

inline constexpr uint32_t kInlineStringBytesMax = 64;
inline constexpr uint8_t kDecimalDigitsMax = 18;

enum class TypeKind : uint8_t {
  kInt,
  kBigInt,
  kDecimal,
  kDouble,
  kBoolean,
  kDate,
  kTimestamp,
  kChar,
  kVarchar,
  kInterval,  // of a query's values (base/interval.h); no column has it
};

struct DataType {
  TypeKind kind = TypeKind::kInt;
  uint8_t precision = 0;  // kDecimal: digits in all
  uint8_t scale = 0;      // kDecimal: digits after the point
  uint32_t length = 0;    // kChar, kVarchar: bytes at most; 0 is TEXT, without a limit

  bool operator==(const DataType&) const = default;
  constexpr bool is_string() const { return kind == TypeKind::kChar || kind == TypeKind::kVarchar; }
  // True where the bytes of a cell lie in the row itself.
  constexpr bool is_inline() const {
    return !is_string() || (length != 0 && length <= kInlineStringBytesMax);
  }

  // As in DDL: "DECIMAL(12,2)", "VARCHAR(16)", "TEXT".
  std::string to_string() const;
};

struct Date {
  int32_t days = 0;
  auto operator<=>(const Date&) const = default;
};

inline constexpr int64_t kMicrosPerSecond = 1'000'000;
inline constexpr int64_t kMicrosPerMinute = 60 * kMicrosPerSecond;
inline constexpr int64_t kMicrosPerHour = 60 * kMicrosPerMinute;
inline constexpr int64_t kMicrosPerDay = 24 * kMicrosPerHour;

struct Timestamp {
  int64_t micros = 0;
  auto operator<=>(const Timestamp&) const = default;
};

template <uint8_t Precision, uint8_t Scale>
struct Decimal {
  static_assert(Precision <= kDecimalDigitsMax && Scale <= Precision);
  int64_t units = 0;  // the value times 10^Scale
  auto operator<=>(const Decimal&) const = default;
};

inline constexpr uint8_t kOverlong = UINT8_MAX;  // as an inline string's size: it did not fit
static_assert(kInlineStringBytesMax < kOverlong);

// A string of at most N bytes whose bytes lie in the row.
template <uint32_t N>
struct InlineString {
  static_assert(N >= 1 && N <= kInlineStringBytesMax);
  uint8_t size = 0;
  char bytes[N];

  InlineString() = default;
  InlineString(std::string_view text)  // NOLINT: by design
      : size(text.size() <= N ? static_cast<uint8_t>(text.size()) : kOverlong) {
    if (!text.empty()) std::memcpy(bytes, text.data(), view().size());
  }
  InlineString(const char* text) : InlineString(std::string_view(text)) {}  // NOLINT: likewise
  template <std::same_as<std::string> String>  // and nothing that makes one, as braces do
  InlineString(const String& text) : InlineString(std::string_view(text)) {}  // NOLINT: likewise
  bool fits() const { return size <= N; }
  std::string_view view() const { return {bytes, fits() ? size : N}; }  // the first N bytes
  bool operator==(const InlineString& other) const {
    return size == other.size && view() == other.view();
  }
};

// A string whose bytes lie elsewhere. One of kSizeMax bytes or more fits no row. It is not made of
// a std::string without a word, since that must outlive it: std::string_view(string) says so.
struct Text {
  static constexpr size_t kSizeMax = UINT32_MAX;

  const char* data = nullptr;
  uint32_t size = 0;
  uint32_t unused = 0;  // always 0; spells out the padding

  Text() = default;
  Text(std::string_view text)  // NOLINT: by design
      : data(text.data()), size(static_cast<uint32_t>(std::min(text.size(), kSizeMax))) {}
  Text(const char* text) : Text(std::string_view(text)) {}  // NOLINT: likewise
  std::string_view view() const { return {data, size}; }
  bool operator==(const Text& other) const { return view() == other.view(); }
};
static_assert(sizeof(Text) == 16);

// CHAR(n) as it is kept.
inline std::string_view without_trailing_blanks(std::string_view text) {
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

// VARCHAR(N) and CHAR(N) as a cell: bytes in the row when short, outside it when long.
template <uint32_t N>
struct LongVarchar : Text {
  using Text::Text;
  bool fits() const { return size <= N; }
};
template <uint32_t N>
struct LongChar : Text {
  LongChar() = default;
  LongChar(std::string_view text) : Text(without_trailing_blanks(text)) {}  // NOLINT: by design
  LongChar(const char* text) : LongChar(std::string_view(text)) {}          // NOLINT: likewise
  bool fits() const { return size <= N; }
};
template <uint32_t N>
struct ShortVarchar : InlineString<N> {
  using InlineString<N>::InlineString;
};
template <uint32_t N>
struct ShortChar : InlineString<N> {
  ShortChar() = default;
  ShortChar(std::string_view text)  // NOLINT: by design
      : InlineString<N>(without_trailing_blanks(text)) {}
  ShortChar(const char* text) : ShortChar(std::string_view(text)) {}  // NOLINT: likewise
  template <std::same_as<std::string> String>
  ShortChar(const String& text) : ShortChar(std::string_view(text)) {}  // NOLINT: likewise
};

namespace detail {
template <uint32_t N, bool kShort>
struct VarcharCell {
  using type = ShortVarchar<N>;
};
template <uint32_t N>
struct VarcharCell<N, false> {
  using type = LongVarchar<N>;
};
template <uint32_t N, bool kShort>
struct CharCell {
  using type = ShortChar<N>;
};
template <uint32_t N>
struct CharCell<N, false> {
  using type = LongChar<N>;
};
}  // namespace detail

template <uint32_t N>
using Varchar = typename detail::VarcharCell<N, N <= kInlineStringBytesMax>::type;
template <uint32_t N>
using Char = typename detail::CharCell<N, N <= kInlineStringBytesMax>::type;

// std::logic_error: a null cell has no value to read.
[[noreturn]] void throw_as_null_cell();

// A cell of a column without NOT NULL.
template <class Cell>
struct Nullable {
  Cell value{};
  bool is_null = true;

  Nullable() = default;
  Nullable(Cell cell) : value(cell), is_null(false) {}  // NOLINT: by design
  // A cell of strings, of what is one.
  template <class String>
    requires(std::is_convertible_v<const String&, std::string_view> &&
             std::is_convertible_v<const String&, Cell> && !std::is_null_pointer_v<String>)
  Nullable(const String& text) : value(text), is_null(false) {}  // NOLINT: likewise
  bool has_value() const { return !is_null; }
  // As a Result's: it aborts a procedure that has not looked, and the database lives.
  const Cell& operator*() const {
    if (is_null) [[unlikely]]
      throw_as_null_cell();
    return value;
  }
  bool operator==(const Nullable& other) const {
    return is_null == other.is_null && (is_null || value == other.value);
  }
};

// CellTraits<Cell>: the column type and nullability that a C++ cell type stands for.
template <class Cell>
struct CellTraits;

template <TypeKind kKind, uint32_t kLength = 0, uint8_t kPrecision = 0, uint8_t kScale = 0>
struct CellTraitsBase {
  static constexpr DataType kType{kKind, kPrecision, kScale, kLength};
  static constexpr bool kNullable = false;
};

template <>
struct CellTraits<int32_t> : CellTraitsBase<TypeKind::kInt> {};
template <>
struct CellTraits<int64_t> : CellTraitsBase<TypeKind::kBigInt> {};
template <>
struct CellTraits<double> : CellTraitsBase<TypeKind::kDouble> {};
template <>
struct CellTraits<bool> : CellTraitsBase<TypeKind::kBoolean> {};
template <>
struct CellTraits<Date> : CellTraitsBase<TypeKind::kDate> {};
template <>
struct CellTraits<Timestamp> : CellTraitsBase<TypeKind::kTimestamp> {};
template <>
struct CellTraits<Text> : CellTraitsBase<TypeKind::kVarchar> {};
template <uint8_t P, uint8_t S>
struct CellTraits<Decimal<P, S>> : CellTraitsBase<TypeKind::kDecimal, 0, P, S> {};
template <uint32_t N>
struct CellTraits<ShortVarchar<N>> : CellTraitsBase<TypeKind::kVarchar, N> {};
template <uint32_t N>
struct CellTraits<LongVarchar<N>> : CellTraitsBase<TypeKind::kVarchar, N> {};
template <uint32_t N>
struct CellTraits<ShortChar<N>> : CellTraitsBase<TypeKind::kChar, N> {};
template <uint32_t N>
struct CellTraits<LongChar<N>> : CellTraitsBase<TypeKind::kChar, N> {};
template <class Cell>
struct CellTraits<Nullable<Cell>> {
  static constexpr DataType kType = CellTraits<Cell>::kType;
  static constexpr bool kNullable = true;
};

}  // namespace diptych::base
