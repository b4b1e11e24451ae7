#include "olap/execution/sort/sort.h"

#include <algorithm>
#include <utility>

#include "olap/execution/expression/comparison_kernels.h"
#include "olap/execution/sort/sorted_rows.h"

namespace diptych::olap {

namespace {

constexpr uint64_t kTopRowsMax = 64 * 1024;  // above, a LIMIT sorts everything
constexpr uint64_t kSlackRows = 8 * kVectorRows;

}  // namespace

uint64_t rows_wanted(const Operator& sort) {
  uint64_t wanted;
  return __builtin_add_overflow(sort.limit, sort.offset, &wanted) ? kNoLimit : wanted;
}

bool keeps_best_rows(const Operator& sort) {
  return rows_wanted(sort) <= kTopRowsMax;
}

SortPart::SortPart(const RunContext& context, const Operator& sort, const NeededColumns& needed,
                   TopBound* top)
    : sort_(sort),
      needed_(needed.of(sort)),
      wanted_(rows_wanted(sort)),
      rows_(sort.children[0]->output, needed_),
      top_(top),
      stop_(*context.stop),
      charge_(context.memory, "the rows of a sort") {}

void SortPart::append(const Batch& batch) {
  const Selection& rows = may_be_best(batch);
  if (rows.count == 0) return;
  rows_.append(batch.columns, rows);
  if (keeps_best_rows(sort_) && rows_.row_count() >= wanted_ * 2 + kSlackRows) drop_worst();
  charge_.set(rows_.memory_bytes());
}

QueryHeap SortPart::take_texts() {
  QueryHeap texts = rows_.take_texts();
  charge_.set(rows_.memory_bytes());
  return texts;
}

const Selection& SortPart::may_be_best(const Batch& batch) {
  const Selection& rows = *batch.selection;
  if (!worst_) return rows;
  const SortKey& key = sort_.sort_keys[0];
  if (rows_.is_null(key.column, *worst_)) return rows;
  const Vector& vector = batch.columns[key.column];
  uint64_t best[kVectorWords];
  with_physical_type(vector.type, [&](auto type) {
    using T = decltype(type);
    const T* const values = vector.as<T>();
    const T worst = rows_.values<T>(key.column)[*worst_];
    if (key.descending) {
      compare_values<LessComparison, true>(values, &worst, rows, vector.nulls, best);
      for (uint32_t w = 0; w < words_of(rows.slots); ++w) best[w] = ~best[w];
    } else {
      compare_values<LessEqualComparison, true>(values, &worst, rows, vector.nulls, best);
    }
  });
  for (uint32_t w = 0; w < words_of(rows.slots); ++w) {
    const uint64_t nulls = vector.nulls == nullptr ? 0 : vector.nulls[w];
    best[w] = rows.bits[w] & (key.nulls_first ? best[w] | nulls : best[w] & ~nulls);
  }
  select_bits(best, rows.slots, &may_be_best_);
  return may_be_best_;
}

// Keeps the rows wanted, in their order of arrival, so that the sort stays stable.
void SortPart::drop_worst() {
  std::vector<uint32_t> best = sorted_rows(rows_, sort_.sort_keys, wanted_, Workers(stop_));
  const uint32_t worst = best.empty() ? 0 : best.back();
  std::sort(best.begin(), best.end());
  if (!best.empty() && !sort_.sort_keys.empty()) {
    const auto place = std::lower_bound(best.begin(), best.end(), worst) - best.begin();
    worst_ = static_cast<size_t>(place);
  }
  ColumnStore kept(sort_.children[0]->output, needed_);
  kept.append_rows(rows_, best);
  rows_ = std::move(kept);
  if (top_ != nullptr && worst_) top_->tighten(rows_, *worst_);
}

StoredSource::StoredSource(const ColumnStore& rows, const std::vector<uint32_t>& order,
                           uint64_t first, StagePtr next)
    : rows_(rows), order_(order), first_(first), next_(std::move(next)) {
  for (size_t c = 0; c < rows.column_count(); ++c) buffers_.emplace_back(rows.type(c));
  batch_.columns.resize(rows.column_count());
  batch_.selection = &selection_;
}

bool StoredSource::run(uint64_t morsel) {
  const uint64_t begin = first_ + morsel * kVectorRows;
  const uint64_t count = std::min<uint64_t>(kVectorRows, order_.size() - begin);
  select_all(static_cast<uint32_t>(count), &selection_);
  for (size_t c = 0; c < buffers_.size(); ++c) {
    batch_.columns[c] = rows_.gather(c, order_.data() + begin, selection_, &buffers_[c]);
  }
  return next_->push(batch_);
}

}  // namespace diptych::olap
