#include "olap/execution/plan_runner.h"

#include <algorithm>

#include "olap/execution/expand.h"
#include "olap/execution/query_failure.h"
#include "olap/execution/read_ahead.h"
#include "olap/execution/result_stage.h"
#include "olap/execution/scan.h"
#include "olap/execution/set_operation.h"
#include "olap/execution/sort.h"
#include "olap/execution/window.h"

namespace diptych::olap {

namespace {

constexpr uint32_t kOneWorker = 1;

// Parts of workers that ran; one at least.
template <class Part, class... Arguments>
std::vector<std::unique_ptr<Part>> made_parts(std::vector<std::unique_ptr<Part>> parts,
                                              const Arguments&... arguments) {
  std::erase(parts, nullptr);
  if (parts.empty()) parts.push_back(std::make_unique<Part>(arguments...));
  return parts;
}

}  // namespace

QueryResult PlanRunner::run(const Plan& plan, const GivenRow* given) {
  given_ = given;
  const Operator& root = *plan.root;
  if (plan.column_names.size() > root.output.size()) {
    fail_query(base::ErrorCode::kUnsupported, "a plan has more names than columns");
  }
  // A front end may leave columns that only ORDER BY reads after those that have a name.
  const std::vector<base::DataType> types(
      root.output.begin(), root.output.begin() + static_cast<int64_t>(plan.column_names.size()));
  needed_ = std::make_unique<NeededColumns>(root, types.size());
  repeated_ = std::make_unique<RepeatedGroups>(root);
  repeated_groups_.resize(repeated_->count());
  std::vector<std::unique_ptr<ResultPart>> parts(context_.arena->threads());
  run(root, [&](uint32_t worker) {
    parts[worker] = std::make_unique<ResultPart>(context_.memory);
    return std::make_unique<ResultStage>(types, parts[worker].get());
  });
  parts = made_parts(std::move(parts), context_.memory);
  QueryResult result;
  for (size_t c = 0; c < types.size(); ++c) {
    result.columns.push_back({plan.column_names[c], types[c]});
  }
  std::vector<ResultChunk> chunks = parts[0]->take();
  for (size_t i = 1; i < parts.size(); ++i) {
    for (ResultChunk& chunk : parts[i]->take()) chunks.push_back(std::move(chunk));
  }
  result.rows = ResultRows(ResultTable(result.columns, std::move(chunks)));
  return result;
}

void PlanRunner::run(const Operator& op, const StageFactory& sink) {
  if (given_ != nullptr && given_->op == &op) {
    run_pipeline(context_, 1, kOneWorker, [&](uint32_t worker) {
      return std::make_unique<GivenRowSource>(*given_, sink(worker));
    });
    return;
  }
  switch (op.kind) {
    case OperatorKind::kScan: run_scan(op, sink); return;
    case OperatorKind::kHashJoin: run_join(op, sink); return;
    case OperatorKind::kAggregate: run_aggregate(op, sink); return;
    case OperatorKind::kSort: run_sort(op, sink); return;
    case OperatorKind::kWindow: run_window(op, sink); return;
    case OperatorKind::kFilter:
      run(*op.children[0],
          [&](uint32_t worker) { return std::make_unique<FilterStage>(op, sink(worker)); });
      return;
    case OperatorKind::kProject:
      run(*op.children[0],
          [&](uint32_t worker) { return std::make_unique<ProjectStage>(op, sink(worker)); });
      return;
    case OperatorKind::kLimit: {
      LimitCounter counter(op.offset, op.limit);
      run(*op.children[0],
          [&](uint32_t worker) { return std::make_unique<LimitStage>(&counter, sink(worker)); });
      return;
    }
    case OperatorKind::kValues:
      run_pipeline(context_, ValuesSource::rows(op), kOneWorker, [&](uint32_t worker) {
        return std::make_unique<ValuesSource>(op, sink(worker));
      });
      return;
    case OperatorKind::kAppend: {
      SharedChains chains(context_.arena->threads(), sink);
      for (const OperatorPtr& child : op.children) run(*child, chains.factory());
      return;
    }
    case OperatorKind::kExpand:
      run(*op.children[0],
          [&](uint32_t worker) { return std::make_unique<ExpandStage>(op, sink(worker)); });
      return;
    case OperatorKind::kRepeat:
      run(*op.children[0],
          [&](uint32_t worker) { return std::make_unique<RepeatStage>(context_, sink(worker)); });
      return;
  }
  fail_query(base::ErrorCode::kUnsupported, "an operator of unknown kind");
}

void PlanRunner::run_scan(const Operator& op, const StageFactory& sink) {
  const std::vector<ScanMorsel> morsels = scan_morsels(op, context_.replica->table(op.table));
  ReadAhead ahead(op, needed_->of(op), morsels, context_.replica->leaves_memory());
  run_pipeline(context_, morsels.size(), context_.arena->threads(), [&](uint32_t worker) {
    return std::make_unique<ScanSource>(op, needed_->of(op), morsels, &ahead, sink(worker));
  });
}

void PlanRunner::run_join(const Operator& op, const StageFactory& sink) {
  JoinTable table(op, context_.memory);
  std::vector<std::unique_ptr<BuildPart>> parts(context_.arena->threads());
  run(*op.children[1], [&](uint32_t worker) {
    parts[worker] = std::make_unique<BuildPart>(op, *needed_, context_.memory);
    return std::make_unique<BuildStage>(op, table, parts[worker].get());
  });
  table.build(made_parts(std::move(parts), op, *needed_, context_.memory), *context_.stop);
  context_.stop->check();
    if (needed_->numbers_build_rows(op)) key_tables_[&op] = &table;
  const bool needs_match = op.join == JoinKind::kInner || op.join == JoinKind::kSemi;
  if (needs_match && table.rows().row_count() == 0) return;
  run(*op.children[0], [&](uint32_t worker) {
    return std::make_unique<ProbeStage>(context_, op, *needed_, table, sink(worker));
  });
}

void PlanRunner::run_aggregate(const Operator& op, const StageFactory& sink) {
  const std::optional<size_t> repeated = repeated_->number_of(op);
  Groups computed;
  Groups& groups = repeated.has_value() ? repeated_groups_[*repeated] : computed;
  if (groups.empty()) groups = compute_groups(op);
  const GroupTable& table = *groups[0];
  const uint64_t morsels = (uint64_t{table.groups()} + kVectorRows - 1) / kVectorRows;
  run_pipeline(context_, morsels, context_.arena->threads(), [&](uint32_t worker) {
    return std::make_unique<GroupSource>(op, table, sink(worker));
  });
}

PlanRunner::Groups PlanRunner::compute_groups(const Operator& op) {
  Groups parts(context_.arena->threads());
  const Operator* const join = needed_->key_join_of(op);
  run(*op.children[0], [&](uint32_t worker) {
    parts[worker] = std::make_unique<GroupTable>(op, context_.memory);
    if (join != nullptr) parts[worker]->take_keys_from(*join, *key_tables_.at(join));
    return std::make_unique<AggregateStage>(parts[worker].get());
  });
  parts = made_parts(std::move(parts), op, context_.memory);
  GroupTable& groups = *parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    context_.stop->check();
    groups.merge(*parts[i], *context_.stop);
  }
  for (const std::vector<ExpressionPtr>& keys : op.standing_groups) groups.add_group(keys);
  groups.finish(*context_.stop);
  return parts;
}

void PlanRunner::run_sort(const Operator& op, const StageFactory& sink) {
  std::vector<std::unique_ptr<SortPart>> parts(context_.arena->threads());
  run(*op.children[0], [&](uint32_t worker) {
    parts[worker] = std::make_unique<SortPart>(op, *needed_, context_.memory);
    return std::make_unique<SortStage>(parts[worker].get());
  });
  parts = made_parts(std::move(parts), op, *needed_, context_.memory);
  ColumnStore& rows = parts[0]->rows();
  for (size_t i = 1; i < parts.size(); ++i) rows.absorb(std::move(parts[i]->rows()));
  context_.stop->check();
  MemoryCharge sorting(context_.memory);
  sorting.set(rows.row_count() * kSortBytesARow);
  const std::vector<uint32_t> order =
      sorted_rows(rows, op.sort_keys, rows_wanted(op), context_.stop);
  if (order.size() <= op.offset) return;
  const uint64_t morsels = (order.size() - op.offset + kVectorRows - 1) / kVectorRows;
  run_pipeline(context_, morsels, kOneWorker, [&](uint32_t worker) {
    return std::make_unique<StoredSource>(rows, order, op.offset, sink(worker));
  });
}

void PlanRunner::run_window(const Operator& op, const StageFactory& sink) {
  std::vector<std::unique_ptr<WindowPart>> parts(context_.arena->threads());
  run(*op.children[0], [&](uint32_t worker) {
    parts[worker] = std::make_unique<WindowPart>(op, *needed_, context_.memory);
    return std::make_unique<WindowStage>(parts[worker].get());
  });
  parts = made_parts(std::move(parts), op, *needed_, context_.memory);
  ColumnStore& rows = parts[0]->rows();
  for (size_t i = 1; i < parts.size(); ++i) rows.absorb(std::move(parts[i]->rows()));
  const WindowTable table(context_, op, rows);
  run_pipeline(context_, table.morsels(), kOneWorker, [&](uint32_t worker) {
    return std::make_unique<WindowSource>(table, sink(worker));
  });
}

}  // namespace diptych::olap
