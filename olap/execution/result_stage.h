// ResultStage: the sink of a query, which copies rows into the chunks of a ResultTable, column by
// column.
//
// Threads    a stage and its part belong to one worker; PlanRunner combines the parts.

#pragma once

#include <vector>

#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/pipeline/pipeline.h"
#include "olap/result_table.h"

namespace diptych::olap {

// ResultPart: one worker's part of the result.
class ResultPart {
 public:
  explicit ResultPart(MemoryBudget* memory) : charge_(memory, "the result") {}

  // Appends the selected rows of the first columns, which have these types.
  void append(const std::vector<base::DataType>& types, const Batch& batch);
  std::vector<ResultChunk> take() { return std::move(chunks_); }
  // The memory of the chunks that were taken stays counted until the hold is gone.
  MemoryHold hand_over() { return charge_.hand_over(); }

 private:
  std::vector<ResultChunk> chunks_;  // the last one is being filled
  size_t bytes_done_ = 0;            // size of all chunks but the last
  MemoryCharge charge_;
};

class ResultStage : public Stage {
 public:
  // Both arguments outlive the stage.
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
