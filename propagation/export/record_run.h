// RecordRun: update records as bytes, one behind the other: those of one worker to one table in one
// batch, as a physical log has them (update_set.h draws a record).
//
// Reading never trusts: check_records looks at what holds for every table, check_record at what
// hangs on the table's columns.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/row_layout.h"
#include "propagation/export/update_set.h"

namespace diptych::propagation {

struct RecordRun {
  base::TableId table;
  std::span<const std::byte> records;  // on a multiple of 8
};

// All of a batch, up to its VID.
struct BatchRuns {
  base::Vid last;
  std::vector<RecordRun> runs;
};

// kCorrupt: they are no records, one behind the other, in the order of their VIDs, which are
// greater than `after` and at most `last`.
base::Result<void> check_records(std::span<const std::byte> records, base::Vid after,
                                 base::Vid last);
// Of one of them. kCorrupt: it is none of a table with this layout.
base::Result<void> check_record(const UpdateRecord& record, const base::RowLayout& layout);

// Calls visit(const UpdateRecord&) for each, in their order; they were checked.
template <class Visit>
void for_each_record(std::span<const std::byte> records, const Visit& visit) {
  const std::byte* at = records.data();
  const std::byte* const end = at + records.size();
  while (at < end) {
    const auto& record = *reinterpret_cast<const UpdateRecord*>(at);
    visit(record);
    at += record.bytes;
  }
}

}  // namespace diptych::propagation
