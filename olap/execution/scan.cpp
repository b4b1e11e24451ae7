#include "olap/execution/scan.h"

#include <algorithm>

#include "base/check.h"
#include "olap/execution/leaf_filter.h"
#include "olap/execution/query_failure.h"
#include "olap/execution/read_ahead.h"

namespace diptych::olap {

std::vector<ScanMorsel> scan_morsels(const Operator& scan, const storage::Table& table) {
  const LeafFilter filter(scan);
  std::vector<ScanMorsel> morsels;
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    const storage::Partition& partition = table.partition(base::PartitionId(p));
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      const storage::Leaf& leaf = partition.leaf(l);
      if (leaf.live_rows() == 0 || !filter.may_match(leaf)) continue;
      for (uint32_t first = 0; first < leaf.row_slots(); first += kMorselRows) {
        morsels.push_back({&leaf, first, std::min(kMorselRows, leaf.row_slots() - first)});
      }
    }
  }
  return morsels;
}

ScanSource::ScanSource(const Operator& scan, const std::vector<bool>& needed,
                       const std::vector<ScanMorsel>& morsels, ReadAhead* ahead, StagePtr next)
    : scan_(scan),
      needed_(needed),
      morsels_(morsels),
      ahead_(ahead),
      next_(std::move(next)),
      predicates_(scan.predicates) {
  for (const ExpressionPtr& predicate : scan.predicates) {
    predicate_columns_.push_back(columns_read(*predicate));
  }
  buffers_.resize(scan.columns.size());
  pinned_.resize(scan.columns.size());
  loaded_.resize(scan.columns.size());
  for (const base::DataType& type : scan.output) {
    batch_.columns.emplace_back().type = physical_type(type);
  }
  batch_.selection = &selection_;
}

bool ScanSource::run(uint64_t morsel) {
  const ScanMorsel& range = morsels_[morsel];
  ahead_->reach(morsel);
  const uint32_t end = range.first + range.count;
  bool wants_more = true;
  for (uint32_t first = range.first; wants_more && first < end; first += kVectorRows) {
    wants_more = run_vector(*range.leaf, first, std::min(kVectorRows, end - first));
  }
  for (auto& column : pinned_) column.reset();
  return wants_more;
}

const storage::PinnedColumn& ScanSource::pinned(uint32_t column, const storage::Leaf& leaf) {
  if (!pinned_[column]) {
    base::Result<storage::PinnedColumn> pinned = leaf.pin(scan_.columns[column]);
    if (!pinned.ok()) fail_query(pinned.code(), pinned.error().message);
    pinned_[column].emplace(std::move(*pinned));
  }
  return *pinned_[column];
}

bool ScanSource::run_vector(const storage::Leaf& leaf, uint32_t first, uint32_t count) {
  DIPTYCH_DCHECK(first % 64 == 0, "a vector starts at a word of the live bits");
  if (leaf.live_rows() == leaf.row_slots()) {
    select_all(count, &selection_);
  } else {
    select_bits(leaf.live_bits() + first / 64, count, &selection_);
  }
  std::fill(loaded_.begin(), loaded_.end(), false);
  for (size_t i = 0; i < predicates_.size() && selection_.count != 0; ++i) {
    for (const uint32_t column : predicate_columns_[i]) load(column, leaf, first, count);
    predicates_.narrow(i, batch_, &selection_);
  }
  if (selection_.count == 0) return true;
  ahead_->note_output();
  for (uint32_t column = 0; column < scan_.columns.size(); ++column) {
    if (needed_[column]) load(column, leaf, first, count);
  }
  return next_->push(batch_);
}

void ScanSource::load(uint32_t column, const storage::Leaf& leaf, uint32_t first, uint32_t count) {
  if (loaded_[column]) return;
  loaded_[column] = true;
  storage::DecodeBuffer& buffer = buffers_[column];
  const storage::PinnedColumn& source = pinned(column, leaf);
  const storage::ColumnView view = source.view(first, count, &buffer);
  DIPTYCH_DCHECK(view.count >= count, "a leaf gives the values that were asked for");
  Vector& vector = batch_.columns[column];
  vector.type = physical_type(scan_.output[column]);
  vector.values = view.values;
  vector.nulls = view.nulls;
  const bool decoded = !buffer.values.empty() && view.values == buffer.values.data();
  const bool stays = !decoded && source.stays();
  vector.string_life = stays ? StringLife::kQuery : StringLife::kBatch;
}

}  // namespace diptych::olap
