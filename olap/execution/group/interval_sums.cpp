#include "olap/execution/group/interval_sums.h"

#include <memory>

#include "olap/execution/group/aggregate_column.h"
#include "olap/execution/limits/growing_array.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

base::Interval IntervalTotal::value(AggregateKind kind) const {
  auto result = sum.interval();
  if (result && kind == AggregateKind::kAvg) {
    result = base::quotient(*result, static_cast<double>(count));
  }
  if (!result) fail_value(kIntervalOutOfRange, "22008");
  return *result;
}

namespace {

class IntervalSumColumn : public AggregateColumn {
 public:
  explicit IntervalSumColumn(AggregateKind kind) : kind_(kind) {}

  void resize(uint32_t groups) override { totals_.resize(groups, IntervalTotal{}); }
  size_t memory_bytes() const override { return totals_.bytes(); }

  void update(const Vector& argument, const Selection& rows, const uint32_t* groups) override {
    const auto* const values = argument.as<base::Interval>();
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      if (!argument.is_null(slot)) totals_[groups == nullptr ? 0 : groups[k]].add(values[slot]);
    });
  }

  void merge(const AggregateColumn& other, const GroupMerge& groups) override {
    const StopSignal& stop = groups.workers.stop();
    const auto& totals = static_cast<const IntervalSumColumn&>(other).totals_;
    for (uint32_t i = 0; i < groups.size(); ++i) {
      stop.check_at(i);
      totals_[groups.to[i]].add(totals[groups.from(i)]);
    }
  }

  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    results->clear_nulls();
    for (uint32_t i = 0; i < count; ++i) {
      const IntervalTotal& total = totals_[first + i];
      if (total.count == 0) {
        set_bit(results->nulls(), i);
      } else {
        results->values<base::Interval>()[i] = total.value(kind_);
      }
    }
    return results->view_with_nulls();
  }

 private:
  AggregateKind kind_;
  GrowingArray<IntervalTotal> totals_;
};

}  // namespace

std::unique_ptr<AggregateColumn> make_interval_sum(const Aggregate& aggregate) {
  return std::make_unique<IntervalSumColumn>(aggregate.kind);
}

}  // namespace diptych::olap
