#include "olap/execution/expand.h"

#include <algorithm>

namespace diptych::olap {

ExpandStage::ExpandStage(const Operator& expand, StagePtr next)
    : expand_(expand), next_(std::move(next)), numbers_(PhysicalType::kInt64) {
  std::fill_n(all_null_, kVectorWords, ~uint64_t{0});
}

bool ExpandStage::push(Batch& batch) {
  output_.selection = batch.selection;
  for (size_t set = 0; set < expand_.grouping_sets.size(); ++set) {
    const std::vector<bool>& has = expand_.grouping_sets[set];
    output_.columns = batch.columns;
    for (size_t c = 0; c < has.size(); ++c) {
      if (!has[c] && output_.columns[c].values != nullptr) output_.columns[c].nulls = all_null_;
    }
    std::fill_n(numbers_.values<int64_t>(), batch.selection->slots, static_cast<int64_t>(set));
    output_.columns.push_back(numbers_.view());
    if (!next_->push(output_)) return false;
  }
  return true;
}

}  // namespace diptych::olap
