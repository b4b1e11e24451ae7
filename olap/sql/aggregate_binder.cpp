// Aggregates of ExpressionBinder, and GROUPING.
//
// FILTER (WHERE p) becomes part of the argument: CASE WHEN p THEN x END. All aggregates leave out
// NULLs, and CASE computes x only where p holds.

#include <algorithm>

#include <fmt/format.h>

#include "olap/sql/constant_folding.h"
#include "olap/sql/expression_binder.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using base::DataType;
using base::TypeKind;

std::optional<AggregateKind> aggregate_kind(std::string_view name) {
  if (name == "count") return AggregateKind::kCount;
  if (name == "sum") return AggregateKind::kSum;
  if (name == "avg") return AggregateKind::kAvg;
  if (name == "min" || name == "bool_and" || name == "every") return AggregateKind::kMin;
  if (name == "max" || name == "bool_or") return AggregateKind::kMax;
  if (name == "stddev" || name == "stddev_samp") return AggregateKind::kStddevSamp;
  if (name == "stddev_pop") return AggregateKind::kStddevPop;
  if (name == "variance" || name == "var_samp") return AggregateKind::kVarSamp;
  if (name == "var_pop") return AggregateKind::kVarPop;
  if (name == "string_agg") return AggregateKind::kStringAgg;
  if (name == "percentile_cont") return AggregateKind::kPercentileCont;
  if (name == "percentile_disc") return AggregateKind::kPercentileDisc;
  if (name == "mode") return AggregateKind::kMode;
  return std::nullopt;
}

bool is_moment(AggregateKind kind) {
  return kind == AggregateKind::kStddevSamp || kind == AggregateKind::kStddevPop ||
         kind == AggregateKind::kVarSamp || kind == AggregateKind::kVarPop;
}

bool is_count(AggregateKind kind) {
  return kind == AggregateKind::kCountAll || kind == AggregateKind::kCount ||
         kind == AggregateKind::kCountDistinct;
}

// Whether the function takes values of the type.
bool takes(std::string_view name, AggregateKind kind, const DataType& type) {
  if (kind == AggregateKind::kSum || kind == AggregateKind::kAvg || is_moment(kind)) {
    return is_numeric(type);
  }
  if (kind == AggregateKind::kStringAgg) return type.is_string();
  if (name.starts_with("bool_") || name == "every") return type.kind == TypeKind::kBoolean;
  return kind == AggregateKind::kCount || type.kind != TypeKind::kBoolean;
}

DataType aggregate_type(AggregateKind kind, const DataType& argument) {
  switch (kind) {
    case AggregateKind::kCountAll:
    case AggregateKind::kCount:
    case AggregateKind::kCountDistinct: return kBigIntType;
    case AggregateKind::kSum:
      if (argument.kind == TypeKind::kDouble) return kDoubleType;
      if (argument.kind == TypeKind::kInt) return kBigIntType;
      return decimal_type(kWideDecimalDigitsMax, argument.scale);
    case AggregateKind::kAvg:
      if (argument.kind == TypeKind::kDouble) return kDoubleType;
      return decimal_type(kWideDecimalDigitsMax,
                          std::max<unsigned>(kQuotientScale, argument.scale));
    case AggregateKind::kVarSamp:
    case AggregateKind::kVarPop:
    case AggregateKind::kStddevSamp:
    case AggregateKind::kStddevPop: return kDoubleType;
    case AggregateKind::kStringAgg: return kTextType;
    case AggregateKind::kPercentileCont: return kDoubleType;
    case AggregateKind::kPercentileDisc:
    case AggregateKind::kMode:
    case AggregateKind::kMin:
    case AggregateKind::kMax: return argument;
  }
  return argument;
}

bool same(const Aggregate& a, const Aggregate& b) {
  const auto same_order = [](const SortKey& x, const SortKey& y) {
    return x.column == y.column && x.descending == y.descending && x.nulls_first == y.nulls_first;
  };
  if (a.kind != b.kind || a.distinct != b.distinct || a.type != b.type) return false;
  if ((a.argument == nullptr) != (b.argument == nullptr)) return false;
  if (a.argument != nullptr && !equal(*a.argument, *b.argument)) return false;
  return std::equal(a.further.begin(), a.further.end(), b.further.begin(), b.further.end(),
                    [](const ExpressionPtr& x, const ExpressionPtr& y) { return equal(*x, *y); }) &&
         std::equal(a.order.begin(), a.order.end(), b.order.begin(), b.order.end(), same_order);
}

ExpressionPtr only_where(const Expression& condition, ExpressionPtr value) {
  const DataType type = value->type;
  Expressions children;
  children.push_back(clone(condition));
  children.push_back(std::move(value));
  children.push_back(make_null(type));
  return make_expression(ExpressionKind::kCase, type, std::move(children));
}

}  // namespace

bool is_aggregate(std::string_view function) {
  return aggregate_kind(function).has_value();
}

BoundResult ExpressionBinder::bind_aggregate(const PgQuery__FuncCall& call, std::string_view name) {
  const int64_t offset = call.location;
  if (in_aggregate_) return source_.wrong(offset, "an aggregate within an aggregate", "42803");
  if (!clause_.aggregates) {
    const std::string_view hint = clause_.name == "WHERE" ? "; HAVING takes them" : "";
    return source_.wrong(
        offset, fmt::format("an aggregate cannot stand in {}{}", clause_.name, hint), "42803");
  }
  if (block_.has_working) {
    return source_.wrong(
        offset, "aggregate functions are not allowed in a recursive query's recursive term",
        "42P19");
  }
  Aggregate aggregate;
  in_aggregate_ = true;
  auto bound = bind_aggregate_call(call, name, &aggregate);
  in_aggregate_ = false;
  if (!bound) return bound.error();
  if (is_of_outer_query(aggregate)) {
    return source_.unsupported(offset, "an aggregate, in a subquery, of the query around it");
  }
  const uint32_t slot = add_aggregate(std::move(aggregate), name);
  return Bound{slots_.column(slot), std::nullopt, false, offset};
}

// SQL gives an aggregate whose columns are all an outer query's to that query.
bool ExpressionBinder::is_of_outer_query(const Aggregate& aggregate) const {
  bool outer = false;
  bool own = false;
  const auto see = [&](const Expression& column) {
    (column.column < first_own_slot_ ? outer : own) = true;
  };
  if (aggregate.argument != nullptr) {
    for_each_column(static_cast<const Expression&>(*aggregate.argument), see);
  }
  return outer && !own;
}

// All but the place in the block: the argument with its FILTER, and the type.
base::Result<void> ExpressionBinder::bind_aggregate_call(const PgQuery__FuncCall& call,
                                                         std::string_view name,
                                                         Aggregate* aggregate) {
  aggregate->kind = *aggregate_kind(name);
  if (auto bound = bind_aggregate_argument(call, name, aggregate); !bound) return bound;
  if (call.agg_filter != nullptr) {
    auto filter = dispatch(*call.agg_filter);
    if (!filter) return filter.error();
    auto condition = as_predicate(source_, "FILTER", *std::move(filter));
    if (!condition) return condition.error();
    if (aggregate->argument == nullptr) {
      aggregate->kind = AggregateKind::kCount;
      aggregate->argument = make_literal(kBigIntType, base::Value(int64_t{1}));
    }
    aggregate->argument = only_where(**condition, std::move(aggregate->argument));
  }
  aggregate->type = aggregate_type(
      aggregate->kind, aggregate->argument == nullptr ? kBigIntType : aggregate->argument->type);
  return {};
}

// The argument, DISTINCT and ORDER BY.
base::Result<void> ExpressionBinder::bind_aggregate_argument(const PgQuery__FuncCall& call,
                                                             std::string_view name,
                                                             Aggregate* aggregate) {
  const int64_t offset = call.location;
  if (is_ordered_set(aggregate->kind)) return bind_ordered_set(call, name, aggregate);
  if (call.agg_star != 0) {
    if (aggregate->kind != AggregateKind::kCount) {
      return source_.wrong(offset, fmt::format("{}(*): only count takes *", name), "42883");
    }
    aggregate->kind = AggregateKind::kCountAll;
    return {};
  }
  const size_t arguments = aggregate->kind == AggregateKind::kStringAgg ? 2 : 1;
  if (call.agg_within_group != 0 && call.n_args + call.n_agg_order == arguments) {
    return source_.wrong(offset, fmt::format("{}() does not take WITHIN GROUP", name), "42809");
  }
  if (call.agg_within_group != 0 || call.n_args != arguments) {
    return source_.wrong(offset,
                         fmt::format("{}() takes {} argument{}, not {}", name, arguments,
                                     arguments == 1 ? "" : "s", call.n_args),
                         "42883");
  }
  auto argument = dispatch(*call.args[0]);
  if (!argument) return argument.error();
  if (argument->interval) {
    return source_.unsupported(argument->offset, "an INTERVAL as a value");
  }
  aggregate->argument = std::move(argument->expression);
  const DataType& type = aggregate->argument->type;
  if (!takes(name, aggregate->kind, type)) {
    return source_.wrong(offset, fmt::format("{}() does not take {}", name, type.to_string()),
                         "42883");
  }
  if (is_moment(aggregate->kind)) {
    aggregate->argument = cast_to(std::move(aggregate->argument), kDoubleType);
  }
  const bool extreme =
      aggregate->kind == AggregateKind::kMin || aggregate->kind == AggregateKind::kMax;
  aggregate->distinct = call.agg_distinct != 0 && !extreme;
  if (aggregate->distinct && aggregate->kind == AggregateKind::kCount) {
    aggregate->kind = AggregateKind::kCountDistinct;
    aggregate->distinct = false;
  }
  if (aggregate->kind == AggregateKind::kStringAgg) {
    if (auto bound = bind_string_agg(call, aggregate); !bound) return bound;
  }
  return bind_aggregate_order(call, aggregate);
}

base::Result<void> ExpressionBinder::bind_string_agg(const PgQuery__FuncCall& call,
                                                     Aggregate* aggregate) {
  auto delimiter = dispatch(*call.args[1]);
  if (!delimiter) return delimiter.error();
  if (delimiter->interval || !delimiter->expression->type.is_string()) {
    return source_.wrong(
        delimiter->offset,
        fmt::format("string_agg()'s delimiter is a text, not {}", type_name_of(*delimiter)),
        "42883");
  }
  aggregate->further.push_back(std::move(delimiter->expression));
  return {};
}

// Only string_agg depends on the order; that of other aggregates is only checked.
base::Result<void> ExpressionBinder::bind_aggregate_order(const PgQuery__FuncCall& call,
                                                          Aggregate* aggregate) {
  for (const Node* node : NodeList(call.agg_order, call.n_agg_order)) {
    const PgQuery__SortBy& item = *node->sort_by;
    auto key = dispatch(*item.node);
    if (!key) return key.error();
    if (key->interval) return source_.unsupported(key->offset, "an INTERVAL as a value");
    if (aggregate->kind != AggregateKind::kStringAgg) continue;
    if (aggregate->distinct && !equal(*key->expression, *aggregate->argument)) {
      return source_.wrong(key->offset,
                           "ORDER BY of an aggregate with DISTINCT takes only its "
                           "argument",
                           "42P10");
    }
    SortKey sort = sort_key_of(item);
    sort.column = 0;
    if (!equal(*key->expression, *aggregate->argument)) {
      aggregate->further.push_back(std::move(key->expression));
      sort.column = static_cast<uint32_t>(aggregate->further.size());
    }
    aggregate->order.push_back(sort);
  }
  return {};
}

uint32_t ExpressionBinder::add_aggregate(Aggregate aggregate, std::string_view name) {
  // count(x) of what is never null counts the rows.
  if (aggregate.kind == AggregateKind::kCount && !aggregate.argument->nullable) {
    aggregate.kind = AggregateKind::kCountAll;
    aggregate.argument = nullptr;
  }
  block_.aggregated = true;
  for (size_t i = 0; i < block_.aggregates.size(); ++i) {
    if (same(block_.aggregates[i], aggregate)) return block_.aggregate_slots[i];
  }
  Slot result;
  result.name = name;
  result.type = aggregate.type;
  result.nullable = !is_count(aggregate.kind);
  const uint32_t slot = slots_.add(std::move(result));
  block_.aggregates.push_back(std::move(aggregate));
  block_.aggregate_slots.push_back(slot);
  return slot;
}

// GROUPING(a, b): a bit for each key, from the left, that the row's grouping set leaves out: a CASE
// over the set's number.
BoundResult ExpressionBinder::bind_grouping(const PgQuery__GroupingFunc& call) {
  if (!clause_.aggregates || in_aggregate_) {
    return source_.wrong(call.location, fmt::format("GROUPING cannot stand in {}", clause_.name),
                         "42803");
  }
  std::vector<size_t> keys;
  for (const Node* node : NodeList(call.args, call.n_args)) {
    auto argument = dispatch(*node);
    if (!argument) return argument;
    const auto found = std::find_if(
        block_.group_keys.begin(), block_.group_keys.end(), [&](const ExpressionPtr& key) {
          return argument->expression != nullptr && equal(*key, *argument->expression);
        });
    if (found == block_.group_keys.end()) {
      return source_.wrong(argument->offset, "GROUPING takes what GROUP BY groups by", "42803");
    }
    keys.push_back(static_cast<size_t>(found - block_.group_keys.begin()));
  }
  const auto bits = [&](const std::vector<bool>* set) {
    int64_t value = 0;
    for (const size_t key : keys) {
      value = value * 2 + (set == nullptr || (*set)[key] ? 0 : 1);
    }
    return make_literal({TypeKind::kInt}, base::Value(value));
  };
  if (block_.grouping_sets.empty()) return typed(bits(nullptr), call.location);
  Expressions children;
  for (size_t i = 0; i + 1 < block_.grouping_sets.size(); ++i) {
    children.push_back(
        make_expression(ExpressionKind::kEqual, kBooleanType, slots_.column(block_.set_slot),
                        make_literal(kBigIntType, base::Value(static_cast<int64_t>(i)))));
    children.push_back(bits(&block_.grouping_sets[i]));
  }
  children.push_back(bits(&block_.grouping_sets.back()));
  if (children.size() == 1) return typed(std::move(children[0]), call.location);
  return typed(make_expression(ExpressionKind::kCase, {TypeKind::kInt}, std::move(children)),
               call.location);
}

}  // namespace diptych::olap
