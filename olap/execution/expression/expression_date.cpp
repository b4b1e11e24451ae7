// Functions of dates and timestamps. Both count from 1970-01-01, in days and in microseconds.

#include <algorithm>

#include "base/civil_day.h"
#include "base/types.h"
#include "base/value.h"
#include "olap/date_range.h"
#include "olap/execution/expression/arithmetic_kernels.h"
#include "olap/execution/expression/date_parts.h"
#include "olap/execution/expression/expression_nodes.h"
#include "olap/execution/expression/row_node.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

namespace {

using base::CivilDay;
using base::kMicrosPerDay;
using base::WideCivilDay;

[[noreturn]] void fail_range() {
  fail_value("date or timestamp out of range", "22008");
}

// Whole days of a point in time, rounded down, and the microseconds after them.
int32_t days_of(int32_t days) {
  return days;
}
int32_t days_of(int64_t micros) {
  return static_cast<int32_t>(divide_down(micros, kMicrosPerDay));
}
int64_t time_of(int32_t) {
  return 0;
}
int64_t time_of(int64_t micros) {
  const int64_t rest = micros % kMicrosPerDay;
  return rest + (rest < 0 ? kMicrosPerDay : 0);
}

// Days and a time as a DATE, which has none, or a TIMESTAMP. These and the kernels below return a
// fault word (arithmetic_kernels.h).
uint64_t put(int64_t days, int64_t, int32_t* date) {
  *date = static_cast<int32_t>(days);
  return fault_if(!is_day(days));
}
uint64_t put(int64_t days, int64_t time, int64_t* micros) {
  const bool overflow = __builtin_mul_overflow(days, kMicrosPerDay, micros) ||
                        __builtin_add_overflow(*micros, time, micros);
  return fault_if(overflow || *micros < kMicrosFirst);
}

// The kernel's day is of the calendar of 32-bit words, which is right within its bounds, or of all.
template <class Day>
uint64_t outside(int32_t days) {
  if constexpr (Day::kWide) return 0;
  return fault_if((days > Day::kDaysMax) | (days < -Day::kDaysMax));
}

// What the function makes of a day as a BIGINT.
template <class Field>
struct FieldKernel {
  static constexpr bool kShifts = false;
  template <class Day, class From>
  uint64_t apply(From from, int64_t, int64_t* to) const {
    const int32_t days = days_of(from);
    *to = field(Day(days));
    return outside<Day>(days);
  }
  Field field;
};

// The first of the days that the function puts together.
template <class First>
struct TruncateKernel {
  static constexpr bool kShifts = false;
  template <class Day, class T>
  uint64_t apply(T from, int64_t, T* to) const {
    const int32_t days = days_of(from);
    return put(first(Day(days)), 0, to) | outside<Day>(days);
  }
  First first;
};

struct TruncateTimeKernel {
  static constexpr bool kShifts = false;
  template <class, class T>
  uint64_t apply(T from, int64_t, T* to) const {
    return fault_if(__builtin_sub_overflow(from, time_of(from) % unit, to));
  }
  int64_t unit;
};

struct TimeFieldKernel {
  static constexpr bool kShifts = false;
  template <class, class From>
  uint64_t apply(From from, int64_t, int64_t* to) const {
    *to = time_of(from) % whole / unit;
    return 0;
  }
  int64_t whole;
  int64_t unit;
};

struct AddMonthsKernel {
  static constexpr bool kShifts = true;
  template <class Day, class T>
  uint64_t apply(T from, int64_t months, T* to) const {
    constexpr int32_t kYearMax = 300'000;     // beyond any TIMESTAMP
    constexpr int32_t kYearsUp = 16'000'000;  // so that none is below zero
    constexpr int64_t kMonthsMax = 12 * kYearMax;
    const int32_t days = days_of(from);
    const Day day(days);
    const auto by = static_cast<int32_t>(std::clamp(months, -kMonthsMax, kMonthsMax));
    const auto total = static_cast<uint32_t>((day.year + kYearsUp) * 12 + day.month - 1 + by);
    const auto year = static_cast<int32_t>(total / 12) - kYearsUp;
    const auto month = static_cast<int32_t>(total % 12 + 1);
    const int32_t in_month = std::min(day.day, Day::days_in_month(year, month));
    const uint64_t fault =
        outside<Day>(days) | fault_if((by != months) | (year < 1) | (year > kYearMax));
    return fault | put(int64_t{Day::first_of(year, month)} + in_month - 1, time_of(from), to);
  }
};

struct AddDaysKernel {
  static constexpr bool kShifts = true;
  template <class>
  uint64_t apply(int32_t from, int64_t days, int32_t* to) const {
    int64_t sum;
    const bool overflow = __builtin_add_overflow(from, days, &sum);
    return fault_if(overflow) | put(sum, 0, to);
  }
  template <class>
  uint64_t apply(int64_t from, int64_t days, int64_t* to) const {
    return put(days, from, to);
  }
};

struct AddMicrosKernel {
  static constexpr bool kShifts = true;
  template <class>
  uint64_t apply(int64_t from, int64_t micros, int64_t* to) const {
    const bool overflow = __builtin_add_overflow(from, micros, to);
    return fault_if(overflow || *to < kMicrosFirst);
  }
};

template <class Kernel>
int64_t shifted(const Kernel& kernel, int64_t from, int64_t by) {
  int64_t to;
  if ((kernel.template apply<WideCivilDay>(from, by, &to) & kFault) != 0) fail_range();
  return to;
}

// Months first, which may shorten the day of the month, then days, then the time.
int64_t shifted(int64_t from, const base::Interval& by) {
  if (by.months != 0) from = shifted(AddMonthsKernel(), from, by.months);
  if (by.days != 0) from = shifted(AddDaysKernel(), from, by.days);
  return shifted(AddMicrosKernel(), from, by.micros);
}

// A step of a series of timestamps.
int64_t after_step(int64_t from, int64_t months, int64_t micros) {
  if (months != 0) from = shifted(AddMonthsKernel(), from, months);
  return shifted(AddMicrosKernel(), from, micros);
}

// How many steps there are from the first value on, until the last is passed.
NodePtr make_count_steps(std::vector<NodePtr> children, const QueryLimits& limits) {
  return make_row_node<int64_t>(PhysicalType::kInt64, std::move(children), limits,
                                [stop = limits.stop](const RowArguments& a, VectorTexts*) {
                                  const int64_t last = a.integer(1);
                                  const int64_t months = a.integer(2);
                                  int64_t count = 0;
                                  for (int64_t at = a.integer(0);
                                       months > 0 ? at <= last : at >= last;
                                       at = after_step(at, months, a.integer(3))) {
                                    stop->check_at(++count);
                                  }
                                  return count;
                                });
}

// The rows of a series follow each other, so a value is mostly one step from the row's before.
NodePtr make_after_steps(std::vector<NodePtr> children, const QueryLimits& limits) {
  struct Place {
    int64_t first = 0;
    int64_t steps = 0;
    int64_t value = 0;
  };
  return make_row_node<int64_t>(
      PhysicalType::kInt64, std::move(children), limits,
      [place = Place(), stop = limits.stop](const RowArguments& a, VectorTexts*) mutable {
        const int64_t first = a.integer(0);
        const int64_t steps = a.integer(3);
        if (first != place.first || steps < place.steps) place = {first, 0, first};
        for (; place.steps < steps; stop->check_at(++place.steps)) {
          place.value = after_step(place.value, a.integer(1), a.integer(2));
        }
        return place.value;
      });
}

NodePtr make_add_interval(std::vector<NodePtr> children, const QueryLimits& limits) {
  require_plan(children.size() == 2 && children[0]->type() == PhysicalType::kInt64 &&
                   children[1]->type() == PhysicalType::kInterval,
               "an interval is added to a TIMESTAMP");
  return make_row_node<int64_t>(
      PhysicalType::kInt64, std::move(children), limits,
      [](const RowArguments& a, VectorTexts*) { return shifted(a.integer(0), a.interval(1)); });
}

// results[row] = kernel(value, amount), of all slots in the calendar that loops are SIMD in. Where
// one is at fault, live rows are computed again in the wide one, which knows whether they are.
template <class From, class To, class Kernel>
class DateNode : public ExpressionNode {
 public:
  DateNode(PhysicalType type, std::vector<NodePtr> children, Kernel kernel)
      : ExpressionNode(type), children_(std::move(children)), kernel_(kernel), results_(type) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    const Vector vector = children_[0]->evaluate(input, rows);
    Vector result = results_.view();
    result.nulls = vector.nulls;
    const From* const from = vector.as<From>();
    if constexpr (Kernel::kShifts) {
      const Vector amount = children_[1]->evaluate(input, rows);
      const auto* const amounts = amount.as<int64_t>();
      result.nulls = merge_nulls(vector, amount, rows.slots, results_.nulls());
      compute(from, rows, result, [amounts](uint32_t i) { return amounts[i]; });
    } else {
      compute(from, rows, result, [](uint32_t) { return int64_t{0}; });
    }
    return result;
  }

 private:
  template <class Amount>
  void compute(const From* from, const Selection& rows, const Vector& result,
               const Amount& amount) {
    To* const to = results_.values<To>();
    uint64_t faults = 0;
    for_slots(rows, [&](uint32_t i) {
      faults |= kernel_.template apply<CivilDay>(from[i], amount(i), &to[i]);
    });
    if ((faults & kFault) == 0) return;
    for_selected(rows, [&](uint32_t i) {
      if (result.is_null(i)) return;
      const uint64_t fault = kernel_.template apply<WideCivilDay>(from[i], amount(i), &to[i]);
      if ((fault & kFault) != 0) fail_range();
    });
  }

  std::vector<NodePtr> children_;
  Kernel kernel_;
  VectorBuffer results_;
};

template <class T, class To, class Kernel>
NodePtr make_date(std::vector<NodePtr> children, Kernel kernel) {
  constexpr bool kDays = std::is_same_v<To, int32_t>;
  return std::make_unique<DateNode<T, To, Kernel>>(
      kDays ? PhysicalType::kInt32 : PhysicalType::kInt64, std::move(children), kernel);
}

template <class T, class Field>
NodePtr make_field(std::vector<NodePtr> children, Field field) {
  return make_date<T, int64_t>(std::move(children), FieldKernel<Field>{field});
}

template <class T>
NodePtr make_field_of(Function function, std::vector<NodePtr> children) {
  const auto make = [&](auto field) { return make_field<T>(std::move(children), field); };
  switch (function) {
    case Function::kExtractYear: return make([](const auto& day) { return day.year; });
    case Function::kExtractQuarter: return make([](const auto& day) { return day.quarter(); });
    case Function::kExtractMonth: return make([](const auto& day) { return day.month; });
    case Function::kExtractWeek: return make([](const auto& day) { return day.iso_week(); });
    case Function::kExtractDay: return make([](const auto& day) { return day.day; });
    case Function::kExtractIsoYear: return make([](const auto& day) { return day.iso_year(); });
    case Function::kExtractDecade: return make([](const auto& day) { return day.decade(); });
    case Function::kExtractCentury: return make([](const auto& day) { return day.period(100); });
    case Function::kExtractMillennium:
      return make([](const auto& day) { return day.period(1000); });
    case Function::kExtractDayOfYear:
      return make([](const auto& day) { return day.day_of_year(); });
    case Function::kExtractDayOfWeek:
      return make([](const auto& day) { return (day.weekday() + 1) % 7; });
    case Function::kExtractIsoDayOfWeek:
      return make([](const auto& day) { return day.weekday() + 1; });
    default: fail_plan("no such field of a date");
  }
}

template <class T>
NodePtr make_truncation(Function function, std::vector<NodePtr> children) {
  const auto make = [&](auto first) {
    return make_date<T, T>(std::move(children), TruncateKernel<decltype(first)>{first});
  };
  switch (function) {
    case Function::kTruncateMillennium:
      return make([](const auto& day) { return day.first_of_period(1000); });
    case Function::kTruncateCentury:
      return make([](const auto& day) { return day.first_of_period(100); });
    case Function::kTruncateDecade:
      return make([](const auto& day) { return day.first_of(day.decade() * 10, 1); });
    case Function::kTruncateYear:
      return make([](const auto& day) { return day.first_of(day.year, 1); });
    case Function::kTruncateQuarter:
      return make([](const auto& day) { return day.first_of(day.year, day.quarter() * 3 - 2); });
    case Function::kTruncateMonth:
      return make([](const auto& day) { return day.moved(1 - day.day); });
    case Function::kTruncateWeek:
      return make([](const auto& day) { return day.moved(-day.weekday()); });
    case Function::kTruncateDay: return make([](const auto& day) { return day.days; });
    default: fail_plan("no such part of a calendar");
  }
}

template <class T>
NodePtr make_time_truncation(std::vector<NodePtr> children, int64_t unit) {
  return make_date<T, T>(std::move(children), TruncateTimeKernel{unit});
}
template <class T>
NodePtr make_time_field(std::vector<NodePtr> children, int64_t whole, int64_t unit) {
  return make_date<T, int64_t>(std::move(children), TimeFieldKernel{whole, unit});
}

template <class T>
NodePtr make_shift(Function function, std::vector<NodePtr> children) {
  require_plan(children.size() == 2, "date arithmetic has two operands");
  children[1] = make_widening(std::move(children[1]), PhysicalType::kInt64);
  if (function == Function::kAddMonths) {
    return make_date<T, T>(std::move(children), AddMonthsKernel());
  }
  if (function == Function::kAddDays) return make_date<T, T>(std::move(children), AddDaysKernel());
  if constexpr (std::is_same_v<T, int64_t>) {
    return make_date<T, T>(std::move(children), AddMicrosKernel());
  }
  fail_plan("microseconds are added to a TIMESTAMP");
}

template <class T>
NodePtr make_for(Function function, std::vector<NodePtr> children) {
  switch (function) {
    case Function::kAddMonths:
    case Function::kAddDays:
    case Function::kAddMicros: return make_shift<T>(function, std::move(children));
    case Function::kTruncateMillennium:
    case Function::kTruncateCentury:
    case Function::kTruncateDecade:
    case Function::kTruncateYear:
    case Function::kTruncateQuarter:
    case Function::kTruncateMonth:
    case Function::kTruncateWeek:
    case Function::kTruncateDay: return make_truncation<T>(function, std::move(children));
    case Function::kTruncateHour:
      return make_time_truncation<T>(std::move(children), base::kMicrosPerHour);
    case Function::kTruncateMinute:
      return make_time_truncation<T>(std::move(children), base::kMicrosPerMinute);
    case Function::kTruncateSecond:
      return make_time_truncation<T>(std::move(children), base::kMicrosPerSecond);
    case Function::kTruncateMillisecond: return make_time_truncation<T>(std::move(children), 1000);
    case Function::kExtractHour:
      return make_time_field<T>(std::move(children), kMicrosPerDay, base::kMicrosPerHour);
    case Function::kExtractMinute:
      return make_time_field<T>(std::move(children), base::kMicrosPerHour, base::kMicrosPerMinute);
    case Function::kExtractMicroseconds:
      return make_time_field<T>(std::move(children), base::kMicrosPerMinute, 1);
    default: return make_field_of<T>(function, std::move(children));
  }
}

}  // namespace

NodePtr make_date_function(const Expression& expression, std::vector<NodePtr> children,
                           const QueryLimits& limits) {
  if (expression.function == Function::kCountSteps)
    return make_count_steps(std::move(children), limits);
  if (expression.function == Function::kAfterSteps)
    return make_after_steps(std::move(children), limits);
  if (expression.function == Function::kAddInterval)
    return make_add_interval(std::move(children), limits);
  if (children[0]->type() == PhysicalType::kInt32) {
    return make_for<int32_t>(expression.function, std::move(children));
  }
  require_plan(children[0]->type() == PhysicalType::kInt64,
               "a date function is of a DATE or TIMESTAMP");
  return make_for<int64_t>(expression.function, std::move(children));
}

}  // namespace diptych::olap
