// generate_series in FROM of SelectBinder: a row of the arguments, repeated as often as the series
// has values, whose copies have numbers; the n-th value is computed from its number.
//
//   SELECT first + (n - 1) * step
//   FROM (SELECT first, step, count AS n FROM (arguments), each `count` times, with its number n)
//
// The arguments may name columns of what stands before in FROM, and of the query around: a series
// is then unnested as any derived table. unnest() of an array's elements is VALUES. In SELECT,
// either is LATERAL behind FROM, where no name finds it.

#include <limits>
#include <optional>

#include <fmt/format.h>

#include "olap/sql/array_elements.h"
#include "olap/sql/constant_folding.h"
#include "olap/sql/function_call.h"
#include "olap/sql/select_binder.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

constexpr Clause kRowsFunction{"a function that gives rows"};  // in FROM or in SELECT
constexpr std::string_view kName = "generate_series";
constexpr std::string_view kUnnest = "unnest";

// The pieces of a series, over its arguments: step is a number, or microseconds.
struct Series {
  ExpressionPtr first;
  ExpressionPtr step;
  ExpressionPtr count;  // BIGINT; NULL where an argument is
  base::DataType type;  // of the values
  int64_t months = 0;   // of a step, besides
};

ExpressionPtr whole(int64_t value) {
  return make_literal(kBigIntType, base::Value(value));
}

ExpressionPtr binary(ExpressionKind kind, ExpressionPtr a, ExpressionPtr b) {
  const base::DataType type = a->type;
  return fold(make_expression(kind, type, std::move(a), std::move(b)));
}

ExpressionPtr compared(ExpressionKind kind, ExpressionPtr a, ExpressionPtr b) {
  return fold(make_expression(kind, kBooleanType, std::move(a), std::move(b)));
}

ExpressionPtr of_moment(Function function, const base::DataType& type, ExpressionPtr moment,
                        ExpressionPtr other) {
  Expressions arguments;
  arguments.push_back(std::move(moment));
  if (other != nullptr) arguments.push_back(std::move(other));
  return fold(make_function(function, type, std::move(arguments)));
}

// A number or a moment as it is counted in; nullopt: it is computed, or NULL.
std::optional<base::int128_t> units_of(const Expression& e) {
  if (!is_literal(e)) return std::nullopt;
  if (const auto* decimal = std::get_if<base::DecimalValue>(&e.literal)) return decimal->units;
  if (const auto* moment = std::get_if<base::Timestamp>(&e.literal)) return moment->micros;
  return std::nullopt;
}

// How many values there are, where that is known: the planner then expects as many rows.
ExpressionPtr known_count(const Expression& first, const Expression& last,
                          std::optional<base::int128_t> step) {
  const auto begin = units_of(first);
  const auto end = units_of(last);
  if (!begin || !end || !step) return nullptr;
  const base::int128_t steps = (*end - *begin) / *step;
  const bool towards = *step > 0 ? *begin <= *end : *begin >= *end;
  if (!towards) return whole(0);
  if (steps >= std::numeric_limits<int64_t>::max()) return nullptr;
  return whole(static_cast<int64_t>(steps) + 1);
}

// `count` where the step leads from the first value towards the last, else 0.
ExpressionPtr where_towards(const Expression& first, const Expression& last, const Expression& step,
                            ExpressionPtr zero, ExpressionPtr count) {
  using Kind = ExpressionKind;
  Expressions up;
  up.push_back(compared(Kind::kGreater, clone(step), clone(*zero)));
  up.push_back(compared(Kind::kLessEqual, clone(first), clone(last)));
  Expressions down;
  down.push_back(compared(Kind::kLess, clone(step), std::move(zero)));
  down.push_back(compared(Kind::kGreaterEqual, clone(first), clone(last)));
  Expressions either;
  either.push_back(fold(make_expression(Kind::kAnd, kBooleanType, std::move(up))));
  either.push_back(fold(make_expression(Kind::kAnd, kBooleanType, std::move(down))));
  return fold(make_case(fold(make_expression(Kind::kOr, kBooleanType, std::move(either))),
                        std::move(count), whole(0)));
}

// Numbers, all of the type: wide decimals, in which neither a difference nor a product of BIGINTs
// overflows.
Series series_of_numbers(ExpressionPtr first, const Expression& last, ExpressionPtr step,
                         const base::DataType& type) {
  using Kind = ExpressionKind;
  if (ExpressionPtr count = known_count(*first, last, units_of(*step))) {
    return {std::move(first), std::move(step), std::move(count), type};
  }
  const base::DataType& wide = first->type;
  ExpressionPtr span = binary(Kind::kSubtract, clone(last), clone(*first));
  ExpressionPtr rest = binary(Kind::kModulo, clone(*span), clone(*step));
  // Without a rest the quotient is exact.
  ExpressionPtr steps = binary(
      Kind::kDivide, binary(Kind::kSubtract, std::move(span), std::move(rest)), clone(*step));
  ExpressionPtr count = binary(Kind::kAdd, fold(cast_to(std::move(steps), kBigIntType)), whole(1));
  ExpressionPtr zero = fold(cast_to(whole(0), wide));
  count = where_towards(*first, last, *step, std::move(zero), std::move(count));
  return {std::move(first), std::move(step), std::move(count), type};
}

Series series_of_moments(ExpressionPtr first, const Expression& last, int64_t micros) {
  using Kind = ExpressionKind;
  if (ExpressionPtr count = known_count(*first, last, micros)) {
    return {std::move(first), whole(micros), std::move(count), kTimestampType};
  }
  ExpressionPtr span = of_moment(Function::kMicrosBetween, kBigIntType, clone(last), clone(*first));
  ExpressionPtr count =
      binary(Kind::kAdd, binary(Kind::kDivide, std::move(span), whole(micros)), whole(1));
  count = where_towards(*first, last, *whole(micros), whole(0), std::move(count));
  return {std::move(first), whole(micros), std::move(count), kTimestampType};
}

// Of months and microseconds: each value is a step from the one before, so a day of the month that
// some month does not have is less in all that follow.
Series series_of_months(ExpressionPtr first, ExpressionPtr last, int64_t months, int64_t micros) {
  Expressions arguments;
  arguments.push_back(clone(*first));
  arguments.push_back(std::move(last));
  arguments.push_back(whole(months));
  arguments.push_back(whole(micros));
  ExpressionPtr count = make_function(Function::kCountSteps, kBigIntType, std::move(arguments));
  return {std::move(first), whole(micros), std::move(count), kTimestampType, months};
}

// The value after `steps` (BIGINT) steps.
ExpressionPtr value_after(ExpressionPtr steps, const Series& series, ExpressionPtr first,
                          ExpressionPtr step) {
  if (series.months != 0) {
    Expressions arguments;
    arguments.push_back(std::move(first));
    arguments.push_back(whole(series.months));
    arguments.push_back(std::move(step));
    arguments.push_back(std::move(steps));
    return make_function(Function::kAfterSteps, kTimestampType, std::move(arguments));
  }
  if (series.type == kTimestampType) {
    return of_moment(Function::kAddMicros, kTimestampType, std::move(first),
                     binary(ExpressionKind::kMultiply, std::move(steps), std::move(step)));
  }
  const base::DataType wide = step->type;
  const base::DataType whole_wide = decimal_type(kWideDecimalDigitsMax, 0);
  ExpressionPtr way = make_expression(ExpressionKind::kMultiply, wide,
                                      cast_to(std::move(steps), whole_wide), std::move(step));
  ExpressionPtr value = binary(ExpressionKind::kAdd, std::move(first), std::move(way));
  return cast_to(std::move(value), series.type);
}

// A sum or product of constants that is not folded has no value.
bool is_out_of_range(const Expression& e) {
  using Kind = ExpressionKind;
  const bool computed = e.kind == Kind::kNegate || e.kind == Kind::kAdd ||
                        e.kind == Kind::kSubtract || e.kind == Kind::kMultiply;
  return computed && std::all_of(e.children.begin(), e.children.end(),
                                 [](const ExpressionPtr& child) { return is_literal(*child); });
}

base::Result<Series> series_of_intervals(const SourceText& source, int64_t offset,
                                         std::vector<Bound> arguments) {
  for (size_t i = 0; i < 2; ++i) {
    if (auto adopted = adopt_type(source, kTimestampType, &arguments[i]); !adopted) {
      return adopted.error();
    }
    ExpressionPtr& moment = arguments[i].expression;
    if (!is_datetime(moment->type)) {
      return source.wrong(
          offset, fmt::format("{}() does not take {}", kName, type_name_of(arguments[i])), "42883");
    }
    moment = fold(cast_to(std::move(moment), kTimestampType));
  }
  const Bound& step = arguments[2];
  const base::Interval* const constant = constant_interval(step);
  if (constant == nullptr && is_out_of_range(*step.expression)) {
    return source.wrong(step.offset, "interval out of range", "22008");
  }
  if (constant == nullptr) {
    return source.unsupported(step.offset, "a step that is no literal INTERVAL");
  }
  const int64_t months = constant->months;
  const base::int128_t micros =
      base::int128_t{constant->days} * base::kMicrosPerDay + constant->micros;
  if (micros != static_cast<int64_t>(micros)) {
    return source.wrong(step.offset, "interval out of range", "22008");
  }
  if (micros == 0 && months == 0) {
    return source.wrong(step.offset, "step size cannot equal zero", "22023");
  }
  const base::int128_t least = base::int128_t{months} * 28 * base::kMicrosPerDay;
  if (months > 0 ? least + micros <= 0 : months < 0 && least + micros >= 0) {
    return source.unsupported(step.offset, "a step of months forth and as many days back");
  }
  ExpressionPtr first = std::move(arguments[0].expression);
  ExpressionPtr& last = arguments[1].expression;
  const auto rest = static_cast<int64_t>(micros);
  return months != 0 ? series_of_months(std::move(first), std::move(last), months, rest)
                     : series_of_moments(std::move(first), *last, rest);
}

base::Result<Series> series_of_values(const SourceText& source, int64_t offset,
                                      std::vector<Bound> arguments) {
  std::vector<Bound*> operands;
  for (Bound& argument : arguments) {
    if (auto adopted = adopt_type(source, kIntType, &argument); !adopted) return adopted.error();
    const bool number = is_numeric(argument.expression->type) &&
                        argument.expression->type.kind != base::TypeKind::kDouble;
    if (!number) {
      return source.wrong(
          offset, fmt::format("{}() does not take {}", kName, type_name_of(argument)), "42883");
    }
    operands.push_back(&argument);
  }
  const auto type = unify(source, kName, offset, operands);
  if (!type) return type.error();
  const base::DataType wide = decimal_type(kWideDecimalDigitsMax, type->scale);
  for (Bound& argument : arguments) {
    argument.expression = fold(cast_to(std::move(argument.expression), wide));
  }
  if (arguments.size() == 2) {
    arguments.push_back(typed(fold(cast_to(whole(1), wide)), offset));
  }
  if (units_of(*arguments[2].expression) == base::int128_t{0}) {
    return source.wrong(arguments[2].offset, "step size cannot equal zero", "22023");
  }
  const bool decimal = type->kind == base::TypeKind::kDecimal;
  return series_of_numbers(std::move(arguments[0].expression), *arguments[1].expression,
                           std::move(arguments[2].expression), decimal ? wide : *type);
}

std::string name_of(const PgQuery__FuncCall& call) {
  return joined(strings_of(NodeList(call.funcname, call.n_funcname)));
}

// The first of the functions that give rows, if an output has one as a value.
const Node* find_series(const Node& node) {
  if (node.node_case == PG_QUERY__NODE__NODE_TYPE_CAST) return find_series(*node.type_cast->arg);
  if (node.node_case == PG_QUERY__NODE__NODE_A_EXPR) {
    for (const Node* operand : {node.a_expr->lexpr, node.a_expr->rexpr}) {
      const Node* const found = operand == nullptr ? nullptr : find_series(*operand);
      if (found != nullptr) return found;
    }
  }
  if (node.node_case != PG_QUERY__NODE__NODE_FUNC_CALL) return nullptr;
  const PgQuery__FuncCall& call = *node.func_call;
  const std::string name = name_of(call);
  if (name == kName || name == kUnnest) {
    const bool plain = call.over == nullptr && call.agg_distinct == 0 && call.agg_star == 0 &&
                       call.agg_filter == nullptr && call.n_agg_order == 0;
    return plain ? &node : nullptr;
  }
  for (const Node* argument : NodeList(call.args, call.n_args)) {
    if (const Node* const found = find_series(*argument)) return found;
  }
  return nullptr;
}

}  // namespace

base::Result<void> SelectBinder::bind_series(const PgQuery__RangeFunction& function,
                                             JoinGroup& group) {
  const Node& written = *function.functions[0]->list->items[0];
  const int64_t offset = start_of(&written);
  const bool plain = function.n_functions == 1 && function.n_coldeflist == 0 &&
                     function.is_rowsfrom == 0 &&
                     written.node_case == PG_QUERY__NODE__NODE_FUNC_CALL;
  if (!plain) return source_.unsupported(offset, "ROWS FROM, or columns of a function");
  const PgQuery__FuncCall& call = *written.func_call;
  const std::string name = name_of(call);
  if (name == kUnnest) return bind_unnest(function, call, group);
  if (const std::string hint = suggestion(name, {std::string(kName), std::string(kUnnest)});
      name != kName && !hint.empty()) {
    return source_.wrong(offset, fmt::format("function {}() does not exist{}", name, hint),
                         "42883");
  }
  if (name != kName && is_known_elsewhere(name)) {
    return source_.unsupported(offset, fmt::format("function {}() in FROM", name));
  }
  if (name != kName) {
    return source_.wrong(offset, fmt::format("function {}() does not exist", name), "42883");
  }
  const uint32_t first_slot = slots_.size();
  const std::string alias = function.alias == nullptr ? name : function.alias->aliasname;
  SelectBinder binder(statement_, &scope_, &ctes_, Correlation::kAllowed);
  auto block = binder.bind_series_call(call, alias);
  if (!block) return block.error();
  if (function.ordinality == 0) (*block)->outputs.pop_back();
  (*block)->visible_outputs = (*block)->outputs.size();
  ScopeTable entry;
  entry.alias = alias;
  for (const OutputColumn& output : (*block)->outputs) {
    entry.columns.push_back({output.name, output.slot, false});
  }
  if (auto done = rename_columns(function.alias, offset, &entry); !done) return done;
  add_member(derived_member(*std::move(block)), first_slot, group);
  return scope_.add(source_, offset, std::move(entry));
}

// SELECT a, generate_series(1, b) FROM t
base::Result<void> SelectBinder::bind_series_of(NodeList targets) {
  for (size_t i = 0; i < targets.size() && series_ == nullptr; ++i) {
    series_ = find_series(*targets[i]->res_target->val);
  }
  if (series_ == nullptr) return {};
  Node written = *series_;
  Node* items[] = {&written};
  PgQuery__List list = PG_QUERY__LIST__INIT;
  list.items = items;
  list.n_items = 1;
  Node function = PG_QUERY__NODE__INIT;
  function.node_case = PG_QUERY__NODE__NODE_LIST;
  function.list = &list;
  Node* functions[] = {&function};
  PgQuery__RangeFunction member = PG_QUERY__RANGE_FUNCTION__INIT;
  member.functions = functions;
  member.n_functions = 1;
  if (auto bound = bind_series(member, block_->from); !bound) {
    // Here they are SQL, though not in FROM, where the function is computed.
    const std::string_view state = bound.error().state.view();
    const bool is_late = state == "42803" || state == "42P20";
    return is_late ? source_.unsupported(start_of(series_),
                                         "an aggregate or window function in a function of rows")
                   : bound.error();
  }
  expressions_.give_series(series_->func_call, scope_.tables().back().columns[0].slot);
  scope_.tables().pop_back();
  return {};
}

// It has its rows beside those of FROM and WHERE, before there are groups and windows.
base::Result<void> SelectBinder::check_series() const {
  if (series_ == nullptr || (!block_->aggregated && block_->windows.empty())) return {};
  return source_.unsupported(start_of(series_), "a function of rows beside aggregates or windows");
}

// unnest(ARRAY[a, b]) as LATERAL (VALUES (a), (b)).
base::Result<void> SelectBinder::bind_unnest(const PgQuery__RangeFunction& function,
                                             const PgQuery__FuncCall& call, JoinGroup& group) {
  if (function.ordinality != 0) {
    return source_.unsupported(call.location, "WITH ORDINALITY of unnest()");
  }
  if (call.n_args != 1) {
    return source_.unsupported(call.location, "unnest() of anything but one array");
  }
  const auto array = ArrayElements::of(source_, *call.args[0], statement_.parameters);
  if (!array) return array.error();
  std::vector<Node*> elements(array->nodes().begin(), array->nodes().end());
  if (elements.empty()) return source_.unsupported(call.location, "unnest() of no elements");
  std::vector<PgQuery__List> lists(elements.size(), PG_QUERY__LIST__INIT);
  std::vector<Node> nodes(elements.size(), PG_QUERY__NODE__INIT);
  std::vector<Node*> rows;
  for (size_t i = 0; i < elements.size(); ++i) {
    lists[i].items = &elements[i];
    lists[i].n_items = 1;
    nodes[i].node_case = PG_QUERY__NODE__NODE_LIST;
    nodes[i].list = &lists[i];
    rows.push_back(&nodes[i]);
  }
  PgQuery__SelectStmt values = PG_QUERY__SELECT_STMT__INIT;
  values.op = PG_QUERY__SET_OPERATION__SETOP_NONE;
  values.values_lists = rows.data();
  values.n_values_lists = rows.size();
  // The column has the table's name, unless it is given its own.
  std::string name(function.alias == nullptr ? kUnnest : function.alias->aliasname);
  PgQuery__String text = PG_QUERY__STRING__INIT;
  text.sval = name.data();
  Node column = PG_QUERY__NODE__INIT;
  column.node_case = PG_QUERY__NODE__NODE_STRING;
  column.string = &text;
  Node* columns[] = {&column};
  PgQuery__Alias alias = PG_QUERY__ALIAS__INIT;
  alias.colnames = columns;
  alias.n_colnames = 1;
  const bool is_named = function.alias != nullptr && function.alias->n_colnames != 0;
  return bind_lateral(values, is_named ? function.alias : &alias, name, call.location, group);
}

// The series, with two outputs: its values and their numbers.
base::Result<std::unique_ptr<QueryBlock>> SelectBinder::bind_series_call(
    const PgQuery__FuncCall& call, const std::string& name) {
  scalar_group_ = &block_->from;
  std::vector<Bound> arguments;
  for (const Node* node : NodeList(call.args, call.n_args)) {
    auto argument = expressions_.bind(node, kRowsFunction);
    if (!argument) return argument.error();
    arguments.push_back(*std::move(argument));
  }
  if (arguments.size() != 2 && arguments.size() != 3) {
    return source_.wrong(
        call.location, fmt::format("{}() takes 2 or 3 arguments, not {}", kName, arguments.size()),
        "42883");
  }
  const auto is_moment = [](const Bound& argument) {
    return !argument.untyped && is_datetime(argument.expression->type);
  };
  const bool moments =
      arguments.size() == 3 && (arguments[2].expression->type == kIntervalType ||
                                is_moment(arguments[0]) || is_moment(arguments[1]));
  if (moments) {
    auto adopted = adopt_type(source_, kIntervalType, &arguments[2]);
    if (!adopted) return adopted.error();
  }
  auto series = moments ? series_of_intervals(source_, call.location, std::move(arguments))
                        : series_of_values(source_, call.location, std::move(arguments));
  if (!series) return series.error();
  const auto give = [&](ExpressionPtr value) {
    const uint32_t slot = slots_.add({"", value->type, value->nullable, nullptr, {}});
    block_->outputs.push_back({"", std::move(value), slot, false});
    return slots_.column(slot);
  };
  ExpressionPtr first = give(std::move(series->first));
  const bool constant = is_literal(*series->step);
  ExpressionPtr step = constant ? std::move(series->step) : give(std::move(series->step));
  ExpressionPtr count = fold(
      make_expression(ExpressionKind::kCoalesce, kBigIntType, std::move(series->count), whole(0)));
  const ExpressionPtr ordinal = give(std::move(count));
  block_->repeat_slot = ordinal->column;
  block_->visible_outputs = block_->outputs.size();
  auto numbered = std::make_unique<QueryBlock>();
  numbered->from.members.push_back(derived_member(std::move(block_)));
  ExpressionPtr steps = binary(ExpressionKind::kSubtract, clone(*ordinal), whole(1));
  ExpressionPtr value = value_after(std::move(steps), *series, std::move(first), std::move(step));
  const uint32_t slot = slots_.add({name, value->type, value->nullable, nullptr, {}});
  const uint32_t place = slots_.add({"ordinality", kBigIntType, false, nullptr, {}});
  numbered->outputs.push_back({name, std::move(value), slot, false});
  numbered->outputs.push_back({"ordinality", clone(*ordinal), place, false});
  return numbered;
}

}  // namespace diptych::olap
