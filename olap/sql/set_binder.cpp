// UNION, INTERSECT, EXCEPT and VALUES of SelectBinder: each is a block whose FROM is one member,
// so that ORDER BY, LIMIT and whatever a block can stand in work as for any SELECT.

#include <algorithm>

#include <fmt/format.h>

#include "olap/sql/select_binder.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

constexpr Clause kValues{"VALUES", false};

SetOperator set_operator(PgQuery__SetOperation operation) {
  switch (operation) {
    case PG_QUERY__SET_OPERATION__SETOP_INTERSECT: return SetOperator::kIntersect;
    case PG_QUERY__SET_OPERATION__SETOP_EXCEPT: return SetOperator::kExcept;
    default: return SetOperator::kUnion;
  }
}

std::string_view name_of(SetOperator kind) {
  switch (kind) {
    case SetOperator::kUnion: return "UNION";
    case SetOperator::kIntersect: return "INTERSECT";
    case SetOperator::kExcept: return "EXCEPT";
  }
  return {};
}

// The inputs of a chain of one kind of UNION, in order; the two inputs of any other operation.
std::vector<const PgQuery__SelectStmt*> inputs_of(const PgQuery__SelectStmt& select) {
  std::vector<const PgQuery__SelectStmt*> inputs = {select.rarg};
  const PgQuery__SelectStmt* left = select.larg;
  const auto continues = [&](const PgQuery__SelectStmt& s) {
    return select.op == PG_QUERY__SET_OPERATION__SETOP_UNION && s.op == select.op &&
           s.all == select.all && s.n_sort_clause == 0 && s.limit_count == nullptr &&
           s.limit_offset == nullptr && s.with_clause == nullptr;
  };
  for (; continues(*left); left = left->larg) inputs.push_back(left->rarg);
  inputs.push_back(left);
  std::reverse(inputs.begin(), inputs.end());
  return inputs;
}

}  // namespace

base::Result<void> SelectBinder::bind_set_operation(const PgQuery__SelectStmt& select) {
  auto operation = std::make_unique<SetOperation>();
  operation->kind = set_operator(select.op);
  operation->all = select.all != 0;
  std::vector<int64_t> places;
  for (const PgQuery__SelectStmt* input : inputs_of(select)) {
    SelectBinder binder(statement_, outer_, &ctes_, correlation_);
    auto block = binder.bind(*input);
    if (!block) return block.error();
    operation->inputs.push_back(*std::move(block));
    places.push_back(place_of(*input));
  }
  if (auto checked = check_set_width(select, *operation, places); !checked) return checked;
  const int64_t place = set_operation_before(source_, places.back());
  auto types = bind_set_columns(name_of(operation->kind), place, places, operation.get());
  if (!types) return types.error();
  if (operation->kind != SetOperator::kUnion && operation->all) {
    for (int side = 0; side < 2; ++side) {
      operation->marks.push_back(slots_.add({"", kBigIntType, true, nullptr, {}}));
      operation->counts.push_back(slots_.add({"", kBigIntType, false, nullptr, {}}));
    }
    operation->repeat = slots_.add({"", kBigIntType, false, nullptr, {}});
  }
  offer_operation(std::move(operation), *types);
  return {};
}

void SelectBinder::offer_operation(std::unique_ptr<SetOperation> operation,
                                   const std::vector<base::DataType>& types) {
  JoinMember member;
  std::vector<std::string> names;
  for (size_t i = 0; i < types.size(); ++i) {
    Slot slot;
    slot.name = operation->inputs[0]->outputs[i].name;
    slot.type = types[i];
    slot.nullable = std::any_of(operation->columns.begin(), operation->columns.end(),
                                [i](const Expressions& input) { return input[i]->nullable; });
    names.push_back(slot.name);
    member.slots.push_back(slots_.add(std::move(slot)));
  }
  member.set_operation = std::move(operation);
  offer_outputs(std::move(member), std::move(names));
}

// Each column's type; every input's outputs become values of it.
base::Result<std::vector<base::DataType>> SelectBinder::bind_set_columns(
    std::string_view name, int64_t place, const std::vector<int64_t>& places,
    SetOperation* operation) {
  const size_t columns = operation->inputs[0]->visible_outputs;
  operation->columns.resize(operation->inputs.size());
  std::vector<base::DataType> types;
  for (size_t c = 0; c < columns; ++c) {
    std::vector<Bound> bound;
    for (size_t i = 0; i < operation->inputs.size(); ++i) {
      const OutputColumn& output = operation->inputs[i]->outputs[c];
      ExpressionPtr value = output.untyped ? clone(*output.expression) : slots_.column(output.slot);
      bound.push_back({std::move(value), output.untyped, places[i]});
    }
    std::vector<Bound*> operands;
    for (Bound& one : bound) operands.push_back(&one);
    const auto type = unify(source_, name, place, operands);
    if (!type) return type.error();
    types.push_back(*type);
    for (size_t i = 0; i < bound.size(); ++i) {
      operation->columns[i].push_back(std::move(bound[i].expression));
    }
  }
  return types;
}

// All inputs have as many columns.
base::Result<void> SelectBinder::check_set_width(const PgQuery__SelectStmt& select,
                                                 const SetOperation& operation,
                                                 const std::vector<int64_t>& places) const {
  const size_t columns = operation.inputs[0]->visible_outputs;
  for (size_t i = 0; i < operation.inputs.size(); ++i) {
    if (operation.inputs[i]->visible_outputs == columns) continue;
    return source_.wrong(
        set_operation_before(source_, places[i]),
        fmt::format("the inputs of {} have {} and {} columns", name_of(set_operator(select.op)),
                    columns, operation.inputs[i]->visible_outputs));
  }
  return {};
}

base::Result<void> SelectBinder::bind_values(const PgQuery__SelectStmt& select) {
  std::vector<std::vector<Bound>> rows;
  for (const Node* list : NodeList(select.values_lists, select.n_values_lists)) {
    std::vector<Bound>& row = rows.emplace_back();
    slots_.work().check_columns(list->list->n_items, "VALUES");
    for (const Node* node : NodeList(list->list->items, list->list->n_items)) {
      auto value = expressions_.bind(node, kValues);
      if (!value) return value.error();
      row.push_back(*std::move(value));
    }
    if (row.size() != rows[0].size()) {
      return source_.wrong(row[0].offset, fmt::format("the rows of VALUES have {} and {} columns",
                                                      rows[0].size(), row.size()));
    }
  }
  if (!pending_.empty()) {
    pending_.clear();
    return bind_values_by_row(select);
  }
  JoinMember member;
  member.rows.resize(rows.size());
  std::vector<std::string> names;
  for (size_t c = 0; c < rows[0].size(); ++c) {
    std::vector<Bound*> operands;
    for (std::vector<Bound>& row : rows) operands.push_back(&row[c]);
    auto type = unify(source_, "VALUES", rows[0][c].offset, operands);
    if (!type) return type.error();
    Slot slot;
    slot.name = fmt::format("column{}", c + 1);
    slot.type = *type;
    slot.nullable = false;
    for (size_t r = 0; r < rows.size(); ++r) {
      slot.nullable = slot.nullable || rows[r][c].expression->nullable;
      member.rows[r].push_back(std::move(rows[r][c].expression));
    }
    names.push_back(slot.name);
    member.slots.push_back(slots_.add(std::move(slot)));
  }
  offer_outputs(std::move(member), std::move(names));
  return {};
}

// VALUES with subqueries is the UNION ALL of its rows: each is a SELECT that its own are joined to.
base::Result<void> SelectBinder::bind_values_by_row(const PgQuery__SelectStmt& select) {
  auto operation = std::make_unique<SetOperation>();
  operation->all = true;
  std::vector<int64_t> places;
  for (const Node* list : NodeList(select.values_lists, select.n_values_lists)) {
    const NodeList items(list->list->items, list->list->n_items);
    std::vector<std::string> names(items.size());
    std::vector<PgQuery__ResTarget> targets(items.size(), PG_QUERY__RES_TARGET__INIT);
    std::vector<Node> nodes(items.size(), PG_QUERY__NODE__INIT);
    std::vector<Node*> target_list;
    for (size_t c = 0; c < items.size(); ++c) {
      names[c] = fmt::format("column{}", c + 1);
      targets[c].name = names[c].data();
      targets[c].val = items[c];
      nodes[c].node_case = PG_QUERY__NODE__NODE_RES_TARGET;
      nodes[c].res_target = &targets[c];
      target_list.push_back(&nodes[c]);
    }
    PgQuery__SelectStmt row = PG_QUERY__SELECT_STMT__INIT;
    row.op = PG_QUERY__SET_OPERATION__SETOP_NONE;
    row.target_list = target_list.data();
    row.n_target_list = target_list.size();
    SelectBinder binder(statement_, outer_, &ctes_, correlation_);
    auto block = binder.bind(row);
    if (!block) return block.error();
    operation->inputs.push_back(*std::move(block));
    places.push_back(place_of(row));
  }
  auto types = bind_set_columns("VALUES", places.front(), places, operation.get());
  if (!types) return types.error();
  offer_operation(std::move(operation), *types);
  return {};
}

// The member's columns are the block's outputs, and ORDER BY can name them.
void SelectBinder::offer_outputs(JoinMember member, std::vector<std::string> names) {
  ScopeTable table;
  for (size_t i = 0; i < names.size(); ++i) {
    table.columns.push_back({names[i], member.slots[i], false});
    block_->outputs.push_back({names[i], slots_.column(member.slots[i]), 0, false});
    output_offsets_.push_back(-1);
  }
  block_->visible_outputs = block_->outputs.size();
  block_->from.members.push_back(std::move(member));
  scope_.tables().push_back(std::move(table));
}

}  // namespace diptych::olap
