#include "olap/execution/pipeline/compact_stage.h"

#include <algorithm>

namespace diptych::olap {

namespace {

size_t row_bytes(std::span<const base::DataType> types, const std::vector<bool>& needed) {
  size_t bytes = 0;
  for (size_t c = 0; c < types.size(); ++c) {
    if (needed[c]) bytes += physical_bytes(physical_type(types[c]));
  }
  return bytes;
}

}  // namespace

CompactStage::CompactStage(std::span<const base::DataType> types, const std::vector<bool>& needed,
                           StagePtr next)
    : next_(std::move(next)), pays_(row_bytes(types, needed) <= kRowBytesMax) {
  if (!pays_) return;
  kept_.selection = &all_;
  for (uint32_t c = 0; c < types.size(); ++c) {
    kept_.columns.emplace_back().type = physical_type(types[c]);
    if (!needed[c]) continue;
    columns_.push_back(c);
    buffers_.emplace_back(kept_.columns[c].type);
    kept_.columns[c].values = buffers_.back().view().values;
  }
}

bool CompactStage::push(Batch& batch) {
  const bool is_taken = takes(batch);
  const bool is_full = rows_ + batch.selection->count > kVectorRows;
  if ((!is_taken || is_full) && !flush()) return false;
  if (!is_taken) return next_->push(batch);
  append(batch);
  return rows_ < rows_wanted_ || flush();
}

bool CompactStage::flush() {
  if (rows_ == 0) return true;
  select_all(rows_, &all_);
  rows_ = 0;
  rows_wanted_ = std::min(rows_wanted_ * 2, kVectorRows);
  const bool more = next_->push(kept_);
  for (const uint32_t c : columns_) kept_.columns[c].nulls = nullptr;
  return more;
}

bool CompactStage::takes(const Batch& batch) const {
  if (!pays_ || batch.selection->count > kRowsMax) return false;
  return std::all_of(columns_.begin(), columns_.end(), [&](uint32_t c) {
    const Vector& column = batch.columns[c];
    return column.type != PhysicalType::kString || column.string_life == StringLife::kQuery;
  });
}

void CompactStage::append(const Batch& batch) {
  const Selection& rows = *batch.selection;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const Vector& column = batch.columns[columns_[i]];
    Vector& kept = kept_.columns[columns_[i]];
    with_physical_type(column.type, [&](auto value) {
      using T = decltype(value);
      const T* const from = column.as<T>();
      T* const to = buffers_[i].values<T>() + rows_;
      for_numbered(rows, [&](uint32_t k, uint32_t slot) { to[k] = from[slot]; });
    });
    if (column.nulls == nullptr) continue;
    if (kept.nulls == nullptr) {
      buffers_[i].clear_nulls();
      kept.nulls = buffers_[i].nulls();
    }
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      if (bit_at(column.nulls, slot)) set_bit(buffers_[i].nulls(), rows_ + k);
    });
  }
  rows_ += rows.count;
}

}  // namespace diptych::olap
