// Planned: an operator tree under construction, with the slot of each output column.
//
// The make_ functions put one operator on top. They turn the slots of the given expressions into
// positions, and fill output types and nullability. The caller sets the row estimates.

#pragma once

#include <memory>
#include <vector>

#include "olap/sql/query_block.h"

namespace diptych::olap {

struct Planned {
  OperatorPtr root;
  std::vector<uint32_t> layout;  // slot of each output column of root
  double unfiltered = 1;         // rows before any predicate, for the share of keys that match
  std::vector<std::vector<uint32_t>> unique_keys;  // sets of slots without duplicates
  bool single_row = false;                         // at most one row, whatever the data
  // The plan before columns of subqueries were added, with the same rows or more. A domain can be
  // computed from it at less cost.
  std::shared_ptr<const Planned> base;  // shared_ptr: plans above it have it, too

  double rows() const { return root->estimated_rows; }
  bool has(uint32_t slot) const;
  bool has_all(const Expression& expression) const;  // has every column of the expression
};

// A set of slots, growing with the statement's.
class SlotSet {
 public:
  void add(uint32_t slot) {
    if (slot >= bits_.size()) bits_.resize(slot + 1);
    bits_[slot] = true;
  }
  void add(const Expression& expression) {
    for_each_column(expression, [this](const Expression& column) { add(column.column); });
  }
  void add(const Expressions& expressions) {
    for (const ExpressionPtr& expression : expressions) add(*expression);
  }
  // Adds the slots of the outer rows that joining the subqueries reads.
  void add(const std::vector<SubqueryJoin>& subqueries) {
    for (const SubqueryJoin& subquery : subqueries) add(subquery);
  }
  void add(const SubqueryJoin& subquery) {
    add(subquery.conditions);
    add(subquery.domain.values);
  }
  bool has(uint32_t slot) const { return slot < bits_.size() && bits_[slot]; }
  bool has_any(uint32_t first, uint32_t end) const {
    while (first < end && !has(first)) ++first;
    return first < end;
  }

 private:
  std::vector<bool> bits_;
};

Planned make_scan(const base::TableSchema& table, const std::vector<base::ColumnId>& columns,
                  std::vector<uint32_t> layout, Expressions predicates);
// `expressions` are row by row; the types are those of the first row.
Planned make_values(Expressions expressions, std::vector<uint32_t> layout);

// Appends the rows of all inputs, whose columns have the same types and slots.
Planned make_append(std::vector<Planned> inputs);

// Both inputs have these columns, of the given types.
enum class Duplicates : uint8_t { kKept, kDropped };
Planned make_recursion(uint32_t recursion, Duplicates duplicates, Planned first, Planned step,
                       std::vector<base::DataType> types);
Planned make_working_rows(uint32_t recursion, std::vector<base::DataType> types,
                          std::vector<uint32_t> layout);
bool reads_working_rows(const Operator& op, uint32_t recursion);

// Repeats every row for each set, whose keys are the first columns; the set's number comes last.
Planned make_expand(Planned input, std::vector<std::vector<bool>> sets, uint32_t number_slot);

// Repeats each row as often as its last column says, and replaces that column by the copy's number,
// from 1.
Planned make_repeat(Planned input);

// Copies the whole tree, which gives the same rows if is_repeatable.
Planned copy_of(const Planned& planned);
OperatorPtr copy_of(const Operator& op);
std::shared_ptr<const Planned> share(const Planned& planned);  // shared_ptr: Planned::base
bool is_repeatable(const Operator& op);
// True if one of the conditions is an equality.
bool has_equality(const Expressions& conditions);
size_t size_of(const Operator& op);  // number of operators

// Returns the input itself if there are no predicates.
Planned make_filter(Planned input, Expressions predicates);

// Of the conditions, equalities with one side on each input become keys, and the others become
// `predicates`, after those in `beside`. The output has the probe side's columns, and the build
// side's if the join kind outputs them.
Planned make_join(JoinKind kind, Planned probe, Planned build, Expressions conditions,
                  Expressions beside = {});

// Returns the input itself if the expressions are its columns in order.
Planned make_project(Planned input, Expressions expressions, std::vector<uint32_t> layout);

Planned make_aggregate(Planned input, Expressions keys, std::vector<Aggregate> aggregates,
                       std::vector<uint32_t> layout);

// Computes functions over columns of the input; the results get the slots.
Planned make_window(Planned input, std::vector<uint32_t> partition, std::vector<SortKey> keys,
                    std::vector<WindowFunction> functions, const std::vector<uint32_t>& slots);

Planned make_sort(Planned input, std::vector<SortKey> keys, uint64_t limit, uint64_t offset);
Planned make_limit(Planned input, uint64_t limit, uint64_t offset);

}  // namespace diptych::olap
