// Functions of a DATE, the slow way: by base's calendar, which civil_day_test.cpp shows to be
// right.

#pragma once

#include "base/value.h"
#include "olap/function.h"

namespace diptych::olap::test {

// A field or a truncation; throws NaiveError where there is no such day.
base::Value naive_date_function(Function function, base::Date date);

// kAddDays, and kAddMonths: the last day of a month that has no such one.
base::Value naive_date_shift(Function function, base::Date date, int64_t by);

}  // namespace diptych::olap::test
