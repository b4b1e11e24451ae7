// Late columns: build columns of a join that no operator reads before operators above the join have
// dropped most of its rows. The join outputs the numbers of build rows in their place, and the
// values are gathered behind these operators.
//
//   LateColumnsStage   gathers n_name                      0.02 of the lines
//     join orders      where ascii(c_state) = su_nationkey
//       join nation    numbers in place of n_name          0.26 of the lines
//         scan
//
// If such rows are the build side of another join, its table keeps the numbers and so refers to the
// first table. A path of references then leads to the values.
//
// NeededColumns decides which columns are late, by the planner's estimates. The operators in
// between keep rows in their slots and do not read the column (Abadi et al., "Materialization
// Strategies in a Column-Oriented DBMS", ICDE'07).
//
// Threads    one worker.

#pragma once

#include <vector>

#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/vector/column_store.h"

namespace diptych::olap {

// ColumnPath: the path from a join's build rows to a column's values. The stores outlive it.
class ColumnPath {
 public:
  struct Step {
    const ColumnStore* rows;
    uint32_t column;

    bool operator==(const Step&) const = default;
  };

  // Each step's column holds row numbers of the next step's store; the last one holds values of the
  // type. Without steps, all rows are kNoRow.
  ColumnPath(PhysicalType type, std::vector<Step> steps);

  const Step& first() const { return steps_.front(); }
  bool has_values() const { return steps_.size() == 1; }
  void drop_first() { steps_.erase(steps_.begin()); }
  PhysicalType type() const { return type_; }

  // As ColumnStore::gather().
  Vector gather(const uint32_t* rows, const Selection& selection, VectorBuffer* results);

 private:
  PhysicalType type_;
  std::vector<Step> steps_;
  std::vector<uint32_t> rows_;  // row numbers in the last step's store
};

class LateColumnsStage : public Stage {
 public:
  struct Source {
    uint32_t column;  // holds row numbers
    ColumnPath path;
  };

  LateColumnsStage(std::vector<Source> sources, StagePtr next);

  // Benchmark: BM_LateColumns.
  bool push(Batch& batch) override;

 private:
  std::vector<Source> sources_;
  StagePtr next_;
  std::vector<VectorBuffer> buffers_;  // by source
  std::vector<uint32_t> rows_;
  Batch output_;
};

}  // namespace diptych::olap
