// A recursion (kRecursion) runs in rounds, each over the rows of the round before.
//
//   first ──► round 1 ─┬─► sink
//              step ◄──┘ kWorkingRows
//               └─► round 2 ─┬─► sink ...
//
// A round's rows are kept until the next round is complete. UNION keeps all rows in a table of
// groups without aggregates: each worker's rows of a round go into a table of its own, and the rows
// that are new when these are merged form the round.
//
// Parts of a step that do not depend on the round before are computed once (PlanRunner): tables of
// joins whose build side reads no working rows, and repeated operators.
//
// Stopping   a sink that wants no more rows ends the recursion. LIMIT counts over all workers, so
//            one such sink speaks for all of them.
// Threads    each stage of collect() has one worker; the caller does the rest between pipelines.

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
  // `distinct`: rows of earlier rounds are left out (UNION).
  RecursionRows(const Operator& recursion, const QueryLimits& limits, uint32_t workers,
                bool distinct);

  // Makes chains that take rows of the next round.
  StageFactory collect();
  // Ends a round: the collected rows become the last round's rows. Returns the texts to which rows
  // refer.
  QueryHeap end_round(const Workers& workers);

  // The rows of the last round.
  const ColumnStore& rows() const { return rows_; }
  const std::vector<uint32_t>& order() const { return order_; }  // the numbers of all these rows
  // Gives away the texts of all rounds' rows, if these are kept, when nobody reads them any more.
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
  std::vector<std::unique_ptr<Part>> parts_;         // by worker, for UNION ALL
  std::vector<std::unique_ptr<GroupTable>> groups_;  // by worker, for UNION
  std::unique_ptr<GroupTable> all_;                  // UNION: the rows of all rounds
  ColumnStore rows_;
  std::vector<uint32_t> order_;
  MemoryCharge charge_;  // of rows_ and order_
};

// WorkingReads: finds the operators of a plan that read the working rows of each recursion.
class WorkingReads {
 public:
  explicit WorkingReads(const Operator& root) { visit(root, 0); }

  // The innermost recursion in whose step the operator stands; 0: none.
  uint32_t step_of(const Operator& op) const {
    const auto found = steps_.find(&op);
    return found == steps_.end() ? 0 : found->second;
  }
  bool reads(const Operator& op, uint32_t recursion) const {
    const auto found = readers_.find(recursion);
    return found != readers_.end() && found->second.contains(&op);
  }
  // The operators of the recursion's step whose subtrees read its working rows.
  const std::unordered_set<const Operator*>& readers(uint32_t recursion) const {
    return readers_.at(recursion);
  }

 private:
  void visit(const Operator& op, uint32_t step);

  std::vector<const Operator*> path_;  // used while the object is built
  std::unordered_map<const Operator*, uint32_t> steps_;
  std::unordered_map<uint32_t, std::unordered_set<const Operator*>> readers_;
};

}  // namespace diptych::olap
