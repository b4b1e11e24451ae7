// Late columns: those of a join's build side that nothing reads before operators above the join
// have dropped most of its rows. The join then leaves its build rows' numbers in the column's
// place, and values are gathered behind these operators.
//
//   LateColumnsStage   gathers n_name                      0.02 of the lines
//     join orders      where ascii(c_state) = su_nationkey
//       join nation    numbers in place of n_name          0.26 of the lines
//         scan
//
// A table that is built of such rows keeps the numbers, and so refers to the other table: values
// are found by a path from one to the next.
//
// Which columns are late: NeededColumns, by the planner's estimates of the rows. The operators in
// between keep rows in their slots and do not read the column (Abadi et al., "Materialization
// Strategies in a Column-Oriented DBMS", ICDE'07).
//
// Threads    one worker's.

#pragma once

#include <span>
#include <vector>

#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/vector/column_store.h"

namespace diptych::olap {

// From a join's build rows to a column's values. The stores outlive it.
class ColumnPath {
 public:
  struct Step {
    const ColumnStore* rows;
    uint32_t column;

    bool operator==(const Step&) const = default;
  };

  // Columns of numbers of the next step's rows, and of values of the type at last. No steps: there
  // are no rows but kNoRow.
  ColumnPath(PhysicalType type, std::vector<Step> steps);

  const Step& first() const { return steps_.front(); }
  bool has_values() const { return steps_.size() == 1; }
  void drop_first() { steps_.erase(steps_.begin()); }
  PhysicalType type() const { return type_; }

  // As ColumnStore's.
  Vector gather(const uint32_t* rows, const Selection& selection, VectorBuffer* results);

 private:
  PhysicalType type_;
  std::vector<Step> steps_;
  std::vector<uint32_t> rows_;  // of the last step
};

class LateColumnsStage : public Stage {
 public:
  struct Source {
    uint32_t column;  // has numbers
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
