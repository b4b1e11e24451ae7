#include "olap/sql/expression_binder.h"

#include <fmt/format.h>

#include "olap/sql/constant_folding.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using base::DataType;

constexpr unsigned kNestingMax = 300;  // keeps the recursion within any thread's stack

ExpressionPtr negated(ExpressionPtr predicate) {
  return fold(make_expression(ExpressionKind::kNot, kBooleanType, std::move(predicate)));
}

std::string operator_name(const PgQuery__AExpr& operation) {
  return joined(strings_of(NodeList(operation.name, operation.n_name)));
}

}  // namespace

BoundResult ExpressionBinder::bind(const Node* node, const Clause& clause) {
  DIPTYCH_CHECK(node != nullptr, "the grammar gives every clause its expression");
  clause_ = clause;
  return dispatch(*node);
}

BoundResult ExpressionBinder::bind_operand(const Node* node, const Clause& clause) {
  auto bound = bind(node, clause);
  if (bound && bound->interval) return source_.unsupported(bound->offset, "an INTERVAL as a value");
  return bound;
}

base::Result<ExpressionPtr> ExpressionBinder::bind_value(const Node* node, const Clause& clause) {
  auto bound = bind_operand(node, clause);
  if (!bound) return bound.error();
  return std::move(bound->expression);
}

base::Result<ExpressionPtr> ExpressionBinder::bind_predicate(const Node* node,
                                                             const Clause& clause) {
  auto bound = bind(node, clause);
  if (!bound) return bound.error();
  return as_predicate(source_, clause.name, *std::move(bound));
}

BoundResult ExpressionBinder::dispatch(const Node& node) {
  struct Depth {
    unsigned& depth;
    ~Depth() { --depth; }
  };
  ++depth_;
  const Depth guard{depth_};
  if (depth_ > kNestingMax) {
    return source_.unsupported(start_of(&node),
                               fmt::format("an expression nested over {} deep", kNestingMax));
  }
  switch (node.node_case) {
    case PG_QUERY__NODE__NODE_COLUMN_REF: return bind_column(*node.column_ref);
    case PG_QUERY__NODE__NODE_A_CONST: return bind_constant(*node.a_const);
    case PG_QUERY__NODE__NODE_A_EXPR: return bind_operation(*node.a_expr);
    case PG_QUERY__NODE__NODE_BOOL_EXPR: return bind_connective(*node.bool_expr);
    case PG_QUERY__NODE__NODE_CASE_EXPR: return bind_case(*node.case_expr);
    case PG_QUERY__NODE__NODE_COALESCE_EXPR: return bind_coalesce(*node.coalesce_expr);
    case PG_QUERY__NODE__NODE_NULL_TEST: return bind_null_test(*node.null_test);
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST: return bind_boolean_test(*node.boolean_test);
    case PG_QUERY__NODE__NODE_TYPE_CAST: return bind_type_cast(*node.type_cast);
    case PG_QUERY__NODE__NODE_FUNC_CALL: return bind_call(*node.func_call);
    case PG_QUERY__NODE__NODE_SUB_LINK: return sublink(*node.sub_link);
    case PG_QUERY__NODE__NODE_GROUPING_FUNC: return bind_grouping(*node.grouping_func);
    default: return source_.unsupported(start_of(&node), construct_name(node));
  }
}

BoundResult ExpressionBinder::bind_column(const PgQuery__ColumnRef& column) {
  const NodeList fields(column.fields, column.n_fields);
  if (fields.back()->node_case == PG_QUERY__NODE__NODE_A_STAR) {
    return source_.wrong(column.location, "* stands alone in a SELECT list or in count(*)");
  }
  if (fields.size() > 2) {
    return source_.unsupported(column.location, "a schema in front of a table name");
  }
  const std::string_view table = fields.size() == 2 ? string_of(fields[0]) : std::string_view();
  const auto found = scope_.resolve(source_, column.location, table, string_of(fields.back()));
  if (!found) return found.error();
  DIPTYCH_CHECK((*found)->slot >= first_own_slot_ || correlated_,
                "a scope has outer columns only then");
  ExpressionPtr expression = column_of(**found, slots_);
  offsets_[expression.get()] = column.location;
  return Bound{std::move(expression), std::nullopt, false, column.location};
}

BoundResult ExpressionBinder::bind_constant(const PgQuery__AConst& constant) {
  const int64_t offset = constant.location;
  if (constant.isnull != 0) return Bound{make_null(kTextType), std::nullopt, true, offset};
  switch (constant.val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL:
      return typed(make_literal({base::TypeKind::kInt}, base::Value(int64_t{constant.ival->ival})),
                   offset);
    case PG_QUERY__A__CONST__VAL_BOOLVAL:
      return typed(make_literal(kBooleanType, base::Value(constant.boolval->boolval != 0)), offset);
    case PG_QUERY__A__CONST__VAL_SVAL:
      return Bound{make_literal(kTextType, base::Value(std::string(constant.sval->sval))),
                   std::nullopt, true, offset};
    case PG_QUERY__A__CONST__VAL_FVAL: break;
    default: return source_.unsupported(offset, "a bit string");
  }
  const std::string_view digits = constant.fval->fval;
  const size_t point = digits.find('.');
  if (auto integer = base::parse_value(kBigIntType, digits)) {
    return typed(make_literal(kBigIntType, *std::move(integer)), offset);
  }
  // A number with a point has as many digits as are written; one with an exponent is DOUBLE.
  const size_t scale = point == std::string_view::npos ? 0 : digits.size() - point - 1;
  if (digits.size() <= kWideDecimalDigitsMax) {
    const size_t precision = std::max<size_t>(digits.size() - (point != digits.npos ? 1 : 0), 1);
    const DataType type =
        decimal_type(static_cast<unsigned>(precision), static_cast<unsigned>(scale));
    if (auto value = base::parse_value(type, digits)) {
      return typed(make_literal(type, *std::move(value)), offset);
    }
  }
  auto value = base::parse_value(kDoubleType, digits);
  if (!value) return source_.wrong(offset, value.error().message, "22P02");
  return typed(make_literal(kDoubleType, *std::move(value)), offset);
}

BoundResult ExpressionBinder::bind_operation(const PgQuery__AExpr& operation) {
  switch (operation.kind) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP: break;
    case PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF: return bind_nullif(operation);
    case PG_QUERY__A__EXPR__KIND__AEXPR_IN: return bind_in_list(operation);
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE: return bind_like(operation);
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN: return bind_between(operation);
    case PG_QUERY__A__EXPR__KIND__AEXPR_ILIKE:
      return source_.unsupported(operation.location, "ILIKE");
    case PG_QUERY__A__EXPR__KIND__AEXPR_SIMILAR:
      return source_.unsupported(operation.location, "SIMILAR TO");
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT:
      return source_.unsupported(operation.location, "IS [NOT] DISTINCT FROM");
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN_SYM:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN_SYM:
      return source_.unsupported(operation.location, "BETWEEN SYMMETRIC");
    default: return source_.unsupported(operation.location, "ANY or ALL over an array");
  }
  const std::string name = operator_name(operation);
  if (operation.rexpr == nullptr) {
    return source_.unsupported(operation.location, fmt::format("operator \"{}\"", name));
  }
  if (operation.lexpr == nullptr) {
    auto operand = dispatch(*operation.rexpr);
    if (!operand) return operand;
    if (name == "-") return bind_negation(source_, operation.location, *std::move(operand));
    if (name == "+") return operand;
    return source_.unsupported(operation.location, fmt::format("operator \"{}\"", name));
  }
  const bool row = operation.lexpr->node_case == PG_QUERY__NODE__NODE_ROW_EXPR;
  if (row || operation.rexpr->node_case == PG_QUERY__NODE__NODE_ROW_EXPR) {
    auto left = bind_row(*operation.lexpr);
    if (!left) return left.error();
    auto right = bind_row(*operation.rexpr);
    if (!right) return right.error();
    return bind_row_operator(source_, name, operation.location, *std::move(left),
                             *std::move(right));
  }
  auto left = dispatch(*operation.lexpr);
  if (!left) return left;
  auto right = dispatch(*operation.rexpr);
  if (!right) return right;
  return bind_operator(source_, name, operation.location, *std::move(left), *std::move(right));
}

BoundResult ExpressionBinder::bind_between(const PgQuery__AExpr& operation) {
  auto operand = dispatch(*operation.lexpr);
  if (!operand) return operand;
  auto bounds = bind_all(NodeList(operation.rexpr->list->items, operation.rexpr->list->n_items));
  if (!bounds) return bounds.error();
  if (operand->interval) return source_.unsupported(operand->offset, "an INTERVAL as a value");
  Bound low{clone(*operand->expression), std::nullopt, operand->untyped, operand->offset};
  const int64_t offset = operand->offset;
  auto above = bind_operator(source_, ">=", operation.location, *std::move(operand),
                             std::move((*bounds)[0]));
  if (!above) return above;
  auto below =
      bind_operator(source_, "<=", operation.location, std::move(low), std::move((*bounds)[1]));
  if (!below) return below;
  ExpressionPtr both =
      fold(make_expression(ExpressionKind::kAnd, kBooleanType, std::move(above->expression),
                           std::move(below->expression)));
  if (operation.kind == PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN) both = negated(std::move(both));
  return typed(std::move(both), offset);
}

// (a, b) IN ((1, 2), (3, 4)): an OR of equalities.
BoundResult ExpressionBinder::bind_row_in_list(const PgQuery__AExpr& operation) {
  Expressions branches;
  for (const Node* item : NodeList(operation.rexpr->list->items, operation.rexpr->list->n_items)) {
    auto left = bind_row(*operation.lexpr);
    if (!left) return left.error();
    auto right = bind_row(*item);
    if (!right) return right.error();
    auto equality =
        bind_row_operator(source_, "=", operation.location, *std::move(left), *std::move(right));
    if (!equality) return equality;
    branches.push_back(std::move(equality->expression));
  }
  ExpressionPtr result = disjunction(std::move(branches));
  if (operator_name(operation) == "<>") result = negated(std::move(result));
  return typed(std::move(result), operation.location);
}

BoundResult ExpressionBinder::bind_in_list(const PgQuery__AExpr& operation) {
  if (operation.lexpr->node_case == PG_QUERY__NODE__NODE_ROW_EXPR) {
    return bind_row_in_list(operation);
  }
  auto operand = dispatch(*operation.lexpr);
  if (!operand) return operand;
  auto items = bind_all(NodeList(operation.rexpr->list->items, operation.rexpr->list->n_items));
  if (!items) return items.error();
  const int64_t offset = operand->offset;
  std::vector<Bound*> operands = {&*operand};
  for (Bound& item : *items) operands.push_back(&item);
  if (auto unified = unify(source_, "IN", operation.location, operands); !unified) {
    return unified.error();
  }
  // Literals make the list; anything else, NULL too, is an equality beside it.
  Expressions list;
  Expressions branches;
  const ExpressionPtr tested = std::move(operand->expression);
  list.push_back(clone(*tested));
  for (Bound& item : *items) {
    if (is_literal(*item.expression) && !is_null_literal(*item.expression)) {
      list.push_back(std::move(item.expression));
    } else {
      branches.push_back(fold(make_expression(ExpressionKind::kEqual, kBooleanType, clone(*tested),
                                              std::move(item.expression))));
    }
  }
  if (list.size() == 2) {
    branches.push_back(fold(make_expression(ExpressionKind::kEqual, kBooleanType,
                                            std::move(list[0]), std::move(list[1]))));
  } else if (list.size() > 2) {
    branches.push_back(make_expression(ExpressionKind::kInList, kBooleanType, std::move(list)));
  }
  ExpressionPtr result = disjunction(std::move(branches));
  if (operator_name(operation) == "<>") result = negated(std::move(result));
  return typed(std::move(result), offset);
}

BoundResult ExpressionBinder::bind_like(const PgQuery__AExpr& operation) {
  auto operand = dispatch(*operation.lexpr);
  if (!operand) return operand;
  if (operation.rexpr->node_case == PG_QUERY__NODE__NODE_FUNC_CALL) {
    return source_.unsupported(operation.location, "LIKE with ESCAPE, or of a computed pattern");
  }
  auto pattern = dispatch(*operation.rexpr);
  if (!pattern) return pattern;
  for (const Bound* side : {&*operand, &*pattern}) {
    if (side->interval || !side->expression->type.is_string()) {
      return source_.wrong(operation.location,
                           fmt::format("LIKE does not take {}", type_name_of(*side)), "42883");
    }
  }
  if (!is_literal(*pattern->expression)) {
    return source_.unsupported(operation.location, "LIKE of a pattern that is no literal");
  }
  if (const auto* text = std::get_if<std::string>(&pattern->expression->literal)) {
    const size_t kept = text->find_last_not_of('\\') + 1;  // 0 where all are backslashes
    if ((text->size() - kept) % 2 != 0) {
      return source_.wrong(pattern->offset,
                           "a LIKE pattern cannot end with a backslash that escapes nothing",
                           "22025");
    }
  }
  const int64_t offset = operand->offset;
  ExpressionPtr like =
      make_expression(ExpressionKind::kLike, kBooleanType, std::move(operand->expression),
                      std::move(pattern->expression));
  like = fold(std::move(like));
  if (operator_name(operation) == "!~~") like = negated(std::move(like));
  return typed(std::move(like), offset);
}

BoundResult ExpressionBinder::bind_nullif(const PgQuery__AExpr& operation) {
  auto left = dispatch(*operation.lexpr);
  if (!left) return left;
  auto right = dispatch(*operation.rexpr);
  if (!right) return right;
  Bound* operands[] = {&*left, &*right};
  const auto type = unify(source_, "NULLIF", operation.location, operands);
  if (!type) return type.error();
  return typed(make_expression(ExpressionKind::kNullIf, *type, std::move(left->expression),
                               std::move(right->expression)),
               operation.location);
}

BoundResult ExpressionBinder::bind_connective(const PgQuery__BoolExpr& connective) {
  const bool conjunctive = connective.boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR;
  const bool negation = connective.boolop == PG_QUERY__BOOL_EXPR_TYPE__NOT_EXPR;
  const std::string_view name = negation ? "NOT" : conjunctive ? "AND" : "OR";
  Expressions parts;
  for (const Node* node : NodeList(connective.args, connective.n_args)) {
    auto part = dispatch(*node);
    if (!part) return part;
    auto predicate = as_predicate(source_, name, *std::move(part));
    if (!predicate) return predicate.error();
    parts.push_back(*std::move(predicate));
  }
  const int64_t offset = connective.location;
  if (negation) return typed(negated(std::move(parts.front())), offset);
  const auto kind = conjunctive ? ExpressionKind::kAnd : ExpressionKind::kOr;
  return typed(make_expression(kind, kBooleanType, std::move(parts)), offset);
}

base::Result<std::vector<Bound>> ExpressionBinder::bind_all(NodeList nodes) {
  std::vector<Bound> bound;
  for (const Node* node : nodes) {
    auto one = dispatch(*node);
    if (!one) return one.error();
    bound.push_back(*std::move(one));
  }
  return bound;
}

base::Result<std::vector<Bound>> ExpressionBinder::bind_tested(const Node* node,
                                                               const Clause& clause) {
  clause_ = clause;
  return bind_row(*node);
}

// The values of a row, or the one value of anything else.
base::Result<std::vector<Bound>> ExpressionBinder::bind_row(const Node& node) {
  std::vector<Bound> values;
  if (node.node_case == PG_QUERY__NODE__NODE_ROW_EXPR) {
    auto bound = bind_all(NodeList(node.row_expr->args, node.row_expr->n_args));
    if (!bound) return bound;
    values = *std::move(bound);
  } else {
    auto value = dispatch(node);
    if (!value) return value.error();
    values.push_back(*std::move(value));
  }
  for (const Bound& value : values) {
    if (value.interval) return source_.unsupported(value.offset, "an INTERVAL as a value");
  }
  return values;
}

}  // namespace diptych::olap
