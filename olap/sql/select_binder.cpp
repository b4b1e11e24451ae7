#include "olap/sql/select_binder.h"

#include <fmt/format.h>

#include "olap/sql/join_order.h"
#include "olap/sql/predicate_rules.h"
#include "olap/sql/recursive_with.h"
#include "olap/sql/type_rules.h"

namespace diptych::olap {
namespace {

constexpr Clause kSelect{"SELECT", true, true};
constexpr Clause kHaving{"HAVING", true};
constexpr Clause kOrderBy{"ORDER BY", true, true};
constexpr Clause kLimitClause{"LIMIT", false};

// As PostgreSQL names an output: by its column or function, else by its outermost CASE or type.
struct OutputName {
  std::string name = {};
  bool is_own = true;  // a column's or function's, also within casts
};

OutputName find_output_name(const Node& node);

OutputName output_name_of(const PgQuery__SubLink& subquery) {
  if (subquery.sub_link_type == PG_QUERY__SUB_LINK_TYPE__EXISTS_SUBLINK) return {"exists"};
  if (subquery.sub_link_type != PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK) return {};
  const PgQuery__SelectStmt* first = subquery.subselect->select_stmt;
  while (first->larg != nullptr) first = first->larg;
  if (first->n_values_lists != 0) return {"column1"};
  if (first->n_target_list != 1) return {};
  const PgQuery__ResTarget& target = *first->target_list[0]->res_target;
  const std::string name = target.name[0] != '\0' ? target.name : output_name(*target.val);
  return {name};  // its own, whatever it has it from
}

// The name within, or the one around it.
OutputName own_name_or(OutputName within, std::string_view around) {
  if (within.is_own && !within.name.empty()) return within;
  return {std::string(around), false};
}

OutputName find_output_name(const Node& node) {
  switch (node.node_case) {
    case PG_QUERY__NODE__NODE_COLUMN_REF:
      return {std::string(string_of(node.column_ref->fields[node.column_ref->n_fields - 1]))};
    case PG_QUERY__NODE__NODE_FUNC_CALL:
      return {std::string(string_of(node.func_call->funcname[node.func_call->n_funcname - 1]))};
    case PG_QUERY__NODE__NODE_COALESCE_EXPR: return {"coalesce"};
    case PG_QUERY__NODE__NODE_GROUPING_FUNC: return {"grouping"};
    case PG_QUERY__NODE__NODE_MIN_MAX_EXPR:
      return {node.min_max_expr->op == PG_QUERY__MIN_MAX_OP__IS_GREATEST ? "greatest" : "least"};
    case PG_QUERY__NODE__NODE_A_EXPR:
      if (node.a_expr->kind == PG_QUERY__A__EXPR__KIND__AEXPR_NULLIF) return {"nullif"};
      return {};
    case PG_QUERY__NODE__NODE_SQLVALUE_FUNCTION:
      return {std::string(sql_value_name(*node.sqlvalue_function))};
    case PG_QUERY__NODE__NODE_SUB_LINK: return output_name_of(*node.sub_link);
    case PG_QUERY__NODE__NODE_COLLATE_CLAUSE: return find_output_name(*node.collate_clause->arg);
    case PG_QUERY__NODE__NODE_CASE_EXPR: {
      const Node* const otherwise = node.case_expr->defresult;
      return own_name_or(otherwise == nullptr ? OutputName() : find_output_name(*otherwise),
                         "case");
    }
    case PG_QUERY__NODE__NODE_TYPE_CAST: {
      const PgQuery__TypeName& type = *node.type_cast->type_name;
      return own_name_or(find_output_name(*node.type_cast->arg),
                         string_of(type.names[type.n_names - 1]));
    }
    default: return {};
  }
}

base::Error wrong_ties(const SourceText& source, const Node& count, bool without_order) {
  if (without_order) return source.wrong(start_of(&count), "WITH TIES needs an ORDER BY", "42601");
  return source.wrong(start_of(&count), "the number of rows of FETCH FIRST ... WITH TIES is NULL",
                      "2201W");
}

}  // namespace

int64_t place_of(const PgQuery__SelectStmt& select) {
  const PgQuery__SelectStmt* first = &select;
  while (first->larg != nullptr) first = first->larg;
  if (first->n_target_list != 0) return start_of(first->target_list[0]);
  if (first->n_values_lists == 0) return 0;
  return start_of(first->values_lists[0]->list->items[0]);
}

std::string output_name(const Node& node) {
  OutputName found = find_output_name(node);
  return found.name.empty() ? "?column?" : std::move(found.name);
}

SelectBinder::SelectBinder(StatementBinding& statement, const Scope* outer, const CteScope* ctes,
                           Correlation correlation)
    : statement_(statement),
      source_(*statement.source),
      slots_(statement.slots),
      outer_(outer),
      correlation_(correlation),
      scope_(outer, &expressions_),
      block_(std::make_unique<QueryBlock>()),
      expressions_(source_, slots_, scope_, *block_, *this, offsets_, statement.parameters) {
  ctes_.outer = ctes;
  ctes_.around = outer;
  ctes_.correlation = correlation;
  if (correlation == Correlation::kAllowed) expressions_.allow_correlation();
}

base::Result<std::unique_ptr<QueryBlock>> SelectBinder::bind(const PgQuery__SelectStmt& select) {
  struct Depth {
    StatementBinding& statement;
    ~Depth() { --statement.depth, --statement.inlined_depth; }
  };
  ++statement_.depth;
  ++statement_.inlined_depth;
  const Depth guard{statement_};
  if (++statement_.blocks > kBlocksMax) return too_many_blocks(place_of(select));
  if (statement_.depth > kBlocksDeepMax || statement_.inlined_depth > kInlinedDeepMax ||
      statement_.nesting > kInlinedNestingMax) {
    return too_deep(place_of(select));
  }
  unsigned& times_bound = statement_.times_bound[&select];
  ++times_bound;
  block_->times_bound = &times_bound;
  if (auto checked = check_supported(select); !checked) return checked.error();
  if (select.with_clause != nullptr) {
    if (auto bound = bind_with(*select.with_clause); !bound) return bound.error();
  }
  base::Result<void> bound;
  if (recursion_ != nullptr) {
    bound = bind_recursion(select);
  } else if (select.op != PG_QUERY__SET_OPERATION__SETOP_NONE) {
    bound = bind_set_operation(select);
  } else if (select.n_values_lists != 0) {
    bound = bind_values(select);
  } else {
    bound = bind_clauses(select);
  }
  if (!bound) return bound.error();
  if (auto checked = check_unnamed_queries(); !checked) return checked.error();
  const NodeList sort(select.sort_clause, select.n_sort_clause);
  const NodeList distinct(select.distinct_clause, select.n_distinct_clause);
  if (auto done = bind_distinct(distinct); !done) return done.error();
  if (auto sorted = bind_order_by(sort); !sorted) return sorted.error();
  if (auto checked = check_distinct_on(distinct); !checked) return checked.error();
  const NodeList windows(select.window_clause, select.n_window_clause);
  if (auto checked = expressions_.bind_unused_windows(windows); !checked) return checked.error();
  if (auto checked = check_series(); !checked) return checked.error();
  if (auto checked = check_grouping(); !checked) return checked.error();
  if (width_of(block_->from) > kJoinTablesMax) {
    const bool named = select.n_from_clause != 0;
    return source_.unsupported(named ? start_of(select.from_clause[0]) : place_of(select),
                               fmt::format("a join of over {} tables", kJoinTablesMax));
  }
  const auto limit = bind_limit(select.limit_count, "LIMIT", kNoLimit);
  if (!limit) return limit.error();
  const auto offset = bind_limit(select.limit_offset, "OFFSET", 0);
  if (!offset) return offset.error();
  block_->limit = *limit;
  block_->offset = *offset;
  block_->with_ties = select.limit_option == PG_QUERY__LIMIT_OPTION__LIMIT_OPTION_WITH_TIES;
  if (block_->with_ties && (block_->sort.empty() || *limit == kNoLimit)) {
    return wrong_ties(source_, *select.limit_count, block_->sort.empty());
  }
  inherit_order();
  if (!block_->distinct_on.empty()) {
    block_->distinct_slot = slots_.add({"", kBigIntType, false, nullptr, {}});
  }
  if (block_->with_ties) {
    block_->number_slot = slots_.add({"", kBigIntType, false, nullptr, {}});
    block_->rank_slot = slots_.add({"", kBigIntType, false, nullptr, {}});
  }
  finish();
  return std::move(block_);
}

base::Error SelectBinder::too_many_blocks(int64_t place) const {
  return source_.unsupported(place, fmt::format("a statement of over {} SELECTs", kBlocksMax));
}

base::Error SelectBinder::too_deep(int64_t place) const {
  if (statement_.depth > kBlocksDeepMax) {
    return source_.unsupported(place, fmt::format("SELECTs nested over {} deep", kBlocksDeepMax));
  }
  if (statement_.inlined_depth > kInlinedDeepMax) {
    return source_.unsupported(
        place,
        fmt::format("WITH queries and views that name each other over {} deep", kInlinedDeepMax));
  }
  return source_.unsupported(
      place, fmt::format("subqueries within over {} nested expressions", kInlinedNestingMax));
}

// FROM to DISTINCT, for a SELECT that is neither a set operation nor VALUES.
base::Result<void> SelectBinder::bind_clauses(const PgQuery__SelectStmt& select) {
  scalar_group_ = &block_->from;
  for (const Node* node : NodeList(select.from_clause, select.n_from_clause)) {
    if (auto bound = bind_from_item(*node, block_->from); !bound) return bound;
  }
  if (select.where_clause != nullptr) {
    if (auto bound = bind_where(*select.where_clause); !bound) return bound;
  }
  const NodeList targets(select.target_list, select.n_target_list);
  if (auto bound = bind_series_of(targets); !bound) return bound;
  const NodeList groups(select.group_clause, select.n_group_clause);
  if (auto bound = bind_group_by(groups, targets); !bound) return bound;
  if (select.group_distinct != 0) drop_repeated_sets();
  scalar_group_ = nullptr;
  const NodeList windows(select.window_clause, select.n_window_clause);
  if (auto named = expressions_.name_windows(windows); !named) return named;
  if (auto bound = bind_targets(targets); !bound) return bound;
  return bind_having(select.having_clause);
}

base::Result<void> SelectBinder::check_supported(const PgQuery__SelectStmt& select) const {
  const int64_t place = place_of(select);
  if (select.into_clause != nullptr) return source_.unsupported(place, "SELECT INTO");
  if (select.n_locking_clause != 0) return source_.unsupported(place, "FOR UPDATE or FOR SHARE");
  return {};
}

base::Result<void> SelectBinder::bind_with(const PgQuery__WithClause& with) {
  ctes_.recursive = with.recursive != 0;
  if (with.n_ctes > kBlocksMax) return too_many_blocks(with.location);
  for (const Node* node : NodeList(with.ctes, with.n_ctes)) {
    const PgQuery__CommonTableExpr& cte = *node->common_table_expr;
    if (cte.ctequery->node_case != PG_QUERY__NODE__NODE_SELECT_STMT) {
      return source_.unsupported(cte.location, "WITH of anything but SELECT");
    }
    for (const CteScope::Entry& other : ctes_.entries) {
      if (other.name == cte.ctename) {
        return source_.wrong(cte.location, fmt::format("WITH names \"{}\" twice", cte.ctename),
                             "42712");
      }
    }
    if (cte.search_clause != nullptr) return source_.unsupported(cte.location, "SEARCH");
    if (cte.cycle_clause != nullptr) return source_.unsupported(cte.location, "CYCLE");
    ctes_.entries.push_back({cte.ctename, &cte});
    ctes_.entries.back().depth = statement_.depth;
  }
  const auto recursive = recursive_queries(source_, with);
  if (!recursive) return recursive.error();
  for (size_t i = 0; i < ctes_.entries.size(); ++i) {
    if ((*recursive)[i]) ctes_.entries[i].recursion = ++statement_.recursions;
  }
  return {};
}

base::Result<void> SelectBinder::bind_where(const Node& node) {
  if (node.node_case == PG_QUERY__NODE__NODE_BOOL_EXPR) {
    const PgQuery__BoolExpr& connective = *node.bool_expr;
    if (connective.boolop == PG_QUERY__BOOL_EXPR_TYPE__AND_EXPR) {
      for (const Node* part : NodeList(connective.args, connective.n_args)) {
        if (auto bound = bind_where(*part); !bound) return bound;
      }
      return {};
    }
    const Node& first = *connective.args[0];
    if (connective.boolop == PG_QUERY__BOOL_EXPR_TYPE__NOT_EXPR &&
        first.node_case == PG_QUERY__NODE__NODE_SUB_LINK &&
        first.sub_link->sub_link_type != PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK) {
      const auto done = bind_subquery_join(*first.sub_link, true);
      if (!done) return done.error();
      if (*done) return {};
    }
  }
  if (node.node_case == PG_QUERY__NODE__NODE_SUB_LINK &&
      node.sub_link->sub_link_type != PG_QUERY__SUB_LINK_TYPE__EXPR_SUBLINK) {
    const auto done = bind_subquery_join(*node.sub_link, false);
    if (!done) return done.error();
    if (*done) return {};
  }
  auto predicate = expressions_.bind_predicate(&node, {"WHERE", false});
  if (!predicate) return predicate.error();
  for (ExpressionPtr& conjunct : split_conjuncts(push_nots(*std::move(predicate)))) {
    block_->from.predicates.push_back(std::move(conjunct));
  }
  return {};
}

base::Result<void> SelectBinder::bind_targets(NodeList targets) {
  if (targets.empty()) {
    output_offsets_.push_back(-1);
    block_->outputs.push_back({"", make_literal(kBigIntType, base::Value(int64_t{1})), 0});
  }
  for (const Node* node : targets) {
    slots_.work().check_columns(block_->outputs.size(), "a SELECT");
    const PgQuery__ResTarget& target = *node->res_target;
    if (is_star(*target.val)) {
      if (auto bound = bind_star(*target.val->column_ref); !bound) return bound;
      continue;
    }
    std::string name = target.name[0] != '\0' ? target.name : output_name(*target.val);
    output_offsets_.push_back(start_of(target.val));
    written_outputs_.emplace_back(target.val, block_->outputs.size());
    if (const auto known = grouped_targets_.find(target.val); known != grouped_targets_.end()) {
      GroupedTarget& grouped = known->second;
      if (is_literal(*grouped.expression)) literal_outputs_[block_->outputs.size()] = grouped.key;
      block_->outputs.push_back({std::move(name), std::move(grouped.expression), 0});
      grouped_targets_.erase(known);
      continue;
    }
    auto value = expressions_.bind(target.val, kSelect);
    if (!value) return value.error();
    block_->outputs.push_back({std::move(name), std::move(value->expression), 0, value->untyped});
  }
  // There may be no columns; the rows still have a value, which those of EXISTS show.
  slots_.work().check_columns(block_->outputs.size(), "a SELECT");
  block_->visible_outputs = targets.empty() && !only_rows_ ? 0 : block_->outputs.size();
  return {};
}

base::Result<std::vector<const ScopeColumn*>> SelectBinder::columns_of(
    const PgQuery__ColumnRef& star) const {
  const auto table_name = expressions_.table_of(star);
  if (!table_name) return table_name.error();
  const std::string_view wanted = *table_name;
  const Scope* scope = &scope_;  // or one around it that has the table
  while (!wanted.empty() && scope != nullptr && scope->find_table(wanted) == nullptr) {
    scope = scope->outer();
  }
  if (scope == nullptr) return scope_.unknown_table(source_, star.location, wanted);
  if (scope->tables().empty()) return source_.wrong(star.location, "* needs a FROM");
  std::vector<const ScopeColumn*> columns;
  for (const ScopeTable& table : scope->tables()) {
    if (!wanted.empty() && table.alias != wanted) continue;
    for (const ScopeColumn& column : table.columns) {
      if ((column.merged && wanted.empty()) || !is_visible(column)) continue;
      columns.push_back(&column);
    }
  }
  return columns;
}

base::Result<void> SelectBinder::bind_star(const PgQuery__ColumnRef& star) {
  const auto columns = columns_of(star);
  if (!columns) return columns.error();
  for (const ScopeColumn* const column : *columns) {
    Bound bound = expressions_.named_column(*column, star.location);
    block_->outputs.push_back({column->name, std::move(bound.expression), 0});
    output_offsets_.push_back(star.location);
  }
  return {};
}

base::Result<void> SelectBinder::bind_having(const Node* having) {
  if (having == nullptr) return {};
  block_->aggregated = true;
  auto predicate = expressions_.bind_predicate(having, kHaving);
  if (!predicate) return predicate.error();
  block_->having = split_conjuncts(*std::move(predicate));
  return {};
}

base::Result<void> SelectBinder::bind_distinct(NodeList clause) {
  if (clause.empty()) return {};
  // Plain DISTINCT is a list of one empty node.
  if (clause.front()->node_case == PG_QUERY__NODE__NODE__NOT_SET) {
    block_->distinct = true;
    return {};
  }
  slots_.work().check_columns(clause.size(), "DISTINCT ON");
  for (const Node* node : clause) {
    const auto output = sort_output(*node, "DISTINCT ON");
    if (!output) return output.error();
    block_->distinct_on.push_back(*output);
  }
  return {};
}

// ORDER BY has no other expression before all of DISTINCT ON's.
base::Result<void> SelectBinder::check_distinct_on(NodeList clause) {
  const std::vector<size_t>& on = block_->distinct_on;
  if (on.empty()) return {};
  const auto has = [](const std::vector<size_t>& outputs, size_t output) {
    return std::find(outputs.begin(), outputs.end(), output) != outputs.end();
  };
  std::vector<size_t> matched;
  const auto other = std::find_if(block_->sort.begin(), block_->sort.end(), [&](const auto& item) {
    if (!has(on, item.output)) return true;
    matched.push_back(item.output);
    return false;
  });
  const bool all =
      std::all_of(on.begin(), on.end(), [&](size_t output) { return has(matched, output); });
  if (all || other == block_->sort.end()) return {};
  return source_.wrong(start_of(clause.front()),
                       "ORDER BY must begin with the expressions of DISTINCT ON", "42P10");
}

base::Result<void> SelectBinder::bind_order_by(NodeList items) {
  slots_.work().check_columns(items.size(), "ORDER BY");
  for (const Node* node : items) {
    const PgQuery__SortBy& item = *node->sort_by;
    const auto output = sort_output(*item.node, "ORDER BY");
    if (!output) return output.error();
    const auto key = sort_key_of(source_, item);
    if (!key) return key.error();
    block_->sort.push_back({*output, key->descending, key->nulls_first});
  }
  return {};
}

// The output, from 0, whose position a key of GROUP BY, ORDER BY or DISTINCT ON is; nullopt where
// it is no constant.
base::Result<std::optional<size_t>> SelectBinder::position_of(const Node& key, size_t outputs,
                                                              std::string_view clause) const {
  if (key.node_case != PG_QUERY__NODE__NODE_A_CONST) return std::optional<size_t>();
  const PgQuery__AConst& constant = *key.a_const;
  if (constant.isnull != 0 || constant.val_case != PG_QUERY__A__CONST__VAL_IVAL) {
    return source_.wrong(constant.location,
                         fmt::format("a constant in {} that is no position", clause), "42601");
  }
  const int64_t position = constant.ival->ival;
  if (position < 1 || position > static_cast<int64_t>(outputs)) {
    return source_.wrong(
        constant.location,
        fmt::format("{} position {} is not one of the {} columns", clause, position, outputs),
        "42P10");
  }
  return std::optional<size_t>(static_cast<size_t>(position - 1));
}

base::Error SelectBinder::ambiguous_output(std::string_view clause, std::string_view name,
                                           int64_t place) const {
  return source_.wrong(
      place, fmt::format("{} \"{}\" is ambiguous: several columns have the name", clause, name),
      "42702");
}

// The output that a sort key names: by position, by output name, or by an expression of the input,
// which becomes a hidden output where SELECT does not have it.
base::Result<size_t> SelectBinder::sort_output(const Node& key, std::string_view clause) {
  std::vector<OutputColumn>& outputs = block_->outputs;
  slots_.work().step();
  const auto position = position_of(key, block_->visible_outputs, clause);
  if (!position) return position.error();
  if (*position) return **position;
  if (key.node_case == PG_QUERY__NODE__NODE_COLUMN_REF && key.column_ref->n_fields == 1) {
    const std::string_view name = string_of(key.column_ref->fields[0]);
    std::optional<size_t> found;
    for (size_t i = 0; i < block_->visible_outputs; ++i) {
      if (outputs[i].name != name) continue;
      if (found && !equal(*outputs[*found].expression, *outputs[i].expression)) {
        return ambiguous_output(clause, name, key.column_ref->location);
      }
      if (!found) found = i;
    }
    if (found) return *found;
  }
  for (const auto& [node, output] : written_outputs_) {
    if (same_expression(*node, key)) return output;
  }
  auto expression = expressions_.bind_value(&key, kOrderBy);
  if (!expression) {
    std::vector<std::string> names;
    for (size_t i = 0; i < block_->visible_outputs; ++i) names.push_back(outputs[i].name);
    return wrong_key(key, expression.error(), std::move(names));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (equal(*outputs[i].expression, **expression)) return i;
  }
  if (block_->distinct) {
    return source_.wrong(start_of(&key), "ORDER BY of SELECT DISTINCT takes only its columns",
                         "42P10");
  }
  written_outputs_.emplace_back(&key, outputs.size());
  outputs.push_back({"", *std::move(expression), 0});
  output_offsets_.push_back(start_of(&key));
  slots_.work().check_columns(outputs.size(), "a SELECT");
  return outputs.size() - 1;
}

base::Result<uint64_t> SelectBinder::bind_limit(const Node* node, std::string_view name,
                                                uint64_t absent) {
  if (node == nullptr) return absent;
  const auto slots_before = static_cast<uint32_t>(slots_.size());
  auto value = expressions_.bind_value(node, kLimitClause);
  if (!value) return value.error();
  ExpressionPtr& count = *value;
  if (is_null_literal(*count)) return absent;  // LIMIT ALL, LIMIT NULL
  bool names_column = false;
  for_each_column(std::as_const(*count), [&](const Expression& column) {
    const uint32_t slot = column.column;
    names_column |= slot >= expressions_.first_own_slot() && slot < slots_before;
  });
  if (names_column) {
    return source_.wrong(start_of(node), fmt::format("{} must not name columns", name), "42P10");
  }
  if (!is_literal(*count)) {
    return source_.unsupported(start_of(node), fmt::format("{} of anything but a number", name));
  }
  if (std::holds_alternative<std::string>(count->literal)) {  // LIMIT '5', and $1 that is a text
    auto converted = base::convert_value(kBigIntType, count->literal);
    if (!converted) {
      return source_.wrong(start_of(node), converted.error().message, converted.error().state);
    }
    count = make_literal(kBigIntType, *std::move(converted));
  }
  if (!is_numeric(count->type)) {
    return source_.wrong(start_of(node), fmt::format("{} is a number", name), "42804");
  }
  const auto number = rounded_number(count->literal);
  if (!number) return source_.wrong(start_of(node), "bigint out of range", "22003");
  if (*number < 0) {
    return source_.wrong(start_of(node), fmt::format("{} must not be negative", name),
                         name == "LIMIT" ? base::SqlState("2201W") : base::SqlState("2201X"));
  }
  return static_cast<uint64_t>(*number);
}

void SelectBinder::finish() {
  for (OutputColumn& output : block_->outputs) {
    Slot slot;
    slot.name = output.name;
    slot.type = output.expression->type;
    slot.nullable = output.expression->nullable;
    output.slot = slots_.add(std::move(slot));
  }
  place_pending();
}

}  // namespace diptych::olap
