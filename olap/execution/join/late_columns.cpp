#include "olap/execution/join/late_columns.h"

#include <utility>

namespace diptych::olap {

ColumnPath::ColumnPath(PhysicalType type, std::vector<Step> steps)
    : type_(type), steps_(std::move(steps)) {
  if (steps_.size() > 1) rows_.resize(kVectorRows);
}

Vector ColumnPath::gather(const uint32_t* rows, const Selection& selection, VectorBuffer* results) {
  if (steps_.empty()) {
    for_selected(selection, [&](uint32_t slot) { set_bit(results->nulls(), slot); });
    return results->view_with_nulls();
  }
  for (size_t i = 0; i + 1 < steps_.size(); ++i) {
    const auto* const numbers = steps_[i].rows->values<uint32_t>(steps_[i].column);
    for (uint32_t k = 0; k < selection.count; ++k) {
      const uint32_t row = rows[k];
      rows_[k] = row == ColumnStore::kNoRow ? row : numbers[row];
    }
    rows = rows_.data();
  }
  return steps_.back().rows->gather(steps_.back().column, rows, selection, results);
}

LateColumnsStage::LateColumnsStage(std::vector<Source> sources, StagePtr next)
    : sources_(std::move(sources)), next_(std::move(next)), rows_(kVectorRows) {
  for (const Source& source : sources_) buffers_.emplace_back(source.path.type());
}

bool LateColumnsStage::push(Batch& batch) {
  output_ = batch;  // the numbers stay in the other one, whose rows may be pushed again
  const Selection& selection = *batch.selection;
  const uint32_t* numbers = nullptr;
  for (size_t i = 0; i < sources_.size(); ++i) {
    auto& [column, path] = sources_[i];
    const Vector& late = batch.columns[column];
    if (late.as<uint32_t>() != numbers) {
      numbers = late.as<uint32_t>();
      for_numbered(selection, [&](uint32_t k, uint32_t slot) { rows_[k] = numbers[slot]; });
    }
    output_.columns[column] = path.gather(rows_.data(), selection, &buffers_[i]);
  }
  return next_->push(output_);
}

}  // namespace diptych::olap
