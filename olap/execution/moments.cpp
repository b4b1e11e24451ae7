// Variance, standard deviation and covar_pop: counts, means and sums of products of differences
// from them, by Welford's update and Chan's merge, which lose no digits where values are far from
// zero and near each other.

#include <cmath>

#include "olap/execution/aggregate_column.h"
#include "olap/execution/column_store.h"
#include "olap/execution/query_failure.h"

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

struct PairMoments {
  double count = 0;
  double mean_y = 0;
  double mean_x = 0;
  double products = 0;  // of differences from the means

  void add(double y, double x) {
    count += 1;
    const double difference = y - mean_y;
    mean_y += difference / count;
    mean_x += (x - mean_x) / count;
    products += difference * (x - mean_x);
  }

  void add(const PairMoments& other) {
    if (other.count == 0) return;
    const double total = count + other.count;
    const double y = other.mean_y - mean_y;
    const double x = other.mean_x - mean_x;
    products += other.products + y * x * count * other.count / total;
    mean_y += y * other.count / total;
    mean_x += x * other.count / total;
    count = total;
  }
};

// States that grow by values, and by states of other columns.
template <class State>
class StatesColumn : public AggregateColumn {
 public:
  void resize(uint32_t groups) override { states_.resize(groups, State{}); }
  size_t memory_bytes() const override { return states_.bytes(); }

  void merge(const AggregateColumn& other, const GroupMerge& groups,
             const StopSignal& stop) override {
    const auto& states = static_cast<const StatesColumn&>(other).states_;
    for (uint32_t i = 0; i < groups.size(); ++i) {
      stop.check_at(i);
      states_[groups.to[i]].add(states[groups.from(i)]);
    }
  }

 protected:
  GrowingArray<State> states_;
};

class MomentsColumn : public StatesColumn<Moments> {
 public:
  explicit MomentsColumn(AggregateKind kind)
      : sample_(kind == AggregateKind::kVarSamp || kind == AggregateKind::kStddevSamp),
        root_(kind == AggregateKind::kStddevSamp || kind == AggregateKind::kStddevPop) {}

  void update(const Vector& argument, const Selection& rows, const uint32_t* groups) override {
    const auto* const values = argument.as<double>();
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      if (argument.is_null(slot)) return;
      states_[groups == nullptr ? 0 : groups[k]].add(values[slot]);
    });
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
};

// Pairs with a NULL are left out.
class CovarianceColumn : public StatesColumn<PairMoments> {
 public:
  void update(const Vector& /*argument*/, const Selection& /*rows*/,
              const uint32_t* /*groups*/) override {
    fail_query(base::ErrorCode::kUnsupported, "a covariance has two arguments");
  }

  void update_all(std::span<const Vector> arguments, const Selection& rows,
                  const uint32_t* groups) override {
    const Vector& y = arguments[0];
    const Vector& x = arguments[1];
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      if (y.is_null(slot) || x.is_null(slot)) return;
      states_[groups == nullptr ? 0 : groups[k]].add(y.as<double>()[slot], x.as<double>()[slot]);
    });
  }

  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    results->clear_nulls();
    for (uint32_t i = 0; i < count; ++i) {
      const PairMoments& state = states_[first + i];
      if (state.count == 0) {
        set_bit(results->nulls(), i);
      } else {
        results->values<double>()[i] = state.products / state.count;
      }
    }
    return results->view_with_nulls();
  }
};

}  // namespace

std::unique_ptr<AggregateColumn> make_moments(AggregateKind kind) {
  return std::make_unique<MomentsColumn>(kind);
}

std::unique_ptr<AggregateColumn> make_covariance(const Aggregate& aggregate) {
  if (aggregate.further.size() != 1 || aggregate.distinct ||
      physical_type(aggregate.argument->type) != PhysicalType::kDouble ||
      physical_type(aggregate.further[0]->type) != PhysicalType::kDouble) {
    fail_query(base::ErrorCode::kUnsupported, "covariances are of two doubles");
  }
  return std::make_unique<CovarianceColumn>();
}

}  // namespace diptych::olap
