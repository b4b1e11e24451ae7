#include "olap/execution/join_filter.h"

#include <algorithm>

namespace diptych::olap {

namespace {

bool drops_unmatched(JoinKind kind) {
  return kind == JoinKind::kInner || kind == JoinKind::kSemi || keeps_build_rows(kind);
}

bool is_column(const ExpressionPtr& key) {
  return key->kind == ExpressionKind::kColumn;
}

}  // namespace

const Operator* filtered_scan(const Operator& join) {
  if (!drops_unmatched(join.join)) return nullptr;
  const Operator* below = join.children[0].get();
  const Operator* const first = below;
  while (below->kind != OperatorKind::kScan) {
    const bool is_passed =
        below->kind == OperatorKind::kFilter ||
        (below->kind == OperatorKind::kHashJoin && !keeps_build_rows(below->join));
    if (!is_passed) return nullptr;
    below = below->children[0].get();
  }
  if (below != first && !std::ranges::all_of(join.probe_keys, is_column)) return nullptr;
  // A join's output begins with its probe side's columns: a number says whether it is the scan's.
  const auto is_of_scan = [&](uint32_t column) { return column < below->output.size(); };
  for (const ExpressionPtr& key : join.probe_keys) {
    if (!std::ranges::all_of(columns_read(*key), is_of_scan)) return nullptr;
  }
  return below;
}

JoinFilterProbe::JoinFilterProbe(const JoinFilter& filter)
    : table_(*filter.table),
      keys_(compile_expressions(filter.join->probe_keys)),
      numbers_(kVectorRows) {
  for (const ExpressionPtr& key : filter.join->probe_keys) {
    const std::vector<uint32_t> read = columns_read(*key);
    columns_.insert(columns_.end(), read.begin(), read.end());
  }
}

void JoinFilterProbe::narrow(const Batch& batch, Selection* rows) {
  const Selection& asked = *batch.selection;
  key_vectors_.clear();
  for (const NodePtr& key : keys_) key_vectors_.push_back(key->evaluate(batch, asked));
  uint64_t matched[kVectorWords];
  asked_ += asked.count;
  passed_ += table_.match(key_vectors_, asked, numbers_.data(), matched);
  select_bits(matched, asked.slots, rows);
}

}  // namespace diptych::olap
