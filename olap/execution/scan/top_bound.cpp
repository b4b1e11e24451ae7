#include "olap/execution/scan/top_bound.h"

#include <utility>

#include "olap/execution/expression/comparison_kernels.h"
#include "olap/execution/key/sort_prefix.h"
#include "olap/execution/vector/column_range.h"

namespace diptych::olap {

namespace {

bool has_bound(const base::DataType& type) {
  return holds_integers(type) || type.is_string() || type.kind == base::TypeKind::kDouble;
}

bool is_nullable(const Operator& scan, uint32_t column) {
  return scan.output_nullable.empty() || scan.output_nullable[column];
}

}  // namespace

std::optional<BoundedScan> bounded_scan(const Operator& sort) {
  if (sort.sort_keys.empty()) return std::nullopt;
  uint32_t column = sort.sort_keys[0].column;
  const Operator* below = sort.children[0].get();
  for (; below->kind != OperatorKind::kScan; below = below->children[0].get()) {
    switch (below->kind) {
      case OperatorKind::kFilter: break;
      case OperatorKind::kProject: {
        const Expression& computed = *below->expressions[column];
        if (computed.kind != ExpressionKind::kColumn) return std::nullopt;
        column = computed.column;
        break;
      }
      case OperatorKind::kHashJoin:  // its output begins with the probe side's columns
        if (keeps_build_rows(below->join) || column >= below->children[0]->output.size()) {
          return std::nullopt;
        }
        break;
      default: return std::nullopt;
    }
  }
  if (!has_bound(below->output[column])) return std::nullopt;
  return BoundedScan{below, column};
}

TopBound::Bound::Bound(const Operator& bounded, bool wants_nulls)
    : column_(bounded.columns[bounded.predicates[0]->children[0]->column]),
      wants_nulls_(wants_nulls),
      leaves_(bounded),
      conditions_(column_conditions(bounded.predicates)) {
  // It stands for none of the scan's own.
  for (ColumnCondition& one : conditions_) one.conjuncts.clear();
}

TopBound::Bound::Says TopBound::Bound::of(const storage::Leaf& leaf) const {
  if (wants_nulls_ && leaf.summary(column_).has_null) return Says::kNothing;
  if (!leaves_.may_match(leaf)) return Says::kNone;
  return conditions_.empty() ? Says::kNothing : Says::kAsk;
}

TopBound::TopBound(const Operator& sort, const BoundedScan& bounded)
    : key_(sort.sort_keys[0]), scan_(*bounded.scan), column_(bounded.column) {}

TopBound::Key TopBound::key_of(const ColumnStore& rows, size_t row) const {
  if (rows.is_null(key_.column, row)) return {};
  switch (rows.type(key_.column)) {
    case PhysicalType::kInt32: return int64_t{rows.values<int32_t>(key_.column)[row]};
    case PhysicalType::kInt64: return rows.values<int64_t>(key_.column)[row];
    case PhysicalType::kDouble: return rows.values<double>(key_.column)[row];
    default: return std::string(rows.values<base::StringRef>(key_.column)[row].view());
  }
}

bool TopBound::is_better(const Key& key, const Key& other) const {
  if (key.index() == 0 || other.index() == 0) {
    return key.index() != other.index() && (key.index() == 0) == key_.nulls_first;
  }
  const Key& less = key_.descending ? other : key;
  const Key& more = key_.descending ? key : other;
  if (const auto* number = std::get_if<double>(&less)) {
    return value_less(*number, std::get<double>(more));
  }
  return less < more;
}

ExpressionPtr TopBound::condition_of(const Key& key) const {
  base::Value bound;
  if (const auto* integer = std::get_if<int64_t>(&key)) {
    bound = value_of(*integer, scan_.output[column_]);
  }
  if (const auto* number = std::get_if<double>(&key)) bound = *number;
  if (const auto* text = std::get_if<std::string>(&key)) bound = *text;
  Expression column;
  column.kind = ExpressionKind::kColumn;
  column.type = scan_.output[column_];
  column.nullable = is_nullable(scan_, column_);
  column.column = column_;
  if (key.index() == 0) return null_test(column);
  return comparison(key_.descending ? ExpressionKind::kGreaterEqual : ExpressionKind::kLessEqual,
                    column, std::move(bound));
}

void TopBound::tighten(const ColumnStore& rows, size_t last) {
  Key key = key_of(rows, last);
  // All that is not NULL is better.
  if (key.index() == 0 && !key_.nulls_first) return;
  const std::lock_guard lock(mutex_);
  if (last_ && !is_better(key, *last_)) return;
  const bool wants_nulls = key.index() != 0 && key_.nulls_first && is_nullable(scan_, column_);
  Operator bounded;
  bounded.columns = scan_.columns;
  bounded.predicates.push_back(condition_of(key));
  bounds_.push_back(std::make_unique<const Bound>(bounded, wants_nulls));
  last_ = std::move(key);
}

const TopBound::Bound* TopBound::bound() const {
  const std::lock_guard lock(mutex_);
  return bounds_.empty() ? nullptr : bounds_.back().get();
}

uint64_t TopBound::rank(const storage::Leaf& leaf) const {
  const storage::ColumnSummary summary = leaf.summary(scan_.columns[column_]);
  if (!summary.known || (summary.has_null && key_.nulls_first)) return 0;
  const bool is_double = scan_.output[column_].kind == base::TypeKind::kDouble;
  const uint64_t least = is_double ? prefix_of(summary.min_double) : prefix_of(summary.min);
  const uint64_t most = is_double ? prefix_of(summary.max_double) : prefix_of(summary.max);
  return key_.descending ? ~most : least;
}

}  // namespace diptych::olap
