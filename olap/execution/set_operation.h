// Stages for UNION, INTERSECT and EXCEPT: they merge the rows of several inputs into one chain, and
// repeat rows.
//
// UNION ALL is kAppend. The other operations count how often each side has a distinct row (an
// aggregate over the appended sides), and repeat the row as often as the operation requires
// (kRepeat).
//
// Threads    SharedChains has a chain for each worker. Its pipelines run one after the other, so
//            that a chain has one user at a time. A RepeatStage has one worker.
// Stopping   RepeatStage checks the stop signal once a round, because it may multiply rows.

#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "olap/execution/pipeline/pipeline.h"

namespace diptych::olap {

// SharedChains: the sink's chains, made once for each worker and fed by several pipelines in turn.
class SharedChains {
 public:
  SharedChains(uint32_t workers, const StageFactory& sink) : sink_(sink), chains_(workers) {}

  // Makes stages that pass batches to the worker's chain. They must not outlive this object.
  StageFactory factory();

 private:
  const StageFactory& sink_;
  std::vector<StagePtr> chains_;  // by worker; made when first used
};

// RepeatStage: passes on the k-th repetitions of all rows of a batch as the k-th round. For few
// rows that are repeated often, it passes on several repetitions at a time.
class RepeatStage : public Stage {
 public:
  enum class Numbers : uint8_t { kUnread, kRead };  // of the repetitions, by an operator above

  RepeatStage(const RunContext& context, Numbers numbers, StagePtr next)
      : context_(context), next_(std::move(next)) {
    if (numbers == Numbers::kRead) numbers_.emplace(PhysicalType::kInt64);
  }
  bool push(Batch& batch) override;

 private:
  // For fewer copies, copying the rows does not pay.
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
