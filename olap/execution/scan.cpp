#include "olap/execution/scan.h"

#include <algorithm>

#include "olap/execution/leaf_filter.h"
#include "olap/execution/read_ahead.h"

namespace diptych::olap {

std::vector<ScanMorsel> scan_morsels(const Operator& scan, const storage::Table& table,
                                     ScanLeaves* leaves) {
  const LeafFilter filter(scan);
  std::vector<ScanMorsel> morsels;
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    const storage::Partition& partition = table.partition(base::PartitionId(p));
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      const storage::Leaf& leaf = partition.leaf(l);
      if (leaf.live_rows() == 0) continue;
      const bool skipped = !filter.may_match(leaf);
      if (leaves != nullptr) {
        ++leaves->with_rows;
        leaves->skipped += static_cast<uint64_t>(skipped);
      }
      if (skipped) continue;
      for (uint32_t first = 0; first < leaf.row_slots(); first += kMorselRows) {
        morsels.push_back({&leaf, first, std::min(kMorselRows, leaf.row_slots() - first)});
      }
    }
  }
  return morsels;
}

ScanSource::ScanSource(const Operator& scan, const std::vector<bool>& needed,
                       const std::vector<ScanMorsel>& morsels, ReadAhead* ahead, StagePtr next)
    : needed_(needed),
      morsels_(morsels),
      ahead_(ahead),
      next_(std::move(next)),
      predicates_(scan.predicates),
      columns_(scan.columns, scan.output) {
  for (const ExpressionPtr& predicate : scan.predicates) {
    predicate_columns_.push_back(columns_read(*predicate));
  }
  columns_.batch().selection = &selection_;
}

bool ScanSource::run(uint64_t morsel) {
  const ScanMorsel& range = morsels_[morsel];
  ahead_->reach(morsel);
  const uint32_t end = range.first + range.count;
  bool wants_more = true;
  for (uint32_t first = range.first; wants_more && first < end; first += kVectorRows) {
    wants_more = run_vector(*range.leaf, first, std::min(kVectorRows, end - first));
  }
  columns_.unpin();
  return wants_more;
}

bool ScanSource::run_vector(const storage::Leaf& leaf, uint32_t first, uint32_t count) {
  columns_.start(leaf, first, count);
  select_live(leaf, first, count, &selection_);
  for (size_t i = 0; i < predicates_.size() && selection_.count != 0; ++i) {
    for (const uint32_t column : predicate_columns_[i]) columns_.load(column);
    predicates_.narrow(i, columns_.batch(), &selection_);
  }
  if (selection_.count == 0) return true;
  ahead_->note_output();
  for (uint32_t column = 0; column < columns_.count(); ++column) {
    if (needed_[column]) columns_.load(column);
  }
  return next_->push(columns_.batch());
}

}  // namespace diptych::olap
