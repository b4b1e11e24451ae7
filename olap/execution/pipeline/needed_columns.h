// NeededColumns: which output columns of each operator of a plan anybody reads.
//
// A join's output repeats its keys, and a front end need not prune: columns that nothing above
// reads are neither loaded by scans, nor kept by joins and sorts, nor gathered. Such a column stays
// in its place as a Vector without values. A build column that is read only behind operators which
// drop most rows is late: it is gathered behind them (late_columns.h). A join's table refers to
// another's rows for columns that the join itself does not read.
//
// Threads    immutable once built; the plan must stay.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "olap/execution/pipeline/repeated_operators.h"
#include "olap/plan.h"

namespace diptych::olap {

// The column of an inner join's probe side that a build column is equal to in every joined row, bit
// by bit: a key of integers. The joined row has that one in its place.
std::optional<uint32_t> probe_twin(const Operator& join, uint32_t build_column);

// A column of a join's build side that is gathered for rows above the join.
struct LateColumn {
  const Operator* join;
  uint32_t build_column;
  uint32_t column;         // of these rows
  const Operator* groups;  // nullptr, or a GROUP BY between, whose keys may be build rows' numbers
};

// In a join's table, in place of one of its columns or several: numbers of build rows of a join
// below, which have the values.
struct ReferredColumn {
  const Operator* join;
  uint32_t build_column;
  uint32_t numbers;  // the column of the table that has the numbers
};

class NeededColumns {
 public:
  // Of the root, the first `root_columns` columns are needed; of equal windows that are computed
  // once, what any of them needs.
  NeededColumns(const Operator& root, size_t root_columns,
                const RepeatedOperators* repeated = nullptr);

  const std::vector<bool>& of(const Operator& op) const { return needed_.at(&op); }
  // The input's columns that somebody above a window reads; it may read others itself.
  const std::vector<bool>& above(const Operator& window) const { return above_.at(&window); }
  // The columns of a join's build side that its output or its residual predicates need, and of
  // which the probe side has no twin: those that its table keeps (keys are kept in packed form).
  const std::vector<bool>& kept_by(const Operator& join) const { return kept_.at(&join); }
  // Those of them that the join gathers: others are late, or only keys of a GROUP BY that takes
  // them from the table (group_join.h).
  const std::vector<bool>& gathered_by(const Operator& join) const { return gathered_.at(&join); }
  // Those of them that are late.
  const std::vector<bool>& late_of(const Operator& join) const { return late_.at(&join); }
  // The types that the columns have in its table.
  std::vector<base::DataType> kept_types(const Operator& join) const;
  // Where the values of a column of its table are; nullptr: in the table.
  const ReferredColumn* referred(const Operator& join, uint32_t build_column) const;
  // The joins in its build side to whose rows its table refers.
  std::set<const Operator*> referred_joins(const Operator& join) const;
  // Whether the table of the join that its rows go to refers to them.
  bool is_referred_to(const Operator& join) const { return referred_to_.contains(&join); }
  // What is gathered of the operator's rows.
  std::span<const LateColumn> late_behind(const Operator& op) const {
    const auto found = late_behind_.find(&op);
    return found == late_behind_.end() ? std::span<const LateColumn>() : found->second;
  }
  // The join that a GROUP BY takes its keys from; nullptr where it computes them from its rows.
  const Operator* key_join_of(const Operator& aggregate) const {
    const auto found = key_joins_.find(&aggregate);
    return found == key_joins_.end() ? nullptr : found->second;
  }
  // Whether some GROUP BY does so with this join.
  bool has_group_keys(const Operator& join) const { return key_columns_.contains(&join); }

 private:
  // The last operator of the pipeline, this one or above, of whose rows a column is not read yet;
  // or the join behind the pipeline, of whose table it is not read by the join itself. nullptr:
  // nobody reads it.
  struct Place {
    const Operator* op = nullptr;
    bool is_table = false;
  };
  using Places = std::vector<Place>;  // by output column of an operator

  void visit_all(const Operator& root, size_t root_columns);
  static std::vector<bool> are_read(const Places& places);
  static Places read_behind(const Operator& op, const std::vector<bool>& needed);
  static void mark(const Operator& op, const std::vector<ExpressionPtr>& readers, Places* places);
  void visit(const Operator& op, const Places& places);
  // Adds what equal windows were seen to need.
  void want_as_equal_ones(const Operator& window, std::vector<bool>* needed);
  void visit_join(const Operator& op, const Places& places);
  void visit_build_columns(const Operator& op, const Places& build);
  void visit_build_side(const Operator& op, const Places& build);
  void visit_keys(const Operator& aggregate, const Places& places, Places* input);

  const RepeatedOperators* const repeated_;
  std::map<size_t, std::vector<bool>> wanted_;  // by number of the repeated windows
  std::unordered_map<const Operator*, std::vector<bool>> needed_;
  std::unordered_map<const Operator*, std::vector<bool>> above_;     // by window
  std::unordered_map<const Operator*, std::vector<bool>> kept_;      // by join
  std::unordered_map<const Operator*, std::vector<bool>> gathered_;  // by join
  std::unordered_map<const Operator*, std::vector<bool>> late_;      // by join
  std::unordered_map<const Operator*, std::vector<LateColumn>> late_behind_;
  // By join and build column.
  std::unordered_map<const Operator*, std::map<uint32_t, ReferredColumn>> referred_;
  std::set<const Operator*> referred_to_;
  std::unordered_map<const Operator*, const Operator*> key_joins_;      // by aggregate
  std::unordered_map<const Operator*, std::vector<bool>> key_columns_;  // of the join's output
};

}  // namespace diptych::olap
