// Plan report: a plan in words, an operator a line, with what was expected of it and what it did:
// the answer to EXPLAIN and EXPLAIN ANALYZE, as text or as JSON.
//
//   text   indented by depth: `scan t [a] where (a = 1) (30 rows)`; of a run, behind that, rows,
//          time, and what else there is to say
//   JSON   {"plan": {"operator", "estimated_rows", "children"}}; of a run also "actual_rows",
//          "time_ms", "decoded_bytes", "rows_filtered_on_codes", "rows_filtered_by_joins",
//          "rows_filtered_by_limit", "blocks", "blocks_skipped", "rounds", "memory_bytes", "shared"
//          in each operator; beside the plan "execution_ms", "memory_bytes", "rows", "shared", and
//          how it came to be run: "queue_ms", of the long lane also "long_lane_ms" (until it had a
//          snapshot) and "snapshot_bytes" (of all snapshots, as they were when it ended). "ran" is
//          false of an operator that others of a shared pass did the work of: "shared" says so
//
// Time is an operator's own, without its children's, summed over the workers. Memory is what it
// kept at its largest: a join's table, groups, a sort's rows. Of statements of one text, which run
// once, it is the first one's report that all get.
//
// Functions of values; any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "olap/plan.h"

namespace diptych::olap {

struct QueryRoute;  // olap/query.h

struct OperatorFigures {
  bool ran = false;
  uint64_t rows = 0;  // that it handed on
  uint64_t own_ns = 0;
  uint64_t decoded_bytes = 0;  // kScan: of values that were decompressed
  uint64_t filtered_rows = 0;  // kScan: live ones that the codes of their columns ruled out
  uint64_t joinless_rows = 0;  // kScan: that a join above would have dropped
  uint64_t worse_rows = 0;     // kScan: that are not among the best that a sort above wants
  uint64_t rounds = 0;         // kRecursion: that had rows
  uint64_t blocks = 0;         // kScan: leaves with rows
  uint64_t blocks_skipped = 0;
  size_t memory_bytes = 0;
  std::string shared;  // with what, in words; empty: with nothing
};

struct PlanFigures {
  std::unordered_map<const Operator*, OperatorFigures> operators;
  uint64_t rows = 0;
  uint64_t execute_ns = 0;
  size_t memory_bytes = 0;            // of the query, at its largest
  const QueryRoute* route = nullptr;  // nullptr: it is not known
  std::vector<std::string> shared;    // with other statements of the batch
};

// `figures`: nullptr where the plan was not run.
std::vector<std::string> plan_report(const std::vector<PlanLine>& lines, ExplainFormat format,
                                     const PlanFigures* figures);

}  // namespace diptych::olap
