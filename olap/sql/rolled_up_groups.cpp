#include "olap/sql/rolled_up_groups.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "olap/sql/expression_tree.h"
#include "olap/sql/planned.h"
#include "olap/sql/predicate_rules.h"

namespace diptych::olap {
namespace {

constexpr size_t kAggregatesMax = 32;  // of a plan; each is compared with each
// Reading a group costs what so many rows of the operators below it do.
constexpr double kGroupCost = 4;

// By column of one operator: the equal one of another that has the same rows.
using ColumnMap = std::vector<uint32_t>;

ColumnMap first_columns(size_t count) {
  ColumnMap columns(count);
  for (size_t i = 0; i < count; ++i) columns[i] = static_cast<uint32_t>(i);
  return columns;
}

bool equal_in(const ColumnMap& map, const Expressions& list, const Expressions& others);

bool equal_in(const ColumnMap& map, const Expression& e, const Expression& other) {
  if (e.kind != other.kind || e.type != other.type) return false;
  if (e.kind == ExpressionKind::kColumn) return map[e.column] == other.column;
  if (e.children.empty()) return equal(e, other);
  return e.function == other.function && equal_in(map, e.children, other.children);
}

bool equal_in(const ColumnMap& map, const Expressions& list, const Expressions& others) {
  return std::equal(
      list.begin(), list.end(), others.begin(), others.end(),
      [&](const auto& one, const auto& other) { return equal_in(map, *one, *other); });
}

// Which of the others each expression is.
std::optional<ColumnMap> find_each(const ColumnMap& map, const Expressions& list,
                                   const Expressions& others) {
  ColumnMap found;
  for (const ExpressionPtr& e : list) {
    const auto other = std::find_if(others.begin(), others.end(), [&](const ExpressionPtr& one) {
      return equal_in(map, *e, *one);
    });
    if (other == others.end()) return std::nullopt;
    found.push_back(static_cast<uint32_t>(other - others.begin()));
  }
  return found;
}

bool has(const ColumnMap& columns, size_t column) {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

// The plan might never have run the operator that has those which are not used.
bool unused_cannot_fail(const Expressions& expressions, const ColumnMap& used) {
  for (size_t i = 0; i < expressions.size(); ++i) {
    if (!has(used, i) && !cannot_fail(*expressions[i])) return false;
  }
  return true;
}

bool unused_cannot_fail(const std::vector<Aggregate>& aggregates, const ColumnMap& used) {
  for (size_t i = 0; i < aggregates.size(); ++i) {
    const Aggregate& one = aggregates[i];
    const bool plain =
        one.further.empty() && (one.argument == nullptr || cannot_fail(*one.argument));
    if (!has(used, i) && !plain) return false;
  }
  return true;
}

std::optional<ColumnMap> same_rows(const Operator& op, const Operator& other);

std::optional<ColumnMap> same_scan(const Operator& scan, const Operator& other) {
  if (scan.table != other.table) return std::nullopt;
  ColumnMap map;
  for (const base::ColumnId column : scan.columns) {
    const auto found = std::find(other.columns.begin(), other.columns.end(), column);
    if (found == other.columns.end()) return std::nullopt;
    map.push_back(static_cast<uint32_t>(found - other.columns.begin()));
  }
  if (!equal_in(map, scan.predicates, other.predicates)) return std::nullopt;
  return map;
}

std::optional<ColumnMap> same_join(const Operator& join, const Operator& other) {
  if (join.join != other.join) return std::nullopt;
  const auto probe = same_rows(*join.children[0], *other.children[0]);
  if (!probe.has_value()) return std::nullopt;
  const auto build = same_rows(*join.children[1], *other.children[1]);
  if (!build.has_value()) return std::nullopt;
  const auto other_probe_columns = static_cast<uint32_t>(other.children[0]->output.size());
  ColumnMap both = *probe;
  for (const uint32_t column : *build) both.push_back(other_probe_columns + column);
  if (!equal_in(*probe, join.probe_keys, other.probe_keys) ||
      !equal_in(*build, join.build_keys, other.build_keys) ||
      !equal_in(both, join.predicates, other.predicates)) {
    return std::nullopt;
  }
  switch (join.join) {
    case JoinKind::kInner:
    case JoinKind::kLeft: return both;
    case JoinKind::kSemi:
    case JoinKind::kAnti: return probe;
    case JoinKind::kBuildSemi:
    case JoinKind::kBuildAnti: return build;
    case JoinKind::kMark: break;
  }
  ColumnMap marked = *probe;
  marked.push_back(other_probe_columns);
  return marked;
}

// Nothing where the rows may differ, or `other` lacks a column.
std::optional<ColumnMap> same_rows(const Operator& op, const Operator& other) {
  if (op.kind != other.kind) return std::nullopt;
  if (op.kind == OperatorKind::kScan) return same_scan(op, other);
  if (op.kind == OperatorKind::kHashJoin) return same_join(op, other);
  if (op.kind != OperatorKind::kFilter && op.kind != OperatorKind::kProject) return std::nullopt;
  const auto below = same_rows(*op.children[0], *other.children[0]);
  if (!below.has_value()) return std::nullopt;
  if (op.kind == OperatorKind::kProject) {
    auto map = find_each(*below, op.expressions, other.expressions);
    if (map.has_value() && !unused_cannot_fail(other.expressions, *map)) return std::nullopt;
    return map;
  }
  if (!equal_in(*below, op.predicates, other.predicates)) return std::nullopt;
  return below;
}

// A function over the values that the other one has by group.
bool rolls_up(const ColumnMap& map, const Aggregate& aggregate, const Aggregate& finer) {
  if (aggregate.kind != finer.kind || aggregate.distinct || finer.distinct) return false;
  if (aggregate.kind == AggregateKind::kCountAll) return true;
  switch (aggregate.kind) {
    case AggregateKind::kCount:
    case AggregateKind::kMin:
    case AggregateKind::kMax: break;
    case AggregateKind::kSum:
      if (finer.type.kind == base::TypeKind::kBigInt) break;
      if (finer.type.kind == base::TypeKind::kDecimal) break;
      return false;
    default: return false;
  }
  return equal_in(map, *aggregate.argument, *finer.argument);
}

struct RolledUp {
  const Operator* finer;
  ColumnMap keys;        // among the finer one's
  ColumnMap aggregates;  // likewise
};

std::optional<RolledUp> rolled_up(const Operator& aggregate, const Operator& finer) {
  if (!aggregate.standing_groups.empty() || !finer.standing_groups.empty()) return std::nullopt;
  const auto map = same_rows(*aggregate.children[0], *finer.children[0]);
  if (!map.has_value()) return std::nullopt;
  auto keys = find_each(*map, aggregate.expressions, finer.expressions);
  if (!keys.has_value()) return std::nullopt;
  RolledUp result{&finer, std::move(*keys), {}};
  for (const Aggregate& one : aggregate.aggregates) {
    const bool counts = one.kind == AggregateKind::kCountAll || one.kind == AggregateKind::kCount;
    if (counts && aggregate.expressions.empty()) return std::nullopt;
    const auto found =
        std::find_if(finer.aggregates.begin(), finer.aggregates.end(),
                     [&](const Aggregate& other) { return rolls_up(*map, one, other); });
    if (found == finer.aggregates.end()) return std::nullopt;
    result.aggregates.push_back(static_cast<uint32_t>(found - finer.aggregates.begin()));
  }
  if (!unused_cannot_fail(finer.expressions, result.keys) ||
      !unused_cannot_fail(finer.aggregates, result.aggregates)) {
    return std::nullopt;
  }
  // Equal ones are computed once as they are.
  if (result.keys == first_columns(finer.expressions.size()) &&
      result.aggregates.size() == finer.aggregates.size()) {
    return std::nullopt;
  }
  return result;
}

double rows_below(const Operator& op) {
  double rows = 0;
  for (const OperatorPtr& child : op.children) rows += child->estimated_rows + rows_below(*child);
  return rows;
}

void put_over(const RolledUp& found, Operator* aggregate) {
  OperatorPtr finer = copy_of(*found.finer);
  const auto column_of = [&finer](size_t i) {
    return make_column(static_cast<uint32_t>(i), finer->output[i], finer->output_nullable[i]);
  };
  for (size_t i = 0; i < found.keys.size(); ++i) {
    aggregate->expressions[i] = column_of(found.keys[i]);
  }
  for (size_t i = 0; i < found.aggregates.size(); ++i) {
    Aggregate& one = aggregate->aggregates[i];
    const bool counts = one.kind == AggregateKind::kCountAll || one.kind == AggregateKind::kCount;
    if (counts) one.kind = AggregateKind::kSum;
    one.argument = column_of(finer->expressions.size() + found.aggregates[i]);
  }
  aggregate->children[0] = std::move(finer);
}

void collect_aggregates(Operator& op, std::vector<Operator*>* aggregates) {
  for (const OperatorPtr& child : op.children) collect_aggregates(*child, aggregates);
  if (op.kind == OperatorKind::kAggregate) aggregates->push_back(&op);
}

// The one with the fewest groups.
std::optional<RolledUp> rolled_up(const Operator& aggregate, std::span<Operator* const> finer) {
  std::optional<RolledUp> best;
  double groups = rows_below(aggregate) / kGroupCost;
  for (const Operator* const one : finer) {
    if (one->estimated_rows > groups) continue;
    auto found = rolled_up(aggregate, *one);
    if (!found.has_value()) continue;
    groups = one->estimated_rows;
    best = std::move(found);
  }
  return best;
}

}  // namespace

void roll_up_groups(Operator* root) {
  std::vector<Operator*> aggregates;
  collect_aggregates(*root, &aggregates);
  if (aggregates.size() < 2 || aggregates.size() > kAggregatesMax) return;
  // The finest first: a copy of one is then of all that it will be.
  const auto columns = [](const Operator* op) {
    return std::pair(op->expressions.size(), op->aggregates.size());
  };
  std::ranges::stable_sort(aggregates, std::ranges::greater(), columns);
  std::vector<std::optional<RolledUp>> found;
  for (size_t i = 0; i < aggregates.size(); ++i) {
    found.push_back(rolled_up(*aggregates[i], std::span(aggregates).first(i)));
  }
  for (size_t i = 0; i < aggregates.size(); ++i) {
    if (found[i].has_value()) put_over(*found[i], aggregates[i]);
  }
}

}  // namespace diptych::olap
