// Ordered-set aggregates, as PostgreSQL has them (orderedsetaggs.c): percentile_disc, mode, and
// percentile_cont of doubles and of intervals.
//
//   percentile_disc(p)   of n rows in order the row ceil(p * n), from 1, and at least the first
//   percentile_cont(p)   between the rows around p * (n - 1), from 0, by their distance
//   mode()               the value that most rows have; of several the first in the order

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "olap/execution/expression/comparison_kernels.h"
#include "olap/execution/group/rank_selection.h"
#include "olap/execution/group/rows_by_group.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

namespace {

using SortedRows = std::span<const uint32_t>;

constexpr uint32_t kValue = 1;  // the column of the rows kept, beside the group

class OrderedSetColumn : public RowsByGroup {
 public:
  explicit OrderedSetColumn(const Aggregate& aggregate)
      : RowsByGroup({&aggregate.argument->type, 1}, aggregate.order),
        descending_(!aggregate.order.empty() && aggregate.order[0].descending) {}

 protected:
  // f(group, the selection of its rows, their count) of each group that has rows.
  template <class T, class F>
  void for_each_selection(uint32_t groups, const StopSignal& stop, const F& f) const {
    RankSelection<T> selection(rows().template values<T>(kValue), descending_, stop);
    for_each_group_unsorted(groups, stop, [&](uint32_t group, std::span<const uint32_t> rows) {
      selection.start(rows);
      f(group, &selection, rows.size());
    });
  }

 private:
  bool descending_;
};

// Whose result is the value of one of the group's rows.
class ChosenRowColumn : public OrderedSetColumn {
 public:
  using OrderedSetColumn::OrderedSetColumn;

  void resize(uint32_t groups) override { chosen_.resize(groups, ColumnStore::kNoRow); }
  size_t memory_bytes() const override { return RowsByGroup::memory_bytes() + chosen_.bytes(); }
  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    Selection all;
    select_all(count, &all);
    return rows().gather(kValue, chosen_.data() + first, all, results);
  }

 protected:
  uint32_t groups() const { return static_cast<uint32_t>(chosen_.size()); }
  void choose(uint32_t group, uint32_t row) {
    chosen_[group] = static_cast<uint32_t>(kept_.size());
    kept_.push_back(row);
  }
  // When all groups have chosen.
  void keep_chosen(const StopSignal& stop) { keep_only(std::exchange(kept_, {}), stop); }

 private:
  GrowingArray<uint32_t> chosen_;  // by group: which of the rows kept, once finished
  std::vector<uint32_t> kept_;
};

// The literal that a percentile is asked for; NULL gives NULL.
class Fraction {
 public:
  explicit Fraction(const Aggregate& aggregate) {
    const auto* const value = std::get_if<double>(&aggregate.further[0]->literal);
    if (value != nullptr) value_ = *value;
  }
  bool is_usable() const { return value_ && *value_ >= 0 && *value_ <= 1; }
  double operator*() const { return *value_; }
  // PostgreSQL's error comes with a group, even one without rows, and not without groups.
  void check() const {
    if (!value_ || is_usable()) return;
    fail_value(fmt::format("percentile value {} is not between 0 and 1", *value_));
  }

 private:
  std::optional<double> value_;
};

template <class T>
class PercentileDiscColumn : public ChosenRowColumn {
 public:
  explicit PercentileDiscColumn(const Aggregate& aggregate)
      : ChosenRowColumn(aggregate), fraction_(aggregate) {}

  void finish(const QueryLimits& limits, const Workers& /*workers*/) override {
    if (!fraction_.is_usable()) return;
    for_each_selection<T>(
        groups(), *limits.stop, [&](uint32_t group, auto* selection, size_t rows) {
          const double number = std::ceil(*fraction_ * static_cast<double>(rows));
          choose(group, selection->row(static_cast<size_t>(std::max(number, 1.0)) - 1));
        });
    keep_chosen(*limits.stop);
  }
  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    fraction_.check();
    return ChosenRowColumn::result(first, count, results);
  }

 private:
  Fraction fraction_;
};

template <class T>
class ModeColumn : public ChosenRowColumn {
 public:
  using ChosenRowColumn::ChosenRowColumn;

  void finish(const QueryLimits& limits, const Workers& /*workers*/) override {
    for_each_group(*limits.stop, [&](uint32_t group, SortedRows sorted) {
      choose(group, most_frequent(sorted, *limits.stop));
    });
    keep_chosen(*limits.stop);
  }

 private:
  uint32_t most_frequent(SortedRows sorted, const StopSignal& stop) const {
    const T* const values = rows().template values<T>(kValue);
    size_t most = 0;
    uint32_t chosen = ColumnStore::kNoRow;
    for (size_t first = 0, end = 0; first < sorted.size(); first = end) {
      while (end < sorted.size() && value_equal(values[sorted[first]], values[sorted[end]])) {
        stop.check_at(++end);
      }
      if (end - first <= most) continue;
      most = end - first;
      chosen = sorted[first];
    }
    return chosen;
  }
};

// Between low and high, by a part of their distance.
double between(double low, double high, double part) {
  return low + part * (high - low);
}
base::Interval between(const base::Interval& low, const base::Interval& high, double part) {
  auto result = base::difference(high, low);
  if (result) result = base::product(*result, part);
  if (result) result = base::sum(*result, low);
  if (!result) fail_value(kIntervalOutOfRange, "22008");
  return *result;
}

template <class T>
class PercentileContColumn : public OrderedSetColumn {
 public:
  explicit PercentileContColumn(const Aggregate& aggregate)
      : OrderedSetColumn(aggregate), fraction_(aggregate) {}

  void resize(uint32_t groups) override { results_.resize(groups, std::nullopt); }
  size_t memory_bytes() const override { return RowsByGroup::memory_bytes() + results_.bytes(); }
  void finish(const QueryLimits& limits, const Workers& /*workers*/) override {
    if (!fraction_.is_usable()) return;
    const auto* const values = rows().template values<T>(kValue);
    const auto groups = static_cast<uint32_t>(results_.size());
    for_each_selection<T>(groups, *limits.stop, [&](uint32_t group, auto* selection, size_t rows) {
      const double place = *fraction_ * static_cast<double>(rows - 1);
      const T& low = values[selection->row(static_cast<size_t>(std::floor(place)))];
      const T& high = values[selection->row(static_cast<size_t>(std::ceil(place)))];
      const double part = place - std::floor(place);
      // Not between infinities that are one row.
      results_[group] = part == 0 ? low : between(low, high, part);
    });
  }
  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    fraction_.check();
    results->clear_nulls();
    for (uint32_t i = 0; i < count; ++i) {
      const std::optional<T>& one = results_[first + i];
      if (!one) set_bit(results->nulls(), i);
      results->values<T>()[i] = one.value_or(T{});
    }
    return results->view_with_nulls();
  }

 private:
  Fraction fraction_;
  GrowingArray<std::optional<T>> results_;
};

}  // namespace

std::unique_ptr<AggregateColumn> make_ordered_set(const Aggregate& aggregate) {
  const PhysicalType type = physical_type(aggregate.argument->type);
  if (aggregate.kind == AggregateKind::kMode) {
    return with_physical_type(type, [&](auto value) -> std::unique_ptr<AggregateColumn> {
      return std::make_unique<ModeColumn<decltype(value)>>(aggregate);
    });
  }
  if (aggregate.further.size() != 1 || aggregate.further[0]->kind != ExpressionKind::kLiteral) {
    fail_query(base::ErrorCode::kUnsupported, "a percentile's fraction is a literal");
  }
  if (aggregate.kind == AggregateKind::kPercentileDisc) {
    return with_physical_type(type, [&](auto value) -> std::unique_ptr<AggregateColumn> {
      return std::make_unique<PercentileDiscColumn<decltype(value)>>(aggregate);
    });
  }
  if (type == PhysicalType::kInterval) {
    return std::make_unique<PercentileContColumn<base::Interval>>(aggregate);
  }
  if (type != PhysicalType::kDouble) {
    fail_query(base::ErrorCode::kUnsupported, "percentile_cont is of doubles and intervals");
  }
  return std::make_unique<PercentileContColumn<double>>(aggregate);
}

}  // namespace diptych::olap
