// What execution tests say in one line: expressions and operators over the tables of a TestReplica,
// and their execution.

#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "olap/plan.h"
#include "olap/query.h"
#include "tests/olap/test_replica.h"

namespace diptych::olap::test {

inline ExpressionPtr column(uint32_t index, DataType type) {
  auto e = std::make_unique<Expression>();
  e->kind = ExpressionKind::kColumn;
  e->type = type;
  e->column = index;
  return e;
}
inline ExpressionPtr literal(DataType type, Value value) {
  auto e = std::make_unique<Expression>();
  e->type = type;
  e->literal = std::move(value);
  return e;
}
template <class... Children>
ExpressionPtr make(ExpressionKind kind, DataType type, Children... children) {
  auto e = std::make_unique<Expression>();
  e->kind = kind;
  e->type = type;
  (e->children.push_back(std::move(children)), ...);
  return e;
}
template <class... Children>
ExpressionPtr call(Function function, DataType type, Children... children) {
  ExpressionPtr e = make(ExpressionKind::kFunction, type, std::move(children)...);
  e->function = function;
  return e;
}
inline ExpressionPtr clone(const Expression& from) {
  auto e = std::make_unique<Expression>();
  e->kind = from.kind;
  e->type = from.type;
  e->nullable = from.nullable;
  e->column = from.column;
  e->literal = from.literal;
  e->function = from.function;
  for (const ExpressionPtr& child : from.children) e->children.push_back(clone(*child));
  return e;
}

inline OperatorPtr scan(base::TableId table, std::vector<DataType> types) {
  auto op = std::make_unique<Operator>();
  op->kind = OperatorKind::kScan;
  op->table = table;
  for (size_t i = 0; i < types.size(); ++i) {
    op->columns.push_back(base::ColumnId(static_cast<uint16_t>(i)));
  }
  op->output = std::move(types);
  return op;
}
inline OperatorPtr over(OperatorKind kind, OperatorPtr child, std::vector<DataType> output) {
  auto op = std::make_unique<Operator>();
  op->kind = kind;
  op->children.push_back(std::move(child));
  op->output = std::move(output);
  return op;
}
inline OperatorPtr filter(OperatorPtr child, ExpressionPtr predicate) {
  std::vector<DataType> output = child->output;
  OperatorPtr op = over(OperatorKind::kFilter, std::move(child), std::move(output));
  op->predicates.push_back(std::move(predicate));
  return op;
}
inline OperatorPtr project(OperatorPtr child, std::vector<ExpressionPtr> expressions) {
  std::vector<DataType> output;
  for (const ExpressionPtr& e : expressions) output.push_back(e->type);
  OperatorPtr op = over(OperatorKind::kProject, std::move(child), std::move(output));
  op->expressions = std::move(expressions);
  return op;
}
inline OperatorPtr join(JoinKind kind, OperatorPtr probe, OperatorPtr build,
                        std::vector<std::pair<uint32_t, uint32_t>> keys) {
  auto op = std::make_unique<Operator>();
  op->kind = OperatorKind::kHashJoin;
  op->join = kind;
  op->output = probe->output;
  if (kind == JoinKind::kInner || kind == JoinKind::kLeft) {
    op->output.insert(op->output.end(), build->output.begin(), build->output.end());
  }
  if (keeps_build_rows(kind)) op->output = build->output;
  if (kind == JoinKind::kMark) op->output.push_back(kBooleanType);
  for (const auto& [p, b] : keys) {
    op->probe_keys.push_back(column(p, probe->output[p]));
    op->build_keys.push_back(column(b, build->output[b]));
  }
  op->children.push_back(std::move(probe));
  op->children.push_back(std::move(build));
  return op;
}

inline Aggregate aggregate_of(AggregateKind kind, ExpressionPtr argument) {
  Aggregate result;
  result.kind = kind;
  switch (kind) {
    case AggregateKind::kCountAll:
    case AggregateKind::kCount:
    case AggregateKind::kCountDistinct: result.type = kBigIntType; break;
    case AggregateKind::kAvg: result.type = kDoubleType; break;
    case AggregateKind::kSum:
      result.type = argument->type.kind == TypeKind::kDouble
                        ? kDoubleType
                        : decimal_type(38, argument->type.scale);
      break;
    default: result.type = argument->type; break;
  }
  result.argument = std::move(argument);
  return result;
}

// kMode, or a percentile of a fraction.
inline Aggregate ordered_set_of(AggregateKind kind, ExpressionPtr argument, bool descending,
                                double fraction = 0) {
  Aggregate result = aggregate_of(kind, std::move(argument));
  if (kind == AggregateKind::kPercentileCont) result.type = kDoubleType;
  result.order.push_back({0, descending, false});
  if (kind != AggregateKind::kMode) result.further.push_back(literal(kDoubleType, fraction));
  return result;
}
inline OperatorPtr aggregate(OperatorPtr child, std::vector<ExpressionPtr> keys,
                             std::vector<Aggregate> aggregates) {
  std::vector<DataType> output;
  for (const ExpressionPtr& key : keys) output.push_back(key->type);
  for (const Aggregate& one : aggregates) output.push_back(one.type);
  OperatorPtr op = over(OperatorKind::kAggregate, std::move(child), std::move(output));
  op->expressions = std::move(keys);
  op->aggregates = std::move(aggregates);
  return op;
}

inline Plan plan_of(OperatorPtr root) {
  Plan plan;
  for (size_t i = 0; i < root->output.size(); ++i) {
    plan.column_names.push_back("c" + std::to_string(i));
  }
  plan.root = std::move(root);
  return plan;
}

inline base::SidePlacement placement(uint32_t threads) {
  base::SidePlacement side;
  side.threads = threads;
  return side;
}

inline base::Result<QueryResult> run(const Plan& plan, const storage::Replica& replica,
                                     uint32_t threads = 1) {
  Executor executor(placement(threads));
  const StopFlag stop{false};
  const Plan* const plans[] = {&plan};
  std::vector<base::Result<QueryResult>> results = executor.run_batch(plans, replica, stop);
  return std::move(results[0]);
}

// Rows as lines of text, sorted: for comparing results without an order.
inline std::vector<std::string> lines(const std::vector<Row>& rows, bool sorted = true) {
  std::vector<std::string> result;
  for (const Row& row : rows) {
    std::string line;
    for (const Value& value : row) {
      const bool is_zero = value == Value(0.0);  // -0 equals 0: either may stand for both
      const auto* const number = std::get_if<double>(&value);  // as any NaN for another
      const bool is_nan = number != nullptr && std::isnan(*number);
      line += is_zero ? "0|" : is_nan ? "nan|" : base::to_string(value) + "|";
    }
    result.push_back(std::move(line));
  }
  if (sorted) std::sort(result.begin(), result.end());
  return result;
}

}  // namespace diptych::olap::test
