// What UNION, INTERSECT and EXCEPT need beyond aggregation: rows of several inputs into one chain,
// and rows that come several times.
//
// UNION ALL is kAppend. The others count, by distinct row, how often each side has it (an
// aggregate over the appended sides), and repeat the row as often as the operation says (kRepeat).
//
// Threads    SharedChains: chains by worker; its pipelines run one after the other, so that a chain
//            has one user at a time. A RepeatStage has one worker.
// Stopping   RepeatStage looks at the stop flag once a round: it may multiply rows.

#pragma once

#include <cstdint>
#include <vector>

#include "olap/execution/pipeline/pipeline.h"

namespace diptych::olap {

// The sink's chains, made once per worker and fed by several pipelines in turn.
class SharedChains {
 public:
  SharedChains(uint32_t workers, const StageFactory& sink) : sink_(sink), chains_(workers) {}

  // Makes stages that pass batches on to the worker's chain. Must not outlive this.
  StageFactory factory();

 private:
  const StageFactory& sink_;
  std::vector<StagePtr> chains_;  // by worker; made when first used
};

// Passes on the k-th repetitions of all rows of a batch as its k-th round; of few rows that are
// repeated often, several repetitions at a time. `numbers`: somebody reads which one a row is.
class RepeatStage : public Stage {
 public:
  RepeatStage(const RunContext& context, bool numbers, StagePtr next)
      : context_(context), next_(std::move(next)) {
    if (numbers) numbers_.emplace(PhysicalType::kInt64);
  }
  bool push(Batch& batch) override;

 private:
  // Of fewer, a copy of the rows does not pay.
  static constexpr uint32_t kCopiesMin = 4;

  void lay_out_copies(const Batch& batch, uint32_t copies);
  bool push_rounds(Batch& batch, uint32_t slots, uint32_t copies, int64_t least);

  const RunContext& context_;
  StagePtr next_;
  std::optional<VectorBuffer> numbers_;
  std::vector<VectorBuffer> buffers_;
  Batch copies_;
  Selection all_;
  Selection selection_;
};

}  // namespace diptych::olap
