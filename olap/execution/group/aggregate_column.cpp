#include "olap/execution/group/aggregate_column.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <unordered_map>

#include "olap/execution/expression/arithmetic_kernels.h"
#include "olap/execution/expression/comparison_kernels.h"
#include "olap/execution/limits/query_failure.h"
#include "olap/execution/vector/column_store.h"

namespace diptych::olap {

namespace {

// f(k, slot) for the selected rows whose argument is not null.
template <class F>
void for_values(const Vector& argument, const Selection& rows, F&& f) {
  if (argument.nulls == nullptr) {
    for_numbered(rows, f);
  } else {
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      if (!bit_at(argument.nulls, slot)) f(k, slot);
    });
  }
}

uint32_t count_values(const Vector& argument, const Selection& rows) {
  if (argument.nulls == nullptr) return rows.count;
  uint32_t count = 0;
  for (uint32_t w = 0; w < words_of(rows.slots); ++w) {
    count += static_cast<uint32_t>(std::popcount(rows.bits[w] & ~argument.nulls[w]));
  }
  return count;
}

// States beyond the near caches are prefetched this many rows ahead.
constexpr uint32_t kPrefetchRows = 16;
constexpr size_t kPrefetchStatesMin = 8 * 1024;

template <class State>
inline void prefetch_state(const GrowingArray<State>& states, const uint32_t* groups, uint32_t k,
                           uint32_t count) {
  if (states.size() < kPrefetchStatesMin || k + kPrefetchRows >= count) return;
  __builtin_prefetch(&states[groups[k + kPrefetchRows]], 1);
}

// The halves of values above the least one, summed apart: 128 bits wide, a loop is not vectorised.
// Inlined, it makes the loop over some rows slower. Benchmark: BM_ScanSum.
[[gnu::noinline]] int128_t sum_of_all(const int64_t* values, uint32_t count) {
  constexpr uint64_t kLeast = uint64_t{1} << 63;
  uint64_t upper = 0;
  uint64_t lower = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t above = static_cast<uint64_t>(values[i]) ^ kLeast;
    upper += above >> 32;
    lower += above & UINT32_MAX;
  }
  return (int128_t{upper} << 32) + lower - (int128_t{count} << 63);
}

// Without a check of each addition, so that a sum that is not finite says nothing. Its last digits
// depend on the lanes.
double sum_in_lanes(const double* values, uint32_t count) {
  constexpr uint32_t kLanes = 8;
  double lanes[kLanes] = {};
  uint32_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) lanes[lane] += values[i + lane];
  }
  for (; i < count; ++i) lanes[i % kLanes] += values[i];
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
         ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

class CountColumn : public AggregateColumn {
 public:
  explicit CountColumn(bool all) : all_(all) {}

  void resize(uint32_t groups) override { counts_.resize(groups, 0); }
  size_t memory_bytes() const override { return counts_.bytes(); }

  void update(const Vector& argument, const Selection& rows, const uint32_t* groups) override {
    if (groups == nullptr) {
      counts_[0] += all_ ? rows.count : count_values(argument, rows);
    } else if (all_) {
      for (uint32_t k = 0; k < rows.count; ++k) {
        prefetch_state(counts_, groups, k, rows.count);
        ++counts_[groups[k]];
      }
    } else {
      for_values(argument, rows, [&](uint32_t k, uint32_t) { ++counts_[groups[k]]; });
    }
  }

  void merge(const AggregateColumn& other, const GroupMerge& groups) override {
    const StopSignal& stop = groups.workers.stop();
    const auto& counts = static_cast<const CountColumn&>(other).counts_;
    for (uint32_t i = 0; i < groups.size(); ++i) {
      stop.check_at(i);
      counts_[groups.to[i]] += counts[groups.from(i)];
    }
  }

  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    std::copy_n(counts_.data() + first, count, results->values<int64_t>());
    return results->view();
  }

 private:
  bool all_;
  GrowingArray<int64_t> counts_;
};

// sum and avg. Fewer than 2^64 integers of 64 bits fit 128; of 128 bits, they may pass them.
template <class T>
class SumColumn : public AggregateColumn {
 public:
  static constexpr bool kIsWide = std::is_same_v<T, int128_t>;
  using Sum = std::conditional_t<std::is_same_v<T, double>, double,
                                 std::conditional_t<kIsWide, ExactSum, int128_t>>;
  // What a state has of it: of integers 64 bits, so that many groups take half of the cache.
  using Kept = std::conditional_t<std::is_integral_v<T> && sizeof(T) <= 8, int64_t, T>;

  SumColumn(const Aggregate& aggregate, uint8_t scale) : scale_(scale), form_(form_of(aggregate)) {}

  void resize(uint32_t groups) override { states_.resize(groups, State{}); }
  size_t memory_bytes() const override {
    return states_.bytes() + carried_.size() * kBytesACarried;
  }

  void update(const Vector& argument, const Selection& rows, const uint32_t* groups) override {
    const T* const values = argument.as<T>();
    if (groups == nullptr) {
      add(0, sum_of(values, argument, rows), count_values(argument, rows));
      return;
    }
    for_values(argument, rows, [&](uint32_t k, uint32_t slot) {
      prefetch_state(states_, groups, k, rows.count);
      add_value(groups[k], values[slot]);
    });
  }

  bool wants_runs() const override { return true; }

  void update_runs(const Vector& argument, const GroupRuns& runs) override {
    const T* const values = argument.as<T>();
    runs.for_runs([&](uint32_t group, std::span<const uint16_t> slots) {
      VectorSum sum = 0;
      auto count = static_cast<int64_t>(slots.size());
      for (const uint16_t slot : slots) {
        if (argument.nulls != nullptr && bit_at(argument.nulls, slot)) {
          --count;
        } else {
          add_to(&sum, VectorSum(values[slot]));
        }
      }
      add(group, static_cast<Sum>(sum), count);
    });
  }

  void merge(const AggregateColumn& other, const GroupMerge& groups) override {
    const StopSignal& stop = groups.workers.stop();
    const auto& sums = static_cast<const SumColumn&>(other);
    for (uint32_t i = 0; i < groups.size(); ++i) {
      stop.check_at(i);
      const uint32_t from = groups.from(i);
      add(groups.to[i], sums.sum_of_group(from), sums.states_[from].count);
    }
  }

  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    return result_in(form_, first, count, results);
  }

  Vector result_of(const Aggregate& aggregate, uint32_t first, uint32_t count,
                   VectorBuffer* results) const override {
    if (has_sum_states(aggregate)) return result_in(form_of(aggregate), first, count, results);
    for (uint32_t i = 0; i < count; ++i) results->values<int64_t>()[i] = states_[first + i].count;
    return results->view();
  }

 private:
  struct State {
    Kept sum = 0;
    int64_t count = 0;
  };
  using VectorSum = std::conditional_t<sizeof(T) == 4, int64_t, Sum>;  // 1024 of 32 bits fit 64
  static constexpr size_t kBytesACarried = 64;  // of the map's node and its bucket

  // What is made of a state.
  struct Form {
    bool average = false;
    base::DataType type;
    int128_t factor = 1;  // of an average as decimal, for its digits
  };

  Form form_of(const Aggregate& aggregate) const {
    Form form{aggregate.kind == AggregateKind::kAvg, aggregate.type};
    if (form.average && form.type.kind == base::TypeKind::kDecimal) {
      form.factor = power_of_ten(static_cast<uint8_t>(form.type.scale - scale_));
    }
    return form;
  }

  Vector result_in(const Form& form, uint32_t first, uint32_t count, VectorBuffer* results) const {
    const double divisor = static_cast<double>(power_of_ten(scale_));
    bool has_nulls = false;
    results->clear_nulls();
    for (uint32_t i = 0; i < count; ++i) {
      const State& state = states_[first + i];
      if (state.count == 0) {
        has_nulls = true;
        set_bit(results->nulls(), i);
      } else if (form.average && form.type.kind == base::TypeKind::kDouble) {
        results->values<double>()[i] = static_cast<double>(sum_of_group(first + i)) /
                                       static_cast<double>(state.count) / divisor;
      } else {
        write(form, sum_of_group(first + i), state.count, i, results);
      }
    }
    return has_nulls ? results->view_with_nulls() : results->view();
  }

  // A sum, or the average as decimal.
  static void write(const Form& form, Sum value, int64_t count, uint32_t i, VectorBuffer* results) {
    if constexpr (std::is_same_v<T, double>) {
      results->values<double>()[i] = value;
    } else if (form.type.kind == base::TypeKind::kBigInt) {
      const int128_t whole = ExactSum(value).low();  // of integers of 64 bits
      if (whole != static_cast<int64_t>(whole)) fail_value(kBigIntOutOfRange);
      results->values<int64_t>()[i] = static_cast<int64_t>(whole);
    } else {
      const auto decimal = sum_as_decimal(value, count, form.average, form.factor);
      if (!decimal) fail_value(kDecimalOutOfRange);
      results->values<int128_t>()[i] = *decimal;
    }
  }

  template <class Wide>
  static void add_to(Wide* sum, Wide value) {
    if constexpr (std::is_same_v<T, double>) {
      const double before = *sum;
      *sum += value;
      if (overflow_fault(before, value, *sum) != 0) [[unlikely]]
        fail_value(kDoubleOverflow);
    } else {
      *sum += value;
    }
  }

  void add_value(uint32_t group, T value) { add(group, value, 1); }

  template <class Added>
  void add(uint32_t group, const Added& sum, int64_t count) {
    State& state = states_[group];
    state.count += count;
    if constexpr (std::is_same_v<T, double>) {
      add_to(&state.sum, sum);
    } else if constexpr (kIsWide) {
      const ExactSum added(sum);
      const int64_t high = added.high() + ExactSum::add(added.low(), &state.sum);
      if (high != 0) [[unlikely]]
        carried_[group] += high;
    } else if (__builtin_add_overflow(state.sum, sum, &state.sum)) {
      carry(group, sum);
    }
  }

  // After state.sum has lost what is beyond 64 bits of its sum with `added`.
  [[gnu::noinline]] void carry(uint32_t group, int128_t added) {
    // What it was before, modulo 2^64, is one number of 64 bits.
    Kept& kept = states_[group].sum;
    const Kept before =
        static_cast<Kept>(static_cast<uint64_t>(kept) - static_cast<uint64_t>(added));
    carried_[group] += int128_t{before} + added - int128_t{kept};
  }

  Sum sum_of_group(uint32_t group) const {
    const Kept kept = states_[group].sum;
    if (carried_.empty()) return Sum(kept);
    const auto found = carried_.find(group);
    if (found == carried_.end()) return Sum(kept);
    if constexpr (kIsWide) return ExactSum(kept, static_cast<int64_t>(found->second));
    if constexpr (std::is_integral_v<T> && !kIsWide) return kept + found->second;
    return Sum(kept);
  }

  static Sum sum_of(const T* values, const Vector& argument, const Selection& rows) {
    if constexpr (std::is_same_v<T, int64_t>) {
      if (argument.nulls == nullptr && rows.all()) return sum_of_all(values, rows.slots);
    }
    if constexpr (std::is_same_v<T, double>) {
      if (argument.nulls == nullptr && rows.all()) {
        const double sum = sum_in_lanes(values, rows.slots);
        if (std::isfinite(sum)) return sum;
      }
    }
    VectorSum sum = 0;
    for_values(argument, rows,
               [&](uint32_t, uint32_t slot) { add_to(&sum, VectorSum(values[slot])); });
    return static_cast<Sum>(sum);
  }

  uint8_t scale_;  // of the argument
  Form form_;
  GrowingArray<State> states_;
  // By group: what its state has not, multiples of 2^64; of 128 bits, of 2^128, how many.
  std::unordered_map<uint32_t, int128_t> carried_;
};

template <class T>
class ExtremeColumn : public AggregateColumn {
 public:
  explicit ExtremeColumn(bool is_max) : is_max_(is_max) {}

  void resize(uint32_t groups) override {
    values_.resize(groups, T{});
    seen_.resize(groups, 0);
    if constexpr (kIsInterval) lengths_.resize(groups, 0);
  }
  size_t memory_bytes() const override {
    return values_.bytes() + seen_.bytes() + lengths_.bytes() + heap_.memory_bytes();
  }

  void update(const Vector& argument, const Selection& rows, const uint32_t* groups) override {
    offer_all(argument, rows, groups);
    drop_overtaken();
  }

  void offer_all(const Vector& argument, const Selection& rows, const uint32_t* groups) {
    const T* const values = argument.as<T>();
    const bool copy = argument.string_life == StringLife::kBatch;
    if (groups == nullptr) {
      if (kIsNumber && argument.nulls == nullptr && rows.count == rows.slots && rows.count != 0) {
        offer(0, is_max_ ? best_of<true>(values, rows.slots) : best_of<false>(values, rows.slots),
              copy);
        return;
      }
      for_values(argument, rows, [&](uint32_t, uint32_t slot) { offer(0, values[slot], copy); });
      return;
    }
    for_values(argument, rows, [&](uint32_t k, uint32_t slot) {
      prefetch_state(values_, groups, k, rows.count);
      offer(groups[k], values[slot], copy);
    });
  }

  bool counts_repeats() const override { return false; }
  bool wants_runs() const override { return kIsNumber; }

  void update_runs(const Vector& argument, const GroupRuns& runs) override {
    const T* const values = argument.as<T>();
    runs.for_runs([&](uint32_t group, std::span<const uint16_t> slots) {
      T best = values_[group];
      uint8_t seen = seen_[group];
      for (const uint16_t slot : slots) {
        if (argument.nulls != nullptr && bit_at(argument.nulls, slot)) continue;
        best = is_better(values[slot], best, seen) ? values[slot] : best;
        seen = 1;
      }
      values_[group] = best;
      seen_[group] = seen;
    });
  }

  void merge(const AggregateColumn& other, const GroupMerge& groups) override {
    const StopSignal& stop = groups.workers.stop();
    const auto& column = static_cast<const ExtremeColumn&>(other);
    for (uint32_t i = 0; i < groups.size(); ++i) {
      stop.check_at(i);
      const uint32_t from = groups.from(i);
      if (column.seen_[from] != 0) offer(groups.to[i], column.values_[from], true);
    }
    drop_overtaken();
  }

  Vector result(uint32_t first, uint32_t count, VectorBuffer* results) const override {
    bool has_nulls = false;
    results->clear_nulls();
    for (uint32_t i = 0; i < count; ++i) {
      if (seen_[first + i] == 0) {
        has_nulls = true;
        set_bit(results->nulls(), i);
      } else {
        results->values<T>()[i] = values_[first + i];
      }
    }
    return has_nulls ? results->view_with_nulls() : results->view();
  }

 private:
  // Values that are copied as such, and that SIMD compares.
  static constexpr bool kIsNumber = std::is_arithmetic_v<T> || std::is_same_v<T, int128_t>;
  static constexpr bool kIsInterval = std::is_same_v<T, base::Interval>;

  // Not ||: which row is better cannot be predicted.
  template <class Order>
  bool is_better(const Order& value, const Order& best, uint8_t seen) const {
    const bool less = is_max_ ? value_less(best, value) : value_less(value, best);
    return static_cast<bool>(static_cast<uint8_t>(less) | (~seen & 1));
  }

  template <bool kMax>
  static T best_of(const T* values, uint32_t count) {
    T best = values[0];
    for (uint32_t i = 1; i < count; ++i) {
      const bool less = kMax ? value_less(best, values[i]) : value_less(values[i], best);
      best = less ? values[i] : best;
    }
    return best;
  }

  void offer(uint32_t group, const T& value, bool copy) {
    T& best = values_[group];
    uint8_t& seen = seen_[group];
    if constexpr (std::is_same_v<T, base::StringRef>) {
      const bool better = is_better(value, best, seen);
      seen |= 1;
      if (better) replace(group, value, copy);
    } else if constexpr (kIsInterval) {
      const int128_t length = value.normalized();
      if (is_better(length, lengths_[group], seen)) {
        best = value;
        lengths_[group] = length;
      }
      seen = 1;
    } else {
      best = is_better(value, best, seen) ? value : best;
      seen = 1;
    }
  }

  void replace(uint32_t group, const base::StringRef& text, bool copy) {
    base::StringRef& best = values_[group];
    if ((seen_[group] & kIsCopy) != 0) overtaken_bytes_ += best.size();
    const bool is_copy = copy && !text.is_short();
    seen_[group] = static_cast<uint8_t>(is_copy ? 1 | kIsCopy : 1);
    best = is_copy ? heap_.keep(text) : text;
    if (is_copy) copied_bytes_ += text.size();
  }

  // Else a maximum of texts that ascend would keep them all.
  void drop_overtaken() {
    if (overtaken_bytes_ < kOvertakenBytesMin || overtaken_bytes_ < copied_bytes_ / 2) return;
    if constexpr (std::is_same_v<T, base::StringRef>) {
      QueryHeap left;
      for (size_t group = 0; group < seen_.size(); ++group) {
        if ((seen_[group] & kIsCopy) != 0) values_[group] = left.keep(values_[group]);
      }
      heap_ = std::move(left);
    }
    copied_bytes_ -= overtaken_bytes_;
    overtaken_bytes_ = 0;
  }

  static constexpr uint8_t kIsCopy = 2;
  static constexpr size_t kOvertakenBytesMin = size_t{64} << 10;

  bool is_max_;
  GrowingArray<T> values_;
  GrowingArray<uint8_t> seen_;      // 1: there is a value; kIsCopy: a text that lies in the heap
  GrowingArray<int128_t> lengths_;  // of intervals, by which they compare
  QueryHeap heap_;
  size_t copied_bytes_ = 0;     // in the heap
  size_t overtaken_bytes_ = 0;  // of them, texts that are no group's any more
};

template <class T>
std::unique_ptr<AggregateColumn> make_sum(const Aggregate& aggregate) {
  const base::DataType& type = aggregate.argument->type;
  const uint8_t scale = type.kind == base::TypeKind::kDecimal ? type.scale : uint8_t{0};
  const PhysicalType result = physical_type(aggregate.type);
  const bool average = aggregate.kind == AggregateKind::kAvg;
  const bool narrow = sizeof(T) <= 8 && !std::is_same_v<T, double> &&
                      type.kind != base::TypeKind::kDecimal && !average &&
                      result == PhysicalType::kInt64;
  const bool decimal = !std::is_same_v<T, double> && result == PhysicalType::kInt128 &&
                       (!average || aggregate.type.scale >= scale);
  const bool floating = (average || std::is_same_v<T, double>)&&result == PhysicalType::kDouble;
  if (!narrow && !decimal && !floating) {
    fail_query(base::ErrorCode::kUnsupported, "a sum or average has not the type of plan.h");
  }
  return std::make_unique<SumColumn<T>>(aggregate, scale);
}

std::unique_ptr<AggregateColumn> make_plain(const Aggregate& aggregate, const QueryLimits& limits) {
  if (aggregate.kind == AggregateKind::kCountAll) return std::make_unique<CountColumn>(true);
  const PhysicalType argument = physical_type(aggregate.argument->type);
  switch (aggregate.kind) {
    case AggregateKind::kCount:
    case AggregateKind::kCountDistinct: return std::make_unique<CountColumn>(false);
    case AggregateKind::kMin:
    case AggregateKind::kMax:
      return with_physical_type(argument, [&](auto value) -> std::unique_ptr<AggregateColumn> {
        return std::make_unique<ExtremeColumn<decltype(value)>>(aggregate.kind ==
                                                                AggregateKind::kMax);
      });
    case AggregateKind::kVarSamp:
    case AggregateKind::kVarPop:
    case AggregateKind::kStddevSamp:
    case AggregateKind::kStddevPop: return make_moments(aggregate);
    case AggregateKind::kBitAnd:
    case AggregateKind::kBitOr:
    case AggregateKind::kBitXor: return make_bits(aggregate);
    case AggregateKind::kCovarPop: return make_covariance(aggregate);
    case AggregateKind::kStringAgg: return make_string_agg(aggregate, limits);
    case AggregateKind::kPercentileCont:
    case AggregateKind::kPercentileDisc:
    case AggregateKind::kMode: return make_ordered_set(aggregate);
    default: break;
  }
  switch (argument) {
    case PhysicalType::kInt32: return make_sum<int32_t>(aggregate);
    case PhysicalType::kInt64: return make_sum<int64_t>(aggregate);
    case PhysicalType::kInt128: return make_sum<int128_t>(aggregate);
    case PhysicalType::kDouble: return make_sum<double>(aggregate);
    case PhysicalType::kInterval: return make_interval_sum(aggregate);
    default: break;
  }
  fail_query(base::ErrorCode::kUnsupported, "sum and avg are of numbers and intervals");
}

}  // namespace

bool has_sum_states(const Aggregate& aggregate) {
  const bool sums = aggregate.kind == AggregateKind::kSum || aggregate.kind == AggregateKind::kAvg;
  if (!sums || aggregate.distinct) return false;
  const PhysicalType argument = physical_type(aggregate.argument->type);
  return argument == PhysicalType::kInt32 || argument == PhysicalType::kInt64 ||
         argument == PhysicalType::kInt128 || argument == PhysicalType::kDouble;
}

const Expression& updating_argument(const Aggregate& aggregate) {
  const Expression& argument = *aggregate.argument;
  if (!is_variance(aggregate.kind) || argument.kind != ExpressionKind::kCast) return argument;
  const Expression& number = *argument.children[0];
  switch (number.type.kind) {
    case base::TypeKind::kInt:
    case base::TypeKind::kBigInt:
    case base::TypeKind::kDecimal: return number;
    default: return argument;
  }
}

std::unique_ptr<AggregateColumn> make_aggregate_column(const Aggregate& aggregate,
                                                       const QueryLimits& limits) {
  const bool distinct = aggregate.kind == AggregateKind::kCountDistinct ||
                        (aggregate.distinct && aggregate.kind != AggregateKind::kStringAgg);
  if (!distinct) return make_plain(aggregate, limits);
  const PhysicalType argument = physical_type(updating_argument(aggregate).type);
  return make_distinct(
      argument, [&aggregate, limits] { return make_plain(aggregate, limits); }, limits);
}

}  // namespace diptych::olap
