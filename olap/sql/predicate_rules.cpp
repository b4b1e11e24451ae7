#include "olap/sql/predicate_rules.h"

#include <algorithm>

namespace diptych::olap {
namespace {

bool contains(const Expressions& list, const Expression& wanted) {
  return std::any_of(list.begin(), list.end(),
                     [&](const ExpressionPtr& e) { return equal(*e, wanted); });
}

// One OR as conjuncts: the common ones, then what is left of the OR (none where a branch is empty).
Expressions factor(ExpressionPtr disjunctive) {
  std::vector<Expressions> branches;
  for (ExpressionPtr& branch : disjunctive->children) {
    branches.push_back(factor_common(split_conjuncts(std::move(branch))));
  }
  Expressions conjuncts;
  Expressions first_rest;
  for (ExpressionPtr& candidate : branches.front()) {
    const bool common = std::all_of(branches.begin() + 1, branches.end(),
                                    [&](const Expressions& b) { return contains(b, *candidate); });
    (common ? conjuncts : first_rest).push_back(std::move(candidate));
  }
  branches.front() = std::move(first_rest);
  bool some_branch_is_true = branches.front().empty();
  for (size_t i = 1; i < branches.size(); ++i) {
    std::erase_if(branches[i], [&](const ExpressionPtr& e) { return contains(conjuncts, *e); });
    some_branch_is_true = some_branch_is_true || branches[i].empty();
  }
  if (some_branch_is_true) return conjuncts;
  Expressions rest;
  for (Expressions& branch : branches) rest.push_back(conjunction(std::move(branch)));
  conjuncts.push_back(disjunction(std::move(rest)));
  return conjuncts;
}

// Its value may be another than NULL though an argument is NULL.
bool leaves_out_nulls(const Expression& e) {
  return e.kind == ExpressionKind::kFunction &&
         (e.function == Function::kGreatest || e.function == Function::kLeast ||
          e.function == Function::kConcatWs || e.function == Function::kFormat);
}

// True if the value is NULL whenever all `slots` are.
bool is_strict(const Expression& e, const std::vector<uint32_t>& slots) {
  switch (e.kind) {
    case ExpressionKind::kColumn:
      return std::find(slots.begin(), slots.end(), e.column) != slots.end();
    case ExpressionKind::kCast:
    case ExpressionKind::kNegate:
    case ExpressionKind::kAdd:
    case ExpressionKind::kSubtract:
    case ExpressionKind::kMultiply:
    case ExpressionKind::kDivide:
    case ExpressionKind::kModulo:
    case ExpressionKind::kConcat:
    case ExpressionKind::kFunction:
      if (leaves_out_nulls(e)) return false;
      return std::any_of(e.children.begin(), e.children.end(),
                         [&](const ExpressionPtr& child) { return is_strict(*child, slots); });
    default: return false;
  }
}

// A truth value that is always there, and compares texts.
struct TextPart {
  bool cannot_fail = true;
  bool compares_texts = false;
};

TextPart text_part(const Expression& e) {
  TextPart part;
  switch (e.kind) {
    case ExpressionKind::kColumn:
    case ExpressionKind::kLiteral: return part;
    case ExpressionKind::kAnd:
    case ExpressionKind::kOr:
    case ExpressionKind::kNot:
    case ExpressionKind::kIsNull:
    case ExpressionKind::kIsNotNull: break;
    case ExpressionKind::kLike:
    case ExpressionKind::kInList: part.compares_texts = e.children[0]->type.is_string(); break;
    default:
      part.cannot_fail = is_comparison(e.kind);
      part.compares_texts = part.cannot_fail && e.children[0]->type.is_string();
  }
  for (const ExpressionPtr& child : e.children) {
    const TextPart below = text_part(*child);
    part.cannot_fail = part.cannot_fail && below.cannot_fail;
    part.compares_texts = part.compares_texts || below.compares_texts;
  }
  return part;
}

}  // namespace

Expressions factor_common(Expressions conjuncts) {
  Expressions result;
  for (ExpressionPtr& conjunct : conjuncts) {
    if (conjunct->kind != ExpressionKind::kOr) {
      result.push_back(std::move(conjunct));
      continue;
    }
    for (ExpressionPtr& part : factor(std::move(conjunct))) result.push_back(std::move(part));
  }
  return result;
}

ExpressionPtr implied_disjunction(const Expression& predicate,
                                  const std::function<bool(const Expression&)>& eligible) {
  if (predicate.kind != ExpressionKind::kOr) return nullptr;
  Expressions branches;
  for (const ExpressionPtr& branch : predicate.children) {
    Expressions kept;
    for (ExpressionPtr& conjunct : split_conjuncts(clone(*branch))) {
      if (eligible(*conjunct)) kept.push_back(std::move(conjunct));
    }
    if (kept.empty()) return nullptr;
    branches.push_back(conjunction(std::move(kept)));
  }
  return disjunction(std::move(branches));
}

void take_text_parts(ExpressionPtr* predicate, const Planned& side,
                     const std::function<ExpressionPtr(ExpressionPtr part)>& column) {
  Expression& e = **predicate;
  if (side.has_all(e)) {
    const TextPart part = text_part(e);
    if (part.compares_texts && part.cannot_fail) {
      *predicate = column(std::move(*predicate));
      return;
    }
  }
  const bool is_connective = e.kind == ExpressionKind::kAnd || e.kind == ExpressionKind::kOr ||
                             e.kind == ExpressionKind::kNot;
  if (!is_connective) return;
  for (ExpressionPtr& child : e.children) take_text_parts(&child, side, column);
}

bool rejects_nulls(const Expression& predicate, const std::vector<uint32_t>& slots) {
  switch (predicate.kind) {
    case ExpressionKind::kEqual:
    case ExpressionKind::kNotEqual:
    case ExpressionKind::kLess:
    case ExpressionKind::kLessEqual:
    case ExpressionKind::kGreater:
    case ExpressionKind::kGreaterEqual:
      return is_strict(*predicate.children[0], slots) || is_strict(*predicate.children[1], slots);
    case ExpressionKind::kLike:
    case ExpressionKind::kInList:
    case ExpressionKind::kIsNotNull: return is_strict(*predicate.children[0], slots);
    default: return false;
  }
}

}  // namespace diptych::olap
