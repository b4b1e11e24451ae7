#include "tests/olap/naive_date.h"

#include "olap/date_range.h"
#include "tests/olap/exec_naive.h"

namespace diptych::olap::test {
namespace {

using base::int128_t;

int32_t first_day(int32_t year) {
  return base::date_from_civil({year, 1, 1}).days;
}

}  // namespace

Value naive_date_function(Function function, base::Date date) {
  const base::CivilDate civil = base::civil_from_date(date);
  const int32_t weekday = ((date.days + 3) % 7 + 7) % 7;
  const base::Date thursday{date.days + 3 - weekday};
  const int32_t iso_year = base::civil_from_date(thursday).year;
  const auto first = [&](int32_t years, int32_t from) {
    const int32_t year = (civil.year - from) / years * years + from;
    if (year < 1) throw NaiveError("date");
    return base::Date{first_day(year)};
  };
  switch (function) {
    case Function::kExtractYear: return int64_t{civil.year};
    case Function::kExtractQuarter: return int64_t{(civil.month - 1) / 3 + 1};
    case Function::kExtractMonth: return int64_t{civil.month};
    case Function::kExtractWeek: return int64_t{(thursday.days - first_day(iso_year)) / 7 + 1};
    case Function::kExtractDay: return int64_t{civil.day};
    case Function::kExtractIsoYear: return int64_t{iso_year};
    case Function::kExtractDecade: return int64_t{civil.year / 10};
    case Function::kExtractCentury: return int64_t{(civil.year - 1) / 100 + 1};
    case Function::kExtractMillennium: return int64_t{(civil.year - 1) / 1000 + 1};
    case Function::kExtractDayOfYear: return int64_t{date.days - first_day(civil.year) + 1};
    case Function::kExtractDayOfWeek: return int64_t{(weekday + 1) % 7};
    case Function::kExtractIsoDayOfWeek: return int64_t{weekday + 1};
    case Function::kTruncateMillennium: return first(1000, 1);
    case Function::kTruncateCentury: return first(100, 1);
    case Function::kTruncateDecade: return first(10, 0);
    case Function::kTruncateYear: return first(1, 0);
    case Function::kTruncateQuarter:
      return base::date_from_civil({civil.year, (civil.month - 1) / 3 * 3 + 1, 1});
    case Function::kTruncateMonth: return base::date_from_civil({civil.year, civil.month, 1});
    case Function::kTruncateWeek:
      if (thursday.days - 3 < kDayFirst) throw NaiveError("date");
      return base::Date{thursday.days - 3};
    case Function::kTruncateDay: return date;
    default: throw std::logic_error("no naive version of the function of a date");
  }
}

Value naive_date_shift(Function function, base::Date date, int64_t by) {
  constexpr int64_t kYearMax = 300'000;
  if (function == Function::kAddDays) {
    const int128_t days = int128_t{date.days} + by;
    if (days < kDayFirst || days > kDayLast) throw NaiveError("date");
    return base::Date{static_cast<int32_t>(days)};
  }
  const base::CivilDate civil = base::civil_from_date(date);
  const int128_t months = int128_t{civil.year} * 12 + civil.month - 1 + by;
  if (months < 12 || months >= (kYearMax + 1) * 12) throw NaiveError("date");
  const auto year = static_cast<int32_t>(months / 12);
  const auto month = static_cast<uint32_t>(months % 12 + 1);
  for (uint32_t day = civil.day;; --day) {
    const base::Date moved = base::date_from_civil({year, month, day});
    if (base::civil_from_date(moved).month == month) return moved;
  }
}

}  // namespace diptych::olap::test
