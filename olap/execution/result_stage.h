// ResultStage: the sink of a query: its rows into the chunks of a ResultTable, column by column.
//
// Threads    a stage and its part belong to one worker; PlanRunner puts the parts together.

#pragma once

#include <memory>
#include <vector>

#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/result_table.h"

namespace diptych::olap {

// What one worker has of the result.
class ResultPart {
 public:
  explicit ResultPart(MemoryBudget* memory) : charge_(memory, "the result") {}

  // The selected rows of the first columns, which have these types.
  void append(const std::vector<base::DataType>& types, const Batch& batch);
  std::vector<ResultChunk> take() { return std::move(chunks_); }
  // Of what was taken: counted until the hold goes.
  MemoryHold hand_over() { return charge_.hand_over(); }

 private:
  std::vector<ResultChunk> chunks_;  // the last one is being filled
  size_t bytes_done_ = 0;            // of all but the last
  MemoryCharge charge_;
};

class ResultStage : public Stage {
 public:
  // Both outlive this.
  ResultStage(const std::vector<base::DataType>& types, ResultPart* part)
      : types_(types), part_(part) {}
  bool push(Batch& batch) override {
    part_->append(types_, batch);
    return true;
  }

 private:
  const std::vector<base::DataType>& types_;
  ResultPart* part_;
};

}  // namespace diptych::olap
