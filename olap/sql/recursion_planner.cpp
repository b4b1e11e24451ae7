// Recursive queries of PlanBuilder.
//
// A step runs once a round over rows that differ, while the tables that it joins to them stay: the
// side of a join that reads no working rows builds, whatever its size, and is kept by execution.

#include <algorithm>
#include <utility>

#include "olap/sql/plan_builder.h"

namespace diptych::olap {
namespace {

constexpr double kRounds = 10;  // nothing says how many there will be

std::vector<base::DataType> types_of(const std::vector<uint32_t>& slots, const SlotTable& table) {
  std::vector<base::DataType> types;
  for (const uint32_t slot : slots) types.push_back(table[slot].type);
  return types;
}

}  // namespace

Planned make_recursion(uint32_t recursion, Duplicates duplicates, Planned first, Planned step,
                       std::vector<base::DataType> types) {
  const bool drops = duplicates == Duplicates::kDropped;
  DIPTYCH_CHECK(first.layout == step.layout, "both terms have the same columns");
  Planned planned;
  planned.root = std::make_unique<Operator>();
  Operator& root = *planned.root;
  root.kind = OperatorKind::kRecursion;
  root.recursion = recursion;
  root.estimated_rows = first.rows() + kRounds * step.rows();
  root.output_nullable.assign(types.size(), true);
  for (size_t i = 0; i < types.size() && drops; ++i) {
    root.expressions.push_back(make_column(static_cast<uint32_t>(i), types[i], true));
  }
  root.output = std::move(types);
  root.children.push_back(std::move(first.root));
  root.children.push_back(std::move(step.root));
  planned.layout = std::move(first.layout);
  planned.unfiltered = planned.rows();
  if (drops) planned.unique_keys = {planned.layout};
  return planned;
}

Planned make_working_rows(uint32_t recursion, std::vector<base::DataType> types,
                          std::vector<uint32_t> layout) {
  Planned planned;
  planned.root = std::make_unique<Operator>();
  planned.root->kind = OperatorKind::kWorkingRows;
  planned.root->recursion = recursion;
  planned.root->output_nullable.assign(types.size(), true);
  planned.root->output = std::move(types);
  planned.layout = std::move(layout);
  return planned;
}

bool reads_working_rows(const Operator& op, uint32_t recursion) {
  if (op.kind == OperatorKind::kWorkingRows) return op.recursion == recursion;
  return std::any_of(op.children.begin(), op.children.end(), [recursion](const OperatorPtr& child) {
    return reads_working_rows(*child, recursion);
  });
}

Planned PlanBuilder::plan_recursion(JoinMember& member) {
  const SetOperation& operation = *member.set_operation;
  std::vector<size_t> columns(member.slots.size());
  for (size_t c = 0; c < columns.size(); ++c) columns[c] = c;
  Planned first = plan_set_input(member, 0, columns, member.slots);
  const auto [round, is_new] = rounds_.emplace(operation.recursion, Round{&member, first.rows()});
  DIPTYCH_CHECK(is_new, "no recursion is in its own step");
  const uint32_t around = std::exchange(innermost_, operation.recursion);
  Planned step = plan_set_input(member, 1, columns, member.slots);
  innermost_ = around;
  rounds_.erase(round);
  return make_recursion(operation.recursion,
                        operation.all ? Duplicates::kKept : Duplicates::kDropped, std::move(first),
                        std::move(step), types_of(member.slots, estimator_.slots()));
}

// As many rows, and different values, as the first term has.
Planned PlanBuilder::plan_working_rows(const JoinMember& member) {
  const Round& round = rounds_.at(member.working);
  for (size_t i = 0; i < member.slots.size(); ++i) {
    estimator_.set_distinct(member.slots[i], estimator_.distinct(round.member->slots[i]));
  }
  Planned rows =
      make_working_rows(member.working, types_of(member.slots, estimator_.slots()), member.slots);
  rows.root->estimated_rows = round.rows;
  rows.unfiltered = round.rows;
  return rows;
}

bool PlanBuilder::stays_between_rounds(const Planned& changing, const Planned& staying) const {
  return innermost_ != 0 && reads_working_rows(*changing.root, innermost_) &&
         !reads_working_rows(*staying.root, innermost_);
}

}  // namespace diptych::olap
