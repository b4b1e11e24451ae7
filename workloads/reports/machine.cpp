#include "workloads/reports/machine.h"

#include <fstream>

#include <sys/utsname.h>
#include <unistd.h>

#include "base/topology.h"

namespace diptych::workloads {
namespace {

std::string read_cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string read_kernel() {
  utsname name{};
  if (uname(&name) != 0) return "unknown";
  return std::string(name.sysname) + " " + name.release;
}

}  // namespace

Machine this_machine() {
  const base::Topology topology = base::Topology::detect();
  Machine machine;
  machine.cpu_model = read_cpu_model();
  machine.cores = static_cast<uint32_t>(topology.core_count());
  machine.memory_bytes =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  machine.numa_nodes = static_cast<uint32_t>(topology.nodes.size());
  machine.kernel = read_kernel();
#if defined(__clang__)
  machine.compiler = "clang " __clang_version__;
#else
  machine.compiler = "g++ " __VERSION__;
#endif
  return machine;
}

}  // namespace diptych::workloads
