// Late columns: those of a join's build side that nothing reads before operators above the join
// have dropped most of its rows. The join then leaves its build rows' numbers in the column's
// place, and values are gathered behind these operators.
//
//   LateColumnsStage   gathers n_name                      0.02 of the lines
//     join orders      where ascii(c_state) = su_nationkey
//       join nation    numbers in place of n_name          0.26 of the lines
//         scan
//
// Which columns are late: NeededColumns, by the planner's estimates of the rows. The operators in
// between keep rows in their slots and do not read the column (Abadi et al., "Materialization
// Strategies in a Column-Oriented DBMS", ICDE'07).
//
// Threads    one worker's.

#pragma once

#include <span>
#include <vector>

#include "olap/execution/column_store.h"
#include "olap/execution/needed_columns.h"
#include "olap/execution/pipeline.h"

namespace diptych::olap {

class LateColumnsStage : public Stage {
 public:
  // A column, and where its values are. The stores outlive this.
  struct Source {
    LateColumn column;
    const ColumnStore* rows;
  };

  LateColumnsStage(std::span<const Source> sources, StagePtr next);

  // Benchmark: BM_LateColumns.
  bool push(Batch& batch) override;

 private:
  const std::vector<Source> sources_;  // those of a join follow each other
  StagePtr next_;
  std::vector<VectorBuffer> buffers_;  // by source
  std::vector<uint32_t> rows_;
  Batch output_;
};

}  // namespace diptych::olap
