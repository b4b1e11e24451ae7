// expect_share: a frequency test for random draws.

#pragma once

#include <cmath>
#include <cstdint>

#include <gtest/gtest.h>

namespace diptych::workloads::test {

// Expects `hits`, of n draws that hit with probability p, within five standard deviations of n * p.
inline void expect_share(int64_t hits, int64_t n, double p) {
  const double mean = static_cast<double>(n) * p;
  EXPECT_NEAR(static_cast<double>(hits), mean, 5 * std::sqrt(mean * (1 - p))) << "of " << n;
}

}  // namespace diptych::workloads::test
