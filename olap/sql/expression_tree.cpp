#include "olap/sql/expression_tree.h"

#include <algorithm>
#include <bit>

namespace diptych::olap {
namespace {

constexpr base::DataType kBoolean{base::TypeKind::kBoolean};

bool result_nullable(ExpressionKind kind, const Expressions& children) {
  const auto nullable = [](const ExpressionPtr& child) { return child->nullable; };
  switch (kind) {
    case ExpressionKind::kIsNull:
    case ExpressionKind::kIsNotNull: return false;
    case ExpressionKind::kNullIf: return true;
    case ExpressionKind::kCoalesce: return std::all_of(children.begin(), children.end(), nullable);
    case ExpressionKind::kCase:
      for (size_t i = 1; i < children.size(); i += 2) {
        if (children[i]->nullable) return true;
      }
      return children.back()->nullable;
    default: return std::any_of(children.begin(), children.end(), nullable);
  }
}

void flatten(ExpressionKind kind, ExpressionPtr predicate, Expressions* parts) {
  if (predicate->kind != kind) {
    parts->push_back(std::move(predicate));
    return;
  }
  for (ExpressionPtr& child : predicate->children) flatten(kind, std::move(child), parts);
}

// 0.0 and -0.0 are not, which as texts differ.
bool same(const base::Value& a, const base::Value& b) {
  const auto* const x = std::get_if<double>(&a);
  const auto* const y = std::get_if<double>(&b);
  if (x == nullptr || y == nullptr) return a == b;
  return std::bit_cast<uint64_t>(*x) == std::bit_cast<uint64_t>(*y);
}

}  // namespace

ExpressionPtr make_column(uint32_t slot, base::DataType type, bool nullable) {
  auto column = std::make_unique<Expression>();
  column->kind = ExpressionKind::kColumn;
  column->type = type;
  column->nullable = nullable;
  column->column = slot;
  return column;
}

ExpressionPtr make_literal(base::DataType type, base::Value value) {
  auto literal = std::make_unique<Expression>();
  literal->type = type;
  literal->nullable = base::is_null(value);
  literal->literal = std::move(value);
  return literal;
}

ExpressionPtr make_null(base::DataType type) {
  return make_literal(type, base::Value());
}

ExpressionPtr make_expression(ExpressionKind kind, base::DataType type, Expressions children) {
  DIPTYCH_CHECK(!children.empty(), "only columns and literals have no children");
  auto expression = std::make_unique<Expression>();
  expression->kind = kind;
  expression->type = type;
  expression->nullable = result_nullable(kind, children);
  expression->children = std::move(children);
  return expression;
}

ExpressionPtr make_expression(ExpressionKind kind, base::DataType type, ExpressionPtr child) {
  Expressions children;
  children.push_back(std::move(child));
  return make_expression(kind, type, std::move(children));
}

ExpressionPtr make_expression(ExpressionKind kind, base::DataType type, ExpressionPtr left,
                              ExpressionPtr right) {
  Expressions children;
  children.push_back(std::move(left));
  children.push_back(std::move(right));
  return make_expression(kind, type, std::move(children));
}

ExpressionPtr make_function(Function function, base::DataType type, Expressions arguments) {
  auto call = make_expression(ExpressionKind::kFunction, type, std::move(arguments));
  call->function = function;
  return call;
}

ExpressionPtr make_case(ExpressionPtr condition, ExpressionPtr value, ExpressionPtr otherwise) {
  const base::DataType type = value->type;
  Expressions children;
  children.push_back(std::move(condition));
  children.push_back(std::move(value));
  children.push_back(otherwise == nullptr ? make_null(type) : std::move(otherwise));
  return make_expression(ExpressionKind::kCase, type, std::move(children));
}

size_t node_count(const Expression& expression) {
  size_t count = 1;
  for (const ExpressionPtr& child : expression.children) count += node_count(*child);
  return count;
}

ExpressionPtr clone(const Expression& expression) {
  auto copy = std::make_unique<Expression>();
  copy->kind = expression.kind;
  copy->type = expression.type;
  copy->nullable = expression.nullable;
  copy->children = clone(expression.children);
  copy->column = expression.column;
  copy->literal = expression.literal;
  copy->function = expression.function;
  return copy;
}

Expressions clone(const Expressions& expressions) {
  Expressions copies;
  copies.reserve(expressions.size());
  for (const ExpressionPtr& expression : expressions) copies.push_back(clone(*expression));
  return copies;
}

bool equal(const Expression& a, const Expression& b) {
  return a.kind == b.kind && a.type == b.type && a.column == b.column &&
         same(a.literal, b.literal) && a.function == b.function &&
         std::equal(a.children.begin(), a.children.end(), b.children.begin(), b.children.end(),
                    [](const ExpressionPtr& x, const ExpressionPtr& y) { return equal(*x, *y); });
}

bool is_true_literal(const Expression& e) {
  const bool* value = is_literal(e) ? std::get_if<bool>(&e.literal) : nullptr;
  return value != nullptr && *value;
}

bool leaves_out_nulls(const Expression& e) {
  return e.kind == ExpressionKind::kFunction &&
         (e.function == Function::kGreatest || e.function == Function::kLeast ||
          e.function == Function::kConcatWs || e.function == Function::kFormat);
}

void for_each_column(const Expression& expression,
                     const std::function<void(const Expression&)>& visit) {
  if (expression.kind == ExpressionKind::kColumn) visit(expression);
  for (const ExpressionPtr& child : expression.children) {
    for_each_column(static_cast<const Expression&>(*child), visit);
  }
}

void for_each_column(Expression& expression, const std::function<void(Expression&)>& visit) {
  if (expression.kind == ExpressionKind::kColumn) visit(expression);
  for (const ExpressionPtr& child : expression.children) for_each_column(*child, visit);
}

bool names_a_column(const Expression& expression) {
  bool found = false;
  for_each_column(expression, [&](const Expression&) { found = true; });
  return found;
}

void renew_nullable(Expression* expression) {
  Expression& e = *expression;
  if (!e.children.empty()) e.nullable = e.nullable || result_nullable(e.kind, e.children);
}

void substitute(ExpressionPtr* expression,
                const std::function<ExpressionPtr(const Expression& column)>& value) {
  Expression& e = **expression;
  if (e.kind == ExpressionKind::kColumn) {
    if (ExpressionPtr replacement = value(e)) *expression = std::move(replacement);
    return;
  }
  for (ExpressionPtr& child : e.children) substitute(&child, value);
  renew_nullable(&e);
}

Expressions split_conjuncts(ExpressionPtr predicate) {
  Expressions conjuncts;
  if (predicate != nullptr) flatten(ExpressionKind::kAnd, std::move(predicate), &conjuncts);
  std::erase_if(conjuncts, [](const ExpressionPtr& c) { return is_true_literal(*c); });
  return conjuncts;
}

ExpressionPtr conjunction(Expressions conjuncts) {
  if (conjuncts.empty()) return make_literal(kBoolean, base::Value(true));
  if (conjuncts.size() == 1) return std::move(conjuncts.front());
  return make_expression(ExpressionKind::kAnd, kBoolean, std::move(conjuncts));
}

ExpressionPtr disjunction(Expressions branches) {
  if (branches.empty()) return make_literal(kBoolean, base::Value(false));
  if (branches.size() == 1) return std::move(branches.front());
  return make_expression(ExpressionKind::kOr, kBoolean, std::move(branches));
}

const Expression& without_integer_casts(const Expression& expression) {
  const Expression* e = &expression;
  while (e->kind == ExpressionKind::kCast && e->type.kind == base::TypeKind::kBigInt &&
         e->children[0]->type.kind == base::TypeKind::kInt) {
    e = e->children[0].get();
  }
  return *e;
}

}  // namespace diptych::olap
