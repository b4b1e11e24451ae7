// sorted_rows: the order of kept rows by several columns, as a permutation of their numbers.
//
// An entry consists of an order-preserving 8-byte prefix and a row number. The prefix comes from
// the first key, or from the first keys if they are integers of small ranges. Entries are
// radix-sorted byte by byte. Entries with equal prefixes are sorted in the same way by the text's
// next bytes or by the next key; if that does not decide (long texts), by comparison; and finally
// by row number, so the sort is stable.
//
// With several workers, splitters from a sample divide the entries into ranges of the result.
// Workers find the range of each entry, move the entries there, and sort one range each. Row
// numbers count as keys, so equal rows are divided as evenly as any others.
//
// Threads    one caller.
// Stopping   within some milliseconds.
// Memory     kSortBytesARow for each row; throws std::bad_alloc when memory runs out.

#pragma once

#include <cstdint>
#include <vector>

#include "olap/execution/threads/workers.h"
#include "olap/execution/vector/column_store.h"
#include "olap/plan.h"

namespace diptych::olap {

// The numbers of the store's rows in sorted order, at most `limit` of them. Benchmark: BM_Sort,
// BM_SortedRows.
std::vector<uint32_t> sorted_rows(const ColumnStore& rows, const std::vector<SortKey>& keys,
                                  uint64_t limit, const Workers& workers);

// The memory that sorted_rows() takes for each row while it runs.
inline constexpr size_t kSortBytesARow = 36;

}  // namespace diptych::olap
