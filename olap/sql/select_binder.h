// SelectBinder: turns one SELECT's parse tree into a QueryBlock.
//
// A SelectBinder binds one block; derived tables, CTEs and subqueries have their own. A CTE is
// bound again at every use (inlined). A recursive CTE is a set operation whose second input names
// the rows of the previous round.
//
// Limits     a statement has at most kBlocksMax blocks, where a CTE counts at each use, and nests
//            at most kBlocksDeepMax deep as it is written. With CTEs in place of their names it
//            nests at most kInlinedDeepMax SELECTs and kInlinedNestingMax expressions deep, because
//            binding takes about 5 KiB of stack for a SELECT and 1 KiB for an expression.

#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/schema.h"
#include "olap/sql/decorrelation.h"
#include "olap/sql/expression_binder.h"
#include "olap/sql/query_block.h"
#include "olap/sql/view.h"
#include "olap/system_table.h"

namespace diptych::olap {

inline constexpr unsigned kBlocksMax = 600;
inline constexpr unsigned kBlocksDeepMax = 30;
inline constexpr unsigned kInlinedDeepMax = 200;
inline constexpr unsigned kInlinedNestingMax = 5'000;

// The state that all blocks of a statement share while they are bound.
struct StatementBinding {
  const SourceText* source;  // of what is bound: the statement, or a view that it names
  const base::Catalog& catalog;
  SlotTable slots;  // with the PlanningWork
  std::span<const base::Value> parameters;
  std::span<const SystemTable> system_tables;
  bool is_of_view = false;  // it is the SELECT of a CREATE VIEW
  unsigned blocks = 0;
  unsigned depth = 0;          // of the SELECT that is bound, as it is written
  unsigned inlined_depth = 0;  // CTEs standing where they are named
  unsigned nesting = 0;        // of the expressions around it, these with their SELECTs
  uint32_t recursions = 0;
  ParsedViews views;
  bool is_in_view = false;     // `source` is a view's
  std::set<std::string> uses;  // tables and views that the statement itself names
  std::unordered_set<const PgQuery__CommonTableExpr*> named;             // CTEs that a FROM names
  std::unordered_map<const PgQuery__SelectStmt*, unsigned> times_bound;  // QueryBlock::times_bound
};

// A recursive query as its recursive term sees it: the rows of the previous round.
struct WorkingTable {
  uint32_t recursion;  // SetOperation::recursion
  ScopeTable table;    // the names, and the slots that have the types
};

// Says if a block may name columns of the query around it.
enum class Correlation : uint8_t { kRefused, kAllowed };

// The WITH queries that a block can name: its own and, through `outer`, those around it.
struct CteScope {
  struct Entry {
    std::string name;
    const PgQuery__CommonTableExpr* query = nullptr;
    uint32_t recursion = 0;                 // a recursive query's number, from 1
    const WorkingTable* working = nullptr;  // within the recursive term, in place of the query
    unsigned depth = 0;                     // of the SELECT with the WITH, as it is written
  };
  std::vector<Entry> entries;
  bool recursive = false;  // they see each other; otherwise, only earlier ones
  const CteScope* outer = nullptr;
  // The scope for their own names: that of the WITH, and not that of their use.
  const Scope* around = nullptr;
  Correlation correlation = Correlation::kRefused;
};

// The group keys of one grouping set, by number in the block.
using GroupingKeys = std::vector<size_t>;

class SelectBinder : private SubqueryBinder {
 public:
  SelectBinder(StatementBinding& statement, const Scope* outer, const CteScope* ctes,
               Correlation correlation);

  base::Result<std::unique_ptr<QueryBlock>> bind(const PgQuery__SelectStmt& select);

 private:
  using Status = base::Result<void>;

  // select_binder.cpp
  base::Error too_many_blocks(int64_t place) const;
  base::Error too_deep(int64_t place) const;
  Status check_supported(const PgQuery__SelectStmt& select) const;
  Status bind_clauses(const PgQuery__SelectStmt& select);
  Status bind_with(const PgQuery__WithClause& with);
  Status bind_where(const Node& node);
  Status bind_targets(NodeList targets);
  Status bind_star(const PgQuery__ColumnRef& star);
  base::Result<std::vector<const ScopeColumn*>> columns_of(const PgQuery__ColumnRef& star) const;
  Status bind_having(const Node* having);
  Status bind_order_by(NodeList items);
  base::Result<std::optional<size_t>> position_of(const Node& key, size_t outputs,
                                                  std::string_view clause) const;
  base::Result<size_t> sort_output(const Node& key, std::string_view clause);
  base::Error ambiguous_output(std::string_view clause, std::string_view name, int64_t place) const;
  Status bind_distinct(NodeList clause);
  Status check_distinct_on(NodeList clause);
  base::Result<uint64_t> bind_limit(const Node* node, std::string_view name, uint64_t absent);
  void finish();

  // inherited_order.cpp
  void inherit_order();

  // set_binder.cpp
  Status bind_set_operation(const PgQuery__SelectStmt& select);
  base::Result<std::vector<base::DataType>> bind_set_columns(std::string_view name, int64_t place,
                                                             const std::vector<int64_t>& places,
                                                             SetOperation* operation);
  Status check_set_width(const PgQuery__SelectStmt& select, const SetOperation& operation,
                         const std::vector<int64_t>& places) const;
  Status bind_values(const PgQuery__SelectStmt& select);
  Status bind_values_by_row(const PgQuery__SelectStmt& select);
  void offer_operation(std::unique_ptr<SetOperation> operation,
                       const std::vector<base::DataType>& types);
  void offer_outputs(JoinMember member, std::vector<std::string> names);

  // recursion_binder.cpp
  Status bind_recursion(const PgQuery__SelectStmt& select);
  Status bind_recursion_columns(const PgQuery__SelectStmt& select, SetOperation* operation,
                                const std::vector<uint32_t>& slots);
  Status bind_working_table(const WorkingTable& working, const PgQuery__RangeVar& table,
                            JoinGroup& group);

  // from_binder.cpp
  Status bind_from_item(const Node& node, JoinGroup& group);
  Status bind_table(const PgQuery__RangeVar& table, JoinGroup& group);
  Status bind_other_schema(const PgQuery__RangeVar& table, std::string_view alias,
                           JoinGroup& group);
  Status bind_system_table(const SystemTable& system, const PgQuery__RangeVar& table,
                           std::string_view alias, JoinGroup& group);
  Status bind_derived(const PgQuery__SelectStmt& select, const PgQuery__Alias* alias,
                      const CteScope::Entry* cte, std::string_view name, int64_t offset,
                      const CteScope* ctes, JoinGroup& group);
  Status bind_view(const base::ViewSchema& view, const PgQuery__RangeVar& table,
                   std::string_view alias, JoinGroup& group);
  // WITH queries are bound where a FROM names them. This checks the others.
  Status check_unnamed_queries();
  Status bind_lateral(const PgQuery__SelectStmt& select, const PgQuery__Alias* alias,
                      std::string_view name, int64_t offset, JoinGroup& group);
  Status bind_join(const PgQuery__JoinExpr& join, JoinGroup& group);
  Status bind_joined(const PgQuery__JoinExpr& join, JoinGroup& group);
  Status bind_outer_join(const PgQuery__JoinExpr& join, JoinGroup& group);
  void add_member(JoinMember member, uint32_t first_slot, JoinGroup& group);
  base::Result<Expressions> bind_join_condition(const PgQuery__JoinExpr& join, size_t first_table,
                                                size_t first_right_table);
  base::Result<Expressions> bind_using(const std::vector<std::string>& names, size_t first_table,
                                       size_t first_right_table, const PgQuery__JoinExpr& join);
  Status rename_columns(const PgQuery__Alias* alias, int64_t offset, ScopeTable* table) const;
  Status rename_columns(NodeList names, int64_t offset, ScopeTable* table) const;
  Status name_columns(const CteScope::Entry& cte, ScopeTable* table) const;

  // series_binder.cpp
  Status bind_series(const PgQuery__RangeFunction& function, JoinGroup& group);
  Status bind_series_of(NodeList targets);
  Status check_series() const;
  Status bind_unnest(const PgQuery__RangeFunction& function, const PgQuery__FuncCall& call,
                     JoinGroup& group);
  base::Result<std::unique_ptr<QueryBlock>> bind_series_call(const PgQuery__FuncCall& call,
                                                             const std::string& name);

  // subquery_binder.cpp
  struct InnerQuery {
    SubqueryJoin join;
    Expressions outputs;   // over slots of join.inner, or of this query
    bool one_row = false;  // it has exactly one row, whatever the data
  };
  static bool exists(const PgQuery__SubLink& subquery);
  base::Result<InnerQuery> bind_inner(const PgQuery__SubLink& subquery);
  BoundResult bind_subquery(const PgQuery__SubLink& subquery, std::vector<Bound> tested,
                            bool in_aggregate) override;
  BoundResult bind_subquery_value(const PgQuery__SubLink& subquery, std::vector<Bound> tested);
  BoundResult bind_scalar(const PgQuery__SubLink& subquery);
  BoundResult bind_row_comparison(const PgQuery__SubLink& subquery, std::vector<Bound> tested);
  base::Result<Expressions> bind_single_row(const PgQuery__SubLink& subquery);
  TiesWanted ties_wanted() const;
  static Expressions take_values(QueryBlock& block);
  Expressions output_columns(const QueryBlock& block) const;
  Expressions lift_aggregates(QueryBlock& block, SubqueryJoin* join);
  Expressions lift_row(std::unique_ptr<QueryBlock>* block, SubqueryJoin* join);
  ExpressionPtr group_rows(std::unique_ptr<QueryBlock>* block, SubqueryJoin* join,
                           std::unordered_map<uint32_t, uint32_t>* given);
  void over_outputs(ExpressionPtr* value, const std::unordered_map<uint32_t, uint32_t>& given,
                    const std::unordered_map<uint32_t, AggregateKind>& kinds);
  ExpressionPtr attach_mark(SubqueryJoin join);
  void attach(SubqueryJoin join);
  void place_pending();

  // quantified_binder.cpp
  static std::string operator_name(const PgQuery__SubLink& subquery);
  base::Result<bool> bind_subquery_join(const PgQuery__SubLink& subquery, bool negated);
  base::Result<ExpressionPtr> compare_rows(const PgQuery__SubLink& subquery, std::string_view name,
                                           std::vector<Bound> tested, Expressions outputs);
  BoundResult bind_quantified(const PgQuery__SubLink& subquery, std::vector<Bound> tested);
  BoundResult bind_by_extremes(const PgQuery__SubLink& subquery, const std::vector<Bound>& tested,
                               InnerQuery query);
  base::Result<ExpressionPtr> bind_unknown(const PgQuery__SubLink& subquery, const Bound& tested,
                                           bool nullable_output);
  base::Result<ExpressionPtr> bind_unknown_row(const PgQuery__SubLink& subquery,
                                               std::string_view name,
                                               const std::vector<Bound>& tested,
                                               bool nullable_output);
  base::Result<ExpressionPtr> bind_unknown_row(const PgQuery__SubLink& subquery,
                                               std::string_view name,
                                               const std::vector<Bound>& tested,
                                               ExpressionPtr null_tested);

  // grouping.cpp
  Status bind_group_by(NodeList items, NodeList targets);
  base::Result<std::vector<size_t>> bind_group_items(NodeList items, NodeList targets);
  base::Result<size_t> bind_group_item(const Node& item, NodeList targets);
  // The error of an ORDER BY's or GROUP BY's key that could not be bound. A name that no column has
  // may have been meant to be one of the outputs'.
  base::Error wrong_key(const Node& key, base::Error error, std::vector<std::string> outputs) const;
  // What a position counts: SELECT's items, a `*` as its columns.
  struct CountedTarget {
    const Node* value;
    const ScopeColumn* column = nullptr;  // of the value, where it is a `*`
  };
  base::Result<std::vector<CountedTarget>> counted(NodeList targets) const;
  base::Result<const Node*> find_alias(NodeList targets, const PgQuery__ColumnRef& column);
  size_t add_group_key(ExpressionPtr key);
  base::Result<std::vector<GroupingKeys>> grouping_sets_of(NodeList one, NodeList targets);
  Status bind_grouping_sets(NodeList items, NodeList targets);
  void drop_repeated_sets();
  std::optional<uint32_t> dependent_aggregate(const Expression& column);
  Status check_grouping();
  Status replace_grouped(ExpressionPtr* expression, std::string_view clause, int64_t offset = -1);

  StatementBinding& statement_;
  const SourceText& source_;
  SlotTable& slots_;
  const Scope* outer_;
  CteScope ctes_;
  Correlation correlation_;
  const CteScope::Entry* recursion_ = nullptr;  // the recursive query that this block is
  Scope scope_;
  std::unique_ptr<QueryBlock> block_;
  ColumnOffsets offsets_;
  ExpressionBinder expressions_;
  bool only_rows_ = false;               // for EXISTS: there may be no columns
  std::vector<int64_t> output_offsets_;  // the place of each output in the text
  // Outputs by their nodes, to find outputs with the same text, which share their subqueries.
  std::vector<std::pair<const Node*, size_t>> written_outputs_;
  // SELECT's items that GROUP BY names. They are bound once, because binding makes new slots for a
  // subquery each time.
  struct GroupedTarget {
    ExpressionPtr expression;
    size_t key = 0;
  };
  const Node* series_ = nullptr;  // generate_series() or unnest() in SELECT
  std::unordered_map<const Node*, GroupedTarget> grouped_targets_;
  std::unordered_map<size_t, size_t> literal_outputs_;  // by output that is a literal: its key
  std::vector<SubqueryJoin> pending_;          // of SELECT, HAVING and ORDER BY, not yet placed
  JoinGroup* scalar_group_ = nullptr;          // receives the next subquery; nullptr: pending_
  Expressions* lateral_conditions_ = nullptr;  // in the right side of an outer join: its ON
};

// The place of the first column of a SELECT, a set operation or VALUES.
int64_t place_of(const PgQuery__SelectStmt& select);

// The name that PostgreSQL gives an output column without an alias.
std::string output_name(const Node& node);

}  // namespace diptych::olap
