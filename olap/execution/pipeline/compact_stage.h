// CompactStage: merges sparse batches into full ones, because the next operators also take time for
// each batch (Qiao and Zhang, "Data Chunk Compaction in Vectorized Execution", SIGMOD'25).
//
// Rows stay in order. Batches with more rows pass unchanged; so do batches whose texts have the
// batch's lifetime, and batches of wide rows. The first rows are pushed at once, then twice as many
// each time, so that little more than needed is read if a LIMIT has enough rows.
//
// Memory     kRowBytesMax for each row of a full batch, not charged.
// Threads    one worker.

#pragma once

#include <span>
#include <vector>

#include "olap/execution/pipeline/pipeline.h"

namespace diptych::olap {

class CompactStage : public Stage {
 public:
  // Batches have columns of these types; the next operators read those that are `needed`.
  CompactStage(std::span<const base::DataType> types, const std::vector<bool>& needed,
               StagePtr next);

  // Benchmark: BM_ProbeItems.
  bool push(Batch& batch) override;
  // Pushes the rows that are still kept.
  bool flush();

 private:
  // For batches with more rows, a copy does not pay.
  static constexpr uint32_t kRowsMax = kVectorRows / 4;
  // A worker may have kScansMax such stages at a time.
  static constexpr size_t kRowBytesMax = 128;

  bool takes(const Batch& batch) const;
  void append(const Batch& batch);

  StagePtr next_;
  const bool pays_;
  std::vector<uint32_t> columns_;      // the needed columns
  std::vector<VectorBuffer> buffers_;  // one for each needed column
  uint32_t rows_ = 0;
  uint32_t rows_wanted_ = 1;  // number of rows at which they are pushed
  Batch kept_;
  Selection all_;
};

}  // namespace diptych::olap
