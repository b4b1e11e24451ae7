#include "olap/execution/read_ahead.h"

#include <algorithm>

#include "olap/execution/expression.h"

namespace diptych::olap {

ReadAhead::ReadAhead(const Operator& scan, const std::vector<bool>& needed,
                     const std::vector<ScanMorsel>& morsels, bool replica_leaves_memory)
    : morsels_(morsels), is_needed_(replica_leaves_memory), has_output_(scan.predicates.empty()) {
  std::vector<bool> in_predicate(scan.columns.size());
  for (const ExpressionPtr& predicate : scan.predicates) {
    for (const uint32_t column : columns_read(*predicate)) in_predicate[column] = true;
  }
  for (size_t i = 0; i < scan.columns.size(); ++i) {
    if (in_predicate[i]) {
      predicate_columns_.push_back(scan.columns[i]);
    } else if (needed[i]) {
      output_columns_.push_back(scan.columns[i]);
    }
  }
}

bool ReadAhead::ask(const storage::Leaf& leaf) {
  const auto ask_for = [&](base::ColumnId column) { return leaf.read_ahead(column); };
  if (!std::ranges::all_of(predicate_columns_, ask_for)) return false;
  // relaxed: a hint.
  return !has_output_.load(std::memory_order_relaxed) ||
         std::ranges::all_of(output_columns_, ask_for);
}

void ReadAhead::reach(uint64_t morsel) {
  if (!is_needed_) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  next_ = std::max<size_t>(next_, morsel + 1);
  const size_t end = std::min<size_t>(morsels_.size(), morsel + 1 + kMorselsAhead);
  for (; next_ < end; ++next_) {
    const storage::Leaf* const leaf = morsels_[next_].leaf;
    if (next_ > 0 && morsels_[next_ - 1].leaf == leaf) continue;
    if (!ask(*leaf)) return;
  }
}

}  // namespace diptych::olap
