// ResultTable: the rows of a query's result, column by column, in Arrow's layout.
//
// A table is a list of chunks of up to kRowsMax rows; each worker of the query makes its own
// chunks. A chunk has one array for each column, as the Arrow columnar format specifies:
//
//   INT, DATE             int32
//   BIGINT, TIMESTAMP     int64
//   DECIMAL(p,s)          128 bits, little-endian units
//   DOUBLE                64 bits
//   INTERVAL              32 bits of months, 32 of days, 64 of microseconds
//   BOOLEAN               bits; the first row has the lowest bit
//   CHAR, VARCHAR, TEXT   rows + 1 offsets of 64 bits into the bytes
//   validity              bits, 1 if the row has a value; no bytes if every row has one
//
// So arrow_export.h exports the buffers as they are, except those of intervals, whose time Arrow
// counts in nanoseconds. A table is immutable once it is made, and depends neither on the replica
// nor on the plan: it may be kept for any time.
//
// Threads    one thread fills a chunk; any number of threads read a table.
// Memory     throws std::bad_alloc when memory runs out.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/int128.h"
#include "base/short_copy.h"
#include "base/string_ref.h"
#include "base/types.h"
#include "base/value.h"
#include "olap/execution/limits/growing_array.h"
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
  // The text of a row that is not null.
  std::string_view text(uint64_t row) const;
  base::Value value(uint64_t row) const;

  // The buffers. validity() is nullptr if every row has a value, texts() if the type is not a text.
  const uint8_t* validity() const { return null_count_ == 0 ? nullptr : validity_.data(); }
  const std::byte* values() const { return values_.data(); }
  const char* texts() const { return texts_.data(); }

  // To fill the array, add the values of new rows first, then call end_rows() with their nulls.
  //
  // Returns the place for `rows` new values of T, the C++ type of the column's type (int128_t for
  // every decimal). Booleans use add_bit(), texts add_texts().
  template <class T>
  T* add_values(uint64_t rows) {
    const size_t before = values_.size();
    values_.resize(before + rows * sizeof(T));
    return reinterpret_cast<T*>(values_.data() + before);
  }
  void add_bit(uint64_t row, bool bit);
  // text(i), a base::StringRef, gives the i-th of `rows` new texts; a null is an empty text.
  template <class Text>
  void add_texts(uint64_t rows, Text&& text) {
    size_t bytes = 0;
    for (uint64_t i = 0; i < rows; ++i) bytes += text(i).size();
    size_t end = texts_.size();
    texts_.resize(end + bytes);
    char* const to = texts_.data();
    int64_t* const ends = add_values<int64_t>(rows);
    for (uint64_t i = 0; i < rows; ++i) {
      if (i + kTextsAhead < rows) base::prefetch_text(text(i + kTextsAhead));
      const base::StringRef one = text(i);
      base::short_copy(to + end, one.data(), one.size());
      end += one.size();
      ends[i] = static_cast<int64_t>(end);
    }
  }
  // Completes `rows` rows; the i-th is null if is_null(i).
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
  // Adds one value of any type; slow.
  void add(const base::Value& value);

 private:
  static constexpr uint64_t kTextsAhead = 24;  // texts that are prefetched

  // Sets the validity bits of rows from `first` on; on its first call, of earlier rows too.
  void make_valid(uint64_t first);
  void clear_valid(uint64_t row) {
    validity_[row / 8] = static_cast<uint8_t>(validity_[row / 8] & ~(1U << (row % 8)));
    ++null_count_;
  }

  base::DataType type_;
  uint64_t rows_ = 0;
  uint64_t null_count_ = 0;
  GrowingArray<uint8_t> validity_;
  GrowingArray<std::byte> values_;  // for texts: their offsets
  GrowingArray<char> texts_;
};

struct ResultChunk {
  uint64_t rows = 0;
  std::vector<ResultArray> columns;
};

class ResultTable {
 public:
  static constexpr uint64_t kRowsMax = uint64_t{1} << 16;

  // Drops chunks without rows. `hold` is the chunks' share of the memory limit of all queries.
  ResultTable(std::vector<ResultColumn> columns, std::vector<ResultChunk> chunks,
              MemoryHold hold = {});
  // Makes a table of rows whose values have the columns' types.
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
  std::vector<uint64_t> starts_;  // the first row of each chunk, then the row count
};

}  // namespace diptych::olap
