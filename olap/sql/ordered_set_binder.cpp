// Ordered-set aggregates of ExpressionBinder: percentile_cont, percentile_disc and mode, with
// WITHIN GROUP (ORDER BY value). What is in front of it is a fraction that is a constant.

#include <fmt/format.h>

#include "olap/sql/expression_binder.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {

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

}  // namespace diptych::olap
