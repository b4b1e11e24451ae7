// Regressions of ExpressionBinder: corr, covar_pop, covar_samp and regr_*, of (y, x). They are
// expressions over counts, averages, variances and one covariance of the pairs without a NULL, so
// that several of one pair share these.

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "olap/sql/constant_folding.h"
#include "olap/sql/expression_binder.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

constexpr std::array<std::string_view, 12> kRegressions = {
    "corr",           "covar_pop", "covar_samp", "regr_avgx", "regr_avgy", "regr_count",
    "regr_intercept", "regr_r2",   "regr_slope", "regr_sxx",  "regr_sxy",  "regr_syy"};

ExpressionPtr as_double(double value) {
  return make_literal(kDoubleType, base::Value(value));
}

ExpressionPtr times(ExpressionPtr a, ExpressionPtr b) {
  return make_expression(ExpressionKind::kMultiply, kDoubleType, std::move(a), std::move(b));
}

ExpressionPtr over(ExpressionPtr a, ExpressionPtr b) {
  return make_expression(ExpressionKind::kDivide, kDoubleType, std::move(a), std::move(b));
}

ExpressionPtr minus(ExpressionPtr a, ExpressionPtr b) {
  return make_expression(ExpressionKind::kSubtract, kDoubleType, std::move(a), std::move(b));
}

ExpressionPtr above(ExpressionPtr a, double bound) {
  return make_expression(ExpressionKind::kGreater, kBooleanType, std::move(a), as_double(bound));
}

ExpressionPtr root(ExpressionPtr a) {
  Expressions argument;
  argument.push_back(std::move(a));
  return make_function(Function::kSqrt, kDoubleType, std::move(argument));
}

// What rounding has put beyond -1 or 1 is that; infinities do not come, and NaN, which is above
// them, stays.
ExpressionPtr within_one(ExpressionPtr a) {
  const auto below = [](ExpressionPtr value, double bound) {
    return make_expression(ExpressionKind::kLess, kBooleanType, std::move(value), as_double(bound));
  };
  Expressions beyond;
  beyond.push_back(above(clone(*a), 1));
  beyond.push_back(below(clone(*a), std::numeric_limits<double>::infinity()));
  Expressions choice;
  choice.push_back(below(clone(*a), -1));
  choice.push_back(as_double(-1));
  choice.push_back(conjunction(std::move(beyond)));
  choice.push_back(as_double(1));
  choice.push_back(std::move(a));
  return make_expression(ExpressionKind::kCase, kDoubleType, std::move(choice));
}

// What the functions are computed from; each is asked for where it is used.
struct PairParts {
  std::function<ExpressionPtr()> count;  // DOUBLE
  std::function<ExpressionPtr()> mean_y;
  std::function<ExpressionPtr()> mean_x;
  std::function<ExpressionPtr()> variance_y;  // of all the pairs
  std::function<ExpressionPtr()> variance_x;
  std::function<ExpressionPtr()> covariance;
};

ExpressionPtr regression(std::string_view name, const PairParts& of) {
  if (name == "regr_count") return of.count();
  if (name == "regr_avgy") return of.mean_y();
  if (name == "regr_avgx") return of.mean_x();
  if (name == "regr_syy") return times(of.variance_y(), of.count());
  if (name == "regr_sxx") return times(of.variance_x(), of.count());
  if (name == "regr_sxy") return times(of.covariance(), of.count());
  if (name == "covar_pop") return of.covariance();
  if (name == "covar_samp") {
    return make_case(above(of.count(), 1),
                     over(times(of.covariance(), of.count()), minus(of.count(), as_double(1))));
  }
  const auto slope = [&] { return over(of.covariance(), of.variance_x()); };
  if (name == "regr_slope") return make_case(above(of.variance_x(), 0), slope());
  if (name == "regr_intercept") {
    return make_case(above(of.variance_x(), 0), minus(of.mean_y(), times(of.mean_x(), slope())));
  }
  if (name == "corr") {
    Expressions varies;
    varies.push_back(above(of.variance_x(), 0));
    varies.push_back(above(of.variance_y(), 0));
    // By one root after the other: their product neither underflows nor overflows.
    return make_case(
        conjunction(std::move(varies)),
        within_one(over(over(of.covariance(), root(of.variance_x())), root(of.variance_y()))));
  }
  DIPTYCH_CHECK(name == "regr_r2", "all names have their formula");
  return make_case(above(of.variance_x(), 0),
                   make_case(above(of.variance_y(), 0),
                             times(over(of.covariance(), of.variance_x()),
                                   over(of.covariance(), of.variance_y())),
                             as_double(1)));
}

}  // namespace

bool is_regression(std::string_view function) {
  return std::find(kRegressions.begin(), kRegressions.end(), function) != kRegressions.end();
}

void add_regression_names(std::vector<std::string>* names) {
  names->insert(names->end(), kRegressions.begin(), kRegressions.end());
}

base::Result<ExpressionPtr> regression_of(std::string_view name, const Aggregate& pair,
                                          const PlaceAggregate& place) {
  base::Result<void> placed;
  // The aggregate of what is not NULL only where both are not.
  const auto part = [&](AggregateKind kind, const Expression& value, const Expression& other) {
    Aggregate aggregate;
    aggregate.kind = kind;
    aggregate.type = kind == AggregateKind::kCount ? kBigIntType : kDoubleType;
    aggregate.argument =
        make_case(fold(make_expression(ExpressionKind::kIsNotNull, kBooleanType, clone(other))),
                  clone(value));
    if (kind == AggregateKind::kCovarPop) aggregate.further.push_back(clone(other));
    auto column = place(std::move(aggregate));
    if (column) return *std::move(column);
    placed = column.error();
    return make_null(kDoubleType);
  };
  const Expression& y = *pair.argument;
  const Expression& x = *pair.further[0];
  const PairParts parts = {
      [&] { return cast_to(part(AggregateKind::kCount, y, x), kDoubleType); },
      [&] { return part(AggregateKind::kAvg, y, x); },
      [&] { return part(AggregateKind::kAvg, x, y); },
      [&] { return part(AggregateKind::kVarPop, y, x); },
      [&] { return part(AggregateKind::kVarPop, x, y); },
      [&] { return part(AggregateKind::kCovarPop, y, x); },
  };
  ExpressionPtr value =
      name == "regr_count" ? part(AggregateKind::kCount, y, x) : regression(name, parts);
  if (!placed) return placed.error();
  return value;
}

// y and x as DOUBLE, NULL where FILTER leaves the row out.
base::Result<void> ExpressionBinder::bind_pair(const PgQuery__FuncCall& call, std::string_view name,
                                               Aggregate* pair) {
  const int64_t offset = call.location;
  if (call.agg_distinct != 0) return source_.unsupported(offset, fmt::format("{}(DISTINCT)", name));
  if (call.n_args != 2 || call.agg_star != 0 || call.agg_within_group != 0) {
    return source_.wrong(offset, fmt::format("{}() takes 2 arguments", name), "42883");
  }
  for (const Node* node : NodeList(call.args, call.n_args)) {
    auto value = dispatch(*node);
    if (!value) return value.error();
    if (auto adopted = adopt_type(source_, kDoubleType, &*value); !adopted) return adopted;
    if (!is_numeric(value->expression->type)) {
      return source_.wrong(offset, fmt::format("{}() does not take {}", name, type_name_of(*value)),
                           "42883");
    }
    ExpressionPtr number = cast_to(std::move(value->expression), kDoubleType);
    if (pair->argument == nullptr) {
      pair->argument = std::move(number);
    } else {
      pair->further.push_back(std::move(number));
    }
  }
  if (call.agg_filter == nullptr) return {};
  auto filter = dispatch(*call.agg_filter);
  if (!filter) return filter.error();
  auto condition = as_predicate(source_, "FILTER", *std::move(filter));
  if (!condition) return condition.error();
  pair->argument = make_case(*std::move(condition), std::move(pair->argument));
  return {};
}

// The aggregates that it is computed from, each over the window with its frame.
BoundResult ExpressionBinder::bind_window_regression(const PgQuery__FuncCall& call,
                                                     std::string_view name, Window window,
                                                     const WindowCall& framed) {
  if (call.n_agg_order != 0) {
    return source_.unsupported(call.location, "ORDER BY in a window's aggregate");
  }
  Aggregate pair;
  if (auto bound = bind_pair(call, name, &pair); !bound) return bound.error();
  auto value = regression_of(name, pair, [&](Aggregate part) -> base::Result<ExpressionPtr> {
    Window copy{{}, window.partition, window.order, {}};
    for (const WindowColumn& column : window.columns) {
      copy.columns.push_back({clone(*column.expression), column.slot});
    }
    WindowCall result = framed;
    set_aggregate(std::move(part), &copy, &result);
    return place_window_call(std::move(copy), std::move(result), name);
  });
  if (!value) return value.error();
  return Bound{*std::move(value), false, call.location};
}

}  // namespace diptych::olap
