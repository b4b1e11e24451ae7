#include "base/topology.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>

#include <fmt/format.h>
#include <numa.h>
#include <sched.h>
#include <unistd.h>

#include "base/control_group.h"
#include "base/counted.h"
#include "base/quoted.h"

namespace diptych::base {
namespace {

using Cores = std::vector<uint32_t>;

constexpr uint32_t kCoresMax = 8192;  // NR_CPUS of the largest kernels

// The cores of this process's affinity mask, ascending.
Cores allowed_cores() {
  struct Free {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  const std::unique_ptr<cpu_set_t, Free> set(CPU_ALLOC(kCoresMax));
  if (set == nullptr) throw std::bad_alloc();
  const size_t bytes = CPU_ALLOC_SIZE(kCoresMax);
  CPU_ZERO_S(bytes, set.get());
  Cores cores;
  if (sched_getaffinity(0, bytes, set.get()) == 0) {
    for (uint32_t core = 0; core < kCoresMax; ++core) {
      if (CPU_ISSET_S(core, bytes, set.get())) cores.push_back(core);
    }
  }
  if (cores.empty()) cores.push_back(0);
  return cores;
}

bool contains(const Cores& cores, uint32_t core) {
  return std::find(cores.begin(), cores.end(), core) != cores.end();
}

Cores without(const Cores& cores, const Cores& taken) {
  Cores left;
  for (const uint32_t core : cores) {
    if (!contains(taken, core)) left.push_back(core);
  }
  return left;
}

Cores all_cores(const Topology& topology) {
  Cores cores;
  for (const Topology::Node& node : topology.nodes) {
    cores.insert(cores.end(), node.cores.begin(), node.cores.end());
  }
  return cores;
}

std::optional<NumaNode> node_of(const Topology& topology, uint32_t core) {
  for (const Topology::Node& node : topology.nodes) {
    if (contains(node.cores, core)) return node.id;
  }
  return std::nullopt;
}

// "0-3,8": the inverse of parse_core_list.
std::string core_list(const Cores& cores) {
  std::string text;
  for (size_t i = 0; i < cores.size();) {
    size_t last = i;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += last == i ? fmt::format("{}", cores[i]) : fmt::format("{}-{}", cores[i], cores[last]);
    i = last + 1;
  }
  return text;
}

Result<void> check_override(const Topology& topology, const Cores& cores, std::string_view side) {
  for (const uint32_t core : cores) {
    if (!node_of(topology, core)) {
      return Error(ErrorCode::kInvalidArgument,
                   fmt::format("{} cores: this process may not use core {}; it has {}", side, core,
                               core_list(all_cores(topology))));
    }
  }
  return {};
}

// The rule's halves for a machine: what OLTP and OLAP get if neither is overridden.
struct Halves {
  Cores oltp;
  Cores olap;
};

Halves halves_by_rule(const Topology& topology) {
  const Cores all = all_cores(topology);
  if (all.size() == 1) return {all, all};
  if (topology.nodes.size() > 1) {
    const Cores& first = topology.nodes.front().cores;
    return {first, without(all, first)};
  }
  const auto middle = all.begin() + static_cast<ptrdiff_t>(all.size() / 2);
  return {Cores(all.begin(), middle), Cores(middle, all.end())};
}

// The cores of a side whose other side was given `taken`.
Cores leave_for_other(const Topology& topology, const Cores& by_rule, const Cores& taken) {
  const Cores all = all_cores(topology);
  const Cores own = without(topology.nodes.size() > 1 ? by_rule : all, taken);
  if (!own.empty()) return own;
  const Cores left = without(all, taken);
  return left.empty() ? taken : left;
}

SidePlacement side(const Topology& topology, Cores cores, uint32_t threads) {
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  SidePlacement placement;
  placement.node = *node_of(topology, cores.front());
  placement.threads = threads != 0 ? threads : static_cast<uint32_t>(cores.size());
  placement.cores = std::move(cores);
  return placement;
}

}  // namespace

Topology Topology::detect() {
  // libnuma fills a table of its own at the first question, without a lock: two databases that are
  // opened at once would each allocate it, and one table would leak.
  static std::mutex numa_mutex;
  const std::lock_guard held(numa_mutex);
  const bool numa = numa_available() >= 0;
  std::map<uint32_t, Cores> by_node;
  for (const uint32_t core : allowed_cores()) {
    const int node = numa ? numa_node_of_cpu(static_cast<int>(core)) : 0;
    by_node[node < 0 ? 0 : static_cast<uint32_t>(node)].push_back(core);
  }
  Topology topology;
  for (auto& [node, cores] : by_node) topology.nodes.push_back({NumaNode(node), std::move(cores)});
  return topology;
}

size_t machine_memory_bytes() {
  const size_t installed =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return std::min(installed, control_group_memory_bytes(""));
}

size_t Topology::core_count() const {
  return all_cores(*this).size();
}

std::string Placement::to_string() const {
  const auto line = [](std::string_view name, const SidePlacement& side) {
    return fmt::format("{}  {} on core{} {} (node {})\n", name, counted(side.threads, "thread"),
                       side.cores.size() == 1 ? "" : "s", core_list(side.cores), side.node.value);
  };
  return line("OLTP", oltp) + line("OLAP", olap);
}

std::vector<uint32_t> cores_for_queries(const Topology& topology, uint32_t threads) {
  Cores cores;
  for (const Topology::Node& node : topology.nodes) {
    cores.insert(cores.end(), node.cores.begin(), node.cores.end());
  }
  const size_t wanted = threads == 0 ? cores.size() : std::min<size_t>(threads, cores.size());
  return {cores.end() - static_cast<std::ptrdiff_t>(wanted), cores.end()};
}

Result<Placement> place(const Topology& topology, const PlacementOptions& options) {
  DIPTYCH_CHECK(topology.core_count() > 0, "a process runs on at least one core");
  for (const auto& checked : {check_override(topology, options.oltp_cores, "OLTP"),
                              check_override(topology, options.olap_cores, "OLAP")}) {
    if (!checked) return checked.error();
  }
  Halves halves = halves_by_rule(topology);
  const bool oltp_given = !options.oltp_cores.empty();
  const bool olap_given = !options.olap_cores.empty();
  if (oltp_given && !olap_given) {
    halves.olap = leave_for_other(topology, halves.olap, options.oltp_cores);
  }
  if (olap_given && !oltp_given) {
    halves.oltp = leave_for_other(topology, halves.oltp, options.olap_cores);
  }
  if (oltp_given) halves.oltp = options.oltp_cores;
  if (olap_given) halves.olap = options.olap_cores;
  return Placement{side(topology, std::move(halves.oltp), options.oltp_workers),
                   side(topology, std::move(halves.olap), options.olap_threads)};
}

Result<std::vector<uint32_t>> parse_core_list(std::string_view text) {
  const auto fault = [text](size_t position, std::string_view what) {
    return Error(ErrorCode::kInvalidArgument,
                 fmt::format("core list {}: {} at character {}", quoted(text), what, position + 1));
  };
  size_t position = 0;
  const auto take_core = [&](uint32_t* core) {
    const char* start = text.data() + position;
    const auto [end, error] = std::from_chars(start, text.data() + text.size(), *core);
    if (error != std::errc() || *core >= kCoresMax) return false;
    position += static_cast<size_t>(end - start);
    return true;
  };
  Cores cores;
  while (true) {
    const size_t start = position;
    uint32_t first = 0;
    if (!take_core(&first)) return fault(position, "a core number is expected");
    uint32_t last = first;
    if (position < text.size() && text[position] == '-') {
      ++position;
      if (!take_core(&last)) return fault(position, "a core number is expected");
      if (last < first) return fault(start, "a range runs backwards");
    }
    for (uint32_t core = first; core <= last; ++core) cores.push_back(core);
    if (position == text.size()) break;
    if (text[position] != ',') return fault(position, "a comma is expected");
    ++position;
  }
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  return cores;
}

}  // namespace diptych::base
