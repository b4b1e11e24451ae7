// CompactStage: puts the rows of batches of which few are selected together into full ones, since
// what comes next takes its time for each batch, too (Qiao and Zhang, "Data Chunk Compaction in
// Vectorized Execution", SIGMOD'25).
//
// Rows stay in order. Batches that have more rows pass as they are; so do those with texts that go
// with the batch, and rows of many bytes. The first rows are pushed at once, then twice as many
// each time: where a LIMIT has enough of them, not much more was read.
//
// Memory     kRowBytesMax a row of a full batch, charged to nobody.
// Threads    one worker's.

#pragma once

#include <span>
#include <vector>

#include "olap/execution/pipeline/pipeline.h"

namespace diptych::olap {

class CompactStage : public Stage {
 public:
  // Batches of these types, of which what comes next reads the columns that are `needed`.
  CompactStage(std::span<const base::DataType> types, const std::vector<bool>& needed,
               StagePtr next);

  // Benchmark: BM_ProbeItems.
  bool push(Batch& batch) override;
  // Pushes what is still here.
  bool flush();

 private:
  // Batches of more rows are not worth a copy.
  static constexpr uint32_t kRowsMax = kVectorRows / 4;
  // A worker may have kScansMax of these at a time.
  static constexpr size_t kRowBytesMax = 128;

  bool takes(const Batch& batch) const;
  void append(const Batch& batch);

  StagePtr next_;
  const bool pays_;
  std::vector<uint32_t> columns_;      // that are needed
  std::vector<VectorBuffer> buffers_;  // of them
  uint32_t rows_ = 0;
  uint32_t rows_wanted_ = 1;  // before they are pushed
  Batch kept_;
  Selection all_;
};

}  // namespace diptych::olap
