// Topology and placement: which cores and NUMA nodes there are, and which side runs where.
//
// Topology is a value: read from the machine (libnuma and the process's CPU affinity mask), or made
// up for a test. Placement is computed from it and from the configuration, printed in the
// benchmarks' reports, and can be overridden (BatchDB, section 8.4: each replica has its own cores
// and its own memory).
//
// The rule for a placement without overrides:
//   several nodes   OLTP gets the first node, OLAP all others;
//   one node        OLTP gets half of its cores (at least one), OLAP the rest;
//   one core        both share it (more threads than cores must work).
// Where one side's cores are given, the other gets what the rule leaves of its own nodes; with one
// node all cores that are left; if none are left, both share.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace diptych::base {

struct Topology {
  struct Node {
    NumaNode id;
    std::vector<uint32_t> cores;  // operating-system CPU numbers, ascending
  };
  std::vector<Node> nodes;  // only nodes with at least one core that this process may use

  // The machine, restricted to the cores that this process may use.
  static Topology detect();

  size_t core_count() const;
};

// The machine's memory, or less where this process's control group has a limit.
size_t machine_memory_bytes();

// What one side (replica) of the engine runs on.
struct SidePlacement {
  std::vector<uint32_t> cores;
  NumaNode node;         // where the side's memory is bound; the first of its nodes
  uint32_t threads = 1;  // worker threads; may exceed the cores
};

struct Placement {
  SidePlacement oltp;
  SidePlacement olap;

  // Several lines for a person: cores, node and threads of each side.
  std::string to_string() const;
};

struct PlacementOptions {
  uint32_t oltp_workers = 0;         // 0: one per OLTP core
  uint32_t olap_threads = 0;         // 0: one per OLAP core
  std::vector<uint32_t> oltp_cores;  // empty: by the rule above
  std::vector<uint32_t> olap_cores;  // empty: by the rule above
};

// Where queries run with no transactions beside them: the last cores, as many as threads (0: all).
// One thread is then where it would be beside transactions.
std::vector<uint32_t> cores_for_queries(const Topology& topology, uint32_t threads);

// Fails with kInvalidArgument where an override names a core that the topology lacks.
Result<Placement> place(const Topology& topology, const PlacementOptions& options);

// "0-3,8" as a list of cores. Fails with kInvalidArgument and the position of the fault.
Result<std::vector<uint32_t>> parse_core_list(std::string_view text);

}  // namespace diptych::base
