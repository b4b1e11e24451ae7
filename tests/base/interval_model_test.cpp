// Interval against sums of its parts in 128 bits, for random intervals near the ends of their parts
// and near nothing.

#include <cmath>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "base/interval.h"
#include "base/types.h"

namespace diptych::base {
namespace {

class RandomIntervals {
 public:
  explicit RandomIntervals(uint64_t seed) : random_(seed) {}

  Interval next() {
    return {static_cast<int32_t>(part(INT32_MIN, INT32_MAX)),
            static_cast<int32_t>(part(INT32_MIN, INT32_MAX)), part(INT64_MIN, INT64_MAX)};
  }
  int64_t number(int64_t min, int64_t max) {
    return std::uniform_int_distribution<int64_t>(min, max)(random_);
  }

 private:
  int64_t part(int64_t min, int64_t max) {
    switch (number(0, 5)) {
      case 0: return 0;
      case 1: return number(-40, 40);
      case 2: return number(-100'000, 100'000);
      case 3: return min + number(0, 3);
      case 4: return max - number(0, 3);
      default: return number(min, max);
    }
  }

  std::mt19937_64 random_;
};

// a + sign * b by parts; nothing where a part does not fit.
std::optional<Interval> naive_sum(const Interval& a, int sign, const Interval& b) {
  const int128_t months = int128_t{a.months} + sign * int128_t{b.months};
  const int128_t days = int128_t{a.days} + sign * int128_t{b.days};
  const int128_t micros = int128_t{a.micros} + sign * int128_t{b.micros};
  const bool fits = months >= INT32_MIN && months <= INT32_MAX && days >= INT32_MIN &&
                    days <= INT32_MAX && micros >= INT64_MIN && micros <= INT64_MAX;
  if (!fits) return std::nullopt;
  return Interval{static_cast<int32_t>(months), static_cast<int32_t>(days),
                  static_cast<int64_t>(micros)};
}

bool signs_agree(int64_t large, int64_t small) {
  return large == 0 || small == 0 || (large > 0) == (small > 0);
}

TEST(IntervalModel, ArithmeticIsThatOfPartsIn128Bits) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  RandomIntervals random(seed);
  for (int i = 0; i < 100'000; ++i) {
    const Interval a = random.next();
    const Interval b = random.next();
    EXPECT_EQ(sum(a, b), naive_sum(a, 1, b));
    EXPECT_EQ(difference(a, b), naive_sum(a, -1, b));
    EXPECT_EQ(negated(a), naive_sum({}, -1, a));
    const int128_t micros_a = (int128_t{a.months} * 30 + a.days) * kMicrosPerDay + a.micros;
    EXPECT_TRUE(a.normalized() == micros_a);
    IntervalSum total;
    const int64_t times = random.number(-5, 5);
    for (int64_t k = 0; k < std::abs(times); ++k) total.add(a, times < 0 ? -1 : 1);
    IntervalSum at_once;
    at_once.add(a, times);
    EXPECT_EQ(total.interval(), at_once.interval());
  }
}

TEST(IntervalModel, JustifyingKeepsTheLengthAndGivesPartsOneSign) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  RandomIntervals random(seed);
  for (int i = 0; i < 100'000; ++i) {
    const Interval a = random.next();
    if (const auto hours = justify_hours(a)) {
      EXPECT_TRUE(hours->normalized() == a.normalized());
      EXPECT_EQ(hours->months, a.months);
      EXPECT_LT(std::abs(hours->micros), kMicrosPerDay);
      EXPECT_TRUE(signs_agree(hours->days, hours->micros));
    }
    if (const auto days = justify_days(a)) {
      EXPECT_TRUE(days->normalized() == a.normalized());
      EXPECT_EQ(days->micros, a.micros);
      EXPECT_LT(std::abs(days->days), 30);
      EXPECT_TRUE(signs_agree(days->months, days->days));
    }
    if (const auto both = justify_interval(a)) {
      EXPECT_TRUE(both->normalized() == a.normalized());
      EXPECT_LT(std::abs(both->days), 30);
      EXPECT_LT(std::abs(both->micros), kMicrosPerDay);
      EXPECT_TRUE(signs_agree(both->months, both->days));
      EXPECT_TRUE(signs_agree(both->days, both->micros));
    } else {
      EXPECT_GT(std::abs(int64_t{a.months}), INT32_MAX - INT32_MAX / 30 - 4'000'000);
    }
  }
}

TEST(IntervalModel, TheTextOfAnIntervalReadsBackAsIt) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  RandomIntervals random(seed);
  for (int i = 0; i < 100'000; ++i) {
    const Interval a = random.next();
    const std::string text = to_string(a);
    const auto back = parse_interval(text);
    ASSERT_TRUE(back.ok()) << text << ": " << back.error().to_string();
    EXPECT_EQ(*back, a) << text;
  }
}

// By whole numbers that leave no rest, a product is a sum and a quotient its inverse.
TEST(IntervalModel, ProductsAndQuotientsOfWholeNumbersAreExact) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  RandomIntervals random(seed);
  for (int i = 0; i < 100'000; ++i) {
    const Interval a{static_cast<int32_t>(random.number(-1000, 1000)),
                     static_cast<int32_t>(random.number(-1000, 1000)),
                     random.number(-1'000'000'000'000, 1'000'000'000'000)};
    const int64_t times = random.number(1, 1000);
    IntervalSum total;
    total.add(a, times);
    const auto product_of = product(a, static_cast<double>(times));
    ASSERT_EQ(product_of, total.interval());
    EXPECT_EQ(quotient(*product_of, static_cast<double>(times)), a);
  }
}

std::string state_of(std::string_view text) {
  const auto interval = parse_interval(text);
  return interval.ok() ? to_string(*interval) : std::string(interval.error().sqlstate());
}

TEST(Interval, ReadsTheFormsThatPostgresReads) {
  EXPECT_EQ(state_of("1 year 2 mons 3 days 04:05:06.789"), "1 year 2 mons 3 days 04:05:06.789");
  EXPECT_EQ(state_of("-1 year +3 days -04:05:06"), "-1 years +3 days -04:05:06");
  EXPECT_EQ(state_of("  1\t DAY \n"), "1 day");
  EXPECT_EQ(state_of("P1Y2M3DT4H5M6.5S"), "1 year 2 mons 3 days 04:05:06.5");
  EXPECT_EQ(state_of("1-2"), "1 year 2 mons");
  EXPECT_EQ(state_of("1.5 mons"), "1 mon 15 days");
  EXPECT_EQ(state_of("0.5 us"), "00:00:00");
  EXPECT_EQ(state_of("1.5 us"), "00:00:00.000002");
  EXPECT_EQ(state_of("-2562047788:00:54.775808"), "-2562047788:00:54.775808");
  EXPECT_EQ(state_of("-2562047788:00:54.775809"), "22015");
  EXPECT_EQ(state_of("9223372036854775808 us"), "22015");  // its number is beyond 64 bits
  EXPECT_EQ(state_of("2147483648 days"), "22015");
  EXPECT_EQ(state_of("@2 mons, 5 mseconds;7 useconds"), "2 mons 00:00:00.005007");
  EXPECT_EQ(state_of("1 mil 2 cents 3 decs"), "1230 years");
  EXPECT_EQ(state_of("1 day ago 2 hours"), "-1 days -02:00:00");
  for (const char* text :
       {"",          "ago",    "day",  "1 fortnight", "1 day 2 days",     "1:02 1:03",
        "--1 day",   "1:02:",  "1::2", ":02",         "1e3 days",         "P",
        "P1",        "PT",     "P1H",  "1.5.5 days",  "1 day ago 2 days", "1 hour 2:03",
        "2:03 5 ms", "1/2 day"}) {
    EXPECT_EQ(state_of(text), "22007") << text;
  }
  for (const char* text : {"1:60", "1:02:61", "25:61:00", "1 day -1:99:00", "1-12", "-3-40"}) {
    EXPECT_EQ(state_of(text), "22015") << text;
  }
}

TEST(Interval, WhatIsBeyondAnIntervalIsNothing) {
  const Interval most{INT32_MAX, INT32_MAX, INT64_MAX};
  EXPECT_EQ(product(most, 1.5), std::nullopt);
  EXPECT_EQ(product({0, 1, 0}, 1e300), std::nullopt);
  EXPECT_EQ(product({0, 1, 0}, std::nan("")), std::nullopt);
  EXPECT_EQ(quotient({0, 1, 0}, 1e-300), std::nullopt);
  EXPECT_EQ(justify_interval({INT32_MAX, 29, kMicrosPerDay}), std::nullopt);
  EXPECT_EQ(justify_interval({INT32_MAX, 29, kMicrosPerDay - 1}),
            (Interval{INT32_MAX, 29, kMicrosPerDay - 1}));
}

}  // namespace
}  // namespace diptych::base
