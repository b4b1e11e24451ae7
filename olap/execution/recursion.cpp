#include "olap/execution/recursion.h"

#include <atomic>
#include <numeric>

#include "olap/execution/limits/query_failure.h"
#include "olap/execution/pipeline/plan_meter.h"
#include "olap/execution/plan_runner.h"
#include "olap/execution/set_operation.h"

namespace diptych::olap {

namespace {

// Passes rows on, and notes that no more are wanted.
class WantStage : public Stage {
 public:
  WantStage(std::atomic<bool>* enough, StagePtr next) : enough_(enough), next_(std::move(next)) {}
  bool push(Batch& batch) override {
    if (next_->push(batch)) return true;
    // relaxed: read when the pipeline has ended.
    enough_->store(true, std::memory_order_relaxed);
    return false;
  }

 private:
  std::atomic<bool>* const enough_;  // writers: workers
  StagePtr next_;
};

}  // namespace

class RecursionRows::PartStage : public Stage {
 public:
  explicit PartStage(Part* part) : part_(part) {}
  bool push(Batch& batch) override {
    part_->rows.append(batch.columns, *batch.selection);
    part_->charge.set(part_->rows.memory_bytes());
    return true;
  }

 private:
  Part* const part_;
};

RecursionRows::RecursionRows(const Operator& recursion, const QueryLimits& limits, uint32_t workers,
                             bool distinct)
    : recursion_(recursion),
      limits_(limits),
      parts_(workers),
      groups_(workers),
      rows_(recursion.output),
      charge_(limits.memory, "the rows of a recursion") {
  if (distinct) all_ = std::make_unique<GroupTable>(recursion, limits);
}

StageFactory RecursionRows::collect() {
  return [this](uint32_t worker) -> StagePtr {
    if (all_ != nullptr) {
      groups_[worker] = std::make_unique<GroupTable>(recursion_, limits_);
      return std::make_unique<AggregateStage>(groups_[worker].get());
    }
    parts_[worker] = std::make_unique<Part>(recursion_, limits_.memory);
    return std::make_unique<PartStage>(parts_[worker].get());
  };
}

QueryHeap RecursionRows::end_round(const Workers& workers) {
  QueryHeap texts = rows_.take_texts();
  rows_ = ColumnStore(recursion_.output);
  texts.absorb(all_ == nullptr ? take_all(workers) : take_new(workers));
  order_.resize(rows_.row_count());
  std::iota(order_.begin(), order_.end(), 0U);
  charge_.set(rows_.memory_bytes() + order_.capacity() * sizeof(uint32_t));
  return texts;
}

QueryHeap RecursionRows::take_all(const Workers& workers) {
  std::vector<ColumnStore*> filled;
  for (const auto& part : parts_) {
    if (part != nullptr) filled.push_back(&part->rows);
  }
  rows_.absorb_all(filled, workers);
  for (auto& part : parts_) part.reset();
  return {};
}

// Merging gives a row that is in no earlier round a number behind theirs.
QueryHeap RecursionRows::take_new(const Workers& workers) {
  QueryHeap texts;
  const uint32_t before = all_->groups();
  const Workers alone(workers.stop());  // the next round looks up keys at once
  for (auto& part : groups_) {
    if (part == nullptr) continue;
    all_->merge(*part, 0, alone);
    texts.absorb(part->take_texts());
    part.reset();
  }
  std::vector<VectorBuffer> buffers;
  for (const base::DataType& type : recursion_.output) buffers.emplace_back(physical_type(type));
  std::vector<Vector> columns(buffers.size());
  Selection selection;
  for (uint32_t first = before; first < all_->groups(); first += kVectorRows) {
    workers.stop().check();
    const uint32_t count = std::min(kVectorRows, all_->groups() - first);
    all_->read(first, count, &buffers, &columns);
    select_all(count, &selection);
    rows_.append(columns, selection);
  }
  return texts;
}

QueryHeap RecursionRows::take_texts() {
  QueryHeap texts = rows_.take_texts();
  if (all_ != nullptr) texts.absorb(all_->take_texts());
  return texts;
}

void WorkingReads::visit(const Operator& op, uint32_t step) {
  if (step != 0) steps_[&op] = step;
  path_.push_back(&op);
  if (op.kind == OperatorKind::kWorkingRows) {
    std::unordered_set<const Operator*>& readers = readers_[op.recursion];
    auto at = path_.rbegin();
    while (at != path_.rend() &&
           ((*at)->kind != OperatorKind::kRecursion || (*at)->recursion != op.recursion)) {
      readers.insert(*at++);
    }
    if (at == path_.rend()) {
      fail_query(base::ErrorCode::kUnsupported, "a plan has working rows outside of a recursion");
    }
  }
  const bool recurs = op.kind == OperatorKind::kRecursion;
  if (recurs) readers_[op.recursion];
  for (size_t i = 0; i < op.children.size(); ++i) {
    visit(*op.children[i], recurs && i == 1 ? op.recursion : step);
  }
  path_.pop_back();
}

// One that stands more than once in the plan: its rows are kept, as those of one round.
Task PlanRunner::run_recursion(const Operator& op, const StageFactory& sink) {
  const std::optional<size_t> repeated = repeated_->number_of(op);
  if (!repeated.has_value()) co_return co_await run_rounds(op, sink);
  std::unique_ptr<RecursionRows>& kept = repeated_rows_[*repeated].recursion;
  if (kept == nullptr) {
    auto rows = std::make_unique<RecursionRows>(op, context_.limits(), context_.arena->threads(),
                                                /*distinct=*/false);
    co_await run_rounds(op, rows->collect());
    const MeterScope scope(context_.meter, op);
    keep_texts(rows->end_round(workers_));
    kept = std::move(rows);
  } else {
    say_shared(op, "the rows of an equal recursion of the plan");
  }
  run_stored(op, kept->rows(), kept->order(), sink);
}

Task PlanRunner::run_rounds(const Operator& op, const StageFactory& sink) {
  RecursionRows rows(op, context_.limits(), context_.arena->threads(), !op.expressions.empty());
  std::atomic<bool> enough{false};
  SharedChains chains(context_.arena->threads(), sink);
  const StageFactory chain = chains.factory();
  const StageFactory deliver = [&](uint32_t worker) {
    return std::make_unique<WantStage>(&enough, chain(worker));
  };
  const StageFactory collect = rows.collect();
  working_[op.recursion] = &rows;
  size_t kept_bytes = 0;
  co_await run(*op.children[0], collect);
  while (true) {
    {
      const MeterScope scope(context_.meter, op);
      keep_texts(rows.end_round(workers_));
    }
    if (rows.order().empty()) break;
    kept_bytes = std::max(kept_bytes, rows.kept_bytes());
    if (context_.meter != nullptr) ++context_.meter->once(op).rounds;
    run_stored(op, rows.rows(), rows.order(), deliver);
    // relaxed: the pipeline has ended.
    if (enough.load(std::memory_order_relaxed)) break;
    context_.stop->check();
    forget_round(op.recursion);
    co_await run(*op.children[1], collect);
  }
  say_memory(op, kept_bytes);
  keep_texts(rows.take_texts());
  working_.erase(op.recursion);
  if (reads_->step_of(op) == 0) forget_tables();
}

void PlanRunner::run_working_rows(const Operator& op, const StageFactory& sink) {
  const RecursionRows& working = *working_.at(op.recursion);
  run_stored(op, working.rows(), working.order(), sink);
}

bool PlanRunner::is_kept_between_rounds(const Operator& join) const {
  const uint32_t step = reads_->step_of(join);
  return step != 0 && !reads_->reads(*join.children[1], step);
}

void PlanRunner::forget_round(uint32_t recursion) {
  for (const Operator* const op : reads_->readers(recursion)) {
    if (op->kind == OperatorKind::kHashJoin && reads_->reads(*op->children[1], recursion)) {
      forget_table(op);
    }
    const auto number = repeated_->number_of(*op);
    if (!number.has_value()) continue;
    RepeatedRows& rows = repeated_rows_[*number];
    if (rows.groups != nullptr) keep_texts(rows.groups->take_texts());
    rows = {};
  }
}

void PlanRunner::forget_table(const Operator* join) {
  const auto found = kept_tables_.find(join);
  if (found == kept_tables_.end()) return;
  if (found->second != nullptr) keep_texts(found->second->take_texts());
  kept_tables_.erase(found);
}

void PlanRunner::forget_tables() {
  while (!kept_tables_.empty()) forget_table(kept_tables_.begin()->first);
}

}  // namespace diptych::olap
