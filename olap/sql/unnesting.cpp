#include "olap/sql/unnesting.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "olap/sql/constant_folding.h"
#include "olap/sql/decorrelation.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

ExpressionPtr whole_number(int64_t value) {
  return make_literal(kBigIntType, base::Value(value));
}

// Some value of the type.
ExpressionPtr any_literal(const base::DataType& type) {
  switch (type.kind) {
    case base::TypeKind::kInt:
    case base::TypeKind::kBigInt: return make_literal(type, base::Value(int64_t{0}));
    case base::TypeKind::kDecimal:
      return make_literal(type, base::Value(base::DecimalValue{0, type.scale}));
    case base::TypeKind::kDouble: return make_literal(type, base::Value(0.0));
    case base::TypeKind::kBoolean: return make_literal(type, base::Value(false));
    case base::TypeKind::kDate: return make_literal(type, base::Value(base::Date{}));
    case base::TypeKind::kTimestamp: return make_literal(type, base::Value(base::Timestamp{}));
    case base::TypeKind::kInterval: return make_literal(type, base::Value(base::Interval{}));
    case base::TypeKind::kChar:
    case base::TypeKind::kVarchar: return make_literal(type, base::Value(std::string()));
  }
  return nullptr;
}

ExpressionPtr equals(ExpressionPtr a, ExpressionPtr b) {
  return make_expression(ExpressionKind::kEqual, kBooleanType, std::move(a), std::move(b));
}

ExpressionPtr null_test(const Expression& value) {
  return fold(make_expression(ExpressionKind::kIsNull, kBooleanType, clone(value)));
}

ExpressionPtr or_any(ExpressionPtr value) {
  if (!value->nullable) return value;
  const base::DataType type = value->type;
  return make_expression(ExpressionKind::kCoalesce, type, std::move(value), any_literal(type));
}

void append_all(Expressions* to, Expressions from) {
  for (ExpressionPtr& e : from) to->push_back(std::move(e));
}

// The joins of the domain's columns in two inputs.
Expressions same_values(const Expressions& left, const Expressions& right) {
  Expressions conditions;
  for (size_t i = 0; i < left.size(); ++i) {
    append_all(&conditions, same_value(clone(*left[i]), clone(*right[i])));
  }
  return conditions;
}

ExpressionPtr group_key(SlotTable& slots, QueryBlock& block, ExpressionPtr key) {
  for (size_t i = 0; i < block.group_keys.size(); ++i) {
    const bool in_all = std::all_of(block.grouping_sets.begin(), block.grouping_sets.end(),
                                    [i](const std::vector<bool>& set) { return set[i]; });
    if (in_all && equal(*block.group_keys[i], *key)) return slots.column(block.group_slots[i]);
  }
  const Slot slot{"", key->type, key->nullable, nullptr, {}};
  block.group_slots.push_back(slots.add(slot));
  block.group_keys.push_back(std::move(key));
  if (!block.grouping_sets.empty()) block.expanded_slots.push_back(slots.add(slot));
  for (std::vector<bool>& set : block.grouping_sets) set.push_back(true);
  return slots.column(block.group_slots.back());
}

using VisitExpression = std::function<void(ExpressionPtr*)>;

void visit_all(Expressions* expressions, const VisitExpression& visit) {
  for (ExpressionPtr& e : *expressions) visit(&e);
}

// Those over what the members offer.
void for_each_own(JoinGroup& group, const VisitExpression& visit) {
  visit_all(&group.predicates, visit);
  for (SubqueryJoin& subquery : group.subqueries) {
    visit_all(&subquery.conditions, visit);
    visit_all(&subquery.domain.values, visit);
  }
}

// Those over what FROM, or the grouping, offers.
void for_each_above_grouping(QueryBlock& block, const VisitExpression& visit) {
  if (!block.aggregated) for_each_own(block.from, visit);
  visit_all(&block.having, visit);
  for (std::vector<SubqueryJoin>* joins : {&block.subqueries, &block.window_subqueries}) {
    for (SubqueryJoin& subquery : *joins) {
      visit_all(&subquery.conditions, visit);
      visit_all(&subquery.domain.values, visit);
    }
  }
  for (Window& window : block.windows) {
    for (WindowColumn& column : window.columns) visit(&column.expression);
  }
  for (OutputColumn& output : block.outputs) visit(&output.expression);
}

// The numbers of the sets without keys, as rows.
JoinMember sets_without_keys(const QueryBlock& groups, uint32_t slot) {
  JoinMember sets;
  sets.slots.push_back(slot);
  for (size_t i = 0; i < groups.grouping_sets.size(); ++i) {
    const std::vector<bool>& set = groups.grouping_sets[i];
    if (std::find(set.begin(), set.end(), true) != set.end()) continue;
    sets.rows.emplace_back().push_back(whole_number(static_cast<int64_t>(i)));
  }
  return sets;
}

// VALUES that name outer columns, as a block that numbers its rows.
std::unique_ptr<QueryBlock> block_of_rows(SlotTable& slots, JoinMember rows) {
  auto block = std::make_unique<QueryBlock>();
  const uint32_t row_number = slots.add({"", kBigIntType, false, nullptr, {}});
  std::vector<Expressions> choices(rows.slots.size());
  JoinMember numbers;
  numbers.slots.push_back(row_number);
  for (size_t r = 0; r < rows.rows.size(); ++r) {
    const auto n = static_cast<int64_t>(r);
    numbers.rows.emplace_back().push_back(whole_number(n));
    for (size_t c = 0; c < choices.size(); ++c) {
      const bool last = r + 1 == rows.rows.size();
      if (!last) choices[c].push_back(equals(slots.column(row_number), whole_number(n)));
      choices[c].push_back(std::move(rows.rows[r][c]));
    }
  }
  for (size_t c = 0; c < choices.size(); ++c) {
    const base::DataType type = choices[c].back()->type;
    ExpressionPtr value = choices[c].size() == 1
                              ? std::move(choices[c][0])
                              : make_expression(ExpressionKind::kCase, type, std::move(choices[c]));
    block->outputs.push_back({"", std::move(value), rows.slots[c], false});
  }
  block->visible_outputs = block->outputs.size();
  block->from.members.push_back(std::move(numbers));
  return block;
}

// As expose, of an expression over what the block's outputs are over.
uint32_t add_output(SlotTable& slots, QueryBlock& block, ExpressionPtr expression) {
  for (Window& window : block.windows) {
    const uint32_t slot = slots.add({"", expression->type, expression->nullable, nullptr, {}});
    window.partition.push_back(window.columns.size());
    window.columns.push_back({clone(*expression), slot});
  }
  const size_t place = block.visible_outputs++;
  const uint32_t slot = slots.add({"", expression->type, expression->nullable, nullptr, {}});
  block.outputs.insert(block.outputs.begin() + static_cast<std::ptrdiff_t>(place),
                       {"", std::move(expression), slot, false});
  for (SortItem& item : block.sort) item.output += item.output >= place ? 1 : 0;
  for (size_t& output : block.distinct_on) output += output >= place ? 1 : 0;
  if (!block.distinct_on.empty()) block.distinct_on.push_back(place);
  if (block.limit != kNoLimit || block.offset != 0) {
    block.limit_partition.push_back(place);
    block.number_slot = slots.add({"", kBigIntType, false, nullptr, {}});
  }
  return slot;
}

}  // namespace

Expressions same_value(ExpressionPtr a, ExpressionPtr b) {
  Expressions conditions;
  if (a->nullable && b->nullable) conditions.push_back(equals(null_test(*a), null_test(*b)));
  const bool never_both = !a->nullable || !b->nullable;
  if (never_both) {
    conditions.push_back(equals(std::move(a), std::move(b)));
  } else {
    conditions.push_back(equals(or_any(std::move(a)), or_any(std::move(b))));
  }
  return conditions;
}

ExpressionPtr over_no_rows(AggregateKind kind, ExpressionPtr column) {
  const bool counts = kind == AggregateKind::kCountAll || kind == AggregateKind::kCount ||
                      kind == AggregateKind::kCountDistinct;
  if (!counts) return column;
  return make_expression(ExpressionKind::kCoalesce, kBigIntType, std::move(column),
                         whole_number(0));
}

uint32_t expose(SlotTable& slots, QueryBlock& block, ExpressionPtr expression) {
  if (block.aggregated) expression = group_key(slots, block, std::move(expression));
  return add_output(slots, block, std::move(expression));
}

Unnesting::Unnesting(SlotTable& slots, std::vector<uint32_t> outer, bool nullable)
    : slots_(slots),
      outer_(std::move(outer)),
      nullable_(nullable),
      id_(slots.add({"", kBigIntType, false, nullptr, {}})) {}

Domain Unnesting::domain() const {
  Domain domain{id_, {}};
  for (size_t i = 0; i < outer_.size(); ++i) domain.values.push_back(outer_column(i));
  return domain;
}

Expressions Unnesting::conditions(Expressions given) const {
  Expressions conditions;
  for (size_t i = 0; i < given.size(); ++i) {
    append_all(&conditions, same_value(std::move(given[i]), outer_column(i)));
  }
  return conditions;
}

Expressions Unnesting::add_to(JoinGroup& group) {
  Expressions given;
  for (JoinMember& member : group.members) {
    if (!names_outer(member)) continue;
    Expressions own = add_to(member);
    if (given.empty()) {
      given = std::move(own);
    } else {
      append_all(&group.predicates, same_values(given, own));
    }
  }
  if (given.empty()) {
    group.members.push_back(domain_member());
    given = columns_of(group.members.back().slots);
  }
  for_each_own(group, [&](ExpressionPtr* expression) { replace(expression, given); });
  return given;
}

Expressions Unnesting::add_to(QueryBlock& block, EmptyGroups empty) {
  const bool lifted = empty == EmptyGroups::kKept && has_standing_group(block);
  Expressions given = lifted ? lift_groups(block) : add_to(block.from);
  if (block.aggregated) {
    replace(&block.group_keys, given);
    for (Aggregate& aggregate : block.aggregates) {
      if (aggregate.argument != nullptr) replace(&aggregate.argument, given);
      replace(&aggregate.further, given);
    }
    for (ExpressionPtr& value : given) value = group_key(slots_, block, std::move(value));
  }
  for_each_above_grouping(block, [&](ExpressionPtr* expression) { replace(expression, given); });
  for (ExpressionPtr& value : given) {
    value = slots_.column(add_output(slots_, block, std::move(value)));
  }
  return given;
}

Expressions Unnesting::add_to(JoinMember& member) {
  if (member.left_join != nullptr) return add_to_left_join(member);
  if (member.set_operation != nullptr) return add_to_set_operation(member);
  if (!member.rows.empty()) member = derived_member(block_of_rows(slots_, std::move(member)));
  Expressions given = add_to(*member.block, EmptyGroups::kKept);
  member = derived_member(std::move(member.block));
  return given;
}

Expressions Unnesting::add_to_left_join(JoinMember& member) {
  LeftJoin& join = *member.left_join;
  Expressions given = add_to(join.preserved);
  replace(&join.on, given);
  replace(&join.domain.values, given);
  const bool both = join.full || names_outer(join.optional);
  Expressions optional = both ? add_to(join.optional) : Expressions();
  return join_domains(member, std::move(given), std::move(optional));
}

// Of a left join whose preserved side has the domain, and perhaps the optional one.
Expressions Unnesting::join_domains(JoinMember& member, Expressions preserved,
                                    const Expressions& optional) {
  LeftJoin& join = *member.left_join;
  const auto offer = [&](const Expression& value) {
    for_each_column(value, [&](const Expression& column) {
      member.slots.push_back(column.column);
      if (join.full) slots_[column.column].nullable = true;
    });
  };
  if (!optional.empty()) append_all(&join.on, same_values(preserved, optional));
  for (size_t i = 0; i < preserved.size(); ++i) {
    offer(*preserved[i]);
    if (!join.full) continue;
    offer(*optional[i]);
    const base::DataType type = optional[i]->type;
    preserved[i] = make_expression(ExpressionKind::kCoalesce, type, std::move(preserved[i]),
                                   clone(*optional[i]));
    preserved[i]->nullable = true;
  }
  return preserved;
}

Expressions Unnesting::add_to_set_operation(JoinMember& member) {
  SetOperation& operation = *member.set_operation;
  for (size_t i = 0; i < operation.inputs.size(); ++i) {
    append_all(&operation.columns[i], add_to(*operation.inputs[i], EmptyGroups::kKept));
  }
  std::vector<uint32_t> own;
  for (const uint32_t outer : outer_) own.push_back(own_slot(outer));
  member.slots.insert(member.slots.end(), own.begin(), own.end());
  return columns_of(own);
}

// Groups that are there even without rows: a left join of the domain with the groups, or, where
// the block has other sets than the empty ones, a full join. What the block has above the grouping
// stays above that join.
Expressions Unnesting::lift_groups(QueryBlock& block) {
  auto groups = std::make_unique<QueryBlock>();
  groups->times_bound = block.times_bound;
  groups->aggregated = std::exchange(block.aggregated, false);
  groups->from = std::exchange(block.from, JoinGroup());
  groups->group_keys = std::move(block.group_keys);
  groups->group_slots = std::exchange(block.group_slots, {});
  groups->grouping_sets = std::exchange(block.grouping_sets, {});
  groups->expanded_slots = std::move(block.expanded_slots);
  groups->set_slot = block.set_slot;
  groups->aggregates = std::move(block.aggregates);
  groups->aggregate_slots = std::exchange(block.aggregate_slots, {});
  std::unordered_map<uint32_t, ExpressionPtr> above;  // what stands for slots of the grouping
  const auto lift = [&](uint32_t slot) -> ExpressionPtr& {
    const uint32_t output = slots_.add({"", slots_[slot].type, true, nullptr, {}});
    groups->outputs.push_back({"", slots_.column(slot), output, false});
    return above[slot] = slots_.column(output);
  };
  for (const uint32_t slot : groups->group_slots) lift(slot);
  for (size_t i = 0; i < groups->aggregates.size(); ++i) {
    ExpressionPtr& value = lift(groups->aggregate_slots[i]);
    value = over_no_rows(groups->aggregates[i].kind, std::move(value));
  }
  JoinMember member;
  member.left_join = std::make_unique<LeftJoin>();
  LeftJoin& join = *member.left_join;
  join.preserved.members.push_back(domain_member());
  Expressions given = columns_of(join.preserved.members[0].slots);
  if (!groups->grouping_sets.empty()) {
    join.full = true;
    const uint32_t set = slots_.add({"", kBigIntType, true, nullptr, {}});
    JoinMember sets = sets_without_keys(*groups, set);
    ExpressionPtr& value = lift(block.set_slot);
    join.on.push_back(equals(clone(*value), slots_.column(set)));
    value = make_expression(ExpressionKind::kCoalesce, kBigIntType, std::move(value),
                            slots_.column(set));
    member.slots.push_back(set);
    join.preserved.members.push_back(std::move(sets));
  }
  groups->visible_outputs = groups->outputs.size();
  const Expressions grouped = add_to(*groups, EmptyGroups::kLeftOut);
  join.optional.members.push_back(derived_member(std::move(groups)));
  const std::vector<uint32_t>& offered = join.optional.members[0].slots;
  member.slots.insert(member.slots.end(), offered.begin(), offered.end());
  given = join_domains(member, std::move(given), grouped);
  block.from.members.push_back(std::move(member));
  block.from.predicates = std::move(block.having);
  block.from.subqueries = std::move(block.subqueries);
  for_each_above_grouping(block, [&](ExpressionPtr* expression) {
    substitute(expression, [&](const Expression& column) {
      const auto found = above.find(column.column);
      return found == above.end() ? nullptr : clone(*found->second);
    });
  });
  return given;
}

bool Unnesting::is_outer(uint32_t slot) const {
  return std::binary_search(outer_.begin(), outer_.end(), slot);
}

template <class Tree>
bool Unnesting::names_outer(const Tree& tree) const {
  bool found = false;
  for_each_column(tree, [&](const Expression& c) { found = found || is_outer(c.column); });
  return found;
}

JoinMember Unnesting::domain_member() {
  JoinMember member;
  member.domain = id_;
  for (const uint32_t outer : outer_) member.slots.push_back(own_slot(outer));
  return member;
}

uint32_t Unnesting::own_slot(uint32_t outer) {
  const Slot& copied = slots_[outer];
  Slot own{copied.name, copied.type, copied.nullable || nullable_, nullptr, {}};
  return slots_.add(std::move(own));
}

ExpressionPtr Unnesting::outer_column(size_t i) const {
  const Slot& slot = slots_[outer_[i]];
  return make_column(outer_[i], slot.type, slot.nullable || nullable_);
}

Expressions Unnesting::columns_of(const std::vector<uint32_t>& slots) const {
  Expressions columns;
  for (const uint32_t slot : slots) columns.push_back(slots_.column(slot));
  return columns;
}

void Unnesting::replace(ExpressionPtr* expression, const Expressions& given) const {
  substitute(expression, [&](const Expression& column) {
    const auto found = std::lower_bound(outer_.begin(), outer_.end(), column.column);
    if (found == outer_.end() || *found != column.column) return ExpressionPtr();
    return clone(*given[static_cast<size_t>(found - outer_.begin())]);
  });
}

}  // namespace diptych::olap
