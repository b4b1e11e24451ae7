#include "olap/execution/scan/read_ahead.h"

#include <algorithm>
#include <bit>

#include "olap/execution/expression/expression.h"

namespace diptych::olap {

void ReadAhead::add(const Operator& scan, const std::vector<bool>& needed) {
  std::vector<bool> in_predicate(scan.columns.size());
  for (const ExpressionPtr& predicate : scan.predicates) {
    for (const uint32_t column : columns_read(*predicate)) in_predicate[column] = true;
  }
  Columns columns;
  for (size_t i = 0; i < scan.columns.size(); ++i) {
    if (in_predicate[i]) {
      columns.predicate.push_back(scan.columns[i]);
    } else if (needed[i]) {
      columns.output.push_back(scan.columns[i]);
    }
  }
  if (scan.predicates.empty()) note_output(scans_.size());
  scans_.push_back(std::move(columns));
}

bool ReadAhead::ask(const ScanMorsel& morsel) {
  const auto ask_for = [&](base::ColumnId column) { return morsel.leaf->read_ahead(column); };
  // relaxed: a hint.
  const uint64_t has_output = has_output_.load(std::memory_order_relaxed);
  for (uint64_t left = morsel.scans; left != 0; left &= left - 1) {
    const auto scan = static_cast<size_t>(std::countr_zero(left));
    if (!std::ranges::all_of(scans_[scan].predicate, ask_for)) return false;
    if ((has_output >> scan & 1) == 0) continue;
    if (!std::ranges::all_of(scans_[scan].output, ask_for)) return false;
  }
  return true;
}

void ReadAhead::reach(uint64_t morsel) {
  if (!is_needed_) return;
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  next_ = std::max<size_t>(next_, morsel);
  const size_t end = std::min<size_t>(morsels_.size(), morsel + 1 + kMorselsAhead);
  for (; next_ < end; ++next_) {
    const storage::Leaf* const leaf = morsels_[next_].leaf;
    if (leaf == asked_) continue;
    if (!ask(morsels_[next_])) return;
    asked_ = leaf;
  }
}

}  // namespace diptych::olap
