// ColumnProfile: what the encodings want to know of a column before it becomes a chunk, found once.
//
// Exact: nulls, least and greatest value, lengths, which bytes texts have. From a sample of runs of
// rows spread over the column: how many values differ, and a table of symbols for its texts.
// Values of null rows are replaced by ones that cost nothing: the least number, the empty text.
//
// Memory    borrows the column's texts: it stays while the profile is used.

#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "storage/encoding/codes.h"
#include "storage/encoding/column.h"
#include "storage/encoding/symbol_table.h"

namespace diptych::storage::encoding {

constexpr Lanes lanes_of(ValueKind kind) {
  return kind == ValueKind::kInt32 || kind == ValueKind::kBoolean ? Lanes::k4 : Lanes::k8;
}

class ColumnProfile {
 public:
  explicit ColumnProfile(const ColumnRun& column);

  ValueKind kind() const { return column_.kind; }
  uint32_t rows() const { return column_.rows; }
  const uint64_t* nulls() const { return column_.nulls; }
  uint32_t null_rows() const { return null_rows_; }
  bool all_null() const { return null_rows_ == column_.rows; }
  bool all_equal() const { return all_equal_; }  // those that are not null

  // As in C3 of chunk_header.h. Without a value: kKeyMax and kKeyMin.
  int64_t min() const { return min_; }
  int64_t max() const { return max_; }

  // Of numbers, a row each.
  const std::vector<int64_t>& keys() const { return keys_; }

  // Of texts, a row each.
  const std::vector<std::string_view>& texts() const { return texts_; }
  uint64_t text_bytes() const { return text_bytes_; }
  uint32_t length_min() const { return length_min_; }
  uint32_t length_max() const { return length_max_; }
  // seen()[byte] is true if some text has the byte.
  const std::array<bool, 256>& seen() const { return seen_; }

  // How many values differ, as the sample lets expect (Chao's estimator: from how many the
  // sample has once and twice).
  double distinct_estimate() const { return distinct().values; }
  // The bytes of a distinct text, on average.
  double distinct_text_bytes() const { return distinct().text_bytes; }
  // A table learned from the sample, and compressed by uncompressed size of it.
  const SymbolTable& symbols() const;
  double symbol_ratio() const;

 private:
  template <class Value, class ToKey>
  void read_keys(const Value* values, const ToKey& to_key);
  void read_texts();
  // Calls fn(row) for rows that are null, or those that are not; there is a null map.
  enum class Rows : uint8_t { kNulls, kValues };
  template <class Function>
  void for_each_row(const Function& fn, Rows rows) const;
  struct Distinct {
    double values = 0;
    double text_bytes = 0;  // of one, on average
  };
  const Distinct& distinct() const {
    if (!distinct_) distinct_ = sample_distinct();
    return *distinct_;
  }
  Distinct sample_distinct() const;
  void learn_symbols() const;

  ColumnRun column_;
  uint32_t null_rows_ = 0;
  bool all_equal_ = true;
  int64_t min_ = kKeyMax;
  int64_t max_ = kKeyMin;
  std::vector<int64_t> keys_;
  std::vector<std::string_view> texts_;
  uint64_t text_bytes_ = 0;
  uint32_t length_min_ = 0;
  uint32_t length_max_ = 0;
  std::array<bool, 256> seen_{};
  mutable std::optional<Distinct> distinct_;    // made when first asked for
  mutable std::optional<SymbolTable> symbols_;  // likewise
  mutable double symbol_ratio_ = 0;
};

}  // namespace diptych::storage::encoding
