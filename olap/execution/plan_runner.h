// PlanRunner: runs one plan as a sequence of pipelines.
//
// run(op, sink) delivers the operator's rows into chains that `sink` makes. An operator that treats
// each row by itself puts a stage in front of the sink and runs its child into it. An operator that
// has to see all rows first (a join's build side, GROUP BY, ORDER BY) runs its child into a
// collecting stage, combines the workers' parts, and is then the source of the next pipeline. The
// step of a recursion runs once a round.
//
// Threads    one caller; the pipelines use the context's arena.
// Errors     throws QueryFailure and std::bad_alloc.

#pragma once

#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "olap/execution/group/merged_groups.h"
#include "olap/execution/join/hash_join.h"
#include "olap/execution/join/join_filter.h"
#include "olap/execution/join/late_columns.h"
#include "olap/execution/pipeline/needed_columns.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/pipeline/repeated_operators.h"
#include "olap/execution/pipeline/row_stages.h"
#include "olap/execution/recursion.h"
#include "olap/execution/scan/found_rows.h"
#include "olap/execution/scan/top_bound.h"
#include "olap/execution/task.h"
#include "olap/execution/threads/workers.h"
#include "olap/execution/window/leading_rows.h"
#include "olap/execution/window/window.h"
#include "olap/plan.h"

namespace diptych::olap {

// The rows of a window, and the computed rows of an operator that occurs more than once in its
// plan.
struct WindowRows {
  std::vector<std::unique_ptr<WindowPart>> parts;
  std::unique_ptr<WindowTable> table;  // over the first part's
};
struct RepeatedRows {
  std::unique_ptr<MergedGroups> groups;
  std::unique_ptr<WindowRows> window;
  std::unique_ptr<RecursionRows> recursion;
};

class PlanRunner {
 public:
  explicit PlanRunner(const RunContext& context)
      : context_(context),
        workers_(context.arena, *context.stop),
        texts_charge_(context.memory, "its texts") {}

  // Runs the plan. `given` has the rows of one of its operators, which is then not run; nullptr:
  // none. The task waits at scans if the context has shared scans, and *result is set when it ends.
  Task run(const Plan& plan, const GivenRows* given, QueryResult* result);

 private:
  Task run(const Operator& op, const StageFactory& sink);
  Task run_operator(const Operator& op, const StageFactory& sink);
  // Called when the tables of the columns' joins are built, and groups are computed.
  StagePtr late_columns_stage(std::span<const LateColumn> late, StagePtr next) const;
  ColumnPath path_of(const Operator& join, uint32_t build_column) const;
  // Run operators that treat rows one by one, and kAppend.
  Task run_rows(const Operator& op, const StageFactory& sink);
  Task run_append(const Operator& op, const StageFactory& sink);
  // Calls run_pipeline() with sources of the operator.
  void run_source(const Operator& op, uint64_t morsels, uint32_t workers,
                  const SourceFactory& make_source);
  // Runs a pipeline over the rows that an operator has kept (kept_rows.h).
  template <class Rows>
  void run_kept_rows(const Operator& op, const Rows& rows, uint32_t workers,
                     const StageFactory& sink);
  // Wraps an operator's sources for the meter, if there is one.
  SourceFactory metered(const Operator& op, const SourceFactory& make_source);
  // Report to the meter, if there is one.
  void say_memory(const Operator& op, size_t bytes);
  void say_shared(const Operator& op, std::string_view what);
  Task run_scan(const Operator& op, const StageFactory& sink);
  Task run_join(const Operator& op, const StageFactory& sink);
  Task build_table(const Operator& op, std::unique_ptr<JoinTable>* table);
  // Releases the table, and other tables to which only this one refers.
  void release_table(const Operator& join, std::unique_ptr<JoinTable> table);
  void release_table(const Operator* join);
  // Runs a pipeline over the build rows with a match, or without one.
  Task run_build_rows(const Operator& op, const JoinTable& table, const StageFactory& sink);
  Task run_aggregate(const Operator& op, const StageFactory& sink);
  // True if a group's key is the number of a row of the join's table.
  bool build_rows_are_groups(const Operator& aggregate, const Operator& join) const;
  std::vector<BuildRowGroups::KeyColumn> key_columns(const Operator& aggregate,
                                                     const Operator& join) const;
  Task compute_groups(const Operator& op, std::unique_ptr<MergedGroups>* groups);
  // Collects the workers' groups before they are merged.
  Task collect_groups(const Operator& op, MergedGroups::Tables* parts);
  Task collect_sets(const Operator& op, const Operator& expand, MergedGroups::Tables* parts);
  Task run_sort(const Operator& op, const StageFactory& sink);
  void run_stored(const Operator& op, const ColumnStore& rows, const std::vector<uint32_t>& order,
                  const StageFactory& sink);
  Task run_window(const Operator& op, const StageFactory& sink);
  Task run_leading_rows(const Operator& op, const StageFactory& sink);
  Task run_window_totals(const Operator& op, const StageFactory& sink);
  Task compute_window(const Operator& op, std::unique_ptr<WindowRows>* rows);

  // recursion.cpp
  Task run_recursion(const Operator& op, const StageFactory& sink);
  Task run_rounds(const Operator& op, const StageFactory& sink);
  void run_working_rows(const Operator& op, const StageFactory& sink);
  // True if the table of a join in a step does not change from round to round.
  bool is_kept_between_rounds(const Operator& join) const;
  // Begins a new round: drops everything that was made from the working rows.
  void forget_round(uint32_t recursion);
  void forget_table(const Operator* join);
  void forget_tables();

  // Keeps texts for rows that outlive the operator that copied the texts.
  void keep_texts(QueryHeap texts);

  const RunContext& context_;
  const Workers workers_;
  QueryHeap texts_;
  MemoryCharge texts_charge_;
  std::unique_ptr<NeededColumns> needed_;                       // of the running plan
  std::unique_ptr<RepeatedOperators> repeated_;                 // likewise
  std::vector<RepeatedRows> repeated_rows_;                     // by number
  std::unique_ptr<RepeatedScans> repeated_scans_;               // of the running plan
  std::unique_ptr<WorkingReads> reads_;                         // likewise
  std::unordered_map<uint32_t, const RecursionRows*> working_;  // by running recursion
  std::unordered_map<const Operator*, std::unique_ptr<JoinTable>> kept_tables_;  // between rounds
  // By join: its table, once it is built.
  std::unordered_map<const Operator*, const JoinTable*> tables_;
  // Tables that are no longer probed but to whose rows others refer.
  std::unordered_map<const Operator*, std::unique_ptr<JoinTable>> referred_tables_;
  std::set<const Operator*> keyed_by_build_row_;  // GROUP BYs whose groups are being read
  std::unordered_map<const Operator*, uint64_t>
      leading_;  // windows, and the numbers that a filter keeps
  // By scan: joins above it whose tables are built.
  std::unordered_map<const Operator*, std::vector<JoinFilter>> join_filters_;
  std::unordered_map<const Operator*, TopBound*> top_bounds_;  // by scan: the running sort's bound
  const GivenRows* given_ = nullptr;
  // The sort that orders the result, if only stages that treat rows one by one follow it.
  const Operator* result_sort_ = nullptr;
};

}  // namespace diptych::olap
