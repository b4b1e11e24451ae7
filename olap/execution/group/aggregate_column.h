// AggregateColumn: the states of one aggregate, by group number.
//
// Sums of integers and decimals are exact (128 bits), so results do not depend on the order or the
// number of threads; sums of doubles are added in any order. avg is the exact sum, divided as
// double or as decimal, by its type.
//
// Threads    one worker.

#pragma once

#include <cstddef>
#include <cstdint>
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
  // Of what grows with groups and values.
  virtual size_t memory_bytes() const = 0;
  // Adds the k-th selected row's argument to group groups[k]; groups == nullptr: all to group 0.
  // Benchmark: BM_GroupByInt, BM_ScanSum.
  virtual void update(const Vector& argument, const Selection& rows, const uint32_t* groups) = 0;
  // The same of few groups, where it wants rows by group.
  virtual bool wants_runs() const { return false; }
  virtual void update_runs(const Vector& /*argument*/, const GroupRuns& /*runs*/) {}
  // As update() with all arguments of the aggregate, of which most have one.
  virtual void update_all(std::span<const Vector> arguments, const Selection& rows,
                          const uint32_t* groups) {
    update(arguments[0], rows, groups);
  }
  // Whether a value that the group has had already can change its state.
  virtual bool counts_repeats() const { return true; }
  // Values that are kept beside the states: each costs a merge as much as a group does.
  virtual uint64_t kept_values() const { return 0; }
  // Called once, before others merge partitions of this column, where there are several.
  virtual void split(const GroupSplit& /*groups*/, const StopSignal& /*stop*/) {}
  // Adds groups of the other column, of the same class. Of one other column, several columns may
  // merge a partition each at the same time.
  virtual void merge(const AggregateColumn& other, const GroupMerge& groups,
                     const StopSignal& stop) = 0;
  // Called once after the last merge. What it makes beyond memory_bytes() it counts itself.
  virtual void finish(const QueryLimits& /*limits*/) {}
  // The results of groups [first, first + count). Fails where a sum does not fit its type.
  virtual Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const = 0;
  // The same of another aggregate whose states are this one's.
  virtual Vector result_of(const Aggregate& /*aggregate*/, uint32_t first, uint32_t count,
                           VectorBuffer* results) const {
    return result(first, count, results);
  }
};

// Sums and averages of numbers have the states of a sum, which a count can be read from too.
bool has_sum_states(const Aggregate& aggregate);

// What update() is given: the aggregate's argument, but of a variance the exact number that the
// argument casts to a DOUBLE, if it does that. No digit is lost before differences are taken.
const Expression& updating_argument(const Aggregate& aggregate);

// The input of kCountAll is ignored: any Vector.
std::unique_ptr<AggregateColumn> make_aggregate_column(const Aggregate& aggregate,
                                                       const QueryLimits& limits);
// Gives the inner one each value of a group once, when all are in (distinct_column.cpp).
std::unique_ptr<AggregateColumn> make_distinct(PhysicalType argument,
                                               std::unique_ptr<AggregateColumn> inner,
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
