// Key: the normalised form of an index key: bytes whose memcmp order is the key's order.
//
// One encoding serves hash and ordered indexes, unique and not. Parts are appended in key order:
//
//   nullable column   one byte: 0x01 a value follows, 0x02 null (so nulls sort last)
//   INT, DATE         4 bytes, big-endian, sign bit flipped
//   BIGINT, DECIMAL, TIMESTAMP   8 bytes likewise
//   DOUBLE            8 bytes, big-endian; sign bit flipped if positive, all bits if negative;
//                     one zero, and one NaN above everything, as queries have it
//   BOOLEAN           1 byte
//   strings           of a column of up to kPaddedTextBytesMax bytes: the bytes, zeros up to the
//                     column's length, and how many bytes there were
//                     of others: the bytes, each 0x00 followed by 0xFF; then 0x00 0x00
//
// A key made of the first columns only is a prefix: every key that begins with its bytes matches.
// Decimals of one index column share their scale, so their units order as the values do.

#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/row_layout.h"
#include "base/types.h"

namespace diptych::base {

// Of a column whose texts a key has at their full length. An ordered index is as wide as its
// longest key: with the other form that is one of nothing but zeros, twice as long.
inline constexpr uint32_t kPaddedTextBytesMax = 32;

class Key {
 public:
  Key() = default;

  std::string_view bytes() const { return {bytes_, size_}; }
  size_t size() const { return size_; }
  void clear() { size_ = 0; }
  // False once a part did not fit its column or kKeyBytesMax: no row has such a key.
  bool ok() const { return ok_; }
  // A part does not fit its column; what was appended for it does not count.
  void set_unfit() { ok_ = false; }

  void append(bool part) { append_bytes(part ? "\1" : "\0", 1); }
  void append(int32_t part) {
    append_big_endian(static_cast<uint32_t>(part) ^ (uint32_t{1} << 31));
  }
  void append(int64_t part) {
    append_big_endian(static_cast<uint64_t>(part) ^ (uint64_t{1} << 63));
  }
  void append(double part) {
    if (part == 0) part = 0;  // also of -0
    if (std::isnan(part)) part = std::numeric_limits<double>::quiet_NaN();
    const auto bits = std::bit_cast<uint64_t>(part);
    const uint64_t sign = uint64_t{1} << 63;
    append_big_endian((bits & sign) != 0 ? ~bits : bits ^ sign);
  }
  void append(Date part) { append(part.days); }
  void append(Timestamp part) { append(part.micros); }
  template <uint8_t P, uint8_t S>
  void append(Decimal<P, S> part) {
    append(part.units);
  }
  template <uint32_t N>
  void append(const InlineString<N>& part) {
    append_text(part.view(), N);
    ok_ = ok_ && part.fits();
  }
  template <uint32_t N>
  void append(const LongVarchar<N>& part) {
    append(part.view());
    ok_ = ok_ && part.fits();
  }
  template <uint32_t N>
  void append(const LongChar<N>& part) {
    append(part.view());
    ok_ = ok_ && part.fits();
  }
  void append(const Text& part) { append(part.view()); }
  void append(std::string_view part);  // of a column without a length, or with a long one
  // Of a column of texts of at most `length` bytes; 0: of any.
  void append_text(std::string_view part, uint32_t length) {
    if (length == 0 || length > kPaddedTextBytesMax) {
      append(part);
    } else if (part.size() > length || size_ + length + 1 > kKeyBytesMax) {
      ok_ = false;
    } else {
      std::memset(bytes_ + size_, 0, length);
      std::copy(part.begin(), part.end(), bytes_ + size_);  // an empty one may lie nowhere
      bytes_[size_ + length] = static_cast<char>(part.size());
      size_ = static_cast<uint16_t>(size_ + length + 1);
    }
  }
  template <class Cell>
  void append(const Nullable<Cell>& part) {
    append_null_flag(part.is_null);
    if (!part.is_null) append(part.value);
  }
  void append_null_flag(bool null) { append_bytes(null ? "\2" : "\1", 1); }

  // The least byte string that is greater than every key with this prefix; empty if there is none.
  Key prefix_end() const;

 private:
  friend class KeyEncoder;
  template <class Unsigned>
  void append_big_endian(Unsigned bits) {
    if constexpr (sizeof(Unsigned) == 4) {
      bits = __builtin_bswap32(bits);
    } else {
      bits = __builtin_bswap64(bits);
    }
    append_bytes(reinterpret_cast<const char*>(&bits), sizeof bits);
  }
  void append_bytes(const char* part, size_t bytes) {
    if (size_ + bytes > kKeyBytesMax) {
      ok_ = false;
      return;
    }
    std::memcpy(bytes_ + size_, part, bytes);
    size_ = static_cast<uint16_t>(size_ + bytes);
  }

  uint16_t size_ = 0;
  bool ok_ = true;
  char bytes_[kKeyBytesMax];  // [0, size_) is written
};

// The shortest normalised key of these columns, whose texts are empty; it may be longer than
// kKeyBytesMax, and then no row has a key.
size_t shortest_key(const RowLayout& layout, const std::vector<ColumnId>& columns);

// The longest normalised key of these columns; nothing: it may be longer than kKeyBytesMax.
std::optional<size_t> longest_key(const RowLayout& layout, const std::vector<ColumnId>& columns);

// KeyEncoder: makes the key of an index from row bytes, for index maintenance.
class KeyEncoder {
 public:
  KeyEncoder(const RowLayout& layout, const std::vector<ColumnId>& columns);

  // Appends the index columns of the row to an empty key.
  void encode(const std::byte* row, Key* key) const;

  // As encode(row) == key, faster for numbers.
  bool matches(const std::byte* row, std::string_view key) const;

  // True if the index has this column, so that an update of it moves the row in the index.
  bool covers(ColumnId column) const;

 private:
  void encode_integers(const std::byte* row, Key* key) const;

  std::vector<ColumnLayout> parts_;
  std::vector<ColumnId> columns_;
  bool integers_ = true;  // all parts are 4 or 8 bytes and never null, and fit a key
};

}  // namespace diptych::base
