// NeededColumns: finds the output columns of each operator that some operator above reads.
//
// A join's output repeats its keys, and a front end need not prune columns. Columns that no
// operator above reads are neither loaded by scans, nor kept by joins and sorts, nor gathered; each
// stays in its position as a Vector without values. A build column that is read only behind
// operators which drop most rows is late: it is gathered behind them (late_columns.h). For columns
// that a join itself does not read, its table may refer to the rows of another join's table.
//
// Threads    immutable once built; the plan outlives it.

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

// The probe column of an inner join that is identical to a build column in every joined row,
// because both are integer keys. The joined row uses the probe column in place of the build column.
std::optional<uint32_t> probe_twin(const Operator& join, uint32_t build_column);

// A column of a join's build side that is gathered for rows above the join.
struct LateColumn {
  const Operator* join;
  uint32_t build_column;
  uint32_t column;         // its position in these rows
  const Operator* groups;  // nullptr, or a GROUP BY between, whose keys may be build rows' numbers
};

// A column that a join's table does not store: the table stores numbers of build rows of a join
// below, and these rows have the values. Several columns may share the numbers.
struct ReferredColumn {
  const Operator* join;
  uint32_t build_column;
  uint32_t numbers;  // the column of the table that holds the numbers
};

class NeededColumns {
 public:
  // The first `root_columns` columns of the root are needed. Equal windows, which are computed
  // once, need the union of their columns.
  NeededColumns(const Operator& root, size_t root_columns,
                const RepeatedOperators* repeated = nullptr);

  const std::vector<bool>& of(const Operator& op) const { return needed_.at(&op); }
  // The input columns that operators above a window read; the window may read others itself.
  const std::vector<bool>& above(const Operator& window) const { return above_.at(&window); }
  // The build columns that the join's table keeps: those that its output or its residual predicates
  // need and that have no probe twin. (Keys are kept in packed form.)
  const std::vector<bool>& kept_by(const Operator& join) const { return kept_.at(&join); }
  // The kept columns that the join gathers. The others are late, or are only keys of a GROUP BY,
  // which takes them from the table (group_join.h).
  const std::vector<bool>& gathered_by(const Operator& join) const { return gathered_.at(&join); }
  // The kept columns that are late.
  const std::vector<bool>& late_of(const Operator& join) const { return late_.at(&join); }
  // The types of the columns in the join's table.
  std::vector<base::DataType> kept_types(const Operator& join) const;
  // The place of a column's values if it is in another join's table; nullptr: in this join's.
  const ReferredColumn* referred(const Operator& join, uint32_t build_column) const;
  // The joins in the build side to whose rows this join's table refers.
  std::set<const Operator*> referred_joins(const Operator& join) const;
  // True if the table of a join above refers to the rows of this join's table.
  bool is_referred_to(const Operator& join) const { return referred_to_.contains(&join); }
  // The late columns that are gathered behind this operator, for its output rows.
  std::span<const LateColumn> late_behind(const Operator& op) const {
    const auto found = late_behind_.find(&op);
    return found == late_behind_.end() ? std::span<const LateColumn>() : found->second;
  }
  // The join from which a GROUP BY takes its keys; nullptr if it computes them from its rows.
  const Operator* key_join_of(const Operator& aggregate) const {
    const auto found = key_joins_.find(&aggregate);
    return found == key_joins_.end() ? nullptr : found->second;
  }
  // True if some GROUP BY takes its keys from this join.
  bool has_group_keys(const Operator& join) const { return key_columns_.contains(&join); }

 private:
  // The place up to which a column is not read: the last operator of the pipeline, this one or one
  // above, before the column's first reader; or the join at the pipeline's end, if the join itself
  // does not read it from its table. nullptr: no operator reads the column.
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
  // Adds the columns that equal windows need, as far as they have been visited.
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
  std::unordered_map<const Operator*, std::vector<bool>> key_columns_;  // by join: output columns
};

}  // namespace diptych::olap
