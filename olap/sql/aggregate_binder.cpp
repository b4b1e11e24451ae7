// Aggregates of ExpressionBinder, and GROUPING.
//
// FILTER (WHERE p) becomes part of the argument: CASE WHEN p THEN x END. All aggregates leave out
// NULLs, and CASE computes x only where p holds.

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/counted.h"
#include "olap/sql/expression_binder.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using base::DataType;
using base::TypeKind;

struct NamedAggregate {
  std::string_view name;
  AggregateKind kind;
};

constexpr NamedAggregate kAggregates[] = {
    {"count", AggregateKind::kCount},
    {"sum", AggregateKind::kSum},
    {"avg", AggregateKind::kAvg},
    {"min", AggregateKind::kMin},
    {"any_value", AggregateKind::kMin},  // the least is one
    {"bool_and", AggregateKind::kMin},
    {"every", AggregateKind::kMin},
    {"max", AggregateKind::kMax},
    {"bool_or", AggregateKind::kMax},
    {"bit_and", AggregateKind::kBitAnd},
    {"bit_or", AggregateKind::kBitOr},
    {"bit_xor", AggregateKind::kBitXor},
    {"stddev", AggregateKind::kStddevSamp},
    {"stddev_samp", AggregateKind::kStddevSamp},
    {"stddev_pop", AggregateKind::kStddevPop},
    {"variance", AggregateKind::kVarSamp},
    {"var_samp", AggregateKind::kVarSamp},
    {"var_pop", AggregateKind::kVarPop},
    {"string_agg", AggregateKind::kStringAgg},
    {"percentile_cont", AggregateKind::kPercentileCont},
    {"percentile_disc", AggregateKind::kPercentileDisc},
    {"mode", AggregateKind::kMode},
};

std::optional<AggregateKind> aggregate_kind(std::string_view name) {
  for (const NamedAggregate& aggregate : kAggregates) {
    if (aggregate.name == name) return aggregate.kind;
  }
  return std::nullopt;
}

bool is_count(AggregateKind kind) {
  return kind == AggregateKind::kCountAll || kind == AggregateKind::kCount ||
         kind == AggregateKind::kCountDistinct;
}

// Whether the function takes values of the type.
bool is_of_truth(std::string_view name) {
  return name.starts_with("bool_") || name == "every";
}

bool takes(std::string_view name, AggregateKind kind, const DataType& type) {
  if (kind == AggregateKind::kSum || kind == AggregateKind::kAvg || is_variance(kind)) {
    return is_numeric(type) || (type == kIntervalType && !is_variance(kind));
  }
  if (kind == AggregateKind::kStringAgg) return type.is_string();
  if (name.starts_with("bit_")) return is_integer(type);
  if (is_of_truth(name)) return type.kind == TypeKind::kBoolean;
  if (name == "any_value") return true;
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
      if (argument == kIntervalType) return kIntervalType;
      return decimal_type(kWideDecimalDigitsMax, argument.scale);
    case AggregateKind::kAvg:
      if (argument.kind == TypeKind::kDouble) return kDoubleType;
      if (argument == kIntervalType) return kIntervalType;
      return decimal_type(kWideDecimalDigitsMax,
                          std::max<unsigned>(kQuotientScale, argument.scale));
    case AggregateKind::kVarSamp:
    case AggregateKind::kVarPop:
    case AggregateKind::kStddevSamp:
    case AggregateKind::kStddevPop: return kDoubleType;
    case AggregateKind::kStringAgg: return kTextType;
    case AggregateKind::kCovarPop: return kDoubleType;
    case AggregateKind::kPercentileCont:
      return argument == kIntervalType ? kIntervalType : kDoubleType;
    case AggregateKind::kBitAnd:
    case AggregateKind::kBitOr:
    case AggregateKind::kBitXor:
    case AggregateKind::kPercentileDisc:
    case AggregateKind::kMode: return argument;
    case AggregateKind::kMin:
    case AggregateKind::kMax: return argument.kind == TypeKind::kVarchar ? kTextType : argument;
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

// Calls visit with the columns of the arguments.
void for_each_column(const Aggregate& aggregate,
                     const std::function<void(const Expression&)>& visit) {
  if (aggregate.argument != nullptr) {
    for_each_column(static_cast<const Expression&>(*aggregate.argument), visit);
  }
  for (const ExpressionPtr& one : aggregate.further) {
    for_each_column(static_cast<const Expression&>(*one), visit);
  }
}

// A text that two values have in common only if they are one: its length goes before it. NULLs are
// one value, as they are in DISTINCT.
ExpressionPtr key_text(ExpressionPtr value) {
  if (value->type.kind == TypeKind::kDouble) {  // -0 is 0
    value = make_expression(ExpressionKind::kAdd, kDoubleType, std::move(value),
                            make_literal(kDoubleType, base::Value(0.0)));
  }
  value = cast_to(std::move(value), kTextType);
  Expressions text;
  text.push_back(clone(*value));
  ExpressionPtr length =
      cast_to(make_function(Function::kLength, kIntType, std::move(text)), kTextType);
  const auto joined = [](ExpressionPtr a, ExpressionPtr b) {
    return make_expression(ExpressionKind::kConcat, kTextType, std::move(a), std::move(b));
  };
  ExpressionPtr key =
      joined(joined(std::move(length), make_literal(kTextType, base::Value(std::string(":")))),
             std::move(value));
  if (!key->nullable) return key;
  return make_expression(ExpressionKind::kCoalesce, kTextType, std::move(key),
                         make_literal(kTextType, base::Value(std::string("-"))));
}

// A number that two rows of integers have in common only if they are one; nullptr where it would
// take more than 38 digits, or one is no integer. The first is its highest part, signed; a NULL is
// above its type's greatest value.
ExpressionPtr key_number(std::vector<Bound>* row) {
  constexpr uint32_t kBitsMax = 126;
  const auto type_bits = [](const Bound& value) {
    return value.expression->type.kind == TypeKind::kInt ? 32U : 64U;
  };
  const auto bits_of = [&](const Bound& value) {
    return type_bits(value) + static_cast<uint32_t>(value.expression->nullable);
  };
  uint32_t bits = 0;
  for (const Bound& value : *row) {
    if (!is_integer(value.expression->type)) return nullptr;
    bits += bits_of(value);
  }
  if (bits > kBitsMax) return nullptr;
  const DataType type = bits <= 64 ? kBigIntType : decimal_type(kWideDecimalDigitsMax, 0);
  const auto power_of_two = [&](uint32_t exponent) {
    const base::int128_t number = base::int128_t{1} << exponent;
    return bits <= 64 ? make_literal(type, base::Value(static_cast<int64_t>(number)))
                      : make_literal(type, base::Value(base::DecimalValue{number, 0}));
  };
  const auto computed = [&](ExpressionKind kind, ExpressionPtr a, ExpressionPtr b) {
    return make_expression(kind, type, std::move(a), std::move(b));
  };
  ExpressionPtr key;
  for (Bound& value : *row) {
    const uint32_t width = bits_of(value);
    const uint32_t highest = type_bits(value) - 1;
    ExpressionPtr part = cast_to(std::move(value.expression), type);
    if (part->nullable) {
      part = computed(ExpressionKind::kCoalesce, std::move(part), power_of_two(highest));
    }
    if (key == nullptr) {
      key = std::move(part);
      continue;
    }
    part = computed(ExpressionKind::kAdd, std::move(part), power_of_two(highest));
    key = computed(ExpressionKind::kMultiply, std::move(key), power_of_two(width));
    key = computed(ExpressionKind::kAdd, std::move(key), std::move(part));
  }
  return key;
}

base::Error beside_distinct(const SourceText& source, int64_t offset) {
  return source.wrong(offset, "ORDER BY of an aggregate with DISTINCT takes only its arguments",
                      "42P10");
}

}  // namespace

bool is_aggregate(std::string_view function) {
  return aggregate_kind(function).has_value();
}

void add_aggregate_names(std::vector<std::string>* names) {
  for (const NamedAggregate& aggregate : kAggregates) names->emplace_back(aggregate.name);
}

BoundResult ExpressionBinder::bind_aggregate(const PgQuery__FuncCall& call, std::string_view name) {
  const int64_t offset = call.location;
  for (const Scope* scope = scope_.outer(); scope != nullptr; scope = scope->outer()) {
    const auto& placed = scope->expressions()->inner_aggregates_;
    const auto known = placed.find(&call);
    if (known != placed.end()) return typed(clone(*known->second), offset);
  }
  Aggregate aggregate;
  const bool within = std::exchange(in_aggregate_, true);
  const Argument around = std::exchange(argument_, Argument{slots_.size(), std::nullopt});
  const bool hypothetical = call.agg_within_group != 0 && is_hypothetical(name);
  auto bound = hypothetical          ? bind_hypothetical(call, name, &aggregate)
               : is_regression(name) ? bind_pair(call, name, &aggregate)
                                     : bind_aggregate_call(call, name, &aggregate);
  in_aggregate_ = within;
  const Argument argument = std::exchange(argument_, around);
  if (!bound) return bound.error();
  bool has_subquery = false;
  for_each_column(aggregate, [&](const Expression& column) {
    has_subquery = has_subquery || column.column >= argument.first_slot;
  });
  if (has_subquery && argument.last && &owner_of(*argument.last) != this) {
    return bind_in(owner_of(*argument.last), call, name);
  }
  // Once for all aggregates that it is computed from, some of which name fewer columns.
  ExpressionBinder& owner = owner_of(aggregate);
  if (auto checked = owner.check_aggregate_place(offset); !checked) return checked.error();
  if (owner.has_aggregate_in(aggregate)) {
    return source_.wrong(offset, "an aggregate within an aggregate", "42803");
  }
  const auto place = [&](Aggregate part) {
    return place_aggregate(owner, std::move(part), name, offset);
  };
  auto value = hypothetical          ? hypothetical_of(name, aggregate, place)
               : is_regression(name) ? regression_of(name, aggregate, place)
                                     : place(std::move(aggregate));
  if (!value) return value.error();
  return Bound{*std::move(value), false, offset};
}

// The aggregate, whose argument has a subquery, in the query around that it belongs to: there the
// subquery is joined, and there it is found when what has the call is bound again.
BoundResult ExpressionBinder::bind_in(ExpressionBinder& owner, const PgQuery__FuncCall& call,
                                      std::string_view name) {
  auto value = owner.bind_aggregate(call, name);
  if (!value) return value;
  owner.inner_aggregates_[&call] = std::move(value->expression);
  owner.bind_again_ = true;
  return source_.wrong(call.location, "an aggregate of the query around, to be bound again");
}

// Puts the aggregate into the query that it belongs to; gives its column there.
base::Result<ExpressionPtr> ExpressionBinder::place_aggregate(ExpressionBinder& owner,
                                                              Aggregate aggregate,
                                                              std::string_view name,
                                                              int64_t offset) {
  const uint32_t slot = owner.add_aggregate(std::move(aggregate), name);
  if (&owner != this && slot >= first_own_slot_) {
    owner.bind_again_ = true;
    return source_.wrong(offset, "an aggregate of the query around, to be bound again");
  }
  return slots_.column(slot);
}

// A subquery's aggregate may name this block's.
bool ExpressionBinder::has_aggregate_in(const Aggregate& aggregate) const {
  const std::vector<uint32_t>& slots = block_.aggregate_slots;
  bool found = false;
  for_each_column(aggregate, [&](const Expression& column) {
    found = found || std::find(slots.begin(), slots.end(), column.column) != slots.end();
  });
  return found;
}

// The innermost query of whose columns it is; without columns, this one.
ExpressionBinder& ExpressionBinder::owner_of(const Aggregate& aggregate) {
  std::optional<uint32_t> last;  // inner slots come behind outer ones
  for_each_column(aggregate, [&](const Expression& column) {
    last = std::max(last.value_or(0), column.column);
  });
  return last ? owner_of(*last) : *this;
}

// The query whose column it is, this one or one around.
ExpressionBinder& ExpressionBinder::owner_of(uint32_t slot) const {
  const Scope* scope = &scope_;
  while (scope->expressions()->first_own_slot_ > slot) scope = scope->outer();
  return *scope->expressions();
}

// What this is binding takes aggregates.
base::Result<void> ExpressionBinder::check_aggregate_place(int64_t offset) const {
  if (in_aggregate_) return source_.wrong(offset, "an aggregate within an aggregate", "42803");
  if (!clause_.aggregates) {
    const std::string_view hint = clause_.name == "WHERE" ? "; HAVING takes them" : "";
    return source_.wrong(offset,
                         fmt::format("an aggregate cannot stand in {}{}",
                                     clause_.name.empty() ? "FROM" : clause_.name, hint),
                         "42803");
  }
  if (block_.has_working) {
    return source_.wrong(
        offset, "aggregate functions are not allowed in a recursive query's recursive term",
        "42P19");
  }
  return {};
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
    aggregate->argument = make_case(*std::move(condition), std::move(aggregate->argument));
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
    if (call.agg_within_group != 0) {
      return source_.wrong(offset, fmt::format("{}() does not take WITHIN GROUP", name), "42809");
    }
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
                         fmt::format("{}() takes {}, not {}", name,
                                     base::counted(arguments, "argument"), call.n_args),
                         aggregate->kind == AggregateKind::kCount && call.n_args == 0
                             ? base::SqlState("42809")
                             : base::SqlState("42883"));
  }
  if (call.args[0]->node_case == PG_QUERY__NODE__NODE_ROW_EXPR &&
      aggregate->kind == AggregateKind::kCount) {
    return bind_counted_row(call, aggregate);
  }
  if (aggregate->kind == AggregateKind::kCount && call.agg_distinct == 0) {
    aggregate->argument = key_of_table(*call.args[0]);  // count(t.*), count(t)
    if (aggregate->argument != nullptr) return {};
  }
  auto argument = dispatch(*call.args[0]);
  if (!argument) return argument.error();
  if (is_of_truth(name)) {
    if (auto done = adopt_type(source_, kBooleanType, &*argument); !done) return done;
  }
  if (is_variance(aggregate->kind)) {  // which PostgreSQL takes an untyped text for
    if (auto done = adopt_type(source_, kDoubleType, &*argument); !done) return done;
  }
  aggregate->argument = std::move(argument->expression);
  const DataType& type = aggregate->argument->type;
  if (!takes(name, aggregate->kind, type)) {
    if (argument->untyped) {
      return source_.wrong(offset,
                           fmt::format("{}() is not unique: say which type its argument has", name),
                           "42725");
    }
    return source_.wrong(offset, fmt::format("{}() does not take {}", name, type.to_string()),
                         "42883");
  }
  if (is_variance(aggregate->kind)) {
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

// Of t.*: a column of t that is NULL only where a join found no row of it, or, of a join's alias, a
// constant; nullptr where t is neither.
ExpressionPtr ExpressionBinder::key_of_table(const Node& node) const {
  if (node.node_case != PG_QUERY__NODE__NODE_COLUMN_REF) return nullptr;
  const NodeList fields(node.column_ref->fields, node.column_ref->n_fields);
  const bool star = fields.size() == 2 && fields[1]->node_case == PG_QUERY__NODE__NODE_A_STAR;
  const std::string_view name = string_of(fields[0]);
  if (!star && (fields.size() != 1 || scope_.find_own(name) != nullptr)) return nullptr;
  const ScopeTable* table = scope_.find_table(name);
  if (table == nullptr) return nullptr;
  if (table->joined) return make_literal(kBigIntType, base::Value(int64_t{1}));
  for (const ScopeColumn& column : table->columns) {
    const Slot& slot = slots_[column.slot];
    if (slot.table == nullptr || !column.otherwise.empty()) continue;
    if (slot.table->primary_key().columns.front() == slot.column) return slots_.column(column.slot);
  }
  return nullptr;
}

// count([DISTINCT] (a, b)): a row is not NULL, whatever its values are.
base::Result<void> ExpressionBinder::bind_counted_row(const PgQuery__FuncCall& call,
                                                      Aggregate* aggregate) {
  auto row = bind_row(*call.args[0]);
  if (!row) return row.error();
  aggregate->argument = make_literal(kBigIntType, base::Value(int64_t{1}));
  if (call.agg_distinct == 0) return {};
  ExpressionPtr key = key_number(&*row);
  if (key == nullptr) {
    key = make_literal(kTextType, base::Value(std::string()));
    for (Bound& value : *row) {
      key = make_expression(ExpressionKind::kConcat, kTextType, std::move(key),
                            key_text(std::move(value.expression)));
    }
  }
  aggregate->kind = AggregateKind::kCountDistinct;
  aggregate->argument = std::move(key);
  return bind_aggregate_order(call, aggregate);
}

base::Result<void> ExpressionBinder::bind_string_agg(const PgQuery__FuncCall& call,
                                                     Aggregate* aggregate) {
  auto delimiter = dispatch(*call.args[1]);
  if (!delimiter) return delimiter.error();
  if (!delimiter->expression->type.is_string()) {
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
    auto sort = sort_key_of(source_, item);
    if (!sort) return sort.error();
    if (aggregate->kind != AggregateKind::kStringAgg) {
      // What it takes may have been cast since.
      const bool own = equal(*key->expression, *aggregate->argument) ||
                       same_expression(*item.node, *call.args[0]);
      if (call.agg_distinct != 0 && !own) return beside_distinct(source_, key->offset);
      continue;
    }
    if (equal(*key->expression, *aggregate->argument)) {
      sort->column = 0;
    } else if (!is_literal(*key->expression) && equal(*key->expression, *aggregate->further[0])) {
      sort->column = 1;
    } else if (aggregate->distinct) {
      return beside_distinct(source_, key->offset);
    } else {
      aggregate->further.push_back(std::move(key->expression));
      sort->column = static_cast<uint32_t>(aggregate->further.size());
    }
    aggregate->order.push_back(*sort);
  }
  return {};
}

uint32_t ExpressionBinder::add_aggregate(Aggregate aggregate, std::string_view name) {
  // count(x) of what is never null, and cannot fail, counts the rows.
  if (aggregate.kind == AggregateKind::kCount && !aggregate.argument->nullable &&
      aggregate.argument->children.empty()) {
    aggregate.kind = AggregateKind::kCountAll;
    aggregate.argument = nullptr;
  }
  block_.aggregated = true;
  slots_.work().step();
  for (size_t i = 0; i < block_.aggregates.size(); ++i) {
    if (same(block_.aggregates[i], aggregate)) return block_.aggregate_slots[i];
  }
  Slot result;
  result.name = name;
  result.type = aggregate.type;
  result.nullable = !is_count(aggregate.kind);
  const uint32_t slot = slots_.add(std::move(result));
  block_.aggregates.push_back(std::move(aggregate));
  slots_.work().check_columns(block_.aggregates.size(), "a SELECT with aggregates");
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
