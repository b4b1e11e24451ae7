// sorted_rows: the order of kept rows by several columns, as a permutation of their numbers.
//
// Entries of an order-preserving 8-byte prefix of the first key, or of the first ones where they
// are integers of small ranges, and a row number are sorted byte by byte; then those whose
// prefixes tie in the same way by a text's next bytes or the next key, or, where that does not say
// all (long texts), by comparison; then by row number, so it is stable.
// With several workers, splitters from a sample cut the entries into ranges of the result: workers
// find each entry's range, move the entries there, and sort a range each. Row numbers count as
// keys, so rows that are all equal are shared out as well as any others.
//
// Threads    one caller.
// Stopping   within some milliseconds.
// Memory     kSortBytesARow; throws std::bad_alloc when it ends.

#pragma once

#include <cstdint>
#include <vector>

#include "olap/execution/threads/workers.h"
#include "olap/execution/vector/column_store.h"
#include "olap/plan.h"

namespace diptych::olap {

// The numbers of the store's rows in order; at most `limit` of them. Benchmark: BM_Sort,
// BM_SortedRows.
std::vector<uint32_t> sorted_rows(const ColumnStore& rows, const std::vector<SortKey>& keys,
                                  uint64_t limit, const Workers& workers);

// What sorted_rows() takes for each of the store's rows while it runs.
inline constexpr size_t kSortBytesARow = 36;

}  // namespace diptych::olap
