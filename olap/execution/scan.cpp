#include "olap/execution/scan.h"

#include <algorithm>

#include "base/check.h"
#include "olap/execution/leaf_filter.h"

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
                       const std::vector<ScanMorsel>& morsels, StagePtr next)
    : scan_(scan),
      needed_(needed),
      morsels_(morsels),
      next_(std::move(next)),
      predicates_(scan.predicates) {
  for (const ExpressionPtr& predicate : scan.predicates) {
    predicate_columns_.push_back(columns_read(*predicate));
  }
  buffers_.resize(scan.columns.size());
  loaded_.resize(scan.columns.size());
  for (const base::DataType& type : scan.output) {
    batch_.columns.emplace_back().type = physical_type(type);
  }
  batch_.selection = &selection_;
}

bool ScanSource::run(uint64_t morsel) {
  const ScanMorsel& range = morsels_[morsel];
  const uint32_t end = range.first + range.count;
  for (uint32_t first = range.first; first < end; first += kVectorRows) {
    if (!run_vector(*range.leaf, first, std::min(kVectorRows, end - first))) return false;
  }
  return true;
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
  for (uint32_t column = 0; column < scan_.columns.size(); ++column) {
    if (needed_[column]) load(column, leaf, first, count);
  }
  return next_->push(batch_);
}

void ScanSource::load(uint32_t column, const storage::Leaf& leaf, uint32_t first, uint32_t count) {
  if (loaded_[column]) return;
  loaded_[column] = true;
  storage::DecodeBuffer& buffer = buffers_[column];
  const storage::ColumnView view = leaf.column(scan_.columns[column], first, count, &buffer);
  DIPTYCH_DCHECK(view.count >= count, "a leaf gives the values that were asked for");
  Vector& vector = batch_.columns[column];
  vector.type = physical_type(scan_.output[column]);
  vector.values = view.values;
  vector.nulls = view.nulls;
  const bool decoded = !buffer.values.empty() && view.values == buffer.values.data();
  vector.string_life = decoded ? StringLife::kBatch : StringLife::kQuery;
}

}  // namespace diptych::olap
