#include "olap/execution/set_operation.h"

#include "base/check.h"

namespace diptych::olap {

namespace {

class RelayStage : public Stage {
 public:
  explicit RelayStage(Stage* chain) : chain_(chain) {}
  bool push(Batch& batch) override { return chain_->push(batch); }

 private:
  Stage* chain_;
};

}  // namespace

StageFactory SharedChains::factory() {
  return [this](uint32_t worker) -> StagePtr {
    StagePtr& chain = chains_[worker];
    if (chain == nullptr) chain = sink_(worker);
    return std::make_unique<RelayStage>(chain.get());
  };
}

bool RepeatStage::push(Batch& batch) {
  const Vector counts = batch.columns.back();
  DIPTYCH_CHECK(counts.type == PhysicalType::kInt64, "rows are repeated a BIGINT of times");
  const Selection* const before = batch.selection;
  batch.columns.pop_back();
  batch.selection = &selection_;
  selection_ = *before;
  bool more = true;
  for (int64_t round = 0; more; ++round) {
    uint64_t bits[kVectorWords] = {};
    for_selected(selection_, [&](uint32_t slot) {
      if (!counts.is_null(slot) && counts.as<int64_t>()[slot] > round) set_bit(bits, slot);
    });
    select_bits(bits, before->slots, &selection_);
    if (selection_.count == 0) break;
    context_.stop->check();
    more = next_->push(batch);
  }
  batch.columns.push_back(counts);
  batch.selection = before;
  return more;
}

}  // namespace diptych::olap
