// EXISTS, IN, ANY and ALL of SelectBinder: semi and anti joins where WHERE asks, else marks.
//
// Three-valued logic: x IN (...) is TRUE where a row is equal, else NULL where the comparison with
// some row is NULL, else FALSE. What is NULL asks marks of its own, and only where it can be.

#include <algorithm>

#include "olap/sql/constant_folding.h"
#include "olap/sql/decorrelation.h"
#include "olap/sql/select_binder.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

ExpressionPtr truth(bool value) {
  return make_literal(kBooleanType, base::Value(value));
}

ExpressionPtr is_null_of(ExpressionPtr value) {
  return fold(make_expression(ExpressionKind::kIsNull, kBooleanType, std::move(value)));
}

// Whether some value is NULL; nullptr where none can be.
ExpressionPtr any_is_null(const std::vector<Bound>& values) {
  Expressions nulls;
  for (const Bound& value : values) {
    if (value.expression->nullable) nulls.push_back(is_null_of(clone(*value.expression)));
  }
  return nulls.empty() ? nullptr : fold(disjunction(std::move(nulls)));
}

std::string_view negated_operator(std::string_view name) {
  if (name == "=") return "<>";
  if (name == "<>") return "=";
  if (name == "<") return ">=";
  if (name == "<=") return ">";
  if (name == ">") return "<=";
  if (name == ">=") return "<";
  if (name == "~") return "!~";
  if (name == "~*") return "!~*";
  if (name == "~~") return "!~~";
  if (name == "~~*") return "!~~*";
  if (is_pattern_operator(name)) return name.substr(1);
  return {};
}

// The extremes of a set that decide `x name ALL (set)` or ANY, as far as it has no NULL; empty:
// they do not.
std::vector<AggregateKind> deciding_extremes(std::string_view name, bool all) {
  using enum AggregateKind;
  if (name == (all ? "=" : "<>")) return {kMin, kMax};
  if (name == "<" || name == "<=") return {all ? kMin : kMax};
  if (name == ">" || name == ">=") return {all ? kMax : kMin};
  return {};
}

}  // namespace

// [NOT] EXISTS, [NOT] IN and ANY of a WHERE's conjunct as a semi or anti join. Gives false where
// that is not what it means, and nothing was done.
base::Result<bool> SelectBinder::bind_subquery_join(const PgQuery__SubLink& subquery,
                                                    bool negated) {
  const bool any = subquery.sub_link_type == PG_QUERY__SUB_LINK_TYPE__ANY_SUBLINK;
  if (!exists(subquery) && !any) return false;
  std::vector<Bound> tested;
  if (any) {
    auto bound = expressions_.bind_tested(subquery.testexpr, {"WHERE", false});
    if (!bound) return bound.error();
    tested = *std::move(bound);
  }
  auto query = bind_inner(subquery);
  if (!query) return query.error();
  if (exists(subquery) && query->one_row) return false;
  if (any) {
    const std::string name = operator_name(subquery);
    auto condition = compare_rows(subquery, name, std::move(tested), std::move(query->outputs));
    if (!condition) return condition.error();
    if (negated && (*condition)->nullable) return false;
    for (ExpressionPtr& c : split_conjuncts(*std::move(condition))) {
      query->join.conditions.push_back(std::move(c));
    }
  }
  query->join.kind = negated ? JoinKind::kAnti : JoinKind::kSemi;
  scalar_group_->subqueries.push_back(std::move(query->join));
  return true;
}

std::string SelectBinder::operator_name(const PgQuery__SubLink& subquery) {
  if (subquery.n_oper_name == 0) return "=";
  return joined(strings_of(NodeList(subquery.oper_name, subquery.n_oper_name)));
}

// The comparison of the tested values with a row of the subquery.
base::Result<ExpressionPtr> SelectBinder::compare_rows(const PgQuery__SubLink& subquery,
                                                       std::string_view name,
                                                       std::vector<Bound> tested,
                                                       Expressions outputs) {
  if (tested.size() != outputs.size()) {
    return source_.wrong(subquery.location, outputs.size() > tested.size()
                                                ? "subquery has too many columns"
                                                : "subquery has too few columns");
  }
  std::vector<Bound> right;
  for (ExpressionPtr& output : outputs) {
    right.push_back({std::move(output), false, subquery.location});
  }
  auto bound =
      bind_row_operator(source_, name, subquery.location, std::move(tested), std::move(right));
  if (!bound) return bound.error();
  return std::move(bound->expression);
}

// x op ANY (...): TRUE if it holds for a row, else NULL if it is NULL for one, else FALSE.
// x op ALL (...) is NOT (x negated-op ANY (...)).
BoundResult SelectBinder::bind_quantified(const PgQuery__SubLink& subquery,
                                          std::vector<Bound> tested) {
  const bool all = subquery.sub_link_type == PG_QUERY__SUB_LINK_TYPE__ALL_SUBLINK;
  const std::string written = operator_name(subquery);
  const std::string_view name = all ? negated_operator(written) : std::string_view(written);
  if (name.empty() || negated_operator(written).empty()) {
    return source_.unsupported(subquery.location, "ANY or ALL with this operator");
  }
  auto query = bind_inner(subquery);
  if (!query) return query.error();
  const SubqueryJoin& join = query->join;
  const bool one_set = tested.size() == 1 && query->outputs.size() == 1 &&
                       join.conditions.empty() && join.domain.id == 0 &&
                       !names_slot_below(*query->outputs[0], join.first_slot);
  if (one_set && !deciding_extremes(written, all).empty()) {
    return bind_by_extremes(subquery, tested, *std::move(query));
  }
  const bool nullable_output =
      std::any_of(query->outputs.begin(), query->outputs.end(),
                  [](const ExpressionPtr& output) { return output->nullable; });
  auto condition = compare_rows(subquery, name, copy_of(tested), std::move(query->outputs));
  if (!condition) return condition.error();
  const bool nullable = (*condition)->nullable;
  for (ExpressionPtr& c : split_conjuncts(*std::move(condition))) {
    query->join.conditions.push_back(std::move(c));
  }
  ExpressionPtr result = attach_mark(std::move(query->join));
  if (nullable) {
    auto unknown = tested.size() == 1 ? bind_unknown(subquery, tested[0], nullable_output)
                                      : bind_unknown_row(subquery, name, tested, nullable_output);
    if (!unknown) return unknown.error();
    ExpressionPtr no = fold(make_case(*std::move(unknown), make_null(kBooleanType), truth(false)));
    result = fold(make_case(std::move(result), truth(true), std::move(no)));
  }
  if (all) result = make_expression(ExpressionKind::kNot, kBooleanType, std::move(result));
  return typed(std::move(result), subquery.location);
}

// Over a set that is the same for all rows: one row of its extremes and counts is joined in place
// of every pair. Where some are NULL the others may still decide.
BoundResult SelectBinder::bind_by_extremes(const PgQuery__SubLink& subquery,
                                           const std::vector<Bound>& tested, InnerQuery query) {
  using enum ExpressionKind;
  const bool all = subquery.sub_link_type == PG_QUERY__SUB_LINK_TYPE__ALL_SUBLINK;
  const std::string name = operator_name(subquery);
  auto block = std::make_unique<QueryBlock>();
  block->aggregated = true;
  block->from = std::move(query.join.inner);
  const ExpressionPtr value = std::move(query.outputs[0]);
  const auto add = [&](AggregateKind kind) {
    Aggregate aggregate;
    aggregate.kind = kind;
    const bool extreme = kind == AggregateKind::kMin || kind == AggregateKind::kMax;
    aggregate.type = extreme ? value->type : kBigIntType;
    if (extreme && value->type.kind == base::TypeKind::kVarchar) aggregate.type = kTextType;
    if (kind != AggregateKind::kCountAll) aggregate.argument = clone(*value);
    const uint32_t slot = slots_.add({"", aggregate.type, extreme, nullptr, {}});
    const uint32_t output = slots_.add({"", aggregate.type, extreme, nullptr, {}});
    block->aggregates.push_back(std::move(aggregate));
    block->aggregate_slots.push_back(slot);
    block->outputs.push_back({"", slots_.column(slot), output, false});
    return slots_.column(output);
  };
  ExpressionPtr decision;
  for (const AggregateKind extreme : deciding_extremes(name, all)) {
    Expressions bound;
    bound.push_back(add(extreme));
    auto compared = compare_rows(subquery, name, copy_of(tested), std::move(bound));
    if (!compared) return compared.error();
    decision = decision == nullptr
                   ? *std::move(compared)
                   : fold(make_expression(all ? kAnd : kOr, kBooleanType, std::move(decision),
                                          *std::move(compared)));
  }
  const ExpressionPtr rows = add(AggregateKind::kCountAll);
  if (value->nullable) {
    ExpressionPtr nulls =
        fold(make_expression(kLess, kBooleanType, add(AggregateKind::kCount), clone(*rows)));
    ExpressionPtr open = all ? clone(*decision) : negated(clone(*decision));
    ExpressionPtr unknown =
        fold(make_expression(kAnd, kBooleanType, std::move(nulls), std::move(open)));
    decision = fold(make_case(std::move(unknown), make_null(kBooleanType), std::move(decision)));
  }
  ExpressionPtr none = fold(make_expression(kEqual, kBooleanType, clone(*rows),
                                            make_literal(kBigIntType, base::Value(int64_t{0}))));
  block->visible_outputs = block->outputs.size();
  query.join.kind = JoinKind::kInner;
  query.join.inner = JoinGroup();
  query.join.inner.members.push_back(derived_member(std::move(block)));
  query.join.end_slot = slots_.size();
  attach(std::move(query.join));
  return typed(fold(make_case(std::move(none), truth(all), std::move(decision))),
               subquery.location);
}

// Whether a comparison with some row is NULL: a row is NULL, or the value is and there is a row.
base::Result<ExpressionPtr> SelectBinder::bind_unknown(const PgQuery__SubLink& subquery,
                                                       const Bound& tested, bool nullable_output) {
  Expressions reasons;
  if (nullable_output) {
    auto query = bind_inner(subquery);
    if (!query) return query.error();
    ExpressionPtr null = is_null_of(std::move(query->outputs[0]));
    const bool own = !names_slot_below(*null, query->join.first_slot);
    (own ? query->join.inner.predicates : query->join.conditions).push_back(std::move(null));
    reasons.push_back(attach_mark(std::move(query->join)));
  }
  if (tested.expression->nullable) {
    auto query = bind_inner(subquery);
    if (!query) return query.error();
    reasons.push_back(make_expression(ExpressionKind::kAnd, kBooleanType,
                                      is_null_of(clone(*tested.expression)),
                                      attach_mark(std::move(query->join))));
  }
  return disjunction(std::move(reasons));
}

// Of rows: either one has a NULL. Asked in two, so that the pairs are few where NULLs are.
base::Result<ExpressionPtr> SelectBinder::bind_unknown_row(const PgQuery__SubLink& subquery,
                                                           std::string_view name,
                                                           const std::vector<Bound>& tested,
                                                           bool nullable_output) {
  ExpressionPtr null_tested = any_is_null(tested);
  Expressions reasons;
  if (nullable_output) {
    auto mark = bind_unknown_row(subquery, name, tested, nullptr);
    if (!mark) return mark.error();
    reasons.push_back(*std::move(mark));
  }
  if (null_tested != nullptr) {
    auto mark = bind_unknown_row(subquery, name, tested, std::move(null_tested));
    if (!mark) return mark.error();
    reasons.push_back(*std::move(mark));
  }
  return disjunction(std::move(reasons));
}

// For the outer rows with `null_tested`, or, without it, among the inner rows with a NULL.
base::Result<ExpressionPtr> SelectBinder::bind_unknown_row(const PgQuery__SubLink& subquery,
                                                           std::string_view name,
                                                           const std::vector<Bound>& tested,
                                                           ExpressionPtr null_tested) {
  auto query = bind_inner(subquery);
  if (!query) return query.error();
  SubqueryJoin& join = query->join;
  if (null_tested == nullptr) {
    std::vector<Bound> outputs;
    for (const ExpressionPtr& output : query->outputs) outputs.push_back({clone(*output)});
    ExpressionPtr null = any_is_null(outputs);
    const bool own = !names_slot_below(*null, join.first_slot);
    (own ? join.inner.predicates : join.conditions).push_back(std::move(null));
  } else if (!is_true_literal(*null_tested)) {  // as an equality, by which other rows have no pairs
    const auto one = [] { return make_literal(kBigIntType, base::Value(int64_t{1})); };
    ExpressionPtr always = is_null_of(slots_.column(join.inner.members[0].slots[0]));
    join.conditions.push_back(make_expression(ExpressionKind::kEqual, kBooleanType,
                                              make_case(std::move(null_tested), one()),
                                              make_case(std::move(always), one(), one())));
  }
  auto condition = compare_rows(subquery, name, copy_of(tested), std::move(query->outputs));
  if (!condition) return condition.error();
  Expressions nullable;
  for (ExpressionPtr& c : split_conjuncts(*std::move(condition))) {
    (c->nullable ? nullable : join.conditions).push_back(std::move(c));
  }
  join.conditions.push_back(is_null_of(conjunction(std::move(nullable))));
  return attach_mark(std::move(join));
}

}  // namespace diptych::olap
