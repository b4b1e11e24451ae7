// A recursion (kRecursion): rounds, each over the rows of the one before it.
//
//   first ──► round 1 ─┬─► sink
//              step ◄──┘ kWorkingRows
//               └─► round 2 ─┬─► sink ...
//
// A round's rows are kept until the next one's are there. UNION keeps all rows, in a table of
// groups without aggregates: a worker's rows of a round go into a table of its own, and what is new
// when these are merged is the round.
//
// What of a step does not hang on the round before is made once (PlanRunner): tables of joins whose
// build side reads no working rows, and what is repeated.
//
// Stopping   a sink that wants no more rows ends the recursion: LIMIT counts over all workers, so
//            one that says so speaks for them all.
// Threads    collect()'s stages have a worker each; the rest is the caller's, between pipelines.

#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "olap/execution/group/aggregate.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/threads/workers.h"
#include "olap/execution/vector/column_store.h"
#include "olap/plan.h"

namespace diptych::olap {

class RecursionRows {
 public:
  // `distinct`: no row of an earlier round comes again.
  RecursionRows(const Operator& recursion, const QueryLimits& limits, uint32_t workers,
                bool distinct);

  // Makes chains that take rows of the next round.
  StageFactory collect();
  // The next round's rows are the last one's from here on. Gives the texts that rows refer to.
  QueryHeap end_round(const Workers& workers);

  // Of the last round.
  const ColumnStore& rows() const { return rows_; }
  const std::vector<uint32_t>& order() const { return order_; }  // all of them
  // Of all rounds' rows, where they are kept, when nobody reads any.
  QueryHeap take_texts();

  size_t kept_bytes() const { return charge_.bytes() + (all_ ? all_->kept_bytes() : 0); }

 private:
  struct Part {
    Part(const Operator& recursion, MemoryBudget* memory)
        : rows(recursion.output), charge(memory, "the rows of a recursion") {}

    ColumnStore rows;
    MemoryCharge charge;
  };
  class PartStage;

  QueryHeap take_all(const Workers& workers);
  QueryHeap take_new(const Workers& workers);

  const Operator& recursion_;
  const QueryLimits limits_;
  std::vector<std::unique_ptr<Part>> parts_;         // by worker, of UNION ALL
  std::vector<std::unique_ptr<GroupTable>> groups_;  // by worker, of UNION
  std::unique_ptr<GroupTable> all_;                  // UNION: the rows of all rounds
  ColumnStore rows_;
  std::vector<uint32_t> order_;
  MemoryCharge charge_;  // of rows_ and order_
};

// Which operators of a plan read the rows of which recursion's round.
class WorkingReads {
 public:
  explicit WorkingReads(const Operator& root) { visit(root, 0); }

  // The recursion in whose step the operator stands, the innermost; 0: in none.
  uint32_t step_of(const Operator& op) const {
    const auto found = steps_.find(&op);
    return found == steps_.end() ? 0 : found->second;
  }
  bool reads(const Operator& op, uint32_t recursion) const {
    const auto found = readers_.find(recursion);
    return found != readers_.end() && found->second.contains(&op);
  }
  // Those in the step that have its working rows in them.
  const std::unordered_set<const Operator*>& readers(uint32_t recursion) const {
    return readers_.at(recursion);
  }

 private:
  void visit(const Operator& op, uint32_t step);

  std::vector<const Operator*> path_;  // while it is made
  std::unordered_map<const Operator*, uint32_t> steps_;
  std::unordered_map<uint32_t, std::unordered_set<const Operator*>> readers_;
};

}  // namespace diptych::olap
