// ChunkFilter: a predicate resolved against one column's rows: a chunk's, or plain ones in memory.
//
// Constants became codes when it was made (row_filter.h), nulls are taken out first. What says
// kNone or kAll has looked at no row, and need not be asked.
//
// Memory    what it was made of stays, and is not written, while it is used.
// Threads   immutable: any number.

#pragma once

#include <cstdint>
#include <optional>

#include "storage/encoding/column.h"
#include "storage/encoding/predicate.h"
#include "storage/encoding/row_filter.h"

namespace diptych::storage::encoding {

class ChunkFilter {
 public:
  // `nulls`: bit i says that row i is null, and passes nothing; nullptr: none is.
  ChunkFilter(RowAnswer answer, const uint64_t* nulls)
      : ChunkFilter(std::move(answer), nulls, uint64_t{0}) {}
  // Of IS NULL, and IS NOT NULL.
  static ChunkFilter of_nulls(bool wants_null, const uint64_t* nulls, bool all_null);

  // Of plain values in memory, as many as will be asked for. Nothing: the predicate is of another
  // kind of values.
  static std::optional<ChunkFilter> of_values(const ColumnRun& run, const Predicate& predicate);

  Passes passes() const { return passes_; }
  // As RowFilter's, of rows that are looked at where passes() is kSome.
  void narrow(uint32_t first, uint32_t count, uint64_t* words) const;

 private:
  ChunkFilter(RowAnswer answer, const uint64_t* nulls, uint64_t flip);
  static std::optional<ChunkFilter> of_texts(const ColumnRun& run, const Predicate& predicate);

  Passes passes_;
  const uint64_t* nulls_;
  uint64_t flip_;  // all ones where nulls are what passes
  std::unique_ptr<RowFilter> filter_;
};

}  // namespace diptych::storage::encoding
