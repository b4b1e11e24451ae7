// Columns as the encodings take and give them: kinds of values, a run of them, one of them.
//
// Every number is an int64 key whose order is the column's: integers, scaled decimals, days and
// microseconds are their own; a boolean is 0 or 1; a double's bits are turned so that their order
// is PostgreSQL's, with one NaN above everything. So frames, dictionaries and predicates know one
// type, and a double that was NaN comes back as the one quiet NaN; -0 stays -0.
//
//   kind       values of a run       SQL types
//   kInt32     int32_t               INT, DATE
//   kInt64     int64_t               BIGINT, DECIMAL, TIMESTAMP
//   kDouble    double                DOUBLE
//   kBoolean   uint8_t, 0 or 1       BOOLEAN
//   kText      base::StringRef       CHAR, VARCHAR, TEXT

#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/string_ref.h"
#include "base/types.h"

namespace diptych::storage::encoding {

enum class ValueKind : uint8_t { kInt32, kInt64, kDouble, kBoolean, kText };
inline constexpr int kValueKinds = 5;

constexpr ValueKind value_kind(const base::DataType& type) {
  switch (type.kind) {
    case base::TypeKind::kInt:
    case base::TypeKind::kDate: return ValueKind::kInt32;
    case base::TypeKind::kBigInt:
    case base::TypeKind::kDecimal:
    case base::TypeKind::kTimestamp: return ValueKind::kInt64;
    case base::TypeKind::kDouble: return ValueKind::kDouble;
    case base::TypeKind::kBoolean: return ValueKind::kBoolean;
    case base::TypeKind::kInterval:  // no column's
    case base::TypeKind::kChar:
    case base::TypeKind::kVarchar: break;
  }
  return ValueKind::kText;
}

constexpr size_t value_bytes(ValueKind kind) {
  switch (kind) {
    case ValueKind::kInt32: return sizeof(int32_t);
    case ValueKind::kInt64: return sizeof(int64_t);
    case ValueKind::kDouble: return sizeof(double);
    case ValueKind::kBoolean: return sizeof(uint8_t);
    case ValueKind::kText: break;
  }
  return sizeof(base::StringRef);
}

inline constexpr int64_t kKeyMin = std::numeric_limits<int64_t>::min();
inline constexpr int64_t kKeyMax = std::numeric_limits<int64_t>::max();

constexpr int64_t turn_double_bits(int64_t bits) {
  return bits ^ static_cast<int64_t>(static_cast<uint64_t>(bits >> 63) >> 1);
}
inline int64_t double_key(double value) {
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  return turn_double_bits(std::bit_cast<int64_t>(value));
}
inline double key_double(int64_t key) {
  return std::bit_cast<double>(turn_double_bits(key));
}

// The first 8 bytes of a text as a number of the same order, for SMAs: two texts are ordered as
// their keys are, or the keys are equal.
inline int64_t text_key(std::string_view text) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, text.data(), text.size() < 8 ? text.size() : 8);
  return static_cast<int64_t>(__builtin_bswap64(bytes) ^ (uint64_t{1} << 63));
}

inline bool bit_is_set(const uint64_t* words, uint32_t i) {
  return ((words[i / 64] >> (i % 64)) & 1) != 0;
}
constexpr uint32_t bitmap_words(uint32_t rows) {
  return (rows + 63) / 64;
}

// Texts that come again: value i of a run, which may be null, is the entry codes[i] as well. Two
// entries may be one text.
struct TextCodes {
  const uint32_t* codes = nullptr;           // nullptr: of other runs
  const base::StringRef* entries = nullptr;  // nullptr: they are too many to be listed for a run
  uint32_t entry_count = 0;
  // Runs with the same number, which is not 0, have the same codes for the same texts. Whoever
  // knows that a dictionary stays as it is gives it a number.
  uint64_t dictionary = 0;
};

// A run of values: `values` has `rows` of value_bytes(kind) each, at any alignment that its type
// takes; bit i of `nulls` is set where value i is null and meaningless; nullptr: none is.
struct ColumnRun {
  ValueKind kind = ValueKind::kInt32;
  uint32_t rows = 0;
  const void* values = nullptr;
  const uint64_t* nulls = nullptr;
  TextCodes coded = {};  // of a dictionary

  template <class Value>
  const Value* as() const {
    return static_cast<const Value*>(values);
  }
  bool is_null(uint32_t i) const { return nulls != nullptr && bit_is_set(nulls, i); }
};

// Calls use(values, to_key) for the values of a run of numbers.
template <class Use>
void with_keys(const ColumnRun& run, const Use& use) {
  switch (run.kind) {
    case ValueKind::kInt32: return use(run.as<int32_t>(), [](int32_t v) { return int64_t{v}; });
    case ValueKind::kInt64: return use(run.as<int64_t>(), [](int64_t v) { return v; });
    case ValueKind::kDouble: return use(run.as<double>(), double_key);
    case ValueKind::kBoolean:
      return use(run.as<uint8_t>(), [](uint8_t v) { return int64_t{v != 0}; });
    case ValueKind::kText: break;
  }
  DIPTYCH_CHECK(false, "texts are no numbers");
}

// One value. `text` is somebody else's memory: whoever gives a cell out says whose.
struct Cell {
  bool is_null = false;
  int64_t key = 0;        // of a number
  std::string_view text;  // of a text

  static Cell null() { return {true, 0, {}}; }
  static Cell number(int64_t key) { return {false, key, {}}; }
  static Cell of_text(std::string_view text) { return {false, 0, text}; }
  bool operator==(const Cell& other) const = default;
};

// Where decoding writes to, used again from run to run. A ColumnRun that was made with it is valid
// until its next use.
struct RunBuffer {
  std::vector<uint64_t> values;  // as words: any value type is aligned
  std::vector<uint64_t> nulls;
  std::vector<char> text;
  std::vector<uint32_t> numbers;             // lengths, codes
  std::vector<base::StringRef> entries;      // of those codes, if they are few
  uint32_t entry_count = 0;                  // 0: the run's texts have no codes
  uint64_t dictionary = 0;                   // of the runs to come, as in TextCodes; 0: not known
  uint64_t met_dictionary = 0;               // of the last run whose texts had to be expanded
  std::unique_ptr<RunBuffer> known_entries;  // its texts by code, once they are worth it

  template <class Value>
  Value* room(size_t count) {
    const size_t words = (count * sizeof(Value) + 7) / 8;
    if (values.size() < words) values.resize(words);
    return reinterpret_cast<Value*>(values.data());
  }
  // Of the texts that are kept from run to run.
  size_t known_bytes() const {
    if (known_entries == nullptr) return 0;
    return known_entries->values.capacity() * sizeof(uint64_t) + known_entries->text.capacity();
  }
};

}  // namespace diptych::storage::encoding
