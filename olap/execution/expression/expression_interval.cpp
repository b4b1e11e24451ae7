// Arithmetic and functions of intervals (base/interval.h), row by row.

#include <fmt/format.h>

#include "base/types.h"
#include "olap/date_range.h"
#include "olap/execution/expression/arithmetic_kernels.h"
#include "olap/execution/expression/expression_nodes.h"
#include "olap/execution/expression/row_node.h"
#include "olap/execution/limits/query_failure.h"

namespace diptych::olap {

namespace {

using base::Interval;

using base::kMicrosPerHour;
using base::kMicrosPerMinute;

Interval in_range(const std::optional<Interval>& interval) {
  if (!interval) fail_value(kIntervalOutOfRange, "22008");
  return *interval;
}

// compute(arguments of the row), which may be nothing: then it is out of range.
template <class Compute>
NodePtr make_intervals(std::vector<NodePtr> children, const QueryLimits& limits, Compute compute) {
  return make_row_node<Interval>(
      PhysicalType::kInterval, std::move(children), limits,
      [compute](const RowArguments& a, VectorTexts*) { return in_range(compute(a)); });
}

std::optional<Interval> divided(const Interval& interval, double divisor) {
  if (divisor == 0) fail_value("division by zero", "22012");
  return base::quotient(interval, divisor);
}

std::optional<Interval> interval_between(int64_t to, int64_t from) {
  int64_t micros;
  if (__builtin_sub_overflow(to, from, &micros)) return std::nullopt;
  return base::justify_hours({0, 0, micros});
}

// In microseconds; a year has 365.25 days here, and a month 30.
int128_t epoch_of(const Interval& i) {
  constexpr int64_t kMicrosOfQuarterDay = base::kMicrosPerDay / 4;
  const int64_t quarter_days =
      int64_t{i.months / 12} * 1461 + int64_t{i.months % 12} * 120 + int64_t{i.days} * 4;
  return int128_t{quarter_days} * kMicrosOfQuarterDay + i.micros;
}

int128_t millionths(int64_t value) {
  return int128_t{value} * 1'000'000;
}

struct IntervalField {
  std::string_view name;
  int128_t (*millionths)(const Interval& i);
};

constexpr IntervalField kIntervalFields[] = {
    {"epoch", epoch_of},
    {"second", [](const Interval& i) { return int128_t{i.micros % kMicrosPerMinute}; }},
    {"milliseconds",
     [](const Interval& i) { return int128_t{i.micros % kMicrosPerMinute} * 1000; }},
    {"microseconds", [](const Interval& i) { return millionths(i.micros % kMicrosPerMinute); }},
    {"minute",
     [](const Interval& i) { return millionths(i.micros % kMicrosPerHour / kMicrosPerMinute); }},
    {"hour", [](const Interval& i) { return millionths(i.micros / kMicrosPerHour); }},
    {"day", [](const Interval& i) { return millionths(i.days); }},
    {"month", [](const Interval& i) { return millionths(i.months % 12); }},
    {"quarter", [](const Interval& i) { return millionths(i.months % 12 / 3 + 1); }},
    {"year", [](const Interval& i) { return millionths(i.months / 12); }},
    {"decade", [](const Interval& i) { return millionths(i.months / 120); }},
    {"century", [](const Interval& i) { return millionths(i.months / 1200); }},
    {"millennium", [](const Interval& i) { return millionths(i.months / 12'000); }},
};

const IntervalField& interval_field(std::string_view name) {
  for (const IntervalField& field : kIntervalFields) {
    if (field.name == name) return field;
  }
  fail_value(fmt::format("unit \"{}\" not supported for type interval", name), "0A000");
}

NodePtr make_interval_extract(std::vector<NodePtr> children, const QueryLimits& limits) {
  return make_row_node<int128_t>(PhysicalType::kInt128, std::move(children), limits,
                                 [field = static_cast<const IntervalField*>(nullptr)](
                                     const RowArguments& a, VectorTexts*) mutable {
                                   // It is a literal, the same for all rows.
                                   if (field == nullptr) field = &interval_field(a.text(1));
                                   return field->millionths(a.interval(0));
                                 });
}

// date_trunc() to a unit: from a month on, days and times are dropped; from a day on, times.
Interval truncated(Interval span, const Interval& unit) {
  if (unit.days > 1) fail_value("unit \"week\" not supported for type interval", "0A000");
  if (unit.months > 0) {
    span.months -= span.months % unit.months;
    span.days = 0;
  }
  span.micros -= unit.micros == 0 ? span.micros : span.micros % unit.micros;
  return span;
}

// The origin, or a multiple of the stride from it, at or before the moment.
int64_t date_bin(const Interval& stride, int64_t moment, int64_t origin) {
  if (stride.months != 0) {
    fail_value("timestamps cannot be binned into intervals containing months or years", "0A000");
  }
  const int128_t by = stride.normalized();
  if (by != static_cast<int64_t>(by)) fail_value(kIntervalOutOfRange, "22008");
  if (by <= 0) fail_value("stride must be greater than zero", "22008");
  int64_t rest;
  if (__builtin_sub_overflow(moment, origin, &rest)) fail_value(kIntervalOutOfRange, "22008");
  rest %= static_cast<int64_t>(by);
  if (rest < 0) rest += static_cast<int64_t>(by);
  int64_t bin;
  if (__builtin_sub_overflow(moment, rest, &bin) || bin < kMicrosFirst) {
    fail_value("timestamp out of range", "22008");
  }
  return bin;
}

}  // namespace

NodePtr make_interval_arithmetic(ExpressionKind kind, std::vector<NodePtr> children,
                                 const QueryLimits& limits) {
  const bool scales = kind == ExpressionKind::kMultiply || kind == ExpressionKind::kDivide;
  const bool fits =
      children[0]->type() == PhysicalType::kInterval &&
      (kind == ExpressionKind::kNegate ||
       children[1]->type() == (scales ? PhysicalType::kDouble : PhysicalType::kInterval));
  require_plan(fits, "an interval meets intervals, and as a product or quotient a DOUBLE");
  switch (kind) {
    case ExpressionKind::kNegate:
      return make_intervals(std::move(children), limits,
                            [](const RowArguments& a) { return base::negated(a.interval(0)); });
    case ExpressionKind::kAdd:
      return make_intervals(std::move(children), limits, [](const RowArguments& a) {
        return base::sum(a.interval(0), a.interval(1));
      });
    case ExpressionKind::kSubtract:
      return make_intervals(std::move(children), limits, [](const RowArguments& a) {
        return base::difference(a.interval(0), a.interval(1));
      });
    case ExpressionKind::kMultiply:
      return make_intervals(std::move(children), limits, [](const RowArguments& a) {
        return base::product(a.interval(0), a.number(1));
      });
    case ExpressionKind::kDivide:
      return make_intervals(std::move(children), limits, [](const RowArguments& a) {
        return divided(a.interval(0), a.number(1));
      });
    default: fail_plan("no such arithmetic of intervals");
  }
}

NodePtr make_interval_function(Function function, std::vector<NodePtr>* children,
                               const QueryLimits& limits) {
  switch (function) {
    case Function::kIntervalBetween:
      return make_intervals(std::move(*children), limits, [](const RowArguments& a) {
        return interval_between(a.integer(0), a.integer(1));
      });
    case Function::kAge:
      return make_intervals(std::move(*children), limits, [](const RowArguments& a) {
        return std::optional(age_between(a.integer(0), a.integer(1)));
      });
    case Function::kJustifyHours:
      return make_intervals(std::move(*children), limits, [](const RowArguments& a) {
        return base::justify_hours(a.interval(0));
      });
    case Function::kJustifyDays:
      return make_intervals(std::move(*children), limits, [](const RowArguments& a) {
        return base::justify_days(a.interval(0));
      });
    case Function::kJustifyInterval:
      return make_intervals(std::move(*children), limits, [](const RowArguments& a) {
        return base::justify_interval(a.interval(0));
      });
    case Function::kTruncateInterval:
      return make_intervals(std::move(*children), limits, [](const RowArguments& a) {
        return std::optional(truncated(a.interval(0), a.interval(1)));
      });
    case Function::kDateBin:
      return make_row_node<int64_t>(PhysicalType::kInt64, std::move(*children), limits,
                                    [](const RowArguments& a, VectorTexts*) {
                                      return date_bin(a.interval(0), a.integer(1), a.integer(2));
                                    });
    case Function::kExtractField:
      if ((*children)[0]->type() != PhysicalType::kInterval) return nullptr;
      return make_interval_extract(std::move(*children), limits);
    default: return nullptr;
  }
}

}  // namespace diptych::olap
