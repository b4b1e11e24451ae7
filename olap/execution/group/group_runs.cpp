#include "olap/execution/group/group_runs.h"

namespace diptych::olap {

// A counting sort of kParts parts of the rows side by side: each has its own counters, or a row
// would wait for the store of the last one of its group.
void GroupRuns::find(const Selection& rows, const uint32_t* groups) {
  constexpr uint32_t kParts = 4;
  const uint32_t part_rows = rows.count / kParts;
  uint32_t next[kGroupsMax][kParts] = {};
  for (uint32_t k = 0; k < part_rows; ++k) {
    for (uint32_t part = 0; part < kParts; ++part) ++next[groups[part * part_rows + k]][part];
  }
  for (uint32_t k = kParts * part_rows; k < rows.count; ++k) ++next[groups[k]][kParts - 1];
  uint32_t end = 0;
  for (uint32_t group = 0; group < kGroupsMax; ++group) {
    for (uint32_t& count : next[group]) {
      const uint32_t begin = end;
      end += count;
      count = begin;
    }
    ends_[group] = end;
  }
  const auto place = [&](uint32_t k, uint32_t part) {
    slots_[next[groups[k]][part]++] = static_cast<uint16_t>(rows.row(k));
  };
  for (uint32_t k = 0; k < part_rows; ++k) {
    for (uint32_t part = 0; part < kParts; ++part) place(part * part_rows + k, part);
  }
  for (uint32_t k = kParts * part_rows; k < rows.count; ++k) place(k, kParts - 1);
}

}  // namespace diptych::olap
