// The calendar agrees with std::chrono, whose years have 16 bits, and repeats itself each 400
// years.

#include "base/civil_day.h"

#include <chrono>

#include <gtest/gtest.h>

#include "base/value.h"

namespace diptych::base {
namespace {

constexpr int32_t kEraDays = 146'097;

// Its fields as chrono's: of the week with the year's first Thursday, which is its first.
template <class Day>
void expect_fields(int32_t days) {
  using std::chrono::sys_days;
  const sys_days point{std::chrono::days(days)};
  const std::chrono::year_month_day expected(point);
  const Day day(days);
  const auto month = static_cast<unsigned>(expected.month());
  ASSERT_EQ(day.year, static_cast<int>(expected.year())) << days;
  ASSERT_EQ(day.month, static_cast<int32_t>(month)) << days;
  ASSERT_EQ(day.day, static_cast<int32_t>(static_cast<unsigned>(expected.day()))) << days;
  ASSERT_EQ(day.weekday(), static_cast<int32_t>(std::chrono::weekday(point).iso_encoding()) - 1);
  const sys_days january_1{expected.year() / 1 / 1};
  ASSERT_EQ(Day::first_of(day.year, 1), january_1.time_since_epoch().count()) << days;
  ASSERT_EQ(Day::first_of(day.year, day.month), days - day.day + 1) << days;
  ASSERT_EQ(day.day_of_year(), (point - january_1).count() + 1) << days;
  const auto last = (expected.year() / expected.month() / std::chrono::last).day();
  ASSERT_EQ(Day::days_in_month(day.year, day.month),
            static_cast<int32_t>(static_cast<unsigned>(last)))
      << days;
  const sys_days thursday = point + std::chrono::days(3 - day.weekday());
  const std::chrono::year iso_year = std::chrono::year_month_day(thursday).year();
  ASSERT_EQ(day.iso_year(), static_cast<int>(iso_year)) << days;
  ASSERT_EQ(day.iso_week(), (thursday - sys_days{iso_year / 1 / 1}).count() / 7 + 1) << days;
}

TEST(CivilDay, AgreesWithTheStandardLibrary) {
  for (int32_t days = -3 * kEraDays; days < 3 * kEraDays; ++days) {
    expect_fields<CivilDay>(days);
    expect_fields<WideCivilDay>(days);
    if (HasFatalFailure()) return;
  }
}

// A day as many whole eras off is another year's.
template <class Day>
void expect_eras(int32_t days) {
  const int32_t eras = days / kEraDays;
  const Day far(days);
  const Day near(days % kEraDays);
  ASSERT_EQ(far.year, near.year + 400 * eras) << days;
  ASSERT_EQ(far.month, near.month) << days;
  ASSERT_EQ(far.day, near.day) << days;
  ASSERT_EQ(far.moved(1 - far.day), Day::first_of(far.year, far.month)) << days;
  ASSERT_EQ(far.iso_week(), near.iso_week()) << days;
  const CivilDate civil = civil_from_date(Date{days});
  ASSERT_EQ(civil.year, far.year) << days;
  ASSERT_EQ(date_from_civil(civil).days, days);
}

TEST(CivilDay, IsRightToTheEndOfItsWords) {
  constexpr int32_t kMargin = 3;  // the Thursday of a day's week
  for (int32_t i = 0; i < kEraDays; ++i) {
    expect_eras<CivilDay>(CivilDay::kDaysMax - kMargin - i);
    expect_eras<CivilDay>(-CivilDay::kDaysMax + kMargin + i);
    expect_eras<WideCivilDay>(INT32_MAX - kMargin - i);
    expect_eras<WideCivilDay>(INT32_MIN + kMargin + i);
    if (HasFatalFailure()) return;
  }
}

TEST(CivilDay, PeriodsBeginAsTheSqlStandardsDo) {
  const auto on = [](int32_t year) { return WideCivilDay(WideCivilDay::first_of(year, 7)); };
  EXPECT_EQ(on(2000).period(100), 20);
  EXPECT_EQ(on(2001).period(100), 21);
  EXPECT_EQ(on(2000).period(1000), 2);
  EXPECT_EQ(on(2000).first_of_period(100), WideCivilDay::first_of(1901, 1));
  EXPECT_EQ(on(2001).first_of_period(1000), WideCivilDay::first_of(2001, 1));
  EXPECT_EQ(on(1).first_of_period(1000), WideCivilDay::first_of(1, 1));
}

}  // namespace
}  // namespace diptych::base
