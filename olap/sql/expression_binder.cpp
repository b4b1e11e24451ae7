#include "olap/sql/expression_binder.h"

#include <algorithm>

#include <fmt/format.h>

#include "olap/sql/array_elements.h"
#include "olap/sql/constant_folding.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

using base::DataType;

constexpr unsigned kNestingMax = 300;  // keeps the recursion within any thread's stack
constexpr size_t kRowColumnsMax = 100;

std::string operator_name(const PgQuery__AExpr& operation) {
  return joined(strings_of(NodeList(operation.name, operation.n_name)));
}

// What types that do not mix say where there is no = of them.
base::Error without_equality(base::Error error) {
  if (error.sqlstate() == "42804") error.state = "42883";
  return error;
}

// Beside decimals or DOUBLEs the untyped texts of an IN are such, too, and not integers as its
// columns may be: '2.5' of n IN (1, '2.5', 3.0) is a number.
base::Result<void> adopt_fractions(const SourceText& source, Bound* tested,
                                   std::vector<Bound>* items) {
  std::vector<Bound*> operands = {tested};
  for (Bound& item : *items) operands.push_back(&item);
  std::optional<DataType> type;
  for (const Bound* operand : operands) {
    if (operand->untyped) continue;
    const DataType& own = operand->expression->type;
    const auto common = type ? common_type(*type, own) : own;
    if (!common) return {};  // the caller refuses these
    type = common;
  }
  if (!type || !is_numeric(*type) || is_integer(*type)) return {};
  for (Bound* operand : operands) {
    if (is_null_literal(*operand->expression)) continue;
    if (auto adopted = adopt_type(source, *type, operand); !adopted) return adopted;
  }
  return {};
}

// Not as the other items of an IN: a number with more digits than the tested values have, or a
// column of strings, each of which decides whether blanks at the end count.
bool is_compared_apart(const Bound& tested, const Bound& item) {
  const DataType& a = tested.expression->type;
  const DataType& b = item.expression->type;
  const bool column = !is_literal(*item.expression);
  return is_finer_literal(item, tested) ||
         (column && a.is_string() && b.is_string() && a.kind != b.kind);
}

}  // namespace

BoundResult ExpressionBinder::bind(const Node* node, const Clause& clause) {
  DIPTYCH_CHECK(node != nullptr, "the grammar gives every clause its expression");
  clause_ = clause;
  return dispatch(*node);
}

base::Result<ExpressionPtr> ExpressionBinder::bind_value(const Node* node, const Clause& clause) {
  auto bound = bind(node, clause);
  if (!bound) return bound.error();
  return std::move(bound->expression);
}

base::Result<ExpressionPtr> ExpressionBinder::bind_predicate(const Node* node,
                                                             const Clause& clause) {
  auto bound = bind(node, clause);
  if (!bound) return bound.error();
  return as_predicate(source_, clause.name, *std::move(bound));
}

void ExpressionBinder::know(const Node* node, const Expression& value) {
  known_.emplace_back(node, clone(value));
}

const Expression* ExpressionBinder::known_value(const Node& node) const {
  for (const auto& [known, value] : known_) {
    slots_.work().step();
    if (same_expression(*known, node)) return value.get();
  }
  return nullptr;
}

BoundResult ExpressionBinder::dispatch(const Node& node) {
  struct Depth {
    unsigned& depth;
    ~Depth() { --depth; }
  };
  ++depth_;
  const Depth guard{depth_};
  slots_.work().step();
  if (depth_ > kNestingMax) {
    return source_.unsupported(start_of(&node),
                               fmt::format("an expression nested over {} deep", kNestingMax));
  }
  if (const Expression* const known = known_value(node)) {
    return typed(clone(*known), start_of(&node));
  }
  if (node.node_case == PG_QUERY__NODE__NODE_COLUMN_REF) return bind_column(*node.column_ref);
  if (node.node_case == PG_QUERY__NODE__NODE_A_CONST) return bind_constant(*node.a_const);
  auto bound = bind_operator_node(node);
  if (bound) slots_.work().check_expression(node_count(*bound->expression));
  return bound;
}

BoundResult ExpressionBinder::bind_operator_node(const Node& node) {
  switch (node.node_case) {
    case PG_QUERY__NODE__NODE_A_EXPR: return bind_operation(*node.a_expr);
    case PG_QUERY__NODE__NODE_BOOL_EXPR: return bind_connective(*node.bool_expr);
    case PG_QUERY__NODE__NODE_CASE_EXPR: return bind_case(*node.case_expr);
    case PG_QUERY__NODE__NODE_COALESCE_EXPR: return bind_coalesce(*node.coalesce_expr);
    case PG_QUERY__NODE__NODE_NULL_TEST: return bind_null_test(*node.null_test);
    case PG_QUERY__NODE__NODE_BOOLEAN_TEST: return bind_boolean_test(*node.boolean_test);
    case PG_QUERY__NODE__NODE_TYPE_CAST: return bind_type_cast(*node.type_cast);
    case PG_QUERY__NODE__NODE_FUNC_CALL: return bind_call(*node.func_call);
    case PG_QUERY__NODE__NODE_SUB_LINK: return sublink(*node.sub_link);
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR: return bind_extreme(*node.min_max_expr);
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION: return bind_sql_value(*node.sqlvalue_function);
    case PG_QUERY__NODE__NODE_PARAM_REF: return bind_parameter(*node.param_ref);
    case PG_QUERY__NODE__NODE_GROUPING_FUNC: return bind_grouping(*node.grouping_func);
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE: return bind_collation(*node.collate_clause);
    default: return source_.unsupported(start_of(&node), construct_name(node));
  }
}

// Texts compare by bytes, as these collations say.
BoundResult ExpressionBinder::bind_collation(const PgQuery__CollateClause& clause) {
  const std::string name = joined(strings_of(NodeList(clause.collname, clause.n_collname)));
  if (name != "C" && name != "POSIX" && name != "ucs_basic") {
    return source_.unsupported(clause.location, fmt::format("collation \"{}\"", name));
  }
  auto text = dispatch(*clause.arg);
  if (!text) return text;
  if (!text->expression->type.is_string()) {
    return source_.wrong(clause.location,
                         fmt::format("COLLATE does not take {}", type_name_of(*text)), "42804");
  }
  return text;
}

BoundResult ExpressionBinder::bind_column(const PgQuery__ColumnRef& column) {
  const NodeList fields(column.fields, column.n_fields);
  if (fields.back()->node_case == PG_QUERY__NODE__NODE_A_STAR) {
    if (fields.size() == 2) return whole_row(column.location, string_of(fields[0]));
    return source_.wrong(column.location, "* stands alone in a SELECT list or in count(*)");
  }
  const auto table = table_of(column);
  if (!table) return table.error();
  const std::string_view name = string_of(fields.back());
  const auto found = scope_.resolve(source_, column.location, *table, name);
  if (!found && table->empty()) {
    for (const Scope* scope = &scope_; scope != nullptr; scope = scope->outer()) {
      if (scope->find_table(name) != nullptr) return whole_row(column.location, name);
    }
  }
  if (!found) return found.error();
  return named_column(**found, column.location);
}

Bound ExpressionBinder::named_column(const ScopeColumn& column, int64_t offset) {
  DIPTYCH_CHECK(column.slot >= first_own_slot_ || correlated_,
                "a scope has outer columns only then");
  ExpressionPtr expression = column_of(column, slots_);
  const uint32_t slot = column.slot;
  for (const Scope* scope = &scope_; scope != nullptr; scope = scope->outer()) {
    Argument& argument = scope->expressions()->argument_;
    if (slot < argument.first_slot) argument.last = std::max(argument.last.value_or(0), slot);
  }
  if (owner_of(slot).makes_columns_null()) {
    for_each_column(*expression, [](Expression& e) { e.nullable = true; });
    renew_nullable(expression.get());
  }
  offsets_[expression.get()] = offset;
  return Bound{std::move(expression), false, offset};
}

base::Result<std::string_view> ExpressionBinder::table_of(const PgQuery__ColumnRef& column) const {
  const NodeList fields(column.fields, column.n_fields);
  if (fields.size() == 1) return std::string_view();
  const std::string_view table = string_of(fields[fields.size() - 2]);
  if (fields.size() == 2) return table;
  if (fields.size() > 3 || string_of(fields[0]) != kPublicSchema) {
    return source_.unsupported(column.location, "a schema but \"public\"");
  }
  const Scope* scope = &scope_;
  while (scope != nullptr && scope->find_table(table) == nullptr) scope = scope->outer();
  if (scope == nullptr || scope->find_table(table)->table != table) {
    return source_.wrong(column.location, fmt::format("no table \"public.{}\" in FROM", table),
                         "42P01");
  }
  return table;
}

base::Error ExpressionBinder::whole_row(int64_t offset, std::string_view table) const {
  const Scope* scope = &scope_;
  while (scope != nullptr && scope->find_table(table) == nullptr) scope = scope->outer();
  if (scope == nullptr) return scope_.unknown_table(source_, offset, table);
  return source_.unsupported(offset, "a table's name as a value");
}

BoundResult ExpressionBinder::bind_constant(const PgQuery__AConst& constant) {
  const int64_t offset = constant.location;
  if (constant.isnull != 0) return Bound{make_null(kTextType), true, offset};
  switch (constant.val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL:
      return typed(make_literal(kIntType, base::Value(int64_t{constant.ival->ival})), offset);
    case PG_QUERY__A__CONST__VAL_BOOLVAL:
      return typed(make_literal(kBooleanType, base::Value(constant.boolval->boolval != 0)), offset);
    case PG_QUERY__A__CONST__VAL_SVAL:
      return Bound{make_literal(kTextType, base::Value(std::string(constant.sval->sval))), true,
                   offset};
    case PG_QUERY__A__CONST__VAL_FVAL: break;
    default: return source_.unsupported(offset, "a bit string");
  }
  return bind_number(source_, constant.fval->fval, offset);
}

BoundResult ExpressionBinder::bind_operation(const PgQuery__AExpr& operation) {
  switch (operation.kind) {
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP: break;
    case PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF: return bind_nullif(operation);
    case PG_QUERY__A__EXPR__KIND__AEXPR_IN: return bind_in_list(operation);
    case PG_QUERY__A__EXPR__KIND__AEXPR_LIKE:
    case PG_QUERY__A__EXPR__KIND__AEXPR_ILIKE: return bind_pattern(operation);
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN: return bind_between(operation);
    case PG_QUERY__A__EXPR__KIND__AEXPR_SIMILAR: return bind_similar(operation);
    case PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_DISTINCT: return bind_distinct(operation);
    case PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN_SYM:
    case PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN_SYM: return bind_between(operation);
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY:
    case PG_QUERY__A__EXPR__KIND__AEXPR_OP_ALL: return bind_over_array(operation);
    default: return source_.unsupported(operation.location, "an operator of this kind");
  }
  const std::string name = operator_name(operation);
  if (operation.rexpr == nullptr) {
    return source_.unsupported(operation.location, fmt::format("operator \"{}\"", name));
  }
  if (operation.lexpr == nullptr) {
    auto operand = dispatch(*operation.rexpr);
    if (!operand) return operand;
    return bind_prefix_operator(source_, name, operation.location, *std::move(operand));
  }
  if (is_pattern_operator(name)) return bind_pattern(operation);
  const bool row = operation.lexpr->node_case == PG_QUERY__NODE__NODE_ROW_EXPR;
  const bool subquery =
      operation.rexpr->node_case == PG_QUERY__NODE__NODE_SUB_LINK &&
      operation.rexpr->sub_link->sub_link_type == PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK;
  if (row && subquery) return bind_row_comparison(operation);
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

// (a, b) = (SELECT x, y ...), which the grammar leaves apart, as one subquery with what it is
// compared with.
BoundResult ExpressionBinder::bind_row_comparison(const PgQuery__AExpr& operation) {
  PgQuery__SubLink comparison = *operation.rexpr->sub_link;
  comparison.sub_link_type = PG_QUERY__SUB_LINK_TYPE__ROWCOMPARE_SUBLINK;
  comparison.testexpr = operation.lexpr;
  comparison.oper_name = operation.name;
  comparison.n_oper_name = operation.n_name;
  return sublink(comparison);
}

BoundResult ExpressionBinder::bind_between(const PgQuery__AExpr& operation) {
  auto operand = bind_row(*operation.lexpr);
  if (!operand) return operand.error();
  std::vector<std::vector<Bound>> bounds;
  for (const Node* node : NodeList(operation.rexpr->list->items, operation.rexpr->list->n_items)) {
    auto bound = bind_row(*node);
    if (!bound) return bound.error();
    bounds.push_back(*std::move(bound));
  }
  const auto compare = [&](std::string_view name, const std::vector<Bound>& bound) {
    return bind_row_operator(source_, name, operation.location, copy_of(*operand), copy_of(bound));
  };
  const bool symmetric = operation.kind == PG_QUERY__A__EXPR__KIND__AEXPR_BETWEEN_SYM ||
                         operation.kind == PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN_SYM;
  const bool negative = operation.kind == PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN ||
                        operation.kind == PG_QUERY__A__EXPR__KIND__AEXPR_NOT_BETWEEN_SYM;
  const int64_t offset = start_of(operation.lexpr);
  Expressions ways;  // between the first and the second bound, or the other way round
  for (size_t way = 0; way < (symmetric ? 2 : 1); ++way) {
    auto above = compare(">=", bounds[way]);
    if (!above) return above;
    auto below = compare("<=", bounds[1 - way]);
    if (!below) return below;
    ways.push_back(
        fold(make_expression(ExpressionKind::kAnd, kBooleanType, std::move(above->expression),
                             std::move(below->expression))));
  }
  ExpressionPtr result = disjunction(std::move(ways));
  if (symmetric) result = fold(std::move(result));
  if (negative) result = negated(std::move(result));
  return typed(std::move(result), offset);
}

// a IS [NOT] DISTINCT FROM b: never NULL; two NULLs are not distinct.
// Rows are distinct where some of their values are.
BoundResult ExpressionBinder::bind_distinct(const PgQuery__AExpr& operation) {
  auto left = bind_row(*operation.lexpr);
  if (!left) return left.error();
  auto right = bind_row(*operation.rexpr);
  if (!right) return right.error();
  if (left->size() != right->size()) {
    return source_.wrong(operation.location, "rows of different lengths cannot be compared");
  }
  Expressions equalities;
  for (size_t i = 0; i < left->size(); ++i) {
    auto same = bind_same(operation.location, &(*left)[i], &(*right)[i]);
    if (!same) return same.error();
    equalities.push_back(*std::move(same));
  }
  ExpressionPtr result = conjunction(std::move(equalities));
  if (operation.kind == PG_QUERY__A__EXPR__KIND__AEXPR_DISTINCT)
    result = negated(std::move(result));
  return typed(std::move(result), operation.location);
}

// Never NULL: two NULLs are the same.
base::Result<ExpressionPtr> ExpressionBinder::bind_same(int64_t offset, Bound* left, Bound* right) {
  Bound* operands[] = {left, right};
  auto type = unify(source_, "operator \"=\"", offset, operands, TypeIs::kUnseen);
  if (!type) return type.error();
  ExpressionPtr both_null = fold(make_expression(
      ExpressionKind::kAnd, kBooleanType,
      fold(make_expression(ExpressionKind::kIsNull, kBooleanType, clone(*left->expression))),
      fold(make_expression(ExpressionKind::kIsNull, kBooleanType, clone(*right->expression)))));
  ExpressionPtr same =
      fold(make_expression(ExpressionKind::kEqual, kBooleanType, std::move(left->expression),
                           std::move(right->expression)));
  if (!is_literal(*same) || is_null_literal(*same)) {
    same = is_null_literal(*same)
               ? make_literal(kBooleanType, base::Value(false))
               : make_expression(ExpressionKind::kCoalesce, kBooleanType, std::move(same),
                                 make_literal(kBooleanType, base::Value(false)));
  }
  return fold(
      make_expression(ExpressionKind::kOr, kBooleanType, std::move(same), std::move(both_null)));
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
  const NodeList items(operation.rexpr->list->items, operation.rexpr->list->n_items);
  return bind_in_list(operation, items, operator_name(operation) == "<>");
}

BoundResult ExpressionBinder::bind_in_list(const PgQuery__AExpr& operation, NodeList nodes,
                                           bool negative) {
  auto operand = dispatch(*operation.lexpr);
  if (!operand) return operand;
  auto items = bind_all(nodes);
  if (!items) return items.error();
  const int64_t offset = operand->offset;
  const auto copies =
      static_cast<size_t>(std::count_if(items->begin(), items->end(), [](const Bound& item) {
        return !is_literal(*item.expression);
      }));
  slots_.work().check_expression(copies * node_count(*operand->expression));
  if (auto adopted = adopt_fractions(source_, &*operand, &*items); !adopted) {
    return adopted.error();
  }
  Expressions branches;
  // What names a column has no part in the type of the others; an array's elements are of one type.
  const bool in = operation.kind == PG_QUERY__A__EXPR__KIND__AEXPR_IN;
  const auto apart = [&](const Bound& item) {
    return (in && names_a_column(*item.expression)) || is_compared_apart(*operand, item);
  };
  for (Bound& item : *items) {
    if (!apart(item)) continue;
    auto equal = bind_operator(source_, "=", operation.location, copy_of(*operand), copy_of(item));
    if (!equal) return equal;
    branches.push_back(std::move(equal->expression));
  }
  std::erase_if(*items, apart);
  std::vector<Bound*> operands = {&*operand};
  for (Bound& item : *items) operands.push_back(&item);
  const auto unified = unify(source_, "IN", operation.location, operands, TypeIs::kUnseen);
  if (!unified) return unified.error();
  // Literals make the list; anything else, NULL too, is an equality beside it.
  Expressions list;
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
  // The list first: what it holds need not be asked of the others, which may fail.
  if (list.size() == 2) {
    branches.insert(branches.begin(),
                    fold(make_expression(ExpressionKind::kEqual, kBooleanType, std::move(list[0]),
                                         std::move(list[1]))));
  } else if (list.size() > 2) {
    branches.insert(branches.begin(),
                    make_expression(ExpressionKind::kInList, kBooleanType, std::move(list)));
  }
  ExpressionPtr result = disjunction(std::move(branches));
  if (negative) result = negated(std::move(result));
  return typed(std::move(result), offset);
}

// x <operator> ANY (ARRAY[...]), or ALL: of each element, joined by OR or AND. "= ANY" is IN, and
// "<> ALL" is NOT IN.
BoundResult ExpressionBinder::bind_over_array(const PgQuery__AExpr& operation) {
  const auto array = ArrayElements::of(source_, *operation.rexpr, parameters_);
  if (!array) return array.error();
  const bool any = operation.kind == PG_QUERY__A__EXPR__KIND__AEXPR_OP_ANY;
  if (array->is_null()) return typed(make_null(kBooleanType), operation.location);
  if (array->nodes().empty()) {
    const bool written = operation.rexpr->node_case == PG_QUERY__NODE__NODE_A_ARRAY_EXPR;
    if (written) {
      return source_.wrong(start_of(operation.rexpr), "an empty array has no type", "42P18");
    }
    if (auto operand = dispatch(*operation.lexpr); !operand) return operand;
    return typed(make_literal(kBooleanType, base::Value(!any)), operation.location);
  }
  const std::string name = operator_name(operation);
  if (name == (any ? "=" : "<>")) return bind_in_list(operation, array->nodes(), !any);
  Expressions comparisons;
  for (Node* element : array->nodes()) {
    PgQuery__AExpr comparison = operation;
    comparison.kind = PG_QUERY__A__EXPR__KIND__AEXPR_OP;
    comparison.rexpr = element;
    auto compared = bind_operation(comparison);
    if (!compared) return compared;
    auto predicate = as_predicate(source_, any ? "ANY" : "ALL", *std::move(compared));
    if (!predicate) return predicate.error();
    comparisons.push_back(*std::move(predicate));
  }
  return typed(any ? disjunction(std::move(comparisons)) : conjunction(std::move(comparisons)),
               operation.location);
}

// The value is the first operand: of numbers as what the two are compared as, of a date as a date.
BoundResult ExpressionBinder::bind_nullif(const PgQuery__AExpr& operation) {
  auto left = dispatch(*operation.lexpr);
  if (!left) return left;
  auto right = dispatch(*operation.rexpr);
  if (!right) return right;
  Bound* operands[] = {&*left, &*right};
  const bool is_date = left->expression->type.kind == base::TypeKind::kDate && !left->untyped;
  const bool text = left->expression->type.is_string() && !left->untyped;
  const auto type = unify(source_, "NULLIF", operation.location, operands,
                          text ? TypeIs::kUnseen : TypeIs::kKept);
  if (!type) return without_equality(type.error());
  ExpressionPtr value = fold(make_expression(
      ExpressionKind::kNullIf, *type, std::move(left->expression), std::move(right->expression)));
  if (is_date) value = cast_to(std::move(value), kDateType);
  return typed(std::move(value), operation.location);
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
  if (node.node_case == PG_QUERY__NODE__NODE_ROW_EXPR) {
    // Comparisons of rows nest twice as deep as these have columns.
    const size_t columns = node.row_expr->n_args;
    if (columns > kRowColumnsMax) {
      return source_.unsupported(start_of(&node),
                                 fmt::format("a row of over {} columns", kRowColumnsMax));
    }
    depth_ += static_cast<unsigned>(columns);
    auto values = bind_all(NodeList(node.row_expr->args, columns));
    depth_ -= static_cast<unsigned>(columns);
    return values;
  }
  auto value = dispatch(node);
  if (!value) return value.error();
  std::vector<Bound> values;
  values.push_back(*std::move(value));
  return values;
}

}  // namespace diptych::olap
