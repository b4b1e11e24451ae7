#include "olap/execution/plan_runner.h"

#include <algorithm>
#include <numeric>

#include "olap/execution/expand.h"
#include "olap/execution/plan_meter.h"
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

// All parts' rows, in the first one's store.
template <class Part>
ColumnStore& rows_of(const std::vector<std::unique_ptr<Part>>& parts, const Workers& workers) {
  std::vector<ColumnStore*> others;
  for (size_t i = 1; i < parts.size(); ++i) others.push_back(&parts[i]->rows());
  parts[0]->rows().absorb_all(others, workers);
  return parts[0]->rows();
}

}  // namespace

QueryResult PlanRunner::run(const Plan& plan, const GivenRows* given) {
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
  const Operator* last = &root;
  while (last->kind == OperatorKind::kProject || last->kind == OperatorKind::kFilter) {
    last = last->children[0].get();
  }
  result_sort_ = last->kind == OperatorKind::kSort ? last : nullptr;
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
  std::vector<ResultChunk> chunks;
  MemoryHold hold;
  for (const auto& part : parts) {
    for (ResultChunk& chunk : part->take()) chunks.push_back(std::move(chunk));
    hold.absorb(part->hand_over());
  }
  result.rows = ResultRows(ResultTable(result.columns, std::move(chunks), std::move(hold)));
  return result;
}

void PlanRunner::run(const Operator& op, const StageFactory& sink) {
  PlanMeter* const meter = context_.meter;
  if (meter == nullptr) {
    run_operator(op, sink);
    return;
  }
  run_operator(op, [&](uint32_t worker) {
    return std::make_unique<MeterStage>(meter, worker, op, sink(worker));
  });
}

void PlanRunner::run_source(const Operator& op, uint64_t morsels, uint32_t workers,
                            const SourceFactory& make_source) {
  run_pipeline(context_, morsels, workers, metered(op, make_source));
}

SourceFactory PlanRunner::metered(const Operator& op, const SourceFactory& make_source) {
  PlanMeter* const meter = context_.meter;
  if (meter == nullptr) return make_source;
  return [meter, &op, make_source](uint32_t worker) {
    return std::make_unique<MeterSource>(meter, worker, op, make_source(worker));
  };
}

void PlanRunner::say_memory(const Operator& op, size_t bytes) {
  if (context_.meter != nullptr) context_.meter->once(op).memory_bytes = bytes;
}

void PlanRunner::run_operator(const Operator& op, const StageFactory& sink) {
  if (given_ != nullptr && &given_->op() == &op) {
    run_source(op, given_->morsels(), kOneWorker,
               [&](uint32_t worker) { return given_->source(sink(worker)); });
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
      run_source(op, ValuesSource::rows(op), kOneWorker,
                 [&](uint32_t worker) { return std::make_unique<ValuesSource>(op, sink(worker)); });
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
  ScanLeaves leaves;
  const std::vector<ScanMorsel> morsels =
      scan_morsels(op, context_.replica->table(op.table), &leaves);
  if (context_.meter != nullptr) {
    OperatorFigures& figures = context_.meter->once(op);
    figures.ran = true;
    figures.blocks = leaves.with_rows;
    figures.blocks_skipped = leaves.skipped;
  }
  ReadAhead ahead(op, needed_->of(op), morsels, context_.replica->leaves_memory());
  run_source(op, morsels.size(), context_.arena->threads(), [&](uint32_t worker) {
    auto source = std::make_unique<ScanSource>(op, needed_->of(op), morsels, &ahead, sink(worker));
    if (context_.meter != nullptr) {
      PlanMeter::Cell& cell = context_.meter->cell(worker, op);
      source->count_decoded(&cell.decoded_bytes);
      source->count_filtered(&cell.filtered_rows);
    }
    return source;
  });
}

void PlanRunner::run_join(const Operator& op, const StageFactory& sink) {
  JoinTable table(op, context_.memory);
  std::vector<std::unique_ptr<BuildPart>> parts(context_.arena->threads());
  run(*op.children[1], [&](uint32_t worker) {
    parts[worker] = std::make_unique<BuildPart>(op, *needed_, context_.memory);
    return std::make_unique<BuildStage>(op, table, parts[worker].get());
  });
  {
    const MeterScope scope(context_.meter, op);
    table.build(made_parts(std::move(parts), op, *needed_, context_.memory), workers_);
  }
  say_memory(op, table.kept_bytes());
  context_.stop->check();
  if (needed_->numbers_build_rows(op)) key_tables_[&op] = &table;
  if (keeps_build_rows(op.join)) {
    run_build_rows(op, table, sink);
  } else {
    const bool needs_match = op.join == JoinKind::kInner || op.join == JoinKind::kSemi;
    if (needs_match && table.rows().row_count() == 0) return;
    run(*op.children[0], [&](uint32_t worker) {
      return std::make_unique<ProbeStage>(context_, op, *needed_, table, sink(worker));
    });
  }
  keep_texts(table.take_texts());
}

void PlanRunner::run_build_rows(const Operator& op, const JoinTable& table,
                                const StageFactory& sink) {
  const ColumnStore& rows = table.rows();
  const bool wanted = op.join == JoinKind::kBuildSemi;  // matched or not
  std::vector<MatchedRows> parts(context_.arena->threads());
  if (rows.row_count() != 0) {
    run(*op.children[0], [&](uint32_t worker) {
      return std::make_unique<ProbeStage>(context_, op, *needed_, table, &parts[worker]);
    });
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

void PlanRunner::run_aggregate(const Operator& op, const StageFactory& sink) {
  const std::optional<size_t> repeated = repeated_->number_of(op);
  std::unique_ptr<MergedGroups> computed;
  std::unique_ptr<MergedGroups>& groups =
      repeated.has_value() ? repeated_groups_[*repeated] : computed;
  if (groups == nullptr) {
    groups = compute_groups(op);
  } else if (context_.meter != nullptr) {
    context_.meter->once(op).shared = "the groups of an equal GROUP BY of the plan";
  }
  run_source(op, groups->morsels(), context_.arena->threads(), [&](uint32_t worker) {
    return std::make_unique<GroupSource>(op, *groups, sink(worker));
  });
  if (!repeated.has_value()) keep_texts(groups->take_texts());
}

std::unique_ptr<MergedGroups> PlanRunner::compute_groups(const Operator& op) {
  MergedGroups::Tables parts(context_.arena->threads());
  const Operator* const join = needed_->key_join_of(op);
  run(*op.children[0], [&](uint32_t worker) {
    parts[worker] = std::make_unique<GroupTable>(op, context_.memory);
    if (join != nullptr) parts[worker]->take_keys_from(*join, *key_tables_.at(join));
    return std::make_unique<AggregateStage>(parts[worker].get());
  });
  parts = made_parts(std::move(parts), op, context_.memory);
  const MeterScope scope(context_.meter, op);
  size_t bytes = 0;
  for (const auto& part : parts) bytes += part->kept_bytes();
  say_memory(op, bytes);
  auto groups = std::make_unique<MergedGroups>(op, std::move(parts), context_.memory, workers_);
  keep_texts(groups->take_part_texts());
  return groups;
}

void PlanRunner::run_sort(const Operator& op, const StageFactory& sink) {
  std::vector<std::unique_ptr<SortPart>> parts(context_.arena->threads());
  run(*op.children[0], [&](uint32_t worker) {
    parts[worker] = std::make_unique<SortPart>(context_, op, *needed_);
    return std::make_unique<SortStage>(parts[worker].get());
  });
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

void PlanRunner::run_window(const Operator& op, const StageFactory& sink) {
  std::vector<std::unique_ptr<WindowPart>> parts(context_.arena->threads());
  run(*op.children[0], [&](uint32_t worker) {
    parts[worker] = std::make_unique<WindowPart>(op, *needed_, context_.memory);
    return std::make_unique<WindowStage>(parts[worker].get());
  });
  parts = made_parts(std::move(parts), op, *needed_, context_.memory);
  const MeterScope scope(context_.meter, op);
  ColumnStore& rows = rows_of(parts, workers_);
  say_memory(op, rows.memory_bytes());
  const WindowTable table(context_, op, rows);
  run_source(op, table.morsels(), kOneWorker,
             [&](uint32_t worker) { return std::make_unique<WindowSource>(table, sink(worker)); });
}

}  // namespace diptych::olap
