// Turns: what benchmarks tell of settings that take turns in one process, round by round, so that
// the machine's drift is in all of them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace diptych::workloads {

inline double quantile(std::vector<double> values, double share) {
  const auto last = static_cast<double>(values.size() - 1);
  const auto at = values.begin() + static_cast<ptrdiff_t>(share * last + 0.5);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// The median, NAME_25 and NAME_75 of the rounds' ratios of `second` to `first`.
inline void tell_ratio(benchmark::State& state, const std::string& name,
                       const std::vector<double>& first, const std::vector<double>& second) {
  std::vector<double> ratios;
  for (size_t i = 0; i < first.size(); ++i) ratios.push_back(second[i] / first[i]);
  state.counters[name] = quantile(ratios, 0.5);
  state.counters[name + "_25"] = quantile(ratios, 0.25);
  state.counters[name + "_75"] = quantile(ratios, 0.75);
}

}  // namespace diptych::workloads
