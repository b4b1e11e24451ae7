// The sets of instructions that kernels (storage/encoding/code_kernels.cpp) are compiled for and
// this machine has: for hwy::SetSupportedTargetsForTest, which is given 0 afterwards.

#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <hwy/highway.h>

namespace diptych::storage::encoding::test {

inline std::vector<int64_t> kernel_targets() {
  std::vector<int64_t> targets{HWY_SCALAR};
  hwy::SetSupportedTargetsForTest(0);
  for (const int64_t target : {HWY_AVX2, HWY_AVX3}) {
    if ((hwy::SupportedTargets() & target) != 0) targets.push_back(target);
  }
  EXPECT_GE(targets.size(), 2U) << "the program needs AVX2";
  return targets;
}

}  // namespace diptych::storage::encoding::test
