// What benchmarks of rows report.

#pragma once

#include <cstdint>

#include <benchmark/benchmark.h>

namespace diptych::olap::test {

// Of so many rows an iteration: rows a second, and ns_per_row.
inline void set_rate(benchmark::State& state, uint64_t rows) {
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * rows));
  state.counters["ns_per_row"] = benchmark::Counter(
      static_cast<double>(rows) * 1e-9,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace diptych::olap::test
