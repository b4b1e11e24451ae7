// Variance and standard deviation: count, mean and sum of squared differences, by Welford's update
// and Chan's merge, which lose no digits where values are far from zero and near each other.

#include <cmath>

#include "olap/execution/aggregate_column.h"
#include "olap/execution/column_store.h"

namespace diptych::olap {

namespace {

struct Moments {
  double count = 0;
  double mean = 0;
  double squares = 0;  // of differences from the mean

  void add(double value) {
    count += 1;
    const double difference = value - mean;
    mean += difference / count;
    squares += difference * (value - mean);
  }

  void add(const Moments& other) {
    if (other.count == 0) return;
    const double total = count + other.count;
    const double difference = other.mean - mean;
    squares += other.squares + difference * difference * count * other.count / total;
    mean += difference * other.count / total;
    count = total;
  }
};

class MomentsColumn : public AggregateColumn {
 public:
  explicit MomentsColumn(AggregateKind kind)
      : sample_(kind == AggregateKind::kVarSamp || kind == AggregateKind::kStddevSamp),
        root_(kind == AggregateKind::kStddevSamp || kind == AggregateKind::kStddevPop) {}

  void resize(uint32_t groups) override { states_.resize(groups, Moments{}); }
  size_t memory_bytes() const override { return states_.bytes(); }

  void update(const Vector& argument, const Selection& rows, const uint32_t* groups) override {
    const auto* const values = argument.as<double>();
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      if (argument.is_null(slot)) return;
      states_[groups == nullptr ? 0 : groups[k]].add(values[slot]);
    });
  }

  void merge(const AggregateColumn& other, const GroupMerge& groups,
             const StopSignal& stop) override {
    const auto& states = static_cast<const MomentsColumn&>(other).states_;
    for (uint32_t i = 0; i < groups.size(); ++i) {
      stop.check_at(i);
      states_[groups.to[i]].add(states[groups.from(i)]);
    }
  }

  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    results->clear_nulls();
    for (uint32_t i = 0; i < count; ++i) {
      const Moments& state = states_[first + i];
      const double divisor = sample_ ? state.count - 1 : state.count;
      if (divisor <= 0) {
        set_bit(results->nulls(), i);
      } else {
        const double variance = state.squares / divisor;
        results->values<double>()[i] = root_ ? std::sqrt(variance) : variance;
      }
    }
    return results->view_with_nulls();
  }

 private:
  bool sample_;
  bool root_;
  GrowingArray<Moments> states_;
};

}  // namespace

std::unique_ptr<AggregateColumn> make_moments(AggregateKind kind) {
  return std::make_unique<MomentsColumn>(kind);
}

}  // namespace diptych::olap
