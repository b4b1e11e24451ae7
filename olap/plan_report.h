// Plan report: the answer to EXPLAIN and EXPLAIN ANALYZE, as text or as JSON. It has one entry for
// each operator, with the planner's estimates and, after a run, the operator's figures.
//
//   text   a line for each operator, indented by depth: `scan t [a] where (a = 1) (30 rows)`; after
//          a run, the actual rows, the time and further figures follow
//   JSON   {"plan": {"operator", "estimated_rows", "children"}}. A run adds to each operator
//          "actual_rows", "time_ms", "decoded_bytes", "rows_filtered_on_codes",
//          "rows_filtered_by_joins", "rows_filtered_by_limit", "blocks", "blocks_skipped",
//          "rounds", "join_method", "memory_bytes" and "shared"; beside the plan "execution_ms",
//          "memory_bytes", "rows", "shared" and "queue_ms"; in the long lane also "long_lane_ms"
//          (until the query had a snapshot) and "snapshot_bytes" (of all snapshots when the query
//          ended). "ran" is false if a shared pass did the operator's work; "shared" says so
//
// An operator's time excludes its children's and is summed over the workers. Its memory is the
// maximum that it kept: a join's table, groups, a sort's rows. Statements with the same text run
// once and all get the report of the first.
//
// Threads    any; these are functions of values.

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "olap/plan.h"

namespace diptych::olap {

struct QueryRoute;  // olap/query.h

// How a join found the build rows of a probe row. It follows from the values of the build side, so
// it is not known before the run, unless the join has no keys: then EXPLAIN names what is expected.
enum class JoinMethod : uint8_t {
  kArray,            // dense integer keys are places in an array
  kHash,             // keys are looked up in a hash table
  kAlternativeKeys,  // no keys, but an OR of equalities: a hash table for each of them
  kRange,            // binary search in build rows, or in those of a key, ordered by a value
  kSingleRow,        // no keys, and one build row
  kNestedLoop,       // no keys: every pair
};

struct OperatorFigures {
  bool ran = false;
  uint64_t rows = 0;  // output rows
  uint64_t own_ns = 0;
  uint64_t decoded_bytes = 0;  // kScan: bytes of decompressed values
  uint64_t filtered_rows = 0;  // kScan: live rows that predicates on codes dropped
  uint64_t joinless_rows = 0;  // kScan: rows dropped because a join above would have dropped them
  uint64_t worse_rows = 0;     // kScan: rows dropped because a sort above has better ones
  uint64_t rounds = 0;         // kRecursion: rounds that had rows
  uint64_t blocks = 0;         // kScan: leaves with rows
  uint64_t blocks_skipped = 0;
  size_t memory_bytes = 0;
  std::optional<JoinMethod> join_method;  // of a join that built its table
  std::string shared;  // a description of what the operator was shared with; empty: nothing
};

struct PlanFigures {
  std::unordered_map<const Operator*, OperatorFigures> operators;
  uint64_t rows = 0;
  uint64_t execute_ns = 0;
  size_t memory_bytes = 0;            // the query's maximum
  const QueryRoute* route = nullptr;  // nullptr: the route is unknown
  std::vector<std::string> shared;    // work shared with other statements of the batch
};

// The report's lines. `figures` is nullptr if the plan did not run.
std::vector<std::string> plan_report(const std::vector<PlanLine>& lines, ExplainFormat format,
                                     const PlanFigures* figures);

}  // namespace diptych::olap
