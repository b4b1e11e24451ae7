#include "dispatcher/histogram.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace diptych::dispatcher {
namespace {

constexpr double kQuantiles[] = {0, 0.1, 0.5, 0.9, 0.99, 0.999, 1};

uint64_t exact_quantile(const std::vector<uint64_t>& sorted, double q) {
  const auto rank = static_cast<size_t>(std::ceil(q * static_cast<double>(sorted.size())));
  return sorted[rank == 0 ? 0 : rank - 1];
}

void expect_near_exact(const Histogram& histogram, std::vector<uint64_t> values) {
  std::sort(values.begin(), values.end());
  for (const double q : kQuantiles) {
    const auto exact = static_cast<double>(exact_quantile(values, q));
    EXPECT_NEAR(static_cast<double>(histogram.quantile(q)), exact, exact * 0.032) << "q = " << q;
  }
}

TEST(Histogram, EmptyOneIsZeroEverywhere) {
  const Histogram empty;
  EXPECT_EQ(empty.count(), 0u);
  EXPECT_EQ(empty.quantile(0.5), 0u);
  EXPECT_EQ(empty.max(), 0u);
  EXPECT_EQ(empty.mean(), 0);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (uint64_t value = 0; value < 32; ++value) histogram.record(value);
  EXPECT_EQ(histogram.quantile(0), 0u);
  EXPECT_EQ(histogram.quantile(0.5), 15u);
  EXPECT_EQ(histogram.quantile(1), 31u);
  EXPECT_EQ(histogram.mean(), 15.5);
}

TEST(Histogram, QuantilesAreWithinTheStatedErrorOfExactOnes) {
  for (const uint32_t seed : {1U, 2U, 3U}) {
    std::mt19937_64 random(seed);
    Histogram histogram;
    std::vector<uint64_t> values;
    std::lognormal_distribution<double> latencies(12, 2);
    for (int i = 0; i < 20'000; ++i) {
      values.push_back(static_cast<uint64_t>(latencies(random)));
      histogram.record(values.back());
    }
    SCOPED_TRACE(seed);
    expect_near_exact(histogram, values);
    EXPECT_EQ(histogram.max(), *std::max_element(values.begin(), values.end()));
  }
}

TEST(Histogram, TakesEveryPowerOfTwoAndItsNeighbours) {
  for (int bit = 0; bit < 64; ++bit) {
    for (const uint64_t value : {(uint64_t{1} << bit) - 1, uint64_t{1} << bit}) {
      Histogram histogram;
      histogram.record(value);
      const auto exact = static_cast<double>(value);
      EXPECT_NEAR(static_cast<double>(histogram.quantile(0.5)), exact, exact * 0.032);
    }
  }
  Histogram histogram;
  histogram.record(UINT64_MAX);
  EXPECT_GT(histogram.quantile(1), UINT64_MAX / 64 * 62);
}

TEST(Histogram, MergedOnesCountAsOne) {
  Histogram odd, even, all;
  for (uint64_t value = 1; value < 10'000; ++value) {
    (value % 2 == 0 ? even : odd).record(value * value);
    all.record(value * value);
  }
  odd.merge(even);
  EXPECT_EQ(odd.count(), all.count());
  EXPECT_EQ(odd.max(), all.max());
  EXPECT_EQ(odd.mean(), all.mean());
  for (const double q : kQuantiles) EXPECT_EQ(odd.quantile(q), all.quantile(q));
}

TEST(Histogram, SinceAnOlderCopyCountsOnlyWhatCameLater) {
  Histogram histogram;
  for (int i = 0; i < 100; ++i) histogram.record(1'000'000);
  const auto earlier = std::make_unique<Histogram>(histogram);
  for (int i = 0; i < 50; ++i) histogram.record(10);
  const Histogram later = histogram.since(*earlier);
  EXPECT_EQ(later.count(), 50u);
  EXPECT_EQ(later.quantile(1), 10u);
  EXPECT_EQ(later.mean(), 10);
}

TEST(Histogram, CountsBelowPowersOfTwoAreExact) {
  std::mt19937_64 random(7);
  Histogram histogram;
  std::vector<uint64_t> values = {0, 1, 2, 1023, 1024, 1025, uint64_t{1} << 36};
  for (int i = 0; i < 2000; ++i) values.push_back(random() >> (random() % 64));
  for (const uint64_t value : values) histogram.record(value);
  for (unsigned exponent = 0; exponent < 64; ++exponent) {
    const auto below = std::count_if(values.begin(), values.end(),
                                     [&](uint64_t value) { return value >> exponent == 0; });
    EXPECT_EQ(histogram.count_below_power(exponent), static_cast<uint64_t>(below)) << exponent;
  }
}

}  // namespace
}  // namespace diptych::dispatcher
