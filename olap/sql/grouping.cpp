// GROUP BY of SelectBinder, and the rule that everything else is grouped or aggregated.

#include <algorithm>

#include <fmt/format.h>

#include "olap/sql/select_binder.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

constexpr Clause kGroupBy{"GROUP BY", false};
constexpr size_t kGroupingSetsMax = 256;

}  // namespace

base::Result<void> SelectBinder::bind_group_by(NodeList items, NodeList targets) {
  if (items.empty()) return {};
  block_->aggregated = true;
  const bool sets = std::any_of(items.begin(), items.end(), [](const Node* item) {
    return item->node_case == PG_QUERY__NODE__NODE_GROUPING_SET;
  });
  if (sets) return bind_grouping_sets(items, targets);
  auto keys = bind_group_items(items, targets);
  if (!keys) return keys.error();
  return {};
}

// Expressions, or rows of them, as group keys; gives their numbers.
base::Result<GroupingKeys> SelectBinder::bind_group_items(NodeList items, NodeList targets) {
  slots_.work().check_columns(items.size(), "GROUP BY");
  GroupingKeys numbers;
  for (const Node* item : items) {
    if (item->node_case == PG_QUERY__NODE__NODE_ROW_EXPR) {
      const PgQuery__RowExpr& row = *item->row_expr;
      auto inner = bind_group_items(NodeList(row.args, row.n_args), targets);
      if (!inner) return inner.error();
      numbers.insert(numbers.end(), inner->begin(), inner->end());
      continue;
    }
    auto key = bind_group_item(*item, targets);
    if (!key) return key.error();
    numbers.push_back(*key);
  }
  return numbers;
}

// A literal is a key for itself, which only the output that it was written as is.
size_t SelectBinder::add_group_key(ExpressionPtr key) {
  slots_.work().step();
  for (size_t i = 0; i < block_->group_keys.size() && !is_literal(*key); ++i) {
    if (equal(*block_->group_keys[i], *key)) return i;
  }
  Slot slot;
  if (key->kind == ExpressionKind::kColumn) slot = slots_[key->column];
  slot.type = key->type;
  slot.nullable = key->nullable;
  block_->group_slots.push_back(slots_.add(std::move(slot)));
  block_->group_keys.push_back(std::move(key));
  slots_.work().check_columns(block_->group_keys.size(), "GROUP BY");
  return block_->group_keys.size() - 1;
}

// The sets of GROUP BY a, ROLLUP (b, c) are those of each item, combined.
base::Result<void> SelectBinder::bind_grouping_sets(NodeList items, NodeList targets) {
  slots_.work().check_columns(items.size(), "GROUP BY");
  std::vector<GroupingKeys> sets = {{}};
  expressions_.make_columns_null();
  for (Node* const& item : items) {
    auto item_sets = grouping_sets_of(NodeList(&item, 1), targets);
    if (!item_sets) return item_sets.error();
    std::vector<GroupingKeys> combined;
    for (const GroupingKeys& left : sets) {
      for (const GroupingKeys& right : *item_sets) {
        combined.push_back(left);
        combined.back().insert(combined.back().end(), right.begin(), right.end());
      }
    }
    sets = std::move(combined);
    if (sets.size() > kGroupingSetsMax) {
      return source_.unsupported(start_of(item),
                                 fmt::format("over {} grouping sets", kGroupingSetsMax));
    }
  }
  for (const GroupingKeys& set : sets) {
    std::vector<bool>& has = block_->grouping_sets.emplace_back(block_->group_keys.size());
    for (const size_t key : set) has[key] = true;
  }
  for (const uint32_t slot : block_->group_slots) {
    slots_[slot].nullable = true;
    block_->expanded_slots.push_back(slots_.add(Slot(slots_[slot])));
  }
  block_->set_slot = slots_.add({"", kBigIntType, false, nullptr, {}});
  return {};
}

// Of GROUP BY DISTINCT: each set once.
void SelectBinder::drop_repeated_sets() {
  std::vector<std::vector<bool>>& sets = block_->grouping_sets;
  for (auto set = sets.begin(); set != sets.end();) {
    set = std::find(sets.begin(), set, *set) == set ? set + 1 : sets.erase(set);
  }
}

base::Result<std::vector<GroupingKeys>> SelectBinder::grouping_sets_of(NodeList one,
                                                                       NodeList targets) {
  const Node& item = *one.front();
  std::vector<GroupingKeys> sets;
  if (item.node_case != PG_QUERY__NODE__NODE_GROUPING_SET) {
    auto keys = bind_group_items(one, targets);
    if (!keys) return keys.error();
    sets.push_back(*std::move(keys));
    return sets;
  }
  const PgQuery__GroupingSet& set = *item.grouping_set;
  if (set.kind == PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_EMPTY) {
    sets.emplace_back();
    return sets;
  }
  if (set.kind == PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_SETS) {
    for (Node* const& inner : NodeList(set.content, set.n_content)) {
      auto inner_sets = grouping_sets_of(NodeList(&inner, 1), targets);
      if (!inner_sets) return inner_sets.error();
      sets.insert(sets.end(), inner_sets->begin(), inner_sets->end());
    }
    return sets;
  }
  std::vector<GroupingKeys> parts;  // of ROLLUP and CUBE; (a, b) is one
  for (Node* const& part : NodeList(set.content, set.n_content)) {
    auto keys = bind_group_items(NodeList(&part, 1), targets);
    if (!keys) return keys.error();
    parts.push_back(*std::move(keys));
  }
  const bool cube = set.kind == PG_QUERY__GROUPING_SET_KIND__GROUPING_SET_CUBE;
  if (cube && (size_t{1} << std::min<size_t>(parts.size(), 20)) > kGroupingSetsMax) {
    return source_.unsupported(set.location,
                               fmt::format("over {} grouping sets", kGroupingSetsMax));
  }
  const size_t count = cube ? size_t{1} << parts.size() : parts.size() + 1;
  for (size_t i = 0; i < count; ++i) {
    GroupingKeys& keys = sets.emplace_back();
    for (size_t p = 0; p < parts.size(); ++p) {
      const bool has = cube ? ((i >> p) & 1) == 0 : p < parts.size() - i;
      if (has) keys.insert(keys.end(), parts[p].begin(), parts[p].end());
    }
  }
  return sets;
}

base::Error SelectBinder::wrong_key(const Node& key, base::Error error,
                                    std::vector<std::string> outputs) const {
  const bool name =
      key.node_case == PG_QUERY__NODE__NODE_COLUMN_REF && key.column_ref->n_fields == 1;
  if (!name || error.sqlstate() != "42703") return error;
  return scope_.unknown_column(source_, key.column_ref->location,
                               string_of(key.column_ref->fields[0]), std::move(outputs));
}

// The SELECT item with the name as its alias, or nullptr. Several items may have it only if they
// are the same.
base::Result<const Node*> SelectBinder::find_alias(NodeList targets,
                                                   const PgQuery__ColumnRef& column) {
  const std::string_view name = string_of(column.fields[0]);
  const Node* found = nullptr;
  for (const Node* target : targets) {
    const std::string_view alias = target->res_target->name;
    const Node* const value = target->res_target->val;
    if (alias != name) continue;
    if (found == nullptr) {
      found = value;
    } else if (!same_expression(*found, *value)) {
      const auto is_column = [](const Node& node) {
        return node.node_case == PG_QUERY__NODE__NODE_COLUMN_REF;
      };
      bool same = is_column(*found) && is_column(*value);  // a and t.a may be one column
      if (same) {
        auto first = expressions_.bind_value(found, kGroupBy);
        if (!first) return first.error();
        auto second = expressions_.bind_value(value, kGroupBy);
        if (!second) return second.error();
        same = equal(**first, **second);
      }
      if (!same) return ambiguous_output("GROUP BY", name, column.location);
    }
  }
  return found;
}

base::Result<std::vector<SelectBinder::CountedTarget>> SelectBinder::counted(
    NodeList targets) const {
  std::vector<CountedTarget> all;
  for (const Node* const target : targets) {
    const Node* const value = target->res_target->val;
    if (!is_star(*value)) {
      all.push_back({value});
      continue;
    }
    const auto columns = columns_of(*value->column_ref);
    if (!columns) return columns.error();
    for (const ScopeColumn* const column : *columns) all.push_back({value, column});
  }
  return all;
}

// The key's number. As PostgreSQL reads it: a number is a position; a name is a column of FROM
// before it is an alias.
base::Result<size_t> SelectBinder::bind_group_item(const Node& item, NodeList targets) {
  const Node* node = &item;
  if (item.node_case == PG_QUERY__NODE__NODE_A_CONST) {
    const auto all = counted(targets);
    if (!all) return all.error();
    const auto position = position_of(item, all->size(), "GROUP BY");
    if (!position) return position.error();
    const CountedTarget& target = (*all)[**position];
    if (target.column != nullptr) {
      const int64_t place = target.value->column_ref->location;
      return add_group_key(expressions_.named_column(*target.column, place).expression);
    }
    node = target.value;
  } else if (item.node_case == PG_QUERY__NODE__NODE_COLUMN_REF && item.column_ref->n_fields == 1) {
    const std::string_view name = string_of(item.column_ref->fields[0]);
    if (scope_.find_own(name) == nullptr) {
      const auto aliased = find_alias(targets, *item.column_ref);
      if (!aliased) return aliased.error();
      if (*aliased != nullptr) node = *aliased;
    }
  } else {
    slots_.work().step();
    // SELECT's item of the same text, whose subqueries are then these
    const auto same = std::find_if(targets.begin(), targets.end(), [&](const Node* target) {
      return same_expression(*target->res_target->val, item);
    });
    if (same != targets.end()) node = (*same)->res_target->val;
  }
  if (const auto known = grouped_targets_.find(node); known != grouped_targets_.end()) {
    return known->second.key;
  }
  const uint32_t first_slot = slots_.size();
  auto key = expressions_.bind_value(node, kGroupBy);
  if (!key && same_expression(*node, item)) key = expressions_.bind_value(&item, kGroupBy);
  if (!key) {  // the error stands where GROUP BY has the expression
    std::vector<std::string> names;
    for (const Node* target : targets) names.emplace_back(target->res_target->name);
    return wrong_key(item, key.error(), std::move(names));
  }
  bool has_subquery = false;
  for_each_column(**key, [&](const Expression& column) {
    has_subquery = has_subquery || column.column >= first_slot;
  });
  if (has_subquery) expressions_.know(node, **key);
  ExpressionPtr copy = clone(**key);
  const size_t number = add_group_key(*std::move(key));
  grouped_targets_[node] = {std::move(copy), number};
  return number;
}

base::Result<void> SelectBinder::check_grouping() {
  if (!block_->aggregated) return {};
  for (size_t i = 0; i < block_->outputs.size(); ++i) {
    const std::string_view clause = i < block_->visible_outputs ? "SELECT" : "ORDER BY";
    if (const auto key = literal_outputs_.find(i); key != literal_outputs_.end()) {
      block_->outputs[i].expression = slots_.column(block_->group_slots[key->second]);
      continue;
    }
    if (auto done = replace_grouped(&block_->outputs[i].expression, clause); !done) return done;
  }
  for (Window& window : block_->windows) {
    for (WindowColumn& column : window.columns) {
      if (auto done = replace_grouped(&column.expression, "OVER"); !done) return done;
    }
  }
  for (SubqueryJoin& subquery : pending_) {
    for (Expressions* part : {&subquery.conditions, &subquery.domain.values}) {
      for (ExpressionPtr& e : *part) {
        if (auto done = replace_grouped(&e, "a subquery", subquery.offset); !done) return done;
      }
    }
  }
  for (ExpressionPtr& predicate : block_->having) {
    if (auto done = replace_grouped(&predicate, "HAVING"); !done) return done;
  }
  return {};
}

// Group keys become their slots, from the top of the tree down, so that the largest match wins.
// What has no place of its own is told at the offset.
base::Result<void> SelectBinder::replace_grouped(ExpressionPtr* expression, std::string_view clause,
                                                 int64_t offset) {
  Expression& e = **expression;
  if (is_literal(e)) return {};
  slots_.work().step();
  for (size_t i = 0; i < block_->group_keys.size(); ++i) {
    if (equal(e, *block_->group_keys[i])) {
      *expression = slots_.column(block_->group_slots[i]);
      return {};
    }
  }
  if (e.kind == ExpressionKind::kColumn) {
    for (const uint32_t slot : block_->aggregate_slots) {
      if (slot == e.column) return {};
    }
    if (!block_->grouping_sets.empty() && e.column == block_->set_slot) return {};
    for (const Window& window : block_->windows) {
      for (const WindowCall& call : window.calls) {
        if (call.slot == e.column) return {};
      }
    }
    if (const auto dependent = dependent_aggregate(e)) {
      *expression = slots_.column(*dependent);
      return {};
    }
    if (e.column < expressions_.first_own_slot()) return {};  // the outer query's
    for (const SubqueryJoin& subquery : pending_) {
      const bool own = e.column >= subquery.first_slot && e.column < subquery.end_slot;
      if (own || (subquery.kind == JoinKind::kMark && subquery.mark == e.column)) return {};
    }
    const auto place = offsets_.find(&e);
    return source_.wrong(place == offsets_.end() ? offset : place->second,
                         fmt::format("column \"{}\" in {} must be in GROUP BY or in an aggregate",
                                     slots_[e.column].name, clause),
                         "42803");
  }
  for (ExpressionPtr& child : e.children) {
    if (auto done = replace_grouped(&child, clause, offset); !done) return done;
  }
  renew_nullable(&e);
  return {};
}

// A column of a table whose whole primary key is grouped, in each set, has one value in each group:
// its least.
std::optional<uint32_t> SelectBinder::dependent_aggregate(const Expression& column) {
  if (slots_[column.column].table == nullptr) return std::nullopt;
  const JoinMember* const member = table_with(block_->from, column.column);
  if (member == nullptr) return std::nullopt;
  for (const base::ColumnId part : member->table->primary_key().columns) {
    const uint32_t slot = member->slots[part.value];
    const auto key = std::find_if(block_->group_keys.begin(), block_->group_keys.end(),
                                  [&](const ExpressionPtr& e) {
                                    return e->kind == ExpressionKind::kColumn && e->column == slot;
                                  });
    if (key == block_->group_keys.end()) return std::nullopt;
    const auto number = static_cast<size_t>(key - block_->group_keys.begin());
    for (const std::vector<bool>& set : block_->grouping_sets) {
      if (number >= set.size() || !set[number]) return std::nullopt;
    }
  }
  Aggregate least;
  least.kind = AggregateKind::kMin;
  least.argument = clone(column);
  least.type = column.type;
  return expressions_.add_aggregate(std::move(least), slots_[column.column].name);
}

}  // namespace diptych::olap
