// IntervalTotal: the state of sum() and avg() of intervals.
//
// The parts are summed exactly, so the result does not depend on the order of the values. If the
// sum is beyond an interval, the query fails, even if it wants only the average.

#pragma once

#include <cstdint>

#include "base/interval.h"
#include "olap/aggregate_kind.h"

namespace diptych::olap {

struct IntervalTotal {
  base::IntervalSum sum;
  int64_t count = 0;

  void add(const base::Interval& one) {
    sum.add(one);
    ++count;
  }
  void add(const IntervalTotal& other) {
    sum.add(other.sum);
    count += other.count;
  }
  // kSum or kAvg of at least one value.
  base::Interval value(AggregateKind kind) const;
};

}  // namespace diptych::olap
