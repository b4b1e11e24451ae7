// Arrays that grow: what they have stays, whether its memory is copied or its pages are moved.

#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "olap/execution/limits/growing_array.h"
#include "olap/query_memory_figures.h"

namespace diptych::olap::test {
namespace {

TEST(GrowingArray, KeepsItsValuesWhileItGrowsBesideOthers) {
  constexpr uint64_t kValues = uint64_t{3} << 20;  // 24 MB an array: huge pages, several times over
  const uint64_t used_before = query_memory_figures().used_bytes;
  {
    std::vector<GrowingArray<uint64_t>> arrays(3);
    for (uint64_t i = 0; i < kValues; ++i) {
      for (uint64_t a = 0; a < arrays.size(); ++a) arrays[a].push_back(i * 4 + a);
    }
    // Memory that was kept meanwhile has old values in it.
    GrowingArray<uint64_t> moved = std::move(arrays[0]);
    moved.reserve(kValues * 4);
    arrays[0] = std::move(moved);
    EXPECT_GE(query_memory_figures().used_bytes, used_before + arrays.size() * kValues * 8);
    for (uint64_t a = 0; a < arrays.size(); ++a) {
      ASSERT_EQ(arrays[a].size(), kValues);
      uint64_t wrong = 0;
      for (uint64_t i = 0; i < kValues; ++i) wrong += arrays[a][i] != i * 4 + a ? 1 : 0;
      EXPECT_EQ(wrong, 0u) << a;
    }
  }
  EXPECT_EQ(query_memory_figures().used_bytes, used_before);
}

}  // namespace
}  // namespace diptych::olap::test
