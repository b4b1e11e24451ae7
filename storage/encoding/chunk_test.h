// ChunkTest: a predicate resolved against one column's rows: a chunk's, or plain ones in memory.
//
// Constants became codes when it was made (row_test.h), nulls are taken out first. What says
// kNone or kAll has looked at no row, and need not be asked.
//
// Memory    what it was made of stays, and is not written, while it is used.
// Threads   immutable: any number.

#pragma once

#include <cstdint>
#include <optional>

#include "storage/encoding/column.h"
#include "storage/encoding/predicate.h"
#include "storage/encoding/row_test.h"

namespace diptych::storage::encoding {

class ChunkTest {
 public:
  // `nulls`: bit i says that row i is null, and passes nothing; nullptr: none is.
  ChunkTest(RowAnswer answer, const uint64_t* nulls)
      : ChunkTest(std::move(answer), nulls, uint64_t{0}) {}
  // Of IS NULL, and IS NOT NULL.
  static ChunkTest of_nulls(bool wants_null, const uint64_t* nulls, bool all_null);

  // Of plain values in memory, as many as will be asked for. Nothing: the predicate is of another
  // kind of values.
  static std::optional<ChunkTest> of_values(const ColumnRun& run, const Predicate& predicate);

  Passes passes() const { return passes_; }
  // As RowTest's, of rows that are tested where passes() is kSome.
  void narrow(uint32_t first, uint32_t count, uint64_t* words) const;

 private:
  ChunkTest(RowAnswer answer, const uint64_t* nulls, uint64_t flip);
  static std::optional<ChunkTest> of_texts(const ColumnRun& run, const Predicate& predicate);

  Passes passes_;
  const uint64_t* nulls_;
  uint64_t flip_;  // all ones where nulls are what passes
  std::unique_ptr<RowTest> test_;
};

}  // namespace diptych::storage::encoding
