#include "olap/sql/empty_operators.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "olap/sql/expression_tree.h"

namespace diptych::olap {
namespace {

bool is_empty(const Operator& op) {
  return op.kind == OperatorKind::kValues && op.expressions.empty();
}

bool passes_none(const Operator& op) {
  return std::any_of(op.predicates.begin(), op.predicates.end(),
                     [](const ExpressionPtr& one) { return is_never_true(*one); });
}

bool is_empty_join(const Operator& join) {
  const bool probe = is_empty(*join.children[0]);
  const bool build = is_empty(*join.children[1]);
  switch (join.join) {
    case JoinKind::kInner:
    case JoinKind::kSemi:
    case JoinKind::kBuildSemi: return probe || build || passes_none(join);
    case JoinKind::kLeft:
    case JoinKind::kAnti:
    case JoinKind::kMark: return probe;
    case JoinKind::kBuildAnti: return build;
  }
  return false;
}

// Of an operator whose children are not empty unless they are operators without rows.
bool has_no_rows(const Operator& op) {
  switch (op.kind) {
    case OperatorKind::kScan: return passes_none(op);
    case OperatorKind::kFilter: return is_empty(*op.children[0]) || passes_none(op);
    case OperatorKind::kSort:
    case OperatorKind::kLimit: return is_empty(*op.children[0]) || op.limit == 0;
    case OperatorKind::kAggregate:
      return is_empty(*op.children[0]) && !op.expressions.empty() && op.standing_groups.empty();
    case OperatorKind::kHashJoin: return is_empty_join(op);
    case OperatorKind::kAppend: return op.children.empty();
    case OperatorKind::kProject:
    case OperatorKind::kRepeat:
    case OperatorKind::kExpand:
    case OperatorKind::kWindow:
    case OperatorKind::kRecursion: return is_empty(*op.children[0]);
    case OperatorKind::kValues:
    case OperatorKind::kWorkingRows: return false;
  }
  return false;
}

OperatorPtr no_rows(Operator op) {
  auto values = std::make_unique<Operator>();
  values->kind = OperatorKind::kValues;
  values->output = std::move(op.output);
  values->output_nullable = std::move(op.output_nullable);
  return values;
}

// The only child whose rows these are; nullptr where there is none.
OperatorPtr* same_rows(Operator* op) {
  auto& children = op->children;
  // An append has the types of a first member that may be gone: its texts may be longer than these.
  if (op->kind == OperatorKind::kAppend) {
    return children.size() == 1 && children[0]->output == op->output ? &children[0] : nullptr;
  }
  if (op->kind != OperatorKind::kHashJoin) return nullptr;
  const bool asks_none = passes_none(*op);
  const bool probe = op->join == JoinKind::kAnti && (asks_none || is_empty(*children[1]));
  const bool build = op->join == JoinKind::kBuildAnti && (asks_none || is_empty(*children[0]));
  return probe ? &children[0] : build ? &children[1] : nullptr;
}

bool asks_build_side_in_vain(const Operator& op) {
  const bool keeps_probe_rows = op.join == JoinKind::kLeft || op.join == JoinKind::kMark;
  return op.kind == OperatorKind::kHashJoin && keeps_probe_rows && passes_none(op);
}

}  // namespace

void drop_empty_operators(OperatorPtr* root) {
  Operator& op = **root;
  // A recursion's step is asked as it stands: the rows of the round before are in it.
  const size_t children = op.kind == OperatorKind::kRecursion ? 1 : op.children.size();
  for (size_t i = 0; i < children; ++i) drop_empty_operators(&op.children[i]);
  if (asks_build_side_in_vain(op)) op.children[1] = no_rows(std::move(*op.children[1]));
  if (op.kind == OperatorKind::kAppend) {
    std::erase_if(op.children, [](const OperatorPtr& child) { return is_empty(*child); });
  }
  if (has_no_rows(op)) {
    *root = no_rows(std::move(op));
  } else if (OperatorPtr* const child = same_rows(&op)) {
    *root = std::exchange(*child, nullptr);
  }
}

}  // namespace diptych::olap
