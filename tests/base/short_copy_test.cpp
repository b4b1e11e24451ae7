// short_copy against memcpy: every size that has a path of its own, and nothing beside it touched.

#include "base/short_copy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace diptych::base {
namespace {

TEST(ShortCopy, CopiesEverySizeAndNothingElse) {
  constexpr size_t kAround = 64;
  constexpr size_t kBytesMax = 300;
  for (size_t bytes = 0; bytes <= kBytesMax; ++bytes) {
    // Of its own size, so that AddressSanitizer sees what is read beyond it.
    std::vector<uint8_t> from(bytes);
    for (size_t i = 0; i < bytes; ++i) from[i] = static_cast<uint8_t>(i * 7 + 1);
    std::vector<uint8_t> to(bytes + 2 * kAround, 0xee);
    short_copy(to.data() + kAround, from.data(), bytes);
    const auto begin = to.begin() + kAround;
    const auto end = begin + static_cast<std::ptrdiff_t>(bytes);
    EXPECT_TRUE(std::equal(begin, end, from.begin())) << bytes;
    const auto is_untouched = [](uint8_t byte) { return byte == 0xee; };
    EXPECT_TRUE(std::all_of(to.begin(), begin, is_untouched)) << bytes;
    EXPECT_TRUE(std::all_of(end, to.end(), is_untouched)) << bytes;
  }
}

}  // namespace
}  // namespace diptych::base
