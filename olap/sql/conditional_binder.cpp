// CASE, COALESCE, tests, casts and calls of ExpressionBinder.

#include <algorithm>

#include <fmt/format.h>

#include "olap/sql/constant_folding.h"
#include "olap/sql/expression_binder.h"
#include "olap/sql/function_call.h"
#include "olap/sql/information_schema.h"
#include "olap/sql/parameter_value.h"
#include "olap/sql/type_name.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using base::DataType;
using base::TypeKind;

constexpr int64_t kFractionDigits = 6;  // of a second that a TIMESTAMP or an INTERVAL has

bool is_text_constant(const Node& node) {
  return node.node_case == PG_QUERY__NODE__NODE_A_CONST && node.a_const->isnull == 0 &&
         node.a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL;
}

// What INTERVAL(3), INTERVAL '3' MONTH and INTERVAL '2:03' MINUTE TO SECOND (2) say of their text:
// the units it is in, and what is smaller than an interval of these has. From the grammar's bits.
class IntervalFields {
 public:
  explicit IntervalFields(const PgQuery__TypeName& name)
      : units_(modifier(name, 0).value_or(kAll)), digits_(modifier(name, 1)) {}

  base::IntervalUnits units() const {
    if (units_ == kAll) return {};
    const std::string_view last = has(kSecond)   ? "second"
                                  : has(kMinute) ? "minute"
                                  : has(kHour)   ? "hour"
                                  : has(kDay)    ? "day"
                                  : has(kMonth)  ? "month"
                                                 : "year";
    return {.last = last, .minutes_to_seconds = units_ == (kMinute | kSecond)};
  }

  // Of seconds, to the digits that are asked for; half of the last one goes away from zero. Nothing
  // where that is beyond an interval.
  std::optional<base::Interval> limited(base::Interval interval) const {
    const std::string_view last = units().last;
    const bool months = last == "year" || last == "month";
    if (last == "year") interval.months -= interval.months % 12;
    if (months) interval.days = 0;
    if (months || last == "day") interval.micros = 0;
    if (last == "hour") interval.micros -= interval.micros % base::kMicrosPerHour;
    if (last == "minute") interval.micros -= interval.micros % (60 * base::kMicrosPerSecond);
    int64_t step = 1;
    for (int64_t digit = kFractionDigits; digit > digits_.value_or(kFractionDigits); --digit) {
      step *= 10;
    }
    const int64_t rest = interval.micros % step;
    const int64_t up = 2 * rest >= step ? step : 2 * rest <= -step ? -step : 0;
    return base::sum(interval, {.micros = up - rest});
  }

 private:
  static constexpr int64_t kMonth = 1 << 1;
  static constexpr int64_t kDay = 1 << 3;
  static constexpr int64_t kHour = 1 << 10;
  static constexpr int64_t kMinute = 1 << 11;
  static constexpr int64_t kSecond = 1 << 12;
  static constexpr int64_t kAll = 0x7fff;

  static std::optional<int64_t> modifier(const PgQuery__TypeName& name, size_t i) {
    if (i >= name.n_typmods) return std::nullopt;
    const Node& node = *name.typmods[i];
    const bool is_number = node.node_case == PG_QUERY__NODE__NODE_A_CONST &&
                           node.a_const->val_case == PG_QUERY__A__CONST__VAL_IVAL;
    return is_number ? std::optional<int64_t>(node.a_const->ival->ival) : std::nullopt;
  }
  bool has(int64_t unit) const { return (units_ & unit) != 0; }

  int64_t units_;
  std::optional<int64_t> digits_;
};

// An INT that 16 bits hold; others have no product with 2^16, and so fail with 22003.
ExpressionPtr within_16_bits(ExpressionPtr value) {
  const auto scaled = [](ExpressionKind kind, ExpressionPtr number) {
    return fold(make_expression(kind, kIntType, std::move(number),
                                make_literal(kIntType, base::Value(int64_t{1} << 16))));
  };
  return scaled(ExpressionKind::kDivide, scaled(ExpressionKind::kMultiply, std::move(value)));
}

constexpr size_t kArgumentsMax = 100;  // as PostgreSQL has it

// A TIMESTAMP without its last digits, rounded to what is nearest, and of two to what is farther
// from 2000-01-01, from which PostgreSQL counts.
ExpressionPtr rounded_moment(ExpressionPtr moment, uint32_t dropped) {
  static constexpr base::Timestamp kOrigin{946'684'800 * base::kMicrosPerSecond};
  const auto unit = static_cast<int64_t>(base::power_of_ten(dropped));
  const auto origin = [] { return make_literal(kTimestampType, base::Value(kOrigin)); };
  const auto micros = [](int64_t count) { return make_literal(kBigIntType, base::Value(count)); };
  ExpressionPtr before =
      fold(make_expression(ExpressionKind::kLess, kBooleanType, clone(*moment), origin()));
  Expressions sum;
  sum.push_back(std::move(moment));
  sum.push_back(make_case(std::move(before), micros(unit / 2 - 1), micros(unit / 2)));
  Expressions bin;
  bin.push_back(make_literal(kIntervalType, base::Value(base::Interval{0, 0, unit})));
  bin.push_back(fold(make_function(Function::kAddMicros, kTimestampType, std::move(sum))));
  bin.push_back(origin());
  return fold(make_function(Function::kDateBin, kTimestampType, std::move(bin)));
}

DataType type_of_value(const base::Value& value) {
  if (std::holds_alternative<bool>(value)) return kBooleanType;
  if (const auto* number = std::get_if<int64_t>(&value)) {
    const bool fits = *number == static_cast<int32_t>(*number);
    return fits ? kIntType : kBigIntType;
  }
  if (std::holds_alternative<double>(value)) return kDoubleType;
  if (const auto* decimal = std::get_if<base::DecimalValue>(&value)) {
    unsigned digits = 1;
    while (digits < kWideDecimalDigitsMax && (decimal->units >= base::power_of_ten(digits) ||
                                              -decimal->units >= base::power_of_ten(digits))) {
      ++digits;
    }
    return decimal_type(std::max<unsigned>(digits, decimal->scale), decimal->scale);
  }
  if (std::holds_alternative<base::Date>(value)) return kDateType;
  if (std::holds_alternative<base::Timestamp>(value)) return kTimestampType;
  if (std::holds_alternative<base::Interval>(value)) return kIntervalType;
  return kTextType;
}

// A type's name in front of one argument: a cast, as in PostgreSQL, where no function has the name.
bool is_cast_call(const PgQuery__FuncCall& call, std::string_view name) {
  constexpr std::string_view kTypes[] = {"bool",    "bpchar",  "date",    "float4", "float8",
                                         "int2",    "int4",    "int8",    "text",   "timestamp",
                                         "varchar", "numeric", "interval"};
  return call.n_args == 1 && call.args[0]->node_case != PG_QUERY__NODE__NODE_NAMED_ARG_EXPR &&
         call.agg_star == 0 && call.agg_distinct == 0 && call.agg_filter == nullptr &&
         call.n_agg_order == 0 && call.agg_within_group == 0 &&
         std::find(std::begin(kTypes), std::end(kTypes), name) != std::end(kTypes);
}

// In a frame of its own, since calls nest.
[[gnu::noinline]] BoundResult bind_folded(const SourceText& source, std::string_view name,
                                          int64_t offset, std::vector<Bound> arguments) {
  BoundResult bound = bind_function(source, name, offset, std::move(arguments));
  if (bound) bound->expression = fold_call(std::move(bound->expression));
  return bound;
}

}  // namespace

bool is_known_elsewhere(std::string_view name) {
  static constexpr std::string_view kNames =
      " bit_count cardinality clock_timestamp convert convert_from convert_to currval "
      "current_query current_schemas current_setting decode encode erf erfc "
      "format_type gen_random_uuid generate_subscripts get_bit get_byte isempty lastval lower_inc "
      "lower_inf make_time make_timestamptz nextval normalize is_normalized "
      "obj_description parse_ident phraseto_tsquery plainto_tsquery random "
      "range_agg range_intersect_agg range_merge regexp_match regexp_matches row_to_json "
      "set_bit set_byte set_config set_masklen setseed setval setweight sha224 sha256 sha384 "
      "sha512 shobj_description string_to_array string_to_table strip timeofday to_ascii "
      "to_json to_jsonb to_tsquery to_tsvector trim_array trim_scale unistr upper_inc upper_inf "
      "version websearch_to_tsquery ";
  static constexpr std::string_view kFamilies[] = {
      "array_", "has_",   "inet_", "json_",         "jsonb_", "lo_", "pg_",
      "query_", "to_reg", "ts_",   "regexp_split_", "txid_",  "xml"};
  return kNames.find(fmt::format(" {} ", name)) != std::string_view::npos ||
         std::any_of(std::begin(kFamilies), std::end(kFamilies),
                     [&](std::string_view family) { return name.starts_with(family); });
}

BoundResult ExpressionBinder::bind_case(const PgQuery__CaseExpr& expression) {
  const int64_t offset = expression.location;
  std::optional<Bound> subject;
  if (expression.arg != nullptr) {
    auto bound = dispatch(*expression.arg);
    if (!bound) return bound;
    subject = *std::move(bound);
    slots_.work().check_expression(expression.n_args * node_count(*subject->expression));
  }
  Expressions conditions;
  std::vector<Bound> values;
  for (const Node* node : NodeList(expression.args, expression.n_args)) {
    auto condition = dispatch(*node->case_when->expr);
    if (!condition) return condition;
    if (subject) {
      condition =
          bind_operator(source_, "=", condition->offset, copy_of(*subject), *std::move(condition));
      if (!condition) return condition;
    }
    auto predicate = as_predicate(source_, "WHEN", *std::move(condition));
    if (!predicate) return predicate.error();
    conditions.push_back(*std::move(predicate));
    auto value = dispatch(*node->case_when->result);
    if (!value) return value;
    values.push_back(*std::move(value));
  }
  if (expression.defresult != nullptr) {
    auto value = dispatch(*expression.defresult);
    if (!value) return value;
    values.push_back(*std::move(value));
  } else {
    values.push_back(Bound{make_null(kTextType), true, offset});
  }
  std::vector<Bound*> operands;
  for (Bound& value : values) operands.push_back(&value);
  const auto type = unify(source_, "CASE", offset, operands);
  if (!type) return type.error();
  Expressions children;
  for (size_t i = 0; i < conditions.size(); ++i) {
    children.push_back(std::move(conditions[i]));
    children.push_back(std::move(values[i].expression));
  }
  children.push_back(std::move(values.back().expression));
  return typed(make_expression(ExpressionKind::kCase, *type, std::move(children)), offset);
}

BoundResult ExpressionBinder::bind_coalesce(const PgQuery__CoalesceExpr& expression) {
  auto values = bind_all(NodeList(expression.args, expression.n_args));
  if (!values) return values.error();
  std::vector<Bound*> operands;
  for (Bound& value : *values) operands.push_back(&value);
  const auto type = unify(source_, "COALESCE", expression.location, operands);
  if (!type) return type.error();
  Expressions children;
  for (Bound& value : *values) children.push_back(std::move(value.expression));
  return typed(make_expression(ExpressionKind::kCoalesce, *type, std::move(children)),
               expression.location);
}

BoundResult ExpressionBinder::bind_extreme(const PgQuery__MinMaxExpr& expression) {
  const bool greatest = expression.op == PG_QUERY__MIN_MAX_OP__IS_GREATEST;
  auto values = bind_all(NodeList(expression.args, expression.n_args));
  if (!values) return values.error();
  std::vector<Bound*> operands;
  for (Bound& value : *values) operands.push_back(&value);
  const auto type = unify(source_, greatest ? "GREATEST" : "LEAST", expression.location, operands);
  if (!type) return type.error();
  Expressions children;
  bool nullable = true;
  for (Bound& value : *values) {
    nullable = nullable && value.expression->nullable;
    children.push_back(std::move(value.expression));
  }
  ExpressionPtr result =
      make_function(greatest ? Function::kGreatest : Function::kLeast, *type, std::move(children));
  result->nullable = nullable;
  return Bound{std::move(result), false, expression.location};
}

ExpressionPtr session_literal(std::string_view name) {
  return make_literal(kTextType, base::Value(std::string(name)));
}

// CURRENT_DATE and the like: the statement's moment, and names of the session.
BoundResult ExpressionBinder::bind_sql_value(const PgQuery__SQLValueFunction& function) {
  const int64_t offset = function.location;
  switch (function.op) {
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_DATE: {
      const auto days = static_cast<int32_t>(source_.moment().micros / base::kMicrosPerDay);
      return typed(make_literal(kDateType, base::Value(base::Date{days})), offset);
    }
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP:
      return typed(current_timestamp(source_), offset);
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIME:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIME_N:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIME:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIME_N:
      return source_.unsupported(offset, "the current time of day");
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP_N:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP_N:
      return source_.unsupported(offset, "the current time with a number of digits");
    default: break;
  }
  return typed(session_literal(*session_name(sql_value_name(function))), offset);
}

BoundResult ExpressionBinder::bind_parameter(const PgQuery__ParamRef& parameter) {
  const auto given = parameter_value(source_, parameter, parameters_);
  if (!given) return given.error();
  const base::Value& value = **given;
  const int64_t offset = parameter.location;
  if (base::is_null(value)) return Bound{make_null(kTextType), true, offset};
  const bool text = std::holds_alternative<std::string>(value);
  return Bound{make_literal(type_of_value(value), value), text, offset};
}

// A row IS NULL where all its values are, and IS NOT NULL where none is.
BoundResult ExpressionBinder::bind_null_test(const PgQuery__NullTest& test) {
  if (test.arg->node_case == PG_QUERY__NODE__NODE_ROW_EXPR) {
    auto row = bind_row(*test.arg);
    if (!row) return row.error();
    const bool null = test.nulltesttype == PG_QUERY__NULL_TEST_TYPE__IS_NULL;
    Expressions tests;
    for (Bound& value : *row) {
      tests.push_back(
          fold(make_expression(null ? ExpressionKind::kIsNull : ExpressionKind::kIsNotNull,
                               kBooleanType, std::move(value.expression))));
    }
    return typed(conjunction(std::move(tests)), start_of(test.arg));
  }
  auto operand = dispatch(*test.arg);
  if (!operand) return operand;
  const auto kind = test.nulltesttype == PG_QUERY__NULL_TEST_TYPE__IS_NULL
                        ? ExpressionKind::kIsNull
                        : ExpressionKind::kIsNotNull;
  const int64_t offset = operand->offset;
  return typed(make_expression(kind, kBooleanType, std::move(operand->expression)), offset);
}

// x IS TRUE is coalesce(x, false); x IS FALSE is coalesce(not x, false); the rest negate these.
BoundResult ExpressionBinder::bind_boolean_test(const PgQuery__BooleanTest& test) {
  auto operand = dispatch(*test.arg);
  if (!operand) return operand;
  const int64_t offset = operand->offset;
  auto predicate = as_predicate(source_, "IS TRUE or FALSE", *std::move(operand));
  if (!predicate) return predicate.error();
  ExpressionPtr tested = *std::move(predicate);
  const auto type = test.booltesttype;
  if (type == PG_QUERY__BOOL_TEST_TYPE__IS_UNKNOWN ||
      type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_UNKNOWN) {
    const auto kind = type == PG_QUERY__BOOL_TEST_TYPE__IS_UNKNOWN ? ExpressionKind::kIsNull
                                                                   : ExpressionKind::kIsNotNull;
    return typed(make_expression(kind, kBooleanType, std::move(tested)), offset);
  }
  if (type == PG_QUERY__BOOL_TEST_TYPE__IS_FALSE ||
      type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_FALSE) {
    tested = fold(make_expression(ExpressionKind::kNot, kBooleanType, std::move(tested)));
  }
  tested = make_expression(ExpressionKind::kCoalesce, kBooleanType, std::move(tested),
                           make_literal(kBooleanType, base::Value(false)));
  if (type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_TRUE ||
      type == PG_QUERY__BOOL_TEST_TYPE__IS_NOT_FALSE) {
    tested = make_expression(ExpressionKind::kNot, kBooleanType, std::move(tested));
  }
  return typed(std::move(tested), offset);
}

BoundResult ExpressionBinder::bind_type_cast(const PgQuery__TypeCast& cast) {
  if (is_interval_of_unit(*cast.type_name)) return bind_interval_of_unit(cast);
  const auto type = bind_cast_type(source_, *cast.type_name);
  if (!type) return type.error();
  auto operand = dispatch(*cast.arg);
  if (!operand) return operand;
  const int64_t offset = cast.location < 0 ? cast.type_name->location : cast.location;
  auto value = bind_cast(source_, *type, offset, *std::move(operand));
  if (!value) return value;
  const CastLimit limit = cast_limit_of(*cast.type_name);
  if (limit.small_integer) value->expression = within_16_bits(std::move(value->expression));
  if (limit.fraction_digits && *limit.fraction_digits < kFractionDigits) {
    const auto dropped = static_cast<uint32_t>(kFractionDigits - *limit.fraction_digits);
    value->expression = rounded_moment(std::move(value->expression), dropped);
  }
  return value;
}

// INTERVAL '3' MONTH, INTERVAL '1-2' YEAR TO MONTH.
BoundResult ExpressionBinder::bind_interval_of_unit(const PgQuery__TypeCast& cast) {
  const int64_t offset = cast.type_name->location;
  if (!is_text_constant(*cast.arg))
    return source_.unsupported(offset, "an INTERVAL of a unit that is no literal");
  const IntervalFields fields(*cast.type_name);
  const auto interval = base::parse_interval(cast.arg->a_const->sval->sval, fields.units());
  if (!interval) {
    return source_.wrong(cast.arg->a_const->location, interval.error().message,
                         interval.error().state);
  }
  const auto limited = fields.limited(*interval);
  if (!limited) return source_.wrong(offset, "interval out of range", "22008");
  return typed(make_literal(kIntervalType, base::Value(*limited)), offset);
}

// make_interval(years, months, weeks, days, hours, mins, secs), by place or by name.
BoundResult ExpressionBinder::bind_make_interval(const PgQuery__FuncCall& call) {
  struct Part {
    std::string_view name;
    base::Interval one;
  };
  static constexpr Part kParts[] = {{"years", {12, 0, 0}},
                                    {"months", {1, 0, 0}},
                                    {"weeks", {0, 7, 0}},
                                    {"days", {0, 1, 0}},
                                    {"hours", {0, 0, base::kMicrosPerHour}},
                                    {"mins", {0, 0, 60 * base::kMicrosPerSecond}},
                                    {"secs", {0, 0, base::kMicrosPerSecond}}};
  Bound sum = typed(make_literal(kIntervalType, base::Value(base::Interval{})), call.location);
  for (size_t i = 0; i < call.n_args; ++i) {
    const Node* node = call.args[i];
    const Part* part = i < std::size(kParts) ? &kParts[i] : nullptr;
    if (node->node_case == PG_QUERY__NODE__NODE_NAMED_ARG_EXPR) {
      const std::string_view name = node->named_arg_expr->name;
      part = std::find_if(std::begin(kParts), std::end(kParts),
                          [&](const Part& one) { return one.name == name; });
      if (part == std::end(kParts)) part = nullptr;
      node = node->named_arg_expr->arg;
    }
    if (part == nullptr) {
      return source_.wrong(call.location, "make_interval() has no such argument", "42883");
    }
    auto number = dispatch(*node);
    if (!number) return number;
    Bound one = typed(make_literal(kIntervalType, base::Value(part->one)), number->offset);
    auto amount = bind_operator(source_, "*", number->offset, std::move(one), *std::move(number));
    if (!amount) return amount;
    auto both = bind_operator(source_, "+", call.location, std::move(sum), *std::move(amount));
    if (!both) return both;
    sum = *std::move(both);
  }
  return sum;
}

// int4(x) as CAST(x AS int4), where it is one.
BoundResult ExpressionBinder::bind_cast_call(const PgQuery__FuncCall& call, std::string_view name) {
  PgQuery__TypeName type = PG_QUERY__TYPE_NAME__INIT;
  type.n_names = call.n_funcname;
  type.names = call.funcname;
  type.location = call.location;
  PgQuery__TypeCast cast = PG_QUERY__TYPE_CAST__INIT;
  cast.arg = call.args[0];
  cast.type_name = &type;
  cast.location = call.location;
  auto value = bind_type_cast(cast);
  if (!value && value.error().sqlstate() == "42846") return unknown_function(call, name);
  return value;
}

base::Error ExpressionBinder::unknown_function(const PgQuery__FuncCall& call,
                                               std::string_view name) {
  std::string types = call.agg_star != 0 ? "*" : "";
  for (const Node* node : NodeList(call.args, call.n_args)) {
    auto argument = dispatch(*node);
    if (!argument) return argument.error();
    types += (types.empty() ? "" : ", ") + type_name_of(*argument);
  }
  if (name == "array_agg") {
    return source_.unsupported(call.location, "array_agg() (string_agg() puts values together)");
  }
  if (is_known_elsewhere(name)) {
    return source_.unsupported(call.location, fmt::format("{}()", name));
  }
  // The last ones have a grammar of their own.
  std::vector<std::string> names = function_names();
  add_aggregate_names(&names);
  add_regression_names(&names);
  add_window_function_names(&names);
  names.insert(names.end(), {"coalesce", "nullif", "greatest", "least", "grouping", "trim",
                             "generate_series", "make_interval"});
  const std::string hint = name == "median"
                               ? "; write percentile_cont(0.5) WITHIN GROUP (ORDER BY x)"
                               : suggestion(name, std::move(names));
  return source_.wrong(call.location,
                       fmt::format("function {}({}) does not exist{}", name, types, hint), "42883");
}

BoundResult ExpressionBinder::bind_call(const PgQuery__FuncCall& call) {
  const std::string name = joined(strings_of(NodeList(call.funcname, call.n_funcname)));
  const int64_t offset = call.location;
  if (call.n_args > kArgumentsMax) {
    return source_.wrong(
        offset, fmt::format("a function takes at most {} arguments", kArgumentsMax), "54023");
  }
  if (&call == series_) return typed(slots_.column(series_slot_), offset);
  if (name == "generate_series" || name == "unnest") {
    return source_.unsupported(
        offset, fmt::format("{}() here, or a second function that gives rows", name));
  }
  if (call.func_variadic != 0) return source_.unsupported(offset, "VARIADIC");
  if (name == "make_interval") return bind_make_interval(call);
  if (call.agg_within_group != 0 && is_hypothetical(name)) return bind_aggregate(call, name);
  if (call.over != nullptr) return bind_window(call, name);
  if (is_window_function(name) && call.agg_within_group == 0) {
    return source_.wrong(offset, fmt::format("window function {}() needs an OVER", name), "42809");
  }
  if (is_regression(name) || is_aggregate(name)) return bind_aggregate(call, name);
  if (!is_function(name) && !is_window_function(name)) {
    if (name == "timezone") {
      return source_.wrong(
          offset, "AT TIME ZONE is not supported: there are no time zones, leave it out", "0A000");
    }
    if (is_cast_call(call, name)) return bind_cast_call(call, name);
    const bool may_be_name = call.n_args == 0 && name.starts_with("current_");
    if (const auto session = session_name(name); may_be_name && session) {
      return typed(session_literal(*session), offset);
    }
    return unknown_function(call, name);
  }
  if (call.agg_within_group != 0 && is_window_function(name)) {
    return source_.unsupported(offset, fmt::format("{}() WITHIN GROUP", name));
  }
  if (call.agg_star != 0 || call.agg_distinct != 0 || call.agg_filter != nullptr ||
      call.n_agg_order != 0 || call.agg_within_group != 0) {
    return source_.wrong(
        offset,
        fmt::format("*, DISTINCT, ORDER BY and FILTER are for aggregates, which {}() is not", name),
        "42809");
  }
  auto arguments = bind_all(NodeList(call.args, call.n_args));
  if (!arguments) return arguments.error();
  return bind_folded(source_, name, offset, *std::move(arguments));
}

BoundResult ExpressionBinder::sublink(const PgQuery__SubLink& subquery) {
  std::vector<Bound> tested;
  if (subquery.testexpr != nullptr) {
    auto bound = bind_row(*subquery.testexpr);
    if (!bound) return bound.error();
    tested = *std::move(bound);
  }
  return subqueries_.bind_subquery(subquery, std::move(tested), in_aggregate_);
}

}  // namespace diptych::olap
