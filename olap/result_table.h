// ResultTable: the rows of a query's result, column by column, in Arrow's layout.
//
// A table is a list of chunks of up to kRowsMax rows; each worker of the query made its own. A
// chunk has an array of each column, as the Arrow columnar format says:
//
//   INT, DATE             int32
//   BIGINT, TIMESTAMP     int64
//   DECIMAL(p,s)          128 bits, little-endian units
//   DOUBLE                64 bits
//   INTERVAL              32 bits of months, 32 of days, 64 of microseconds
//   BOOLEAN               bits, the first row's is the lowest
//   CHAR, VARCHAR, TEXT   rows + 1 offsets of 64 bits into the bytes
//   validity              bits, 1 where the row has a value; no bytes where every row has one
//
// So arrow_export.h hands out the buffers as they are, but those of intervals, whose time Arrow
// counts in nanoseconds. A table is immutable once it is made, and does not depend on the replica
// or on the plan: it may be kept for as long as one likes.
//
// Threads    a chunk is filled by one thread; a table is read by any number.
// Memory     throws std::bad_alloc when it ends.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/int128.h"
#include "base/short_copy.h"
#include "base/string_ref.h"
#include "base/types.h"
#include "base/value.h"
#include "olap/execution/limits/growing_array.h"
#include "olap/execution/limits/query_heap.h"
#include "olap/query_memory_limit.h"

namespace diptych::olap {

struct ResultColumn {
  std::string name;
  base::DataType type;
};

// ResultArray: one column of a chunk.
class ResultArray {
 public:
  explicit ResultArray(const base::DataType& type);

  const base::DataType& type() const { return type_; }
  uint64_t rows() const { return rows_; }
  uint64_t null_count() const { return null_count_; }
  size_t memory_bytes() const { return values_.bytes() + texts_.bytes() + validity_.bytes(); }

  bool is_null(uint64_t row) const {
    return null_count_ != 0 && ((validity_[row / 8] >> (row % 8)) & 1) == 0;
  }
  // Of a text that is not null.
  std::string_view text(uint64_t row) const;
  base::Value value(uint64_t row) const;

  // The buffers; validity is nullptr where every row has a value, texts where the type is none.
  const uint8_t* validity() const { return null_count_ == 0 ? nullptr : validity_.data(); }
  const std::byte* values() const { return values_.data(); }
  const char* texts() const { return texts_.data(); }

  // Filling. First as many values as rows come, then their nulls.
  //
  // The place of `rows` new values of T, the type's C++ type (int128_t of every decimal); bits and
  // texts have calls of their own.
  template <class T>
  T* add_values(uint64_t rows) {
    const size_t before = values_.size();
    values_.resize(before + rows * sizeof(T));
    return reinterpret_cast<T*>(values_.data() + before);
  }
  void add_bit(uint64_t row, bool bit);
  // text(i), a base::StringRef, is the i-th of `rows` new texts, empty where null.
  template <class Text>
  void add_texts(uint64_t rows, Text&& text) {
    size_t bytes = 0;
    for (uint64_t i = 0; i < rows; ++i) bytes += text(i).size();
    size_t end = texts_.size();
    texts_.resize(end + bytes);
    char* const to = texts_.data();
    int64_t* const ends = add_values<int64_t>(rows);
    for (uint64_t i = 0; i < rows; ++i) {
      if (i + kTextsAhead < rows) prefetch_text(text(i + kTextsAhead));
      const base::StringRef one = text(i);
      base::short_copy(to + end, one.data(), one.size());
      end += one.size();
      ends[i] = static_cast<int64_t>(end);
    }
  }
  // Says that `rows` rows are complete, of which the i-th is null where is_null(i).
  template <class IsNull>
  void end_rows(uint64_t rows, bool any_null, IsNull&& is_null) {
    const uint64_t first = rows_;
    rows_ += rows;
    if (!any_null && validity_.size() == 0) return;
    make_valid(first);
    for (uint64_t i = 0; i < rows; ++i) {
      if (is_null(i)) clear_valid(first + i);
    }
  }
  // One value of any type: slow.
  void add(const base::Value& value);

 private:
  static constexpr uint64_t kTextsAhead = 24;  // are fetched

  void make_valid(uint64_t first);  // rows from `first` on; those before, where nobody has yet
  void clear_valid(uint64_t row) {
    validity_[row / 8] = static_cast<uint8_t>(validity_[row / 8] & ~(1U << (row % 8)));
    ++null_count_;
  }

  base::DataType type_;
  uint64_t rows_ = 0;
  uint64_t null_count_ = 0;
  GrowingArray<uint8_t> validity_;
  GrowingArray<std::byte> values_;  // of texts: their offsets
  GrowingArray<char> texts_;
};

struct ResultChunk {
  uint64_t rows = 0;
  std::vector<ResultArray> columns;
};

class ResultTable {
 public:
  static constexpr uint64_t kRowsMax = uint64_t{1} << 16;

  // Chunks without rows are dropped. `hold`: what the chunks take of the limit of all queries.
  ResultTable(std::vector<ResultColumn> columns, std::vector<ResultChunk> chunks,
              MemoryHold hold = {});
  // Of rows of values of the columns' types.
  ResultTable(std::vector<ResultColumn> columns, const std::vector<std::vector<base::Value>>& rows);

  const std::vector<ResultColumn>& columns() const { return columns_; }
  const std::vector<ResultChunk>& chunks() const { return chunks_; }
  uint64_t row_count() const { return starts_.back(); }
  size_t memory_bytes() const;

  base::Value value(uint64_t row, size_t column) const;

 private:
  void number_rows();

  MemoryHold hold_;  // outlives the chunks
  std::vector<ResultColumn> columns_;
  std::vector<ResultChunk> chunks_;
  std::vector<uint64_t> starts_;  // the first row of each chunk, and one more: the row count
};

}  // namespace diptych::olap
