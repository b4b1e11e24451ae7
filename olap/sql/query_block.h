// QueryBlock: one SELECT after binding and before planning. All names are resolved to slots.
//
// Slot       the number of a column of the statement: of a table in FROM, of a block's output, of a
//            group key or an aggregate. Unique over the statement; slots of an inner block are
//            numbered after those that its outer block's FROM offers it.
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
  const base::TableSchema* table = nullptr;  // where the slot is a column of a table,
  base::ColumnId column;                     // and which
};

class SlotTable {
 public:
  // The work outlives it. All stages have the table, so what they may cost goes with it.
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

// What a subquery takes from the rows around it where conditions on its rows cannot say it
// (unnesting.h): inside, members `domain` with this id offer the distinct values of some
// expressions there.
struct Domain {
  uint32_t id = 0;  // a slot that names no column; 0: there is no domain
  Expressions values;
};

// What is joined: a table, a block (derived table), a LEFT JOIN as a whole, a set operation, the
// rows of VALUES, the values of a Domain, or a recursion's rows of the round before. Exactly one is
// set.
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

// A truth value over texts that somebody above asks for: a column of this slot, where it is worth
// while to have it below a join (predicate_rules.h).
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
  bool full = false;   // rows of the optional side without a match stay, too
  bool inner = false;  // rows of the preserved side without a match go; it has a domain
  bool value = false;  // of a scalar subquery: each row has one match at most
  Domain domain;       // of the optional side, over the preserved one: LATERAL
  JoinGroup preserved;
  JoinGroup optional;
  Expressions on;  // over both sides
};

// A subquery of WHERE, SELECT and so on, joined to the rows around it by conditions over slots of
// both. EXISTS and IN: rows with (kSemi) or without (kAnti) a row of `inner` for which they hold,
// or all rows and whether there is one, in `mark` (kMark). A value: kLeft, or kInner where there is
// always exactly one row.
struct SubqueryJoin {
  JoinKind kind = JoinKind::kSemi;
  JoinGroup inner;
  Expressions conditions;
  Domain domain;  // of inner
  uint32_t mark = 0;
  uint32_t first_slot = 0;  // of the subquery's own slots, [first_slot, end_slot)
  uint32_t end_slot = 0;
  int64_t offset = -1;  // where it was written
};

struct OutputColumn {
  std::string name;
  ExpressionPtr expression;
  uint32_t slot = 0;
  bool untyped = false;  // a literal whose type a set operation may still decide
};

// An expression that is a column of its own for a window: partitions, order, arguments, bounds.
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
  std::vector<size_t> partition;  // numbers of columns
  std::vector<SortKey> order;     // the same
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
  // Of GROUPING SETS, ROLLUP and CUBE, by set: which keys it has. Empty: one set of all keys.
  std::vector<std::vector<bool>> grouping_sets;
  std::vector<uint32_t> expanded_slots;  // the keys as the sets have them
  uint32_t set_slot = 0;                 // the set's number, before and after the grouping
  std::vector<Aggregate> aggregates;
  std::vector<uint32_t> aggregate_slots;
  std::vector<SubqueryJoin> subqueries;  // above the grouping: what having and outputs use
  Expressions having;
  std::vector<Window> windows;                  // evaluated after having
  std::vector<SubqueryJoin> window_subqueries;  // above those: what asks for their results
  std::vector<OutputColumn> outputs;            // the visible ones, then those only sorted by
  size_t visible_outputs = 0;
  bool distinct = false;
  std::vector<size_t> distinct_on;  // outputs; the first row in the order of sort stays
  uint32_t distinct_slot = 0;       // a row's number among those
  bool with_ties = false;           // rows that sort like the last one within `limit` stay, too
  uint32_t number_slot = 0;         // of a limit by rank, or by value: a row's number, and its rank
  uint32_t rank_slot = 0;
  std::vector<size_t> limit_partition;  // outputs: the limit is one for each of their values
  std::vector<SortItem> sort;
  uint64_t limit = kNoLimit;
  uint64_t offset = 0;
  // An output: how often the row comes (BIGINT); 0: once. Then it has the copy's number, from 1.
  uint32_t repeat_slot = 0;
  // How often the SELECT that this is has been bound, once all is bound; null: nobody wrote it.
  const unsigned* times_bound = nullptr;
};

enum class SetOperator : uint8_t { kUnion, kIntersect, kExcept };

struct SetOperation {
  SetOperator kind = SetOperator::kUnion;
  bool all = false;
  // A recursive query's number, from 1; the second input has a member `working` with it.
  uint32_t recursion = 0;
  std::vector<std::unique_ptr<QueryBlock>> inputs;  // two; of a UNION any number
  // By input: its outputs, in what represents the result's types; these may have more digits.
  std::vector<Expressions> columns;
  // INTERSECT and EXCEPT, and what they count by distinct row: rows of the left and the right side.
  std::vector<uint32_t> marks;
  std::vector<uint32_t> counts;
  uint32_t repeat = 0;  // how often the row comes, of ALL
};

// The tables that the planner may have to join at once: a LEFT JOIN may turn into an inner one,
// whose members then join those around it.
size_t width_of(const JoinGroup& group);

// The table that has the slot, at any depth of joins; nullptr: none has it.
const JoinMember* table_with(const JoinGroup& group, uint32_t slot);

// Whether it names what one of the subqueries gives.
bool names_a_subquery(const std::vector<SubqueryJoin>& subqueries, const Expression& expression);

// The block as a member of a join: a derived table.
JoinMember derived_member(std::unique_ptr<QueryBlock> block);

// Whether running the block once more, over the same rows in another order, may give other rows:
// what is chosen or numbered by an order that may have ties, and sums of DOUBLEs. Blocks in it are
// left to themselves.
bool rows_may_differ(const QueryBlock& block);

// Calls visit with every column that is named in the block, the group or the member, at any depth.
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
