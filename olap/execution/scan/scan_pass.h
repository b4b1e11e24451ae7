// A pass: one or several scans of a table, in one go over its leaves.
//
//   morsel ─► worker ─► LeafReader ─┬─► scan 0: ScanSource ─► its plan's chain
//                                   └─► scan 5: ScanSource ─► ...
//
// Vector by vector, each scan that wants the leaf selects its rows and pushes them on. Chunks are
// pinned, and whole vectors decoded, once for all of them; scans with equal predicates select once.
//
// Errors     each scan's own: one that fails, is stopped or wants no more rows leaves the pass; the
//            others go on.
// Threads    one caller; the pass uses the arena, and calls a scan's sink as pipeline.h says.

#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/scan/found_rows.h"
#include "olap/execution/scan/scan.h"

namespace diptych::olap {

// A plan's scan, for one pass. What it refers to stays until the pass has run.
struct PlanScan {
  const RunContext& context;  // of the plan; the arena and the replica are the pass's
  const Operator& op;
  const std::vector<bool>& needed;
  const StageFactory& sink;
  const std::vector<JoinFilter>& filters;
  const RepeatedScans::Roles& roles;
  const TopBound* top = nullptr;  // of a sort above it
  // What the pass leaves.
  ScanLeaves leaves = {};
  size_t scans = 0;                 // in the pass, with this one
  std::exception_ptr failure = {};  // the first of a worker
};

// All scan one table, at most kScansMax.
void run_pass(std::span<PlanScan* const> scans);

}  // namespace diptych::olap
