#include "olap/execution/moments.h"

#include "olap/execution/aggregate_column.h"
#include "olap/execution/column_store.h"
#include "olap/execution/query_failure.h"

namespace diptych::olap {

namespace {

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
  explicit MomentsColumn(AggregateKind kind) : kind_(kind) {}

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
      : kind_(kind),
        unit_(static_cast<double>(
            base::power_of_ten(type.kind == base::TypeKind::kDecimal ? uint32_t{type.scale} : 0))) {
  }

  void update(const Vector& argument, const Selection& rows, const uint32_t* groups) override {
    const T* const values = argument.as<T>();
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      if (argument.is_null(slot)) return;
      this->states_[groups == nullptr ? 0 : groups[k]].add(values[slot]);
    });
  }

  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    const bool root = kind_ == AggregateKind::kStddevSamp || kind_ == AggregateKind::kStddevPop;
    const double by = root ? unit_ : unit_ * unit_;
    results->clear_nulls();
    for (uint32_t i = 0; i < count; ++i) {
      if (const auto value = this->states_[first + i].moments.value(kind_)) {
        results->values<double>()[i] = *value / by;
      } else {
        set_bit(results->nulls(), i);
      }
    }
    return results->view_with_nulls();
  }

 private:
  AggregateKind kind_;
  double unit_;
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
