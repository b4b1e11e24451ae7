// For operators that keep all their rows: the stage that collects rows in a worker's part, and the
// source that reads them again, vector by vector, once the parts are combined.
//
// Threads    one worker for each stage or source; any number read the rows.

#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "olap/execution/pipeline/pipeline.h"
#include "olap/execution/vector/vector.h"

namespace diptych::olap {

// A Part has append(const Batch&).
template <class Part>
class CollectStage : public Stage {
 public:
  explicit CollectStage(Part* part) : part_(part) {}
  bool push(Batch& batch) override {
    part_->append(batch);
    return true;
  }

 private:
  Part* part_;
};

// Rows has rows(), the number of rows; make_buffers(), which makes one for each column; and
// read(first, selection, buffers, columns), which sets the columns to rows
// [first, first + selection.count).
template <class Rows>
class KeptRowsSource : public MorselSource {
 public:
  KeptRowsSource(const Rows& rows, StagePtr next)
      : rows_(rows), next_(std::move(next)), buffers_(rows.make_buffers()) {
    batch_.columns.resize(buffers_.size());
    batch_.selection = &selection_;
  }

  static uint64_t morsels(const Rows& rows) {
    return (rows.rows() + kVectorRows - 1) / kVectorRows;
  }

  bool run(uint64_t morsel) override {
    const uint64_t first = morsel * kVectorRows;
    const uint64_t count = std::min<uint64_t>(kVectorRows, rows_.rows() - first);
    select_all(static_cast<uint32_t>(count), &selection_);
    rows_.read(first, selection_, &buffers_, &batch_.columns);
    return next_->push(batch_);
  }

 private:
  const Rows& rows_;
  StagePtr next_;
  std::vector<VectorBuffer> buffers_;
  Batch batch_;
  Selection selection_;
};

}  // namespace diptych::olap
