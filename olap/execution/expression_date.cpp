// Functions of dates and timestamps. Both count from 1970-01-01, in days and in microseconds.

#include <algorithm>
#include <limits>

#include "base/value.h"
#include "olap/date_range.h"
#include "olap/execution/civil_day.h"
#include "olap/execution/expression_nodes.h"
#include "olap/execution/query_failure.h"
#include "olap/execution/row_node.h"

namespace diptych::olap {

namespace {

// Whole days of a point in time, rounded down, and the microseconds after them.
struct Moment {
  int64_t days;
  int64_t micros;
};
Moment moment_of(int32_t days) {
  return {days, 0};
}
Moment moment_of(int64_t micros) {
  const int64_t rest = (micros % base::kMicrosPerDay + base::kMicrosPerDay) % base::kMicrosPerDay;
  return {(micros - rest) / base::kMicrosPerDay, rest};
}

[[noreturn]] void fail_range() {
  fail_value("date or timestamp out of range", "22008");
}

int32_t checked_days(int64_t days) {
  if (!is_day(days)) fail_range();
  return static_cast<int32_t>(days);
}

template <class T>
T from_moment(const Moment& moment) {
  if constexpr (std::is_same_v<T, int32_t>) {
    return checked_days(moment.days);
  } else {
    int64_t micros;
    if (__builtin_mul_overflow(moment.days, base::kMicrosPerDay, &micros) ||
        __builtin_add_overflow(micros, moment.micros, &micros) || micros < kMicrosFirst) {
      fail_range();
    }
    return micros;
  }
}

// Rows of one day tend to lie together: the day last converted is remembered.
class Calendar {
 public:
  const base::CivilDate& civil(int64_t days) {
    if (days != days_) {
      const base::Date date{checked_days(days)};
      if (days >= -CivilDay::kDaysMax && days <= CivilDay::kDaysMax) {
        const CivilDay day(date.days);
        civil_ = {day.year, static_cast<uint32_t>(day.month), static_cast<uint32_t>(day.day)};
      } else {
        civil_ = base::civil_from_date(date);
      }
      days_ = days;
    }
    return civil_;
  }

 private:
  int64_t days_ = std::numeric_limits<int64_t>::min();
  base::CivilDate civil_{};
};

int64_t time_field(Function function, int64_t micros) {
  switch (function) {
    case Function::kExtractHour: return micros / (3600 * base::kMicrosPerSecond);
    case Function::kExtractMinute: return micros / (60 * base::kMicrosPerSecond) % 60;
    default: return micros / base::kMicrosPerSecond % 60;
  }
}

Moment truncate(Function function, const Moment& moment, Calendar* calendar) {
  if (function == Function::kTruncateDay) return {moment.days, 0};
  const base::CivilDate& civil = calendar->civil(moment.days);
  if (function == Function::kTruncateMonth) return {moment.days - (civil.day - int64_t{1}), 0};
  return {base::date_from_civil({civil.year, 1, 1}).days, 0};
}

Moment add_months(const Moment& moment, int64_t months, Calendar* calendar) {
  constexpr int64_t kYearMax = 300'000;  // beyond any TIMESTAMP
  constexpr int64_t kMonthsMax = 12 * kYearMax;
  if (months > kMonthsMax || months < -kMonthsMax) fail_range();
  const base::CivilDate civil = calendar->civil(moment.days);
  const int64_t total = int64_t{civil.year} * 12 + civil.month - 1 + months;
  const int64_t month = (total % 12 + 12) % 12;
  const int64_t year = (total - month) / 12;
  if (year > kYearMax || year < 1) fail_range();
  base::CivilDate first{static_cast<int32_t>(year), static_cast<uint32_t>(month + 1), 1};
  base::CivilDate next = month == 11 ? base::CivilDate{first.year + 1, 1, 1}
                                     : base::CivilDate{first.year, first.month + 1, 1};
  const int64_t first_days = base::date_from_civil(first).days;
  const int64_t month_days = base::date_from_civil(next).days - first_days;
  return {first_days + std::min<int64_t>(civil.day, month_days) - 1, moment.micros};
}

// A step of a series of timestamps: months, which may shorten the day of the month, then the rest.
int64_t after_step(int64_t from, int64_t months, int64_t micros, Calendar* calendar) {
  Moment moment = add_months(moment_of(from), months, calendar);
  if (__builtin_add_overflow(moment.micros, micros, &moment.micros)) fail_range();
  return from_moment<int64_t>(moment);
}

// How many steps there are from the first value on, until the last is passed.
NodePtr make_count_steps(std::vector<NodePtr> children, const QueryLimits& limits) {
  return make_row_node<int64_t>(
      PhysicalType::kInt64, std::move(children), limits,
      [calendar = Calendar(), stop = limits.stop](const RowArguments& a, VectorTexts*) mutable {
        const int64_t last = a.integer(1);
        const int64_t months = a.integer(2);
        int64_t count = 0;
        for (int64_t at = a.integer(0); months > 0 ? at <= last : at >= last;
             at = after_step(at, months, a.integer(3), &calendar)) {
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
  return make_row_node<int64_t>(PhysicalType::kInt64, std::move(children), limits,
                                [calendar = Calendar(), place = Place(), stop = limits.stop](
                                    const RowArguments& a, VectorTexts*) mutable {
                                  const int64_t first = a.integer(0);
                                  const int64_t steps = a.integer(3);
                                  if (first != place.first || steps < place.steps)
                                    place = {first, 0, first};
                                  for (; place.steps < steps; stop->check_at(++place.steps)) {
                                    place.value = after_step(place.value, a.integer(1),
                                                             a.integer(2), &calendar);
                                  }
                                  return place.value;
                                });
}

// Months first, which may shorten the day of the month, then days, then the time.
NodePtr make_add_interval(std::vector<NodePtr> children, const QueryLimits& limits) {
  require_plan(children.size() == 2 && children[0]->type() == PhysicalType::kInt64 &&
                   children[1]->type() == PhysicalType::kInterval,
               "an interval is added to a TIMESTAMP");
  return make_row_node<int64_t>(
      PhysicalType::kInt64, std::move(children), limits,
      [calendar = Calendar()](const RowArguments& a, VectorTexts*) mutable {
        const base::Interval& by = a.interval(1);
        Moment moment = moment_of(a.integer(0));
        if (by.months != 0) {
          moment = add_months(moment, by.months, &calendar);
        }
        moment.days += by.days;
        int64_t* const micros = &moment.micros;
        if (__builtin_add_overflow(*micros, by.micros, micros)) {
          fail_range();
        }
        return from_moment<int64_t>(moment);
      });
}

template <class From, class To, class F>
class DateNode : public ExpressionNode {
 public:
  DateNode(PhysicalType type, std::vector<NodePtr> children, F function)
      : ExpressionNode(type), children_(std::move(children)), function_(function), results_(type) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    const Vector vector = children_[0]->evaluate(input, rows);
    Vector result = results_.view();
    result.nulls = vector.nulls;
    const int64_t* amounts = nullptr;
    if (children_.size() > 1) {
      const Vector amount = children_[1]->evaluate(input, rows);
      amounts = amount.as<int64_t>();
      result.nulls = merge_nulls(vector, amount, rows.slots, results_.nulls());
    }
    const From* const from = vector.as<From>();
    To* const to = results_.values<To>();
    for_selected(rows, [&](uint32_t i) {
      if (result.is_null(i)) return;
      to[i] = function_(moment_of(from[i]), amounts == nullptr ? 0 : amounts[i], &calendar_);
    });
    return result;
  }

 private:
  std::vector<NodePtr> children_;
  F function_;
  VectorBuffer results_;
  Calendar calendar_;
};

template <class From, class To, class F>
NodePtr make_date(PhysicalType type, std::vector<NodePtr> children, F function) {
  return std::make_unique<DateNode<From, To, F>>(type, std::move(children), function);
}

// Year, quarter, month or day of the dates or timestamps.
template <class From>
class CivilFieldNode : public ExpressionNode {
 public:
  CivilFieldNode(Function field, NodePtr child)
      : ExpressionNode(PhysicalType::kInt64),
        field_(field),
        child_(std::move(child)),
        results_(PhysicalType::kInt64) {}

  Vector evaluate(const Batch& input, const Selection& rows) override {
    const Vector vector = child_->evaluate(input, rows);
    Vector result = results_.view();
    result.nulls = vector.nulls;
    const From* const from = vector.as<From>();
    switch (field_) {
      case Function::kExtractYear:
        compute(from, rows, result, [](const auto& civil) { return civil.year; });
        break;
      case Function::kExtractQuarter:
        compute(from, rows, result, [](const auto& civil) { return (civil.month + 2) / 3; });
        break;
      case Function::kExtractMonth:
        compute(from, rows, result, [](const auto& civil) { return civil.month; });
        break;
      default: compute(from, rows, result, [](const auto& civil) { return civil.day; });
    }
    return result;
  }

 private:
  static int32_t days_of(int32_t days) { return days; }
  static int32_t days_of(int64_t micros) {
    const int64_t days = micros / base::kMicrosPerDay;
    return static_cast<int32_t>(days - (micros % base::kMicrosPerDay < 0 ? 1 : 0));
  }

  template <class F>
  void compute(const From* from, const Selection& rows, const Vector& result, const F& field) {
    int64_t* const to = results_.values<int64_t>();
    uint32_t outside = 0;
    for_slots(rows, [&](uint32_t i) {
      const int32_t days = days_of(from[i]);
      outside |= static_cast<uint32_t>((days > CivilDay::kDaysMax) | (days < -CivilDay::kDaysMax));
      to[i] = field(CivilDay(days));
    });
    if (outside == 0) return;
    for_selected(rows, [&](uint32_t i) {
      if (result.is_null(i)) return;
      to[i] = field(base::civil_from_date(base::Date{days_of(from[i])}));
    });
  }

  Function field_;
  NodePtr child_;
  VectorBuffer results_;
};

template <class T>
NodePtr make_shift(Function function, PhysicalType type, std::vector<NodePtr> children) {
  require_plan(children.size() == 2, "date arithmetic has two operands");
  children[1] = make_widening(std::move(children[1]), PhysicalType::kInt64);
  return make_date<T, T>(type, std::move(children),
                         [function](Moment moment, int64_t amount, Calendar* calendar) -> T {
                           if (function == Function::kAddMonths) {
                             return from_moment<T>(add_months(moment, amount, calendar));
                           }
                           int64_t* const field =
                               function == Function::kAddDays ? &moment.days : &moment.micros;
                           if (__builtin_add_overflow(*field, amount, field)) fail_range();
                           return from_moment<T>(moment);
                         });
}

template <class T>
NodePtr make_for(const Expression& expression, std::vector<NodePtr> children) {
  const Function function = expression.function;
  const PhysicalType own = children[0]->type();
  switch (function) {
    case Function::kAddMonths:
    case Function::kAddDays:
    case Function::kAddMicros: return make_shift<T>(function, own, std::move(children));
    case Function::kTruncateYear:
    case Function::kTruncateMonth:
    case Function::kTruncateDay:
      return make_date<T, T>(own, std::move(children),
                             [function](Moment moment, int64_t, Calendar* calendar) -> T {
                               return from_moment<T>(truncate(function, moment, calendar));
                             });
    case Function::kExtractHour:
    case Function::kExtractMinute:
    case Function::kExtractSecond:
      return make_date<T, int64_t>(PhysicalType::kInt64, std::move(children),
                                   [function](Moment moment, int64_t, Calendar*) {
                                     return time_field(function, moment.micros);
                                   });
    default: return std::make_unique<CivilFieldNode<T>>(function, std::move(children[0]));
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
    return make_for<int32_t>(expression, std::move(children));
  }
  require_plan(children[0]->type() == PhysicalType::kInt64,
               "a date function is of a DATE or TIMESTAMP");
  return make_for<int64_t>(expression, std::move(children));
}

}  // namespace diptych::olap
