// Machine: what a measurement was made on and with.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace diptych::workloads {

struct Machine {
  std::string cpu_model;
  uint32_t cores = 0;  // that this process may use
  uint64_t memory_bytes = 0;
  uint32_t numa_nodes = 0;
  std::string kernel;
  std::string compiler;
};

Machine this_machine();

// The git commit at build time, with "-dirty" where files were changed; "unknown" outside git.
std::string_view build_commit();

}  // namespace diptych::workloads
