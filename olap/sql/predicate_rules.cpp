#include "olap/sql/predicate_rules.h"

#include <algorithm>
#include <optional>

#include "olap/sql/constant_folding.h"
#include "olap/sql/type_rules.h"
#include "olap/sql/unnesting.h"

namespace diptych::olap {
namespace {

bool contains(const Expressions& list, const Expression& wanted) {
  return std::any_of(list.begin(), list.end(),
                     [&](const ExpressionPtr& e) { return equal(*e, wanted); });
}

constexpr size_t kListsSearched = 16;  // of an OR's, the last ones

// The expression that the branch compares with literals, by = or IN; nullptr: it does something
// else.
const Expression* listed(const Expression& branch) {
  if (branch.kind == ExpressionKind::kInList) return branch.children[0].get();
  if (branch.kind != ExpressionKind::kEqual) return nullptr;
  const Expression& value = *branch.children[1];
  const bool is_list = is_literal(value) && !is_null_literal(value) &&
                       names_a_column(*branch.children[0]) &&
                       same_representation(branch.children[0]->type, value.type);
  return is_list ? branch.children[0].get() : nullptr;
}

// The branches of an OR, of which those that list values of one expression become one.
Expressions as_lists(Expressions branches) {
  Expressions merged;
  for (ExpressionPtr& branch : branches) {
    const Expression* const subject = listed(*branch);
    const auto searched = static_cast<std::ptrdiff_t>(std::min(merged.size(), kListsSearched));
    const auto known = std::find_if(merged.end() - searched, merged.end(), [&](const auto& other) {
      const Expression* const same = listed(*other);
      return subject != nullptr && same != nullptr && equal(*same, *subject);
    });
    if (known == merged.end()) {
      merged.push_back(std::move(branch));
      continue;
    }
    (*known)->kind = ExpressionKind::kInList;
    for (size_t i = 1; i < branch->children.size(); ++i) {
      (*known)->children.push_back(std::move(branch->children[i]));
    }
  }
  return merged;
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
  conjuncts.push_back(disjunction(as_lists(std::move(rest))));
  return conjuncts;
}

// What holds where the comparison or the test does not, and is NULL where it is: all values have an
// order, NaN among the DOUBLEs too.
std::optional<ExpressionKind> opposite_kind(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::kEqual: return ExpressionKind::kNotEqual;
    case ExpressionKind::kNotEqual: return ExpressionKind::kEqual;
    case ExpressionKind::kIsNull: return ExpressionKind::kIsNotNull;
    case ExpressionKind::kIsNotNull: return ExpressionKind::kIsNull;
    case ExpressionKind::kLess: return ExpressionKind::kGreaterEqual;
    case ExpressionKind::kLessEqual: return ExpressionKind::kGreater;
    case ExpressionKind::kGreater: return ExpressionKind::kLessEqual;
    case ExpressionKind::kGreaterEqual: return ExpressionKind::kLess;
    default: return std::nullopt;
  }
}

// NOT predicate, without a NOT where there is such a form.
ExpressionPtr opposite(ExpressionPtr predicate) {
  Expression& e = *predicate;
  if (e.kind == ExpressionKind::kNot) return push_nots(std::move(e.children[0]));
  if (e.kind == ExpressionKind::kOr) {
    Expressions none;
    for (ExpressionPtr& branch : e.children) none.push_back(opposite(std::move(branch)));
    return fold(make_expression(ExpressionKind::kAnd, kBooleanType, std::move(none)));
  }
  const auto kind = opposite_kind(e);
  if (!kind) return negated(std::move(predicate));
  e.kind = *kind;
  return predicate;
}

// The two are NULL together, whatever integer casts are around them.
bool is_null_test_of(const Expression& test, const Expression& value) {
  return test.kind == ExpressionKind::kIsNull &&
         equal(without_integer_casts(*test.children[0]), without_integer_casts(value));
}

bool is_false(const Expression& e) {
  const bool* const value = is_literal(e) ? std::get_if<bool>(&e.literal) : nullptr;
  return value != nullptr && !*value;
}

// The x = y of a conjunct [coalesce(]x = y[, false)] OR (x IS NULL AND y IS NULL); else nullptr.
const Expression* null_safe_equality(const Expression& e) {
  if (e.kind != ExpressionKind::kOr || e.children.size() != 2) return nullptr;
  for (size_t side = 0; side < 2; ++side) {
    const Expression* equality = e.children[side].get();
    const Expression& both = *e.children[1 - side];
    if (equality->kind == ExpressionKind::kCoalesce) {
      if (equality->children.size() != 2 || !is_false(*equality->children[1])) continue;
      equality = equality->children[0].get();
    }
    if (equality->kind != ExpressionKind::kEqual || both.kind != ExpressionKind::kAnd ||
        both.children.size() != 2) {
      continue;
    }
    const Expression& x = *equality->children[0];
    const Expression& y = *equality->children[1];
    const Expression& a = *both.children[0];
    const Expression& b = *both.children[1];
    const bool same = (is_null_test_of(a, x) && is_null_test_of(b, y)) ||
                      (is_null_test_of(a, y) && is_null_test_of(b, x));
    if (same && names_a_column(x) && names_a_column(y)) return equality;
  }
  return nullptr;
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

bool is_literal_count(const ExpressionPtr& e) {
  const auto* const value = is_literal(*e) ? std::get_if<int64_t>(&e->literal) : nullptr;
  return value != nullptr && *value >= 0;
}

// Whether it is one of those that cannot_fail() says, children apart.
bool is_total(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::kColumn:
    case ExpressionKind::kLiteral:
    case ExpressionKind::kAnd:
    case ExpressionKind::kOr:
    case ExpressionKind::kNot:
    case ExpressionKind::kIsNull:
    case ExpressionKind::kIsNotNull:
    case ExpressionKind::kLike:
    case ExpressionKind::kInList: return true;
    case ExpressionKind::kCast: return &without_integer_casts(e) != &e;
    case ExpressionKind::kFunction:
      if (e.function == Function::kAscii || e.function == Function::kLength) return true;
      return (e.function == Function::kSubstring || e.function == Function::kLeft) &&
             std::all_of(e.children.begin() + 1, e.children.end(), is_literal_count);
    default: return is_comparison(e.kind);
  }
}

bool compares_texts(const Expression& e) {
  const bool compares =
      e.kind == ExpressionKind::kLike || e.kind == ExpressionKind::kInList || is_comparison(e.kind);
  if (compares && e.children[0]->type.is_string()) return true;
  return std::any_of(e.children.begin(), e.children.end(),
                     [](const ExpressionPtr& child) { return compares_texts(*child); });
}

}  // namespace

ExpressionPtr push_nots(ExpressionPtr predicate) {
  Expression& e = *predicate;
  if (e.kind == ExpressionKind::kNot) return opposite(std::move(e.children[0]));
  if (e.kind == ExpressionKind::kAnd || e.kind == ExpressionKind::kOr) {
    for (ExpressionPtr& part : e.children) part = push_nots(std::move(part));
  }
  return predicate;
}

Expressions null_safe_keys(Expressions conjuncts) {
  Expressions result;
  for (ExpressionPtr& conjunct : conjuncts) {
    const Expression* equality = null_safe_equality(*conjunct);
    if (equality == nullptr) {
      result.push_back(std::move(conjunct));
      continue;
    }
    Expressions keys = same_value(clone(*equality->children[0]), clone(*equality->children[1]));
    std::move(keys.begin(), keys.end(), std::back_inserter(result));
  }
  return result;
}

Expressions factor_common(Expressions conjuncts) {
  Expressions result;
  for (ExpressionPtr& conjunct : null_safe_keys(std::move(conjuncts))) {
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
  return disjunction(as_lists(std::move(branches)));
}

bool cannot_fail(const Expression& expression) {
  return is_total(expression) &&
         std::all_of(expression.children.begin(), expression.children.end(),
                     [](const ExpressionPtr& child) { return cannot_fail(*child); });
}

void take_text_parts(ExpressionPtr* expression,
                     const std::function<bool(const Expression& part)>& eligible,
                     const std::function<ExpressionPtr(ExpressionPtr part)>& column) {
  Expression& e = **expression;
  if (eligible(e) && compares_texts(e) && cannot_fail(e)) {
    *expression = column(std::move(*expression));
    return;
  }
  for (ExpressionPtr& child : e.children) take_text_parts(&child, eligible, column);
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
