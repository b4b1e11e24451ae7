#include "olap/execution/plan_runner.h"

#include <algorithm>
#include <exception>
#include <numeric>

#include <fmt/format.h>

#include "olap/execution/group/expand.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/pipeline/group_keys.h"
#include "olap/execution/pipeline/plan_meter.h"
#include "olap/execution/result_stage.h"
#include "olap/execution/scan/scan_pass.h"
#include "olap/execution/scan/shared_scans.h"
#include "olap/execution/set_operation.h"
#include "olap/execution/sort/sort.h"
#include "olap/execution/sort/sorted_rows.h"
#include "olap/execution/window/kept_rows.h"
#include "olap/execution/window/window_totals.h"

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

// All parts' rows, in the first one's store.
template <class Part>
ColumnStore& rows_of(const std::vector<std::unique_ptr<Part>>& parts, const Workers& workers) {
  std::vector<ColumnStore*> others;
  for (size_t i = 1; i < parts.size(); ++i) others.push_back(&parts[i]->rows());
  parts[0]->rows().absorb_all(others, workers);
  return parts[0]->rows();
}

}  // namespace

Task PlanRunner::run(const Plan& plan, const GivenRows* given, QueryResult* result) {
  given_ = given;
  const Operator& root = *plan.root;
  if (plan.column_names.size() > root.output.size()) {
    fail_query(base::ErrorCode::kUnsupported, "a plan has more names than columns");
  }
  // A front end may leave columns that only ORDER BY reads after those that have a name.
  const std::vector<base::DataType> types(
      root.output.begin(), root.output.begin() + static_cast<int64_t>(plan.column_names.size()));
  repeated_ = std::make_unique<RepeatedOperators>(root);
  repeated_rows_.resize(repeated_->count());
  needed_ = std::make_unique<NeededColumns>(root, types.size(), repeated_.get());
  repeated_scans_ = std::make_unique<RepeatedScans>(root);
  reads_ = std::make_unique<WorkingReads>(root);
  const Operator* last = &root;
  while (last->kind == OperatorKind::kProject || last->kind == OperatorKind::kFilter) {
    last = last->children[0].get();
  }
  result_sort_ = last->kind == OperatorKind::kSort ? last : nullptr;
  std::vector<std::unique_ptr<ResultPart>> parts(context_.arena->threads());
  const StageFactory keep = [&](uint32_t worker) {
    parts[worker] = std::make_unique<ResultPart>(context_.memory);
    return std::make_unique<ResultStage>(types, parts[worker].get());
  };
  co_await run(root, keep);
  parts = made_parts(std::move(parts), context_.memory);
  for (size_t c = 0; c < types.size(); ++c) {
    result->columns.push_back({plan.column_names[c], types[c]});
  }
  std::vector<ResultChunk> chunks;
  MemoryHold hold;
  for (const auto& part : parts) {
    for (ResultChunk& chunk : part->take()) chunks.push_back(std::move(chunk));
    hold.absorb(part->hand_over());
  }
  result->rows = ResultRows(ResultTable(result->columns, std::move(chunks), std::move(hold)));
}

Task PlanRunner::run(const Operator& op, const StageFactory& sink) {
  PlanMeter* const meter = context_.meter;
  const std::span<const LateColumn> late = needed_->late_behind(op);
  if (meter == nullptr && late.empty()) {
    co_await run_operator(op, sink);
    co_return;
  }
  const StageFactory behind = [&](uint32_t worker) {
    StagePtr next = sink(worker);
    if (meter != nullptr) next = std::make_unique<MeterStage>(meter, worker, op, std::move(next));
    if (late.empty()) return next;
    return late_columns_stage(late, std::move(next));
  };
  co_await run_operator(op, behind);
}

StagePtr PlanRunner::late_columns_stage(std::span<const LateColumn> late, StagePtr next) const {
  std::vector<LateColumnsStage::Source> sources;
  for (const LateColumn& column : late) {
    if (column.groups != nullptr && !keyed_by_build_row_.contains(column.groups)) continue;
    sources.push_back({column.column, path_of(*column.join, column.build_column)});
  }
  if (sources.empty()) return next;
  return std::make_unique<LateColumnsStage>(std::move(sources), std::move(next));
}

ColumnPath PlanRunner::path_of(const Operator& join, uint32_t build_column) const {
  const PhysicalType type = physical_type(join.children[1]->output[build_column]);
  std::vector<ColumnPath::Step> steps;
  // Tables below one without rows need not have been built.
  if (tables_.at(&join)->rows().row_count() == 0) return {type, std::move(steps)};
  const Operator* table_join = &join;
  while (const ReferredColumn* const referred = needed_->referred(*table_join, build_column)) {
    steps.push_back({&tables_.at(table_join)->rows(), referred->numbers});
    table_join = referred->join;
    build_column = referred->build_column;
  }
  steps.push_back({&tables_.at(table_join)->rows(), build_column});
  return {type, std::move(steps)};
}

void PlanRunner::run_source(const Operator& op, uint64_t morsels, uint32_t workers,
                            const SourceFactory& make_source) {
  run_pipeline(context_, morsels, workers, metered(op, make_source));
}

template <class Rows>
void PlanRunner::run_kept_rows(const Operator& op, const Rows& rows, uint32_t workers,
                               const StageFactory& sink) {
  run_source(op, KeptRowsSource<Rows>::morsels(rows), workers, [&](uint32_t worker) {
    return std::make_unique<KeptRowsSource<Rows>>(rows, sink(worker));
  });
}

SourceFactory PlanRunner::metered(const Operator& op, const SourceFactory& make_source) {
  PlanMeter* const meter = context_.meter;
  if (meter == nullptr) return make_source;
  return [meter, &op, make_source](uint32_t worker) {
    return std::make_unique<MeterSource>(meter, worker, op, make_source(worker));
  };
}

void PlanRunner::say_shared(const Operator& op, std::string_view what) {
  if (context_.meter != nullptr) context_.meter->once(op).shared = what;
}

void PlanRunner::say_memory(const Operator& op, size_t bytes) {
  if (context_.meter == nullptr) return;
  size_t& most = context_.meter->once(op).memory_bytes;
  most = std::max(most, bytes);
}

Task PlanRunner::run_operator(const Operator& op, const StageFactory& sink) {
  if (given_ != nullptr && &given_->op() == &op) {
    run_source(op, given_->morsels(), kOneWorker,
               [&](uint32_t worker) { return given_->source(sink(worker)); });
    co_return;
  }
  switch (op.kind) {
    case OperatorKind::kScan: co_return co_await run_scan(op, sink);
    case OperatorKind::kHashJoin: co_return co_await run_join(op, sink);
    case OperatorKind::kAggregate: co_return co_await run_aggregate(op, sink);
    case OperatorKind::kSort: co_return co_await run_sort(op, sink);
    case OperatorKind::kWindow: co_return co_await run_window(op, sink);
    case OperatorKind::kAppend: co_return co_await run_append(op, sink);
    case OperatorKind::kRecursion: co_return co_await run_recursion(op, sink);
    case OperatorKind::kWorkingRows: run_working_rows(op, sink); co_return;
    case OperatorKind::kValues:
      run_source(op, ValuesSource::rows(op), kOneWorker, [&](uint32_t worker) {
        return std::make_unique<ValuesSource>(context_, op, sink(worker));
      });
      co_return;
    case OperatorKind::kFilter:
    case OperatorKind::kProject:
    case OperatorKind::kLimit:
    case OperatorKind::kExpand:
    case OperatorKind::kRepeat: co_return co_await run_rows(op, sink);
  }
  fail_query(base::ErrorCode::kUnsupported, "an operator of unknown kind");
}

Task PlanRunner::run_rows(const Operator& op, const StageFactory& sink) {
  if (const auto numbers = leading_numbers(op)) leading_.emplace(numbers->window, numbers->most);
  LimitCounter counter(op.offset, op.limit);
  const StageFactory stage = [&](uint32_t worker) -> StagePtr {
    switch (op.kind) {
      case OperatorKind::kFilter: return std::make_unique<FilterStage>(context_, op, sink(worker));
      case OperatorKind::kProject:
        return std::make_unique<ProjectStage>(context_, op, sink(worker));
      case OperatorKind::kExpand: return std::make_unique<ExpandStage>(op, sink(worker));
      case OperatorKind::kRepeat:
        return std::make_unique<RepeatStage>(
            context_,
            needed_->of(op).back() ? RepeatStage::Numbers::kRead : RepeatStage::Numbers::kUnread,
            sink(worker));
      default: return std::make_unique<LimitStage>(&counter, sink(worker));
    }
  };
  co_await run(*op.children[0], stage);
}

Task PlanRunner::run_append(const Operator& op, const StageFactory& sink) {
  SharedChains chains(context_.arena->threads(), sink);
  const StageFactory stage = chains.factory();
  for (const OperatorPtr& child : op.children) co_await run(*child, stage);
}

Task PlanRunner::run_scan(const Operator& op, const StageFactory& sink) {
  const std::vector<JoinFilter>& filters = join_filters_[&op];
  const RepeatedScans::Roles roles =
      repeated_scans_->begin(op, filters, context_.replica->table(op.table), context_.memory);
  // What is found for another scan is all that the predicates and joins let through.
  const auto top = roles.found == nullptr ? top_bounds_.find(&op) : top_bounds_.end();
  PlanScan scan{.context = context_,
                .op = op,
                .needed = needed_->of(op),
                .sink = sink,
                .filters = filters,
                .roles = roles,
                .top = top == top_bounds_.end() ? nullptr : top->second};
  if (context_.scans != nullptr) {
    co_await context_.scans->scan(&scan);
  } else {
    PlanScan* const alone = &scan;
    run_pass({&alone, 1});
  }
  if (context_.meter != nullptr) {
    OperatorFigures& figures = context_.meter->once(op);
    figures.ran = true;
    figures.blocks += scan.leaves.with_rows;
    figures.blocks_skipped += scan.leaves.skipped;
    if (roles.within != nullptr) figures.shared = "only rows that an earlier scan found";
    if (scan.scans > 1) figures.shared = fmt::format("one pass for {} scans", scan.scans);
  }
  if (scan.failure) std::rethrow_exception(scan.failure);
}

Task PlanRunner::run_join(const Operator& op, const StageFactory& sink) {
  const bool is_kept = is_kept_between_rounds(op);
  std::unique_ptr<JoinTable> built;
  std::unique_ptr<JoinTable>& table = is_kept ? kept_tables_[&op] : built;
  if (table == nullptr) co_await build_table(op, &table);
  tables_[&op] = table.get();
  // Those of joins further down come later, and are asked first: they are here first when rows are
  // probed, since the plan thinks that they drop the most.
  if (const Operator* const scan = filtered_scan(op); scan != nullptr) {
    std::vector<JoinFilter>& filters = join_filters_[scan];
    // Of a round ago.
    std::erase_if(filters, [&op](const JoinFilter& earlier) { return earlier.join == &op; });
    JoinFilter filter = join_filter(op, *table, *scan);
    if (filter.drops_rows()) filters.insert(filters.begin(), std::move(filter));
  }
  if (keeps_build_rows(op.join)) {
    co_await run_build_rows(op, *table, sink);
  } else {
    const bool needs_match = op.join == JoinKind::kInner || op.join == JoinKind::kSemi;
    if (needs_match && table->rows().row_count() == 0) co_return;
    const StageFactory probe = [&](uint32_t worker) {
      return std::make_unique<ProbeStage>(context_, op, *needed_, *table, sink(worker));
    };
    co_await run(*op.children[0], probe);
  }
  if (is_kept) co_return;
  if (needed_->has_group_keys(op) || needed_->is_referred_to(op)) {
    referred_tables_[&op] = std::move(built);
  } else {
    release_table(op, std::move(built));
  }
}

void PlanRunner::release_table(const Operator& join, std::unique_ptr<JoinTable> table) {
  keep_texts(table->take_texts());
  for (const Operator* const referred : needed_->referred_joins(join)) release_table(referred);
}

void PlanRunner::release_table(const Operator* join) {
  const auto found = referred_tables_.find(join);
  if (found == referred_tables_.end()) return;
  release_table(*join, std::move(found->second));
  referred_tables_.erase(join);
}

Task PlanRunner::build_table(const Operator& op, std::unique_ptr<JoinTable>* table) {
  auto built = std::make_unique<JoinTable>(op, context_.limits());
  const uint32_t threads = context_.arena->threads();
  std::vector<std::unique_ptr<BuildPart>> parts(threads);
  const StageFactory build = [&](uint32_t worker) {
    parts[worker] = std::make_unique<BuildPart>(op, *needed_, context_.memory, threads);
    return std::make_unique<BuildStage>(context_, op, *built, parts[worker].get());
  };
  co_await run(*op.children[1], build);
  {
    const MeterScope scope(context_.meter, op);
    built->build(made_parts(std::move(parts), op, *needed_, context_.memory, threads), workers_);
  }
  say_memory(op, built->kept_bytes());
  if (context_.meter != nullptr) context_.meter->once(op).join_method = built->method();
  context_.stop->check();
  *table = std::move(built);
}

Task PlanRunner::run_build_rows(const Operator& op, const JoinTable& table,
                                const StageFactory& sink) {
  const ColumnStore& rows = table.rows();
  const bool wanted = op.join == JoinKind::kBuildSemi;  // matched or not
  std::vector<MatchedRows> parts(context_.arena->threads());
  if (rows.row_count() != 0) {
    const StageFactory mark = [&](uint32_t worker) {
      return std::make_unique<ProbeStage>(context_, op, *needed_, table, &parts[worker]);
    };
    co_await run(*op.children[0], mark);
  }
  std::vector<uint32_t> order;
  const MeterScope scope(context_.meter, op);
  for (uint32_t row = 0; row < rows.row_count(); ++row) {
    const bool matched = std::any_of(parts.begin(), parts.end(), [row](const MatchedRows& part) {
      return !part.empty() && bit_at(part.data(), row);
    });
    if (matched == wanted) order.push_back(row);
  }
  std::vector<uint32_t> unmatchable(table.unmatchable().row_count());
  std::iota(unmatchable.begin(), unmatchable.end(), 0U);
  MemoryCharge listing(context_.memory, "the build side of a join");
  listing.set((order.size() + unmatchable.size()) * sizeof(uint32_t));
  SharedChains chains(context_.arena->threads(), sink);
  run_stored(op, rows, order, chains.factory());
  run_stored(op, table.unmatchable(), unmatchable, chains.factory());
}

// rows[order[i]] for all i.
void PlanRunner::run_stored(const Operator& op, const ColumnStore& rows,
                            const std::vector<uint32_t>& order, const StageFactory& sink) {
  run_source(op, StoredSource::morsels(order, 0), context_.arena->threads(), [&](uint32_t worker) {
    return std::make_unique<StoredSource>(rows, order, 0, sink(worker));
  });
}

void PlanRunner::keep_texts(QueryHeap texts) {
  texts_.absorb(std::move(texts));
  texts_charge_.set(texts_.memory_bytes());
}

Task PlanRunner::run_aggregate(const Operator& op, const StageFactory& sink) {
  const std::optional<size_t> repeated = repeated_->number_of(op);
  std::unique_ptr<MergedGroups> computed;
  std::unique_ptr<MergedGroups>& groups =
      repeated.has_value() ? repeated_rows_[*repeated].groups : computed;
  if (groups == nullptr) {
    co_await compute_groups(op, &groups);
  } else {
    say_shared(op, "the groups of an equal GROUP BY of the plan");
  }
  if (groups->are_keyed_by_build_row()) keyed_by_build_row_.insert(&op);
  run_source(op, groups->morsels(), context_.arena->threads(), [&](uint32_t worker) {
    return std::make_unique<GroupSource>(op, *groups, sink(worker));
  });
  if (!repeated.has_value()) keep_texts(groups->take_texts());
  keyed_by_build_row_.erase(&op);
  release_table(needed_->key_join_of(op));
}

bool PlanRunner::build_rows_are_groups(const Operator& aggregate, const Operator& join) const {
  // Groups that are read again would outlive the table.
  return build_rows_may_be_groups(aggregate, join) && tables_.at(&join)->unique() &&
         !repeated_->number_of(aggregate).has_value();
}

std::vector<BuildRowGroups::KeyColumn> PlanRunner::key_columns(const Operator& aggregate,
                                                               const Operator& join) const {
  std::set<uint32_t> read;
  for (const ExpressionPtr& key : aggregate.expressions) {
    for (const uint32_t column : columns_read(*key)) read.insert(column);
  }
  const auto probe_columns = static_cast<uint32_t>(join.children[0]->output.size());
  std::vector<BuildRowGroups::KeyColumn> columns;
  for (const uint32_t column : read) {
    columns.push_back({column, path_of(join, column - probe_columns)});
  }
  return columns;
}

Task PlanRunner::compute_groups(const Operator& op, std::unique_ptr<MergedGroups>* groups) {
  MergedGroups::Tables parts(context_.arena->threads());
  if (const Operator* const expand = expand_of_groups(op); expand != nullptr) {
    co_await collect_sets(op, *expand, &parts);
  } else {
    co_await collect_groups(op, &parts);
    if (!parts[0]->is_keyed_by_build_row()) release_table(needed_->key_join_of(op));
  }
  const MeterScope scope(context_.meter, op);
  size_t bytes = 0;
  for (const auto& part : parts) bytes += part->kept_bytes();
  say_memory(op, bytes);
  *groups = std::make_unique<MergedGroups>(op, std::move(parts), context_.memory, workers_);
  keep_texts((*groups)->take_part_texts());
}

Task PlanRunner::collect_groups(const Operator& op, MergedGroups::Tables* parts) {
  const Operator* const join = needed_->key_join_of(op);
  const StageFactory collect = [&](uint32_t worker) {
    auto groups = std::make_unique<GroupTable>(op, context_.limits());
    if (join != nullptr && build_rows_are_groups(op, *join)) {
      groups->key_by_build_row(tables_.at(join)->rows().row_count());
    } else if (join != nullptr) {
      const bool rows_differ = has_build_keys(op, *join) && tables_.at(join)->unique();
      groups->take_keys_from(key_columns(op, *join), rows_differ);
    }
    (*parts)[worker] = std::move(groups);
    return std::make_unique<AggregateStage>((*parts)[worker].get());
  };
  co_await run(*op.children[0], collect);
  *parts = made_parts(std::move(*parts), op, context_.limits());
}

Task PlanRunner::collect_sets(const Operator& op, const Operator& expand,
                              MergedGroups::Tables* parts) {
  const size_t keys = op.expressions.size() - 1;
  MergedGroups::Tables finest(parts->size());
  const StageFactory collect = [&](uint32_t worker) {
    finest[worker] = std::make_unique<GroupTable>(op, context_.limits(), keys);
    return std::make_unique<AggregateStage>(finest[worker].get());
  };
  co_await run(*expand.children[0], collect);
  finest = made_parts(std::move(finest), op, context_.limits(), keys);
  const MeterScope scope(context_.meter, op);
  if (context_.meter != nullptr) {
    OperatorFigures& figures = context_.meter->once(expand);
    figures.ran = true;
    for (const auto& part : finest) figures.rows += part->groups() * expand.grouping_sets.size();
    figures.shared = "the input's groups, with the time to find them";
  }
  parts->resize(finest.size());
  workers_.run(static_cast<uint32_t>(finest.size()), [&](uint32_t part) {
    (*parts)[part] = std::make_unique<GroupTable>(op, context_.limits());
    (*parts)[part]->add_sets(*finest[part], expand.grouping_sets);
    finest[part].reset();
  });
}

Task PlanRunner::run_sort(const Operator& op, const StageFactory& sink) {
  std::vector<std::unique_ptr<SortPart>> parts(context_.arena->threads());
  const auto bounded = keeps_best_rows(op) ? bounded_scan(op) : std::nullopt;
  std::optional<TopBound> top;
  if (bounded) top_bounds_[bounded->scan] = &top.emplace(op, *bounded);
  const StageFactory collect = [&](uint32_t worker) {
    parts[worker] = std::make_unique<SortPart>(context_, op, *needed_, top ? &*top : nullptr);
    return std::make_unique<CollectStage<SortPart>>(parts[worker].get());
  };
  co_await run(*op.children[0], collect);
  if (bounded) top_bounds_.erase(bounded->scan);
  parts = made_parts(std::move(parts), context_, op, *needed_);
  const MeterScope scope(context_.meter, op);
  ColumnStore& rows = rows_of(parts, workers_);
  say_memory(op, rows.memory_bytes() + rows.row_count() * kSortBytesARow);
  MemoryCharge sorting(context_.memory, "the rows of a sort");
  sorting.set(rows.row_count() * kSortBytesARow);
  const std::vector<uint32_t> order = sorted_rows(rows, op.sort_keys, rows_wanted(op), workers_);
  // In order is what the result's parts have one after the other, or what one worker passes on.
  run_in_order(context_, StoredSource::morsels(order, op.offset),
               &op == result_sort_ ? context_.arena->threads() : kOneWorker,
               metered(op, [&](uint32_t worker) {
                 return std::make_unique<StoredSource>(rows, order, op.offset, sink(worker));
               }));
  keep_texts(parts[0]->take_texts());
}

Task PlanRunner::run_window(const Operator& op, const StageFactory& sink) {
  const std::optional<size_t> repeated = repeated_->number_of(op);
  if (!repeated.has_value()) {
    if (leading_.contains(&op)) co_return co_await run_leading_rows(op, sink);
    if (are_totals(op)) co_return co_await run_window_totals(op, sink);
  }
  std::unique_ptr<WindowRows> computed;
  std::unique_ptr<WindowRows>& rows =
      repeated.has_value() ? repeated_rows_[*repeated].window : computed;
  if (rows == nullptr) {
    co_await compute_window(op, &rows);
  } else {
    say_shared(op, "the rows of an equal window of the plan");
  }
  run_kept_rows(op, *rows->table, kOneWorker, sink);
}

Task PlanRunner::run_leading_rows(const Operator& op, const StageFactory& sink) {
  const LeadingNumbers numbers{&op, leading_.at(&op)};
  std::vector<std::unique_ptr<LeadingRows>> parts(context_.arena->threads());
  const StageFactory collect = [&](uint32_t worker) {
    parts[worker] = std::make_unique<LeadingRows>(context_, numbers, *needed_);
    return std::make_unique<CollectStage<LeadingRows>>(parts[worker].get());
  };
  co_await run(*op.children[0], collect);
  parts = made_parts(std::move(parts), context_, numbers, *needed_);
  LeadingRows& rows = *parts[0];
  {
    const MeterScope scope(context_.meter, op);
    rows.finish(std::span(parts).subspan(1));
    parts.resize(1);
  }
  say_memory(op, rows.memory_bytes());
  say_shared(op, "the leading rows of each partition, without a sort of the others");
  run_kept_rows(op, rows, kOneWorker, sink);
}

Task PlanRunner::run_window_totals(const Operator& op, const StageFactory& sink) {
  std::vector<std::unique_ptr<WindowTotals>> parts(context_.arena->threads());
  const StageFactory collect = [&](uint32_t worker) {
    parts[worker] = std::make_unique<WindowTotals>(context_, op, *needed_);
    return std::make_unique<CollectStage<WindowTotals>>(parts[worker].get());
  };
  co_await run(*op.children[0], collect);
  parts = made_parts(std::move(parts), context_, op, *needed_);
  {
    const MeterScope scope(context_.meter, op);
    parts[0]->finish(std::span(parts).subspan(1), workers_);
  }
  say_memory(op, parts[0]->memory_bytes());
  say_shared(op, "aggregates of whole partitions, unsorted");
  run_kept_rows(op, *parts[0], context_.arena->threads(), sink);
}

Task PlanRunner::compute_window(const Operator& op, std::unique_ptr<WindowRows>* computed) {
  std::vector<std::unique_ptr<WindowPart>> parts(context_.arena->threads());
  const StageFactory collect = [&](uint32_t worker) {
    parts[worker] = std::make_unique<WindowPart>(op, *needed_, context_.memory);
    return std::make_unique<CollectStage<WindowPart>>(parts[worker].get());
  };
  co_await run(*op.children[0], collect);
  parts = made_parts(std::move(parts), op, *needed_, context_.memory);
  const MeterScope scope(context_.meter, op);
  ColumnStore& rows = rows_of(parts, workers_);
  auto table = std::make_unique<WindowTable>(context_, op, &rows);
  say_memory(op, rows.memory_bytes() + table->kept_bytes());
  *computed = std::make_unique<WindowRows>(std::move(parts), std::move(table));
}

}  // namespace diptych::olap
