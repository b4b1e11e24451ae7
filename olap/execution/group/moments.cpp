#include "olap/execution/group/moments.h"

#include <algorithm>
#include <numeric>

#include "olap/execution/expression/arithmetic_kernels.h"
#include "olap/execution/group/aggregate_column.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/vector/column_store.h"

namespace diptych::olap {

void check_in_range(double products, double mean) {
  if (!std::isfinite(products) && std::isfinite(mean)) fail_value(kDoubleOverflow);
}

namespace {

// The sum of term(0) to term(count - 1): no term waits for the one before it.
template <class Term>
double sum_of_terms(uint32_t count, const Term& term) {
  constexpr uint32_t kLanes = 8;
  double lanes[kLanes] = {};
  const uint32_t whole = count - count % kLanes;
  for (uint32_t i = 0; i < whole; i += kLanes) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) lanes[lane] += term(i + lane);
  }
  for (uint32_t i = whole; i < count; ++i) lanes[i - whole] += term(i);
  return std::accumulate(lanes, lanes + kLanes, 0.0);
}

// One to kVectorRows values at once, in two passes: those of a mean that was rounded are put right
// by what its differences add up to.
Moments moments_of(const double* values, uint32_t count) {
  const double n = count;
  const double mean = sum_of_terms(count, [&](uint32_t i) { return values[i]; }) / n;
  const double rest = sum_of_terms(count, [&](uint32_t i) { return values[i] - mean; });
  const double squares =
      sum_of_terms(count, [&](uint32_t i) { return (values[i] - mean) * (values[i] - mean); });
  const Moments all{n, mean + rest / n, std::max(squares - rest * rest / n, 0.0)};
  if (std::isfinite(squares)) return all;
  Moments one_by_one;  // sums of large values overflow where their mean does not
  for (uint32_t i = 0; i < count; ++i) one_by_one.add(values[i]);
  return one_by_one;
}

PairMoments moments_of(const double* y, const double* x, uint32_t count) {
  const double n = count;
  const auto shifted_y = [&](uint32_t i) { return y[i] - y[0]; };
  const auto shifted_x = [&](uint32_t i) { return x[i] - x[0]; };
  const double mean_y = sum_of_terms(count, shifted_y) / n;
  const double mean_x = sum_of_terms(count, shifted_x) / n;
  const double rest_y = sum_of_terms(count, [&](uint32_t i) { return shifted_y(i) - mean_y; });
  const double rest_x = sum_of_terms(count, [&](uint32_t i) { return shifted_x(i) - mean_x; });
  const double products = sum_of_terms(
      count, [&](uint32_t i) { return (shifted_y(i) - mean_y) * (shifted_x(i) - mean_x); });
  const PairMoments all{
      y[0], x[0], n, mean_y + rest_y / n, mean_x + rest_x / n, products - rest_y * rest_x / n};
  if (std::isfinite(products)) return all;
  PairMoments one_by_one;
  for (uint32_t i = 0; i < count; ++i) one_by_one.add(y[i], x[i]);
  return one_by_one;
}

// States that grow by values, and by states of other columns.
template <class State>
class StatesColumn : public AggregateColumn {
 public:
  void resize(uint32_t groups) override { states_.resize(groups, State{}); }
  size_t memory_bytes() const override { return states_.bytes(); }

  void merge(const AggregateColumn& other, const GroupMerge& groups) override {
    const StopSignal& stop = groups.workers.stop();
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
  explicit MomentsColumn(AggregateKind kind) : kind_(kind) {}

  void update(const Vector& argument, const Selection& rows, const uint32_t* groups) override {
    const auto* const values = argument.as<double>();
    if (groups == nullptr) {
      double some[kVectorRows];
      uint32_t count = 0;
      for_selected(rows, [&](uint32_t slot) {
        if (!argument.is_null(slot)) some[count++] = values[slot];
      });
      if (count != 0) states_[0].add(moments_of(some, count));
      return;
    }
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      if (!argument.is_null(slot)) states_[groups[k]].add(values[slot]);
    });
  }

  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    results->clear_nulls();
    for (uint32_t i = 0; i < count; ++i) {
      if (const auto value = states_[first + i].value(kind_)) {
        results->values<double>()[i] = *value;
      } else {
        set_bit(results->nulls(), i);
      }
    }
    return results->view_with_nulls();
  }

 private:
  AggregateKind kind_;
};

// Of integers and of decimals' units.
template <class T>
class ExactMomentsColumn : public StatesColumn<ShiftedMoments<T>> {
 public:
  ExactMomentsColumn(AggregateKind kind, const base::DataType& type)
      : kind_(kind), scale_(type.kind == base::TypeKind::kDecimal ? type.scale : uint8_t{0}) {}

  void update(const Vector& argument, const Selection& rows, const uint32_t* groups) override {
    const T* const values = argument.as<T>();
    if (groups == nullptr) {
      ShiftedMoments<T>& state = this->states_[0];
      double some[kVectorRows];
      uint32_t count = 0;
      for_selected(rows, [&](uint32_t slot) {
        if (argument.is_null(slot)) return;
        if (count == 0 && state.moments.count == 0) state.first = values[slot];
        some[count++] = ShiftedMoments<T>::difference(values[slot], state.first);
      });
      if (count != 0) state.moments.add(moments_of(some, count));
      return;
    }
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      if (!argument.is_null(slot)) this->states_[groups[k]].add(values[slot]);
    });
  }

  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    results->clear_nulls();
    for (uint32_t i = 0; i < count; ++i) {
      if (const auto value = this->states_[first + i].value(kind_, scale_)) {
        results->values<double>()[i] = *value;
      } else {
        set_bit(results->nulls(), i);
      }
    }
    return results->view_with_nulls();
  }

 private:
  AggregateKind kind_;
  uint8_t scale_;
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
    if (groups == nullptr) {
      double some_y[kVectorRows];
      double some_x[kVectorRows];
      uint32_t count = 0;
      for_selected(rows, [&](uint32_t slot) {
        if (y.is_null(slot) || x.is_null(slot)) return;
        some_y[count] = y.as<double>()[slot];
        some_x[count++] = x.as<double>()[slot];
      });
      if (count != 0) states_[0].add(moments_of(some_y, some_x, count));
      return;
    }
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      if (y.is_null(slot) || x.is_null(slot)) return;
      states_[groups[k]].add(y.as<double>()[slot], x.as<double>()[slot]);
    });
  }

  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    results->clear_nulls();
    for (uint32_t i = 0; i < count; ++i) {
      if (const auto value = states_[first + i].covariance()) {
        results->values<double>()[i] = *value;
      } else {
        set_bit(results->nulls(), i);
      }
    }
    return results->view_with_nulls();
  }
};

}  // namespace

std::unique_ptr<AggregateColumn> make_moments(const Aggregate& aggregate) {
  const base::DataType& type = updating_argument(aggregate).type;
  switch (physical_type(type)) {
    case PhysicalType::kDouble: return std::make_unique<MomentsColumn>(aggregate.kind);
    case PhysicalType::kInt32:
      return std::make_unique<ExactMomentsColumn<int32_t>>(aggregate.kind, type);
    case PhysicalType::kInt64:
      return std::make_unique<ExactMomentsColumn<int64_t>>(aggregate.kind, type);
    case PhysicalType::kInt128:
      return std::make_unique<ExactMomentsColumn<int128_t>>(aggregate.kind, type);
    default: fail_query(base::ErrorCode::kUnsupported, "variances are of numbers");
  }
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
