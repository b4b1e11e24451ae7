// count_wrong_reads(): the loop of a reader beside the writers of a stress test.

#pragma once

#include <atomic>
#include <cstdint>

namespace diptych::oltp {

// Reads until `done`, then adds to `wrong` what row->read() has returned: how many values were not
// those of one version.
template <class Row>
void count_wrong_reads(Row* row, const std::atomic<bool>& done, std::atomic<uint64_t>* wrong) {
  uint64_t found = 0;
  // relaxed: a flag on its own.
  while (!done.load(std::memory_order_relaxed)) found += row->read();
  // relaxed: read after the join.
  wrong->fetch_add(found, std::memory_order_relaxed);
}

}  // namespace diptych::oltp
