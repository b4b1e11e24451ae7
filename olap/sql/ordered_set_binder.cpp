// Ordered-set aggregates of ExpressionBinder: percentile_cont, percentile_disc and mode, with
// WITHIN GROUP (ORDER BY value). What is in front of it is a fraction that is a constant.
//
// Hypothetical-set aggregates: rank, dense_rank, percent_rank and cume_dist of a row of constants,
// which would stand somewhere in the group's order. They are counts of the rows before it.

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "olap/sql/constant_folding.h"
#include "olap/sql/expression_binder.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

ExpressionPtr truth(ExpressionKind kind, ExpressionPtr a, ExpressionPtr b) {
  return fold(make_expression(kind, kBooleanType, std::move(a), std::move(b)));
}

ExpressionPtr null_test(ExpressionKind kind, const Expression& value) {
  return fold(make_expression(kind, kBooleanType, clone(value)));
}

// Whether a row's key stands before the constant; where it does not, false or NULL.
ExpressionPtr stands_before(const Expression& key, const Expression& constant,
                            const SortKey& order) {
  using enum ExpressionKind;
  if (is_null_literal(constant)) {
    if (!order.nulls_first) return null_test(kIsNotNull, key);
    return make_literal(kBooleanType, base::Value(false));
  }
  ExpressionPtr before = truth(order.descending ? kGreater : kLess, clone(key), clone(constant));
  if (!order.nulls_first) return before;
  return truth(kOr, null_test(kIsNull, key), std::move(before));
}

ExpressionPtr stands_beside(const Expression& key, const Expression& constant) {
  if (is_null_literal(constant)) return null_test(ExpressionKind::kIsNull, key);
  return truth(ExpressionKind::kEqual, clone(key), clone(constant));
}

ExpressionPtr plus_one(ExpressionPtr number) {
  return fold(make_expression(ExpressionKind::kAdd, kBigIntType, std::move(number),
                              make_literal(kBigIntType, base::Value(int64_t{1}))));
}

ExpressionPtr share_of(ExpressionPtr part, ExpressionPtr whole) {
  return fold(make_expression(ExpressionKind::kDivide, kDoubleType,
                              cast_to(std::move(part), kDoubleType),
                              cast_to(std::move(whole), kDoubleType)));
}

constexpr std::array<std::string_view, 4> kHypothetical = {"rank", "dense_rank", "percent_rank",
                                                           "cume_dist"};

// Where bind_hypothetical() puts in `further` what it binds.
enum : size_t { kBefore, kBeside, kFirstKey };

base::Result<void> check_hypothetical(const SourceText& source, const PgQuery__FuncCall& call,
                                      std::string_view name) {
  const int64_t offset = call.location;
  if (call.over != nullptr) {
    return source.unsupported(offset, fmt::format("OVER of {}() WITHIN GROUP", name));
  }
  if (call.n_args != call.n_agg_order) {
    return source.wrong(
        offset, fmt::format("{}() takes as many values as WITHIN GROUP orders by", name), "42883");
  }
  if (name == "dense_rank" && call.n_args > 1) {
    return source.unsupported(offset, "dense_rank() WITHIN GROUP of several values");
  }
  return {};
}

}  // namespace

bool is_hypothetical(std::string_view function) {
  return std::find(kHypothetical.begin(), kHypothetical.end(), function) != kHypothetical.end();
}

base::Result<ExpressionPtr> hypothetical_of(std::string_view name, const Aggregate& row,
                                            const PlaceAggregate& place) {
  using enum ExpressionKind;
  const Expression& before = *row.further[kBefore];
  base::Result<void> placed;
  const auto count = [&](ExpressionPtr condition, ExpressionPtr value, AggregateKind kind) {
    Aggregate aggregate;
    aggregate.kind = kind;
    aggregate.type = kBigIntType;
    aggregate.argument =
        make_case(truth(kAnd, clone(*row.argument), std::move(condition)), std::move(value));
    auto column = place(std::move(aggregate));
    if (column) return *std::move(column);
    placed = column.error();
    return make_null(kBigIntType);
  };
  const auto number = [](int64_t value) { return make_literal(kBigIntType, base::Value(value)); };
  const auto rows_where = [&](ExpressionPtr condition) {
    return count(std::move(condition), number(1), AggregateKind::kCount);
  };
  const auto all_rows = [&] { return rows_where(make_literal(kBooleanType, base::Value(true))); };
  ExpressionPtr value;
  if (name == "rank") {
    value = plus_one(rows_where(clone(before)));
  } else if (name == "dense_rank") {
    // NULL is a value, too, of those before.
    const Expression& key = *row.further[kFirstKey];
    ExpressionPtr values = count(clone(before), clone(key), AggregateKind::kCountDistinct);
    ExpressionPtr nulls = rows_where(truth(kAnd, clone(before), null_test(kIsNull, key)));
    ExpressionPtr any = truth(kGreater, std::move(nulls), number(0));
    ExpressionPtr null = fold(make_case(std::move(any), number(1), number(0)));
    value = plus_one(fold(make_expression(kAdd, kBigIntType, std::move(values), std::move(null))));
  } else if (name == "percent_rank") {
    ExpressionPtr all = all_rows();
    ExpressionPtr none = truth(kEqual, clone(*all), number(0));
    value = fold(make_case(std::move(none), make_literal(kDoubleType, base::Value(0.0)),
                           share_of(rows_where(clone(before)), std::move(all))));
  } else {
    ExpressionPtr until = truth(kOr, clone(before), clone(*row.further[kBeside]));
    ExpressionPtr standing = plus_one(rows_where(std::move(until)));
    value = share_of(std::move(standing), plus_one(all_rows()));
  }
  if (!placed) return placed.error();
  return value;
}

base::Result<void> ExpressionBinder::bind_ordered_set(const PgQuery__FuncCall& call,
                                                      std::string_view name, Aggregate* aggregate) {
  const int64_t offset = call.location;
  const bool has_fraction = aggregate->kind != AggregateKind::kMode;
  const size_t fractions = has_fraction ? 1 : 0;
  if (call.agg_within_group == 0 && call.agg_star == 0 && call.n_args == fractions + 1) {
    return source_.wrong(offset, fmt::format("{}() takes WITHIN GROUP (ORDER BY ...)", name),
                         "42809");
  }
  if (call.agg_within_group == 0 || call.n_args != fractions || call.n_agg_order != 1) {
    return source_.wrong(offset,
                         fmt::format("{0}() is {0}({1}) WITHIN GROUP (ORDER BY value)", name,
                                     has_fraction ? "fraction" : ""),
                         "42883");
  }
  const PgQuery__SortBy& item = *call.agg_order[0]->sort_by;
  auto value = dispatch(*item.node);
  if (!value) return value.error();
  aggregate->argument = std::move(value->expression);
  auto order = sort_key_of(source_, item);
  if (!order) return order.error();
  order->column = 0;
  order->nulls_first = false;  // they are left out
  aggregate->order.push_back(*order);
  if (aggregate->kind == AggregateKind::kPercentileCont) {
    const base::DataType& type = aggregate->argument->type;
    if (!is_numeric(type) && type != kIntervalType) {
      return source_.wrong(offset, fmt::format("{}() does not take {}", name, type.to_string()),
                           "42883");
    }
    if (type != kIntervalType) {
      aggregate->argument = cast_to(std::move(aggregate->argument), kDoubleType);
    }
  }
  if (!has_fraction) return {};
  auto fraction = dispatch(*call.args[0]);
  if (!fraction) return fraction.error();
  if (auto adopted = adopt_type(source_, kDoubleType, &*fraction); !adopted) return adopted;
  if (!is_numeric(fraction->expression->type)) {
    return source_.wrong(
        fraction->offset,
        fmt::format("{}()'s fraction is a number, not {}", name, type_name_of(*fraction)), "42883");
  }
  ExpressionPtr literal = cast_to(std::move(fraction->expression), kDoubleType);
  if (literal->kind != ExpressionKind::kLiteral) {
    return source_.unsupported(fraction->offset, "a fraction that is not a constant");
  }
  aggregate->further.push_back(std::move(literal));
  return {};
}

base::Result<void> ExpressionBinder::bind_hypothetical(const PgQuery__FuncCall& call,
                                                       std::string_view name, Aggregate* row) {
  using enum ExpressionKind;
  if (auto checked = check_hypothetical(source_, call, name); !checked) return checked;
  row->further.resize(kFirstKey);
  ExpressionPtr& before = row->further[kBefore];
  ExpressionPtr& beside = row->further[kBeside];
  std::vector<ExpressionPtr> keys;
  // Column by column, from the last: before it, or beside it and before the rest.
  for (size_t i = call.n_args; i-- > 0;) {
    const PgQuery__SortBy& item = *call.agg_order[i]->sort_by;
    auto key = dispatch(*item.node);
    if (!key) return key.error();
    auto constant = dispatch(*call.args[i]);
    if (!constant) return constant.error();
    const int64_t place = constant->offset;
    auto order = sort_key_of(source_, item);
    if (!order) return order.error();
    std::array<Bound*, 2> both = {&*key, &*constant};
    const std::string what = fmt::format("{}() WITHIN GROUP", name);
    if (auto type = unify(source_, what, call.location, both); !type) return type.error();
    if (!is_literal(*constant->expression) && !is_null_literal(*constant->expression)) {
      return source_.unsupported(place, "a hypothetical value that is not a constant");
    }
    const Expression& value = *constant->expression;
    ExpressionPtr earlier = stands_before(*key->expression, value, *order);
    ExpressionPtr same = stands_beside(*key->expression, value);
    if (before != nullptr) {
      earlier = truth(kOr, std::move(earlier), truth(kAnd, clone(*same), std::move(before)));
      same = truth(kAnd, std::move(same), std::move(beside));
    }
    before = std::move(earlier);
    beside = std::move(same);
    keys.insert(keys.begin(), std::move(key->expression));
  }
  std::move(keys.begin(), keys.end(), std::back_inserter(row->further));
  row->argument = make_literal(kBooleanType, base::Value(true));
  if (call.agg_filter == nullptr) return {};
  auto filter = dispatch(*call.agg_filter);
  if (!filter) return filter.error();
  auto condition = as_predicate(source_, "FILTER", *std::move(filter));
  if (!condition) return condition.error();
  row->argument = *std::move(condition);
  return {};
}

}  // namespace diptych::olap
