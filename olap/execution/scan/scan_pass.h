// A pass: one or more scans of a table, which read its leaves once.
//
//   morsel ─► worker ─► LeafReader ─┬─► scan 0: ScanSource ─► its plan's chain
//                                   └─► scan 5: ScanSource ─► ...
//
// Vector by vector, each scan that needs the leaf selects its rows and pushes them. Chunks are
// pinned, and whole vectors decoded, once for all scans; scans with equal predicates select once.
//
// Errors     each scan has its own: a scan that fails, is stopped or wants no more rows leaves the
//            pass, and the others go on.
// Threads    one caller; the pass uses the arena, and calls a scan's sink as pipeline.h says.

#pragma once

#include <exception>
#include <span>
#include <vector>

#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/scan/found_rows.h"
#include "olap/execution/scan/scan.h"

namespace diptych::olap {

// A plan's scan in one pass. The objects that it refers to outlive the pass.
struct PlanScan {
  const RunContext& context;  // the plan's; all scans have the same arena and replica
  const Operator& op;
  const std::vector<bool>& needed;
  const StageFactory& sink;
  const std::vector<JoinFilter>& filters;
  const RepeatedScans::Roles& roles;
  const TopBound* top = nullptr;  // the bound of a sort above it
  // Results of the pass.
  ScanLeaves leaves = {};
  size_t scans = 0;                 // scans of the pass, this one included
  std::exception_ptr failure = {};  // the first failure of a worker
};

// Runs at most kScansMax scans, all of one table.
void run_pass(std::span<PlanScan* const> scans);

}  // namespace diptych::olap
