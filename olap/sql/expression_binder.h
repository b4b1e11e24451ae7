// ExpressionBinder: turns parse nodes into typed expressions over slots, for the clauses of one
// SELECT.
//
// An aggregate call becomes a column: the aggregate is added to the block (once, however often it
// is written), and the column has its slot. A SubqueryBinder handles subqueries in expressions.
//
// An aggregate belongs to the innermost query that owns one of its columns, which may be a query
// around the subquery in which it is written. Its slot there has to be older than the subquery's
// own slots; if it was not, binding the subquery fails and has to be repeated.

#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "olap/sql/operators.h"
#include "olap/sql/parse_tree.h"
#include "olap/sql/scope.h"

namespace diptych::olap {

// SubqueryBinder: binds a subquery in an expression and returns an expression for its value.
class SubqueryBinder {
 public:
  virtual ~SubqueryBinder() = default;
  // `tested` are the values before IN, ANY or ALL.
  virtual BoundResult bind_subquery(const PgQuery__SubLink& subquery, std::vector<Bound> tested,
                                    bool in_aggregate) = 0;
};

// The place of each column in the text, for errors that are found after binding, such as a column
// that is missing from GROUP BY. Keyed by the expression's address, which is stable while trees are
// moved.
using ColumnOffsets = std::unordered_map<const Expression*, int64_t>;

// The clause in which an expression stands, as errors name it.
struct Clause {
  std::string_view name;    // "WHERE"
  bool aggregates = false;  // may it have aggregates
  bool windows = false;     // may it have window functions
};

// The windows of a WINDOW clause, by name.
struct NamedWindow {
  const PgQuery__WindowDef* definition = nullptr;
  bool used = false;  // by an OVER, or by another window
};
using NamedWindows = std::unordered_map<std::string, NamedWindow>;

bool is_aggregate(std::string_view function);
bool is_window_function(std::string_view function);  // of windows alone
bool is_regression(std::string_view function);       // an expression over aggregates
// Their names, for hints.
void add_aggregate_names(std::vector<std::string>* names);
void add_window_function_names(std::vector<std::string>* names);
bool is_hypothetical(std::string_view function);  // with WITHIN GROUP, the same
void add_regression_names(std::vector<std::string>* names);
// Returns the column of an aggregate.
using PlaceAggregate = std::function<base::Result<ExpressionPtr>(Aggregate)>;
// The regression of a pair, whose y is `argument` and whose x is in `further`.
base::Result<ExpressionPtr> regression_of(std::string_view name, const Aggregate& pair,
                                          const PlaceAggregate& place);
// The place of a row of constants among a group's: `argument` says which rows count, and `further`
// has whether a row stands before it, whether it has its values, and then the keys.
base::Result<ExpressionPtr> hypothetical_of(std::string_view name, const Aggregate& row,
                                            const PlaceAggregate& place);

class ExpressionBinder {
 public:
  // The values of $1, $2 and so on.
  using Parameters = std::span<const base::Value>;

  // Constructed before the block's FROM adds its slots: earlier slots belong to outer queries.
  ExpressionBinder(const SourceText& source, SlotTable& slots, const Scope& scope,
                   QueryBlock& block, SubqueryBinder& subqueries, ColumnOffsets& offsets,
                   Parameters parameters)
      : source_(source),
        parameters_(parameters),
        slots_(slots),
        scope_(scope),
        block_(block),
        subqueries_(subqueries),
        offsets_(offsets),
        first_own_slot_(slots.size()) {}

  BoundResult bind(const Node* node, const Clause& clause);

  // As bind(), but an untyped value becomes TEXT.
  base::Result<ExpressionPtr> bind_value(const Node* node, const Clause& clause);

  base::Result<ExpressionPtr> bind_predicate(const Node* node, const Clause& clause);

  // The value before IN (subquery), or the values of the row there.
  base::Result<std::vector<Bound>> bind_tested(const Node* node, const Clause& clause);

  // Expressions may name columns of the query around this one.
  void allow_correlation() { correlated_ = true; }
  // From now on columns are nullable, except in aggregates, because of grouping sets.
  void make_columns_null() { columns_null_ = true; }
  unsigned depth() const { return depth_; }  // of what is bound now
  uint32_t first_own_slot() const { return first_own_slot_; }
  // Binds the call of a function that returns rows, which has moved to FROM, to the slot's column.
  void give_series(const PgQuery__FuncCall* call, uint32_t slot) {
    series_ = call;
    series_slot_ = slot;
  }

  // From now on binds nodes that are written like `node` to this value. It is used for a key of
  // GROUP BY with a subquery, which is then joined once.
  void know(const Node* node, const Expression& value);

  // Handles the WINDOW clause, before the expressions that may use it.
  base::Result<void> name_windows(NodeList clause);
  // Checks the windows that no OVER has used, after all expressions.
  base::Result<void> bind_unused_windows(NodeList clause);

  // The slot of the aggregate in the block; adds it if it is new.
  uint32_t add_aggregate(Aggregate aggregate, std::string_view name);

  // The table's name in t.a, public.t.a or t.*; empty if there is none. After a schema it names the
  // table itself, not an alias or a CTE.
  base::Result<std::string_view> table_of(const PgQuery__ColumnRef& column) const;

  // A column of this block's scope, or of one around it, that was written at `offset`.
  Bound named_column(const ScopeColumn& column, int64_t offset);

  // True if a subquery whose binding failed should be bound again, because it has added an
  // aggregate to this query.
  bool bind_again() { return std::exchange(bind_again_, false); }

 private:
  bool makes_columns_null() const { return columns_null_ && !in_aggregate_; }
  BoundResult dispatch(const Node& node);
  const Expression* known_value(const Node& node) const;  // nullptr: unknown
  BoundResult bind_operator_node(const Node& node);
  BoundResult bind_column(const PgQuery__ColumnRef& column);
  base::Error whole_row(int64_t offset, std::string_view table) const;
  BoundResult bind_constant(const PgQuery__AConst& constant);
  BoundResult bind_operation(const PgQuery__AExpr& operation);
  BoundResult bind_row_comparison(const PgQuery__AExpr& operation);
  BoundResult bind_between(const PgQuery__AExpr& operation);
  BoundResult bind_in_list(const PgQuery__AExpr& operation);
  BoundResult bind_in_list(const PgQuery__AExpr& operation, NodeList items, bool negative);
  BoundResult bind_over_array(const PgQuery__AExpr& operation);
  BoundResult bind_collation(const PgQuery__CollateClause& clause);
  BoundResult bind_row_in_list(const PgQuery__AExpr& operation);
  BoundResult bind_distinct(const PgQuery__AExpr& operation);
  base::Result<ExpressionPtr> bind_same(int64_t offset, Bound* left, Bound* right);

  // pattern_binder.cpp
  BoundResult bind_pattern(const PgQuery__AExpr& operation);
  BoundResult bind_similar(const PgQuery__AExpr& operation);
  base::Result<ExpressionPtr> bind_text_operand(const Node& node, const PgQuery__AExpr& operation,
                                                std::string_view name);
  base::Result<ExpressionPtr> bind_escaped(Function function, ExpressionPtr pattern,
                                           ExpressionPtr escape, int64_t offset);

  BoundResult bind_nullif(const PgQuery__AExpr& operation);
  BoundResult bind_connective(const PgQuery__BoolExpr& connective);
  BoundResult bind_case(const PgQuery__CaseExpr& expression);
  BoundResult bind_coalesce(const PgQuery__CoalesceExpr& expression);
  BoundResult bind_null_test(const PgQuery__NullTest& test);
  BoundResult bind_boolean_test(const PgQuery__BooleanTest& test);
  BoundResult bind_type_cast(const PgQuery__TypeCast& cast);
  BoundResult bind_cast_call(const PgQuery__FuncCall& call, std::string_view name);
  BoundResult bind_interval_of_unit(const PgQuery__TypeCast& cast);
  BoundResult bind_extreme(const PgQuery__MinMaxExpr& expression);
  BoundResult bind_sql_value(const PgQuery__SQLValueFunction& function);
  BoundResult bind_parameter(const PgQuery__ParamRef& parameter);
  BoundResult bind_call(const PgQuery__FuncCall& call);
  base::Error unknown_function(const PgQuery__FuncCall& call, std::string_view name);
  BoundResult bind_make_interval(const PgQuery__FuncCall& call);
  // aggregate_binder.cpp
  BoundResult bind_aggregate(const PgQuery__FuncCall& call, std::string_view name);
  ExpressionBinder& owner_of(const Aggregate& aggregate);
  ExpressionBinder& owner_of(uint32_t slot) const;
  BoundResult bind_in(ExpressionBinder& owner, const PgQuery__FuncCall& call,
                      std::string_view name);
  bool has_aggregate_in(const Aggregate& aggregate) const;
  base::Result<void> check_aggregate_place(int64_t offset) const;
  base::Result<ExpressionPtr> place_aggregate(ExpressionBinder& owner, Aggregate aggregate,
                                              std::string_view name, int64_t offset);
  base::Result<void> bind_aggregate_call(const PgQuery__FuncCall& call, std::string_view name,
                                         Aggregate* aggregate);
  base::Result<void> bind_aggregate_argument(const PgQuery__FuncCall& call, std::string_view name,
                                             Aggregate* aggregate);
  base::Result<void> bind_string_agg(const PgQuery__FuncCall& call, Aggregate* aggregate);
  base::Result<void> bind_aggregate_order(const PgQuery__FuncCall& call, Aggregate* aggregate);
  ExpressionPtr key_of_table(const Node& node) const;
  base::Result<void> bind_counted_row(const PgQuery__FuncCall& call, Aggregate* aggregate);
  // regression_binder.cpp
  base::Result<void> bind_pair(const PgQuery__FuncCall& call, std::string_view name,
                               Aggregate* pair);
  // ordered_set_binder.cpp
  base::Result<void> bind_ordered_set(const PgQuery__FuncCall& call, std::string_view name,
                                      Aggregate* aggregate);
  base::Result<void> bind_hypothetical(const PgQuery__FuncCall& call, std::string_view name,
                                       Aggregate* row);
  BoundResult bind_grouping(const PgQuery__GroupingFunc& call);

  // window_binder.cpp
  struct WindowDefinition;
  BoundResult bind_window(const PgQuery__FuncCall& call, std::string_view name);
  base::Result<void> define_window(const PgQuery__WindowDef& over, WindowDefinition* definition);
  base::Result<void> check_copied(const PgQuery__WindowDef& own,
                                  const WindowDefinition& base) const;
  base::Error unknown_window(int64_t offset, const char* name) const;
  base::Result<void> bind_window_columns(const WindowDefinition& definition, Window* window);
  base::Result<void> bind_window_call(const PgQuery__FuncCall& call, std::string_view name,
                                      Window* window, WindowCall* result);
  base::Result<void> bind_window_arguments(const PgQuery__FuncCall& call, std::string_view name,
                                           Window* window, WindowCall* result);
  base::Result<void> bind_window_aggregate(const PgQuery__FuncCall& call, std::string_view name,
                                           Window* window, WindowCall* result);
  BoundResult bind_window_regression(const PgQuery__FuncCall& call, std::string_view name,
                                     Window window, const WindowCall& framed);
  void set_aggregate(Aggregate aggregate, Window* window, WindowCall* result);
  ExpressionPtr place_window_call(Window window, WindowCall result, std::string_view name);
  base::Result<void> bind_frame(const WindowDefinition& definition, Window* window,
                                WindowCall* call);
  BoundResult bind_frame_offset(const PgQuery__WindowDef& frame, bool start,
                                const base::DataType& adopted);
  base::Result<uint64_t> bind_row_offset(const PgQuery__WindowDef& frame, bool start);
  base::Result<void> bind_range_offsets(const WindowDefinition& definition, Window* window,
                                        WindowCall* call);
  size_t add_window_column(Window* window, ExpressionPtr expression);
  BoundResult sublink(const PgQuery__SubLink& subquery);
  base::Result<std::vector<Bound>> bind_all(NodeList nodes);
  base::Result<std::vector<Bound>> bind_row(const Node& node);

  const SourceText& source_;
  const Parameters parameters_;
  SlotTable& slots_;
  const Scope& scope_;
  QueryBlock& block_;
  SubqueryBinder& subqueries_;
  ColumnOffsets& offsets_;
  const uint32_t first_own_slot_;  // slots below belong to the outer queries
  Clause clause_;
  NamedWindows named_windows_;
  bool correlated_ = false;
  bool columns_null_ = false;
  bool in_aggregate_ = false;
  // For the aggregate that is being bound: the first slot made for it, and the last earlier slot
  // that it names, also in subqueries.
  struct Argument {
    uint32_t first_slot = 0;
    std::optional<uint32_t> last;
  };
  Argument argument_;
  // The values of calls in subqueries that are aggregates of this query.
  std::unordered_map<const PgQuery__FuncCall*, ExpressionPtr> inner_aggregates_;
  std::vector<std::pair<const Node*, ExpressionPtr>> known_;
  const PgQuery__FuncCall* series_ = nullptr;
  uint32_t series_slot_ = 0;
  bool in_window_ = false;
  bool bind_again_ = false;
  unsigned depth_ = 0;
};

}  // namespace diptych::olap
