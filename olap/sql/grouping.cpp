// GROUP BY of SelectBinder, and the rule that everything else is grouped or aggregated.

#include <fmt/format.h>

#include "olap/sql/select_binder.h"

namespace diptych::olap {
namespace {

constexpr Clause kGroupBy{"GROUP BY", false, false};

// The SELECT item with this alias, or nullptr.
const Node* find_alias(NodeList targets, std::string_view name) {
  for (const Node* target : targets) {
    const std::string_view alias = target->res_target->name;
    if (alias == name) return target->res_target->val;
  }
  return nullptr;
}

}  // namespace

base::Result<void> SelectBinder::bind_group_by(NodeList items, NodeList targets) {
  for (const Node* item : items) {
    auto key = bind_group_item(*item, targets);
    if (!key) return key.error();
    bool known = false;
    for (const ExpressionPtr& other : block_->group_keys) known = known || equal(*other, **key);
    if (known) continue;
    Slot slot;
    if ((*key)->kind == ExpressionKind::kColumn) slot = slots_[(*key)->column];
    slot.type = (*key)->type;
    slot.nullable = (*key)->nullable;
    block_->group_slots.push_back(slots_.add(std::move(slot)));
    block_->group_keys.push_back(*std::move(key));
  }
  if (!items.empty()) block_->aggregated = true;
  return {};
}

// As PostgreSQL reads it: a number is a position; a name is a column of FROM before it is an alias.
base::Result<ExpressionPtr> SelectBinder::bind_group_item(const Node& item, NodeList targets) {
  const Node* node = &item;
  if (item.node_case == PG_QUERY__NODE__NODE_A_CONST && item.a_const->isnull == 0 &&
      item.a_const->val_case == PG_QUERY__A__CONST__VAL_IVAL) {
    const int64_t position = item.a_const->ival->ival;
    if (position < 1 || position > static_cast<int64_t>(targets.size())) {
      return source_.wrong(item.a_const->location,
                           fmt::format("GROUP BY position {} is not one of the {} columns",
                                       position, targets.size()),
                           "42P10");
    }
    node = targets[static_cast<size_t>(position - 1)]->res_target->val;
  } else if (item.node_case == PG_QUERY__NODE__NODE_COLUMN_REF && item.column_ref->n_fields == 1) {
    const std::string_view name = string_of(item.column_ref->fields[0]);
    const Node* aliased = find_alias(targets, name);
    if (scope_.find_own(name) == nullptr && aliased != nullptr) node = aliased;
  }
  return expressions_.bind_value(node, kGroupBy);
}

base::Result<void> SelectBinder::check_grouping() {
  if (!block_->aggregated) return {};
  for (size_t i = 0; i < block_->outputs.size(); ++i) {
    const std::string_view clause = i < block_->visible_outputs ? "SELECT" : "ORDER BY";
    if (auto done = replace_grouped(&block_->outputs[i].expression, clause); !done) return done;
  }
  for (ExpressionPtr& predicate : block_->having) {
    if (auto done = replace_grouped(&predicate, "HAVING"); !done) return done;
  }
  return {};
}

// Group keys become their slots, from the top of the tree down, so that the largest match wins.
base::Result<void> SelectBinder::replace_grouped(ExpressionPtr* expression,
                                                 std::string_view clause) {
  Expression& e = **expression;
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
    for (const JoinMember& scalar : scalars_) {
      if (scalar.slots.front() == e.column) return {};
    }
    const auto offset = offsets_.find(&e);
    return source_.wrong(offset == offsets_.end() ? -1 : offset->second,
                         fmt::format("column \"{}\" in {} must be in GROUP BY or in an aggregate",
                                     slots_[e.column].name, clause),
                         "42803");
  }
  for (ExpressionPtr& child : e.children) {
    if (auto done = replace_grouped(&child, clause); !done) return done;
  }
  return {};
}

}  // namespace diptych::olap
