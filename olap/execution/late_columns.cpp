#include "olap/execution/late_columns.h"

#include <utility>

namespace diptych::olap {

LateColumnsStage::LateColumnsStage(std::span<const Source> sources, StagePtr next)
    : sources_(sources.begin(), sources.end()), next_(std::move(next)), rows_(kVectorRows) {
  for (const Source& source : sources_) {
    buffers_.emplace_back(source.rows->type(source.column.build_column));
  }
}

bool LateColumnsStage::push(Batch& batch) {
  output_ = batch;  // the numbers stay in the other one, whose rows may be pushed again
  const Selection& selection = *batch.selection;
  const ColumnStore* numbered = nullptr;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const auto& [late, store] = sources_[i];
    if (store != numbered) {
      const auto* const numbers = batch.columns[late.column].as<uint32_t>();
      for_numbered(selection, [&](uint32_t k, uint32_t slot) { rows_[k] = numbers[slot]; });
      numbered = store;
    }
    output_.columns[late.column] =
        store->gather(late.build_column, rows_.data(), selection, &buffers_[i]);
  }
  return next_->push(output_);
}

}  // namespace diptych::olap
