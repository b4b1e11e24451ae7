// Machine: what a measurement was made on and with.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace diptych::workloads {

struct Machine {
  std::string cpu_model;  // the name, which machines of several generations may share
  int cpu_family = 0, cpu_model_number = 0, cpu_stepping = 0;
  double cpu_mhz = 0;  // now
  bool avx512 = false;
  uint64_t level2_cache_bytes = 0, level3_cache_bytes = 0;  // 0: unknown
  std::string huge_pages;  // transparent ones: always, madvise, never
  uint32_t cores = 0;      // that this process may use
  uint64_t memory_bytes = 0;
  uint32_t numa_nodes = 0;
  std::string kernel;
  std::string compiler;
};

Machine this_machine();

// The git commit at build time, with "-dirty" where files were changed; "unknown" outside git.
std::string_view build_commit();

}  // namespace diptych::workloads
