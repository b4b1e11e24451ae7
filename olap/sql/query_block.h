// QueryBlock: one SELECT after binding and before planning. All names are resolved to slots.
//
// Slot       the number of a column of the statement: of a table in FROM, a block's output, a group
//            key or an aggregate. Slots are unique in the statement. Those of an inner block come
//            after the slots that its outer block's FROM offers it.
// Order of evaluation in a block
//   from -> group_keys and aggregates -> subqueries -> having -> windows -> window_subqueries ->
//   outputs -> distinct -> sort -> limit -> repetition

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/schema.h"
#include "olap/sql/expression_tree.h"
#include "olap/sql/planning_work.h"

namespace diptych::olap {

struct Slot {
  std::string name;
  base::DataType type;
  bool nullable = true;                      // as seen by the block's expressions
  const base::TableSchema* table = nullptr;  // the table, if the slot is a column of one,
  base::ColumnId column;                     // and the column
};

class SlotTable {
 public:
  // The work outlives the table. It is kept here because all stages of planning have the table.
  explicit SlotTable(PlanningWork* work) : work_(work) {}

  PlanningWork& work() const { return *work_; }
  uint32_t add(Slot slot) {
    slots_.push_back(std::move(slot));
    work_->check_statement_columns(slots_.size());
    return static_cast<uint32_t>(slots_.size() - 1);
  }
  Slot& operator[](uint32_t slot) { return slots_[slot]; }
  const Slot& operator[](uint32_t slot) const { return slots_[slot]; }
  uint32_t size() const { return static_cast<uint32_t>(slots_.size()); }
  ExpressionPtr column(uint32_t slot) const {
    return make_column(slot, slots_[slot].type, slots_[slot].nullable);
  }

 private:
  PlanningWork* work_;
  std::vector<Slot> slots_;
};

struct QueryBlock;
struct LeftJoin;
struct SetOperation;

// The dependency of a subquery on its outer rows, if conditions cannot express it (unnesting.h).
// Inside the subquery, members `domain` with this id offer the distinct values of these expressions
// over the outer rows.
struct Domain {
  uint32_t id = 0;  // a slot that names no column; 0: there is no domain
  Expressions values;
};

// A member of a join: a table, a block (derived table), a whole LEFT JOIN, a set operation, the
// rows of VALUES, the values of a Domain, or the rows of a recursion's previous round. Exactly one
// is set.
struct JoinMember {
  const base::TableSchema* table = nullptr;
  std::string alias;  // the table's, for EXPLAIN
  std::unique_ptr<QueryBlock> block;
  std::unique_ptr<LeftJoin> left_join;
  std::unique_ptr<SetOperation> set_operation;
  std::vector<Expressions> rows;  // of VALUES
  uint32_t domain = 0;            // the Domain's id
  uint32_t working = 0;           // SetOperation::recursion
  std::vector<uint32_t> slots;    // offered: by column of the table, or by output of the block

  JoinMember();
  JoinMember(JoinMember&&) noexcept;
  JoinMember& operator=(JoinMember&&) noexcept;
  ~JoinMember();
};

struct SubqueryJoin;

// A truth value over texts that an operator above needs. It becomes a column with this slot if it
// pays to compute it below a join (predicate_rules.h).
struct TextPart {
  ExpressionPtr expression;
  uint32_t slot;
  bool is_column = false;  // the rows have it
};

// Members that may be joined in any order, and the conjuncts that hold for the result.
struct JoinGroup {
  std::vector<JoinMember> members;
  Expressions predicates;
  std::vector<SubqueryJoin> subqueries;
  std::vector<TextPart> text_parts;

  JoinGroup();
  JoinGroup(JoinGroup&&) noexcept;
  JoinGroup& operator=(JoinGroup&&) noexcept;
  ~JoinGroup();
};

struct LeftJoin {
  bool full = false;   // keeps rows of the optional side without a match, too
  bool inner = false;  // drops rows of the preserved side without a match; it has a domain
  bool value = false;  // for a scalar subquery: each row has at most one match
  Domain domain;       // of the optional side, over the preserved one (LATERAL)
  JoinGroup preserved;
  JoinGroup optional;
  Expressions on;  // over both sides
};

// A subquery of WHERE, SELECT and so on, joined to its outer rows by conditions over slots of both.
// EXISTS and IN keep the rows with (kSemi) or without (kAnti) a row of `inner` for which the
// conditions hold, or keep all rows and set `mark` to whether there is one (kMark). A value uses
// kLeft, or kInner if there is always exactly one row.
struct SubqueryJoin {
  JoinKind kind = JoinKind::kSemi;
  JoinGroup inner;
  Expressions conditions;
  Domain domain;  // of inner
  uint32_t mark = 0;
  uint32_t first_slot = 0;  // the subquery's own slots are [first_slot, end_slot)
  uint32_t end_slot = 0;
  int64_t offset = -1;  // its place in the text
};

struct OutputColumn {
  std::string name;
  ExpressionPtr expression;
  uint32_t slot = 0;
  bool untyped = false;  // a literal whose type a set operation may still decide
};

// An expression that becomes a column for a window: partitions, order, arguments, bounds.
struct WindowColumn {
  ExpressionPtr expression;
  uint32_t slot = 0;
};

struct WindowCall {
  WindowFunction function;       // its columns are those of the window, by number
  bool start_is_column = false;  // the frame's offsets are such columns, too
  bool end_is_column = false;
  uint32_t slot = 0;
};

// Functions that share their partitions and order.
struct Window {
  std::vector<WindowColumn> columns;
  std::vector<size_t> partition;  // numbers in `columns`
  std::vector<SortKey> order;     // likewise
  std::vector<WindowCall> calls;
};

struct SortItem {
  size_t output = 0;  // index into outputs
  bool descending = false;
  bool nulls_first = false;
};

struct QueryBlock {
  JoinGroup from;            // no members: one row without columns
  bool has_working = false;  // a recursion's rows of the round before are in FROM
  bool aggregated = false;
  Expressions group_keys;
  std::vector<uint32_t> group_slots;
  // The keys of each set of GROUPING SETS, ROLLUP and CUBE. Empty: one set of all keys.
  std::vector<std::vector<bool>> grouping_sets;
  std::vector<uint32_t> expanded_slots;  // the keys after expansion
  uint32_t set_slot = 0;                 // the set's number, before and after the grouping
  std::vector<Aggregate> aggregates;
  std::vector<uint32_t> aggregate_slots;
  std::vector<SubqueryJoin> subqueries;  // above the grouping; used by having and outputs
  Expressions having;
  std::vector<Window> windows;                  // evaluated after having
  std::vector<SubqueryJoin> window_subqueries;  // above the windows; they use their results
  std::vector<OutputColumn> outputs;            // the visible ones, then those only for sorting
  size_t visible_outputs = 0;
  bool distinct = false;
  std::vector<size_t> distinct_on;  // outputs; keeps the first row in the order of `sort`
  uint32_t distinct_slot = 0;       // a row's number among rows with equal distinct_on
  bool with_ties = false;           // keeps rows that sort like the last one within `limit`, too
  uint32_t number_slot = 0;         // for a limit by rank or by value: a row's number,
  uint32_t rank_slot = 0;           // and its rank
  std::vector<size_t> limit_partition;  // outputs; the limit applies to each of their values
  std::vector<SortItem> sort;
  uint64_t limit = kNoLimit;
  uint64_t offset = 0;
  // The output that says how often a row is repeated (BIGINT); afterwards it has the copy's number,
  // from 1. 0: rows are not repeated.
  uint32_t repeat_slot = 0;
  // How often this SELECT has been bound, after binding; nullptr: it is not in the text.
  const unsigned* times_bound = nullptr;
};

enum class SetOperator : uint8_t { kUnion, kIntersect, kExcept };

struct SetOperation {
  SetOperator kind = SetOperator::kUnion;
  bool all = false;
  // A recursive query's number, from 1; the second input has a member `working` with this number.
  uint32_t recursion = 0;
  std::vector<std::unique_ptr<QueryBlock>> inputs;  // two; of a UNION any number
  // By input: its outputs, represented as the result's types, which may have more digits.
  std::vector<Expressions> columns;
  // For INTERSECT ALL and EXCEPT ALL: each row's marks of its side, their counts by distinct row,
  // and how often the row is repeated.
  std::vector<uint32_t> marks;
  std::vector<uint32_t> counts;
  uint32_t repeat = 0;
};

// The number of tables that the planner may have to join at once. A LEFT JOIN may become an inner
// join, whose members then belong to the group around it.
size_t width_of(const JoinGroup& group);

// The table that has the slot, at any depth of joins, or nullptr.
const JoinMember* table_with(const JoinGroup& group, uint32_t slot);

// True if the expression names an output of one of the subqueries.
bool names_a_subquery(const std::vector<SubqueryJoin>& subqueries, const Expression& expression);

// Makes the block a member of a join: a derived table.
JoinMember derived_member(std::unique_ptr<QueryBlock> block);

// True if a second run of the block, over the same rows in another order, may give other rows:
// because rows are chosen or numbered by an order that may have ties, or because DOUBLEs are
// summed. Nested blocks are not examined.
bool rows_may_differ(const QueryBlock& block);

// Calls visit for every column that the block, the group or the member names, at any depth.
using VisitColumn = std::function<void(const Expression& column)>;
void for_each_column(const QueryBlock& block, const VisitColumn& visit);
void for_each_column(const JoinGroup& group, const VisitColumn& visit);
void for_each_column(const JoinMember& member, const VisitColumn& visit);

inline JoinMember::JoinMember() = default;
inline JoinMember::JoinMember(JoinMember&&) noexcept = default;
inline JoinMember& JoinMember::operator=(JoinMember&&) noexcept = default;
inline JoinMember::~JoinMember() = default;
inline JoinGroup::JoinGroup() = default;
inline JoinGroup::JoinGroup(JoinGroup&&) noexcept = default;
inline JoinGroup& JoinGroup::operator=(JoinGroup&&) noexcept = default;
inline JoinGroup::~JoinGroup() = default;

}  // namespace diptych::olap
