// AggregateColumn: the states of one aggregate, by group number.
//
// Sums of integers and decimals are exact (128 bits), so results do not depend on the order or the
// number of threads. Doubles are added in any order. avg is the exact sum divided by the count, as
// double or decimal according to its type.
//
// Threads    one worker.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "olap/execution/group/group_runs.h"
#include "olap/execution/key/key_packer.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/limits/stop_signal.h"
#include "olap/execution/vector/group_split.h"
#include "olap/execution/vector/vector.h"
#include "olap/plan.h"

namespace diptych::olap {

class AggregateColumn {
 public:
  AggregateColumn() = default;
  virtual ~AggregateColumn() = default;
  AggregateColumn(const AggregateColumn&) = delete;
  AggregateColumn& operator=(const AggregateColumn&) = delete;

  // Makes states for groups [0, groups).
  virtual void resize(uint32_t groups) = 0;
  // The memory that grows with groups and values.
  virtual size_t memory_bytes() const = 0;
  // Adds the k-th selected row's argument to group groups[k], or to group 0 if `groups` is nullptr.
  // Benchmark: BM_GroupByInt, BM_ScanSum.
  virtual void update(const Vector& argument, const Selection& rows, const uint32_t* groups) = 0;
  // As update() for few groups, if the column prefers rows by group.
  virtual bool wants_runs() const { return false; }
  virtual void update_runs(const Vector& /*argument*/, const GroupRuns& /*runs*/) {}
  // As update() with all arguments of the aggregate; most aggregates have one.
  virtual void update_all(std::span<const Vector> arguments, const Selection& rows,
                          const uint32_t* groups) {
    update(arguments[0], rows, groups);
  }
  // True if a value that the group has already had can change its state.
  virtual bool counts_repeats() const { return true; }
  // The number of values kept beside the states. In a merge each costs as much as a group.
  virtual uint64_t kept_values() const { return 0; }
  // Called once before other columns merge several partitions of this column.
  virtual void split(const GroupSplit& /*groups*/, const StopSignal& /*stop*/) {}
  // Adds groups of another column of the same class. Several columns may each merge a partition of
  // one other column at the same time.
  virtual void merge(const AggregateColumn& other, const GroupMerge& groups) = 0;
  // Called once after the last merge. It charges memory that it takes beyond memory_bytes() itself.
  virtual void finish(const QueryLimits& /*limits*/, const Workers& /*workers*/) {}
  // The results of groups [first, first + count). Fails if a sum does not fit its type.
  virtual Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const = 0;
  // The results of another aggregate that shares this one's states.
  virtual Vector result_of(const Aggregate& /*aggregate*/, uint32_t first, uint32_t count,
                           VectorBuffer* results) const {
    return result(first, count, results);
  }
};

// True for sums and averages of numbers, whose states are those of a sum; they also give a count.
bool has_sum_states(const Aggregate& aggregate);

// The expression whose values update() takes: the aggregate's argument. If a variance's argument is
// an exact number cast to a DOUBLE, it is the exact number, so that no digit is lost before
// differences are taken.
const Expression& updating_argument(const Aggregate& aggregate);

// kCountAll ignores its input, which may be any Vector.
std::unique_ptr<AggregateColumn> make_aggregate_column(const Aggregate& aggregate,
                                                       const QueryLimits& limits);
// Passes each distinct value of a group to an inner column once, after all rows
// (distinct_column.cpp). Several workers may call `make_inner` at a time.
using InnerColumn = std::function<std::unique_ptr<AggregateColumn>()>;
std::unique_ptr<AggregateColumn> make_distinct(PhysicalType argument, InnerColumn make_inner,
                                               const QueryLimits& limits);
// Sums and averages of INTERVAL (interval_sums.cpp).
std::unique_ptr<AggregateColumn> make_interval_sum(const Aggregate& aggregate);
// Variances and standard deviations (moments.cpp).
std::unique_ptr<AggregateColumn> make_moments(const Aggregate& aggregate);
// Bits of integers (bits.cpp).
std::unique_ptr<AggregateColumn> make_bits(const Aggregate& aggregate);
// The covariance of DOUBLEs (moments.cpp).
std::unique_ptr<AggregateColumn> make_covariance(const Aggregate& aggregate);
// string_agg (string_agg.cpp).
std::unique_ptr<AggregateColumn> make_string_agg(const Aggregate& aggregate,
                                                 const QueryLimits& limits);
// Percentiles and mode (ordered_set.cpp).
std::unique_ptr<AggregateColumn> make_ordered_set(const Aggregate& aggregate);

}  // namespace diptych::olap
