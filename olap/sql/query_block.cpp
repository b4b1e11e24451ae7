#include "olap/sql/query_block.h"

#include <algorithm>

namespace diptych::olap {
namespace {

void visit_all(const Expressions& expressions, const VisitColumn& visit) {
  for (const ExpressionPtr& e : expressions) {
    for_each_column(static_cast<const Expression&>(*e), visit);
  }
}

void visit_all(const std::vector<SubqueryJoin>& subqueries, const VisitColumn& visit) {
  for (const SubqueryJoin& subquery : subqueries) {
    for_each_column(subquery.inner, visit);
    visit_all(subquery.conditions, visit);
    visit_all(subquery.domain.values, visit);
  }
}

bool depends_on_order(AggregateKind kind, bool of_doubles) {
  switch (kind) {
    case AggregateKind::kSum:
    case AggregateKind::kAvg: return of_doubles;
    case AggregateKind::kVarSamp:
    case AggregateKind::kVarPop:
    case AggregateKind::kStddevSamp:
    case AggregateKind::kStddevPop:
    case AggregateKind::kCovarPop:
    case AggregateKind::kStringAgg: return true;
    default: return false;
  }
}

bool depends_on_order(const WindowFunction& function) {
  switch (function.kind) {
    case WindowKind::kRank:
    case WindowKind::kDenseRank:
    case WindowKind::kPercentRank:
    case WindowKind::kCumeDist: return false;
    case WindowKind::kAggregate:
      return function.frame.mode == FrameMode::kRows ||
             function.frame.exclusion == FrameExclusion::kCurrentRow ||
             function.frame.exclusion == FrameExclusion::kTies ||
             depends_on_order(function.aggregate, function.type.kind == base::TypeKind::kDouble);
    default: return true;
  }
}

}  // namespace

bool rows_may_differ(const QueryBlock& block) {
  if (block.limit != kNoLimit || block.offset != 0 || !block.distinct_on.empty()) return true;
  for (const Aggregate& aggregate : block.aggregates) {
    if (depends_on_order(aggregate.kind, aggregate.type.kind == base::TypeKind::kDouble)) {
      return true;
    }
  }
  for (const Window& window : block.windows) {
    for (const WindowCall& call : window.calls) {
      if (depends_on_order(call.function)) return true;
    }
  }
  return false;
}

size_t width_of(const JoinGroup& group) {
  size_t width = 0;
  for (const JoinMember& member : group.members) {
    width += member.left_join == nullptr
                 ? 1
                 : width_of(member.left_join->preserved) + width_of(member.left_join->optional);
  }
  return width;
}

const JoinMember* table_with(const JoinGroup& group, uint32_t slot) {
  for (const JoinMember& member : group.members) {
    if (member.left_join != nullptr) {
      const JoinMember* const left = table_with(member.left_join->preserved, slot);
      const JoinMember* const found =
          left != nullptr ? left : table_with(member.left_join->optional, slot);
      if (found != nullptr) return found;
    }
    const std::vector<uint32_t>& slots = member.slots;
    const bool has = std::find(slots.begin(), slots.end(), slot) != slots.end();
    if (member.table != nullptr && has) return &member;
  }
  return nullptr;
}

bool names_a_subquery(const std::vector<SubqueryJoin>& subqueries, const Expression& expression) {
  bool found = false;
  for_each_column(expression, [&](const Expression& column) {
    for (const SubqueryJoin& subquery : subqueries) {
      const bool own = column.column >= subquery.first_slot && column.column < subquery.end_slot;
      const bool gives = subquery.kind == JoinKind::kLeft || subquery.kind == JoinKind::kInner;
      found = found || (gives && own) ||
              (subquery.kind == JoinKind::kMark && subquery.mark == column.column);
    }
  });
  return found;
}

JoinMember derived_member(std::unique_ptr<QueryBlock> block) {
  JoinMember member;
  for (size_t i = 0; i < block->visible_outputs; ++i) {
    member.slots.push_back(block->outputs[i].slot);
  }
  member.block = std::move(block);
  return member;
}

void for_each_column(const JoinMember& member, const VisitColumn& visit) {
  if (member.block != nullptr) for_each_column(*member.block, visit);
  for (const Expressions& row : member.rows) visit_all(row, visit);
  if (member.left_join != nullptr) {
    const LeftJoin& join = *member.left_join;
    for_each_column(join.preserved, visit);
    for_each_column(join.optional, visit);
    visit_all(join.on, visit);
    visit_all(join.domain.values, visit);
  }
  if (member.set_operation == nullptr) return;
  for (const auto& input : member.set_operation->inputs) for_each_column(*input, visit);
  for (const Expressions& input : member.set_operation->columns) visit_all(input, visit);
}

void for_each_column(const JoinGroup& group, const VisitColumn& visit) {
  for (const JoinMember& member : group.members) for_each_column(member, visit);
  visit_all(group.predicates, visit);
  visit_all(group.subqueries, visit);
}

void for_each_column(const QueryBlock& block, const VisitColumn& visit) {
  for_each_column(block.from, visit);
  visit_all(block.group_keys, visit);
  for (const Aggregate& aggregate : block.aggregates) {
    if (aggregate.argument != nullptr) {
      for_each_column(static_cast<const Expression&>(*aggregate.argument), visit);
    }
    visit_all(aggregate.further, visit);
  }
  visit_all(block.subqueries, visit);
  visit_all(block.having, visit);
  for (const Window& window : block.windows) {
    for (const WindowColumn& column : window.columns) {
      for_each_column(static_cast<const Expression&>(*column.expression), visit);
    }
  }
  visit_all(block.window_subqueries, visit);
  for (const OutputColumn& output : block.outputs) {
    for_each_column(static_cast<const Expression&>(*output.expression), visit);
  }
}

}  // namespace diptych::olap
