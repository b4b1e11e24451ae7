#include "workloads/reports/machine.h"

#include <cstdlib>
#include <fstream>
#include <map>

#include <sys/utsname.h>
#include <unistd.h>

#include "base/topology.h"

namespace diptych::workloads {
namespace {

// The lines of the first processor in /proc/cpuinfo.
std::map<std::string, std::string> read_cpu() {
  std::map<std::string, std::string> fields;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    const size_t colon = line.find(": ");
    if (colon == std::string::npos) continue;
    fields[line.substr(0, line.find_last_not_of(" \t:", colon) + 1)] = line.substr(colon + 2);
  }
  return fields;
}

uint64_t cache_bytes(int level) {
  const int64_t bytes = sysconf(level);
  return bytes > 0 ? static_cast<uint64_t>(bytes) : 0;
}

// "always [madvise] never" -> "madvise"
std::string read_huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  std::getline(file, line);
  const size_t open = line.find('[');
  const size_t close = line.find(']');
  if (open == std::string::npos || close == std::string::npos) return "unknown";
  return line.substr(open + 1, close - open - 1);
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
  auto cpu = read_cpu();
  machine.cpu_model = cpu.contains("model name") ? cpu["model name"] : "unknown";
  machine.cpu_family = std::atoi(cpu["cpu family"].c_str());
  machine.cpu_model_number = std::atoi(cpu["model"].c_str());
  machine.cpu_stepping = std::atoi(cpu["stepping"].c_str());
  machine.cpu_mhz = std::atof(cpu["cpu MHz"].c_str());
  machine.avx512 = cpu["flags"].find(" avx512f") != std::string::npos;
  machine.level2_cache_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE);
  machine.level3_cache_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE);
  machine.huge_pages = read_huge_pages();
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
