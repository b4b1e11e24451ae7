// Columns for the tests and benchmarks of storage/encoding: values that own their memory, and every
// shape of data that has a name in them.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "storage/encoding/chunk_header.h"
#include "storage/encoding/column.h"

namespace diptych::storage::encoding::test {

inline constexpr Encoding kAllEncodings[] = {Encoding::kConstant,         Encoding::kFrame,
                                             Encoding::kPackedFrame,      Encoding::kPlain,
                                             Encoding::kDictionary,       Encoding::kPackedText,
                                             Encoding::kSymbolText,       Encoding::kZstd,
                                             Encoding::kSpacedDictionary, Encoding::kPatchedText,
                                             Encoding::kSymbolDictionary};
static_assert(std::size(kAllEncodings) == kEncodings);

// A column as cells, which are compared with, and as the run that is encoded.
class TestColumn {
 public:
  explicit TestColumn(ValueKind kind) : kind_(kind) {}
  TestColumn(TestColumn&&) = default;  // cells view texts: no copies

  void add_null() {
    cells_.push_back(Cell::null());
    // What lies under a null is anything.
    keys_.push_back(static_cast<int64_t>(0x5a5a5a5a5a5a5a5a));
    texts_.emplace_back("under a null");
  }
  void add(int64_t key) {
    if (kind_ == ValueKind::kDouble) key = double_key(key_double(key));  // one NaN
    cells_.push_back(Cell::number(key));
    keys_.push_back(key);
    texts_.emplace_back();
  }
  void add_double(double value) { add(double_key(value)); }
  void add_text(std::string text) {
    texts_.push_back(std::move(text));
    keys_.push_back(0);
    cells_.push_back(Cell::of_text(texts_.back()));
  }
  void set(uint32_t row, const Cell& cell) {
    cells_[row] = cell;
    keys_[row] = cell.key;
    if (cell.is_null || kind_ != ValueKind::kText) return;
    texts_[row] = std::string(cell.text);
    cells_[row].text = texts_[row];
  }

  ValueKind kind() const { return kind_; }
  uint32_t rows() const { return static_cast<uint32_t>(cells_.size()); }
  const Cell& cell(uint32_t row) const { return cells_[row]; }
  const std::vector<Cell>& cells() const { return cells_; }

  // Valid until the column changes.
  ColumnRun run() {
    const size_t size = value_bytes(kind_);
    values_.assign((rows() * size + 7) / 8, 0);
    nulls_.assign(bitmap_words(rows()), 0);
    bool has_null = false;
    auto* to = reinterpret_cast<std::byte*>(values_.data());
    for (uint32_t row = 0; row < rows(); ++row, to += size) {
      store(row, to);
      if (!cells_[row].is_null) continue;
      has_null = true;
      nulls_[row / 64] |= uint64_t{1} << (row % 64);
    }
    return {kind_, rows(), values_.data(), has_null ? nulls_.data() : nullptr};
  }

 private:
  template <class Value>
  static void put(std::byte* to, Value value) {
    std::memcpy(to, &value, sizeof value);
  }
  void store(uint32_t row, std::byte* to) const {
    switch (kind_) {
      case ValueKind::kInt32: return put(to, static_cast<int32_t>(keys_[row]));
      case ValueKind::kInt64: return put(to, keys_[row]);
      case ValueKind::kDouble: return put(to, key_double(keys_[row]));
      case ValueKind::kBoolean: return put(to, static_cast<uint8_t>(keys_[row] & 1));
      case ValueKind::kText: return put(to, base::StringRef(texts_[row]));
    }
  }

  ValueKind kind_;
  std::vector<Cell> cells_;
  std::vector<int64_t> keys_;
  std::deque<std::string> texts_;  // a deque: views of them stay
  std::vector<uint64_t> values_;
  std::vector<uint64_t> nulls_;
};

using Random = std::mt19937_64;

inline std::string random_text(Random* random, size_t size, std::string_view alphabet) {
  std::string text(size, '\0');
  for (char& c : text) c = alphabet[(*random)() % alphabet.size()];
  return text;
}

inline constexpr std::string_view kAlphanumerics =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

// TPC-C's last names: three of ten syllables.
inline std::string last_name(uint64_t number) {
  static constexpr const char* kSyllables[] = {"BAR", "OUGHT", "ABLE",  "PRI",   "PRES",
                                               "ESE", "ANTI",  "CALLY", "ATION", "EING"};
  return std::string(kSyllables[number / 100 % 10]) + kSyllables[number / 10 % 10] +
         kSyllables[number % 10];
}

// A number of a kind; of every size, so that small ones are as frequent as large ones.
inline int64_t random_key(Random* random, ValueKind kind) {
  const auto bits = static_cast<int64_t>((*random)()) >> ((*random)() % 64);
  switch (kind) {
    case ValueKind::kInt32: return static_cast<int32_t>(bits);
    case ValueKind::kInt64: return bits;
    case ValueKind::kDouble: return double_key(static_cast<double>(bits) / 8);
    case ValueKind::kBoolean: return bits & 1;
    case ValueKind::kText: break;
  }
  return 0;
}

inline int64_t key_min(ValueKind kind) {
  switch (kind) {
    case ValueKind::kInt32: return std::numeric_limits<int32_t>::min();
    case ValueKind::kDouble: return double_key(-std::numeric_limits<double>::infinity());
    case ValueKind::kBoolean: return 0;
    default: return kKeyMin;
  }
}
inline int64_t key_max(ValueKind kind) {
  switch (kind) {
    case ValueKind::kInt32: return std::numeric_limits<int32_t>::max();
    case ValueKind::kDouble: return double_key(std::numeric_limits<double>::quiet_NaN());
    case ValueKind::kBoolean: return 1;
    default: return kKeyMax;
  }
}

struct NamedColumn {
  std::string name;
  TestColumn column;
};

// Columns of one kind under construction: each with nulls, too.
class ColumnList {
 public:
  ColumnList(ValueKind kind, uint64_t seed) : kind_(kind), random_(seed) {}

  Random* random() { return &random_; }
  ValueKind kind() const { return kind_; }
  std::deque<NamedColumn> take() { return std::move(columns_); }

  // add_row(&column, row) for each row.
  template <class AddRow>
  void add(const std::string& name, uint32_t rows, AddRow&& add_row) {
    TestColumn column(kind_);
    for (uint32_t row = 0; row < rows; ++row) add_row(&column, row);
    columns_.push_back({name, std::move(column)});
  }
  template <class AddRow>
  void add_twice(const std::string& name, uint32_t rows, AddRow&& add_row) {
    add(name, rows, add_row);
    add(name + ", nulls", rows, [&](TestColumn* column, uint32_t row) {
      if (random_() % 3 == 0) return column->add_null();
      add_row(column, row);
    });
  }
  void texts(const std::string& name, uint32_t rows,
             const std::function<std::string(uint32_t)>& text) {
    add_twice(name, rows, [&](TestColumn* column, uint32_t row) { column->add_text(text(row)); });
  }
  void numbers(const std::string& name, uint32_t rows,
               const std::function<int64_t(uint32_t)>& key) {
    add_twice(name, rows, [&](TestColumn* column, uint32_t row) { column->add(key(row)); });
  }

 private:
  ValueKind kind_;
  Random random_;
  std::deque<NamedColumn> columns_;
};

inline void add_texts(ColumnList* list) {
  Random& random = *list->random();
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes.push_back(static_cast<char>(byte));
  const std::string_view zero_and_a("\0a", 2);
  list->texts("one row", 1, [](uint32_t) { return "one"; });
  list->texts("all empty", 130, [](uint32_t) { return ""; });
  list->texts("all equal", 130, [](uint32_t) { return "the same old text"; });
  list->texts("last names", 1500, [&](uint32_t) { return last_name(random()); });
  for (const size_t letters : {1, 2, 16, 17, 32, 62}) {
    list->texts(std::to_string(letters) + " letters", 700, [&](uint32_t) {
      return random_text(&random, random() % 40, kAlphanumerics.substr(0, letters));
    });
  }
  list->texts("100 letters", 700, [&](uint32_t) {
    return random_text(&random, random() % 20, std::string_view(all_bytes).substr(100, 100));
  });
  list->texts("fixed length", 700,
              [&](uint32_t) { return random_text(&random, 24, kAlphanumerics); });
  list->texts("all bytes", 700,
              [&](uint32_t) { return random_text(&random, random() % 30, all_bytes); });
  list->texts("zeros", 300,
              [&](uint32_t) { return random_text(&random, random() % 12, zero_and_a); });
  list->texts("prefixes", 300, [&](uint32_t row) { return std::string(row % 40, 'a'); });
  list->texts("highest bytes", 300, [](uint32_t row) { return std::string(row % 40, '\xff'); });
  list->texts("wide", 80, [&](uint32_t row) {
    return random_text(&random, row % 7 == 0 ? 30'000 : 3, kAlphanumerics);
  });
  list->texts("non-ASCII", 500, [&](uint32_t row) {
    return std::string(row % 2 == 0 ? "Zürich " : "上海 ") + std::to_string(random() % 90);
  });
}

inline void add_numbers(ColumnList* list) {
  Random& random = *list->random();
  const ValueKind kind = list->kind();
  const int64_t low = key_min(kind);
  const int64_t high = key_max(kind);
  const auto near_zero = [&](uint64_t value) {
    const auto key = static_cast<int64_t>(value);
    return kind == ValueKind::kDouble ? double_key(static_cast<double>(key)) : key;
  };
  list->numbers("one row", 1, [&](uint32_t) { return high; });
  list->numbers("all equal", 130, [&](uint32_t) { return low; });
  list->numbers("extremes", 300, [&](uint32_t row) { return row % 2 == 0 ? low : high; });
  list->numbers("anything", 3000, [&](uint32_t) { return random_key(&random, kind); });
  list->numbers("two values", 300, [&](uint32_t) { return near_zero(random() % 2); });
  if (kind == ValueKind::kBoolean) return;
  list->numbers("few far values", 2000,
                [&](uint32_t) { return near_zero(random() % 20 * 99'991); });
  for (uint32_t bits = 1; bits < (kind == ValueKind::kInt32 ? 32U : 64U); ++bits) {
    const uint32_t rows = 64 + static_cast<uint32_t>(random() % 150);
    list->numbers(std::to_string(bits) + " bits", rows, [&](uint32_t) {
      return low + static_cast<int64_t>(random() & ((uint64_t{1} << bits) - 1));
    });
  }
  list->numbers("at the top", 500,
                [&](uint32_t) { return high - static_cast<int64_t>(random() % 999); });
}

// Every shape that an encoding may stumble over, of one kind.
inline std::deque<NamedColumn> adversarial_columns(ValueKind kind, uint64_t seed) {
  ColumnList list(kind, seed);
  list.add("empty", 0, [](TestColumn*, uint32_t) {});
  list.add("all null", 200, [](TestColumn* column, uint32_t) { column->add_null(); });
  if (kind == ValueKind::kText) {
    add_texts(&list);
  } else {
    add_numbers(&list);
  }
  return list.take();
}

}  // namespace diptych::storage::encoding::test
