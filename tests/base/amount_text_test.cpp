#include "base/amount_text.h"

#include <gtest/gtest.h>

namespace diptych::base {
namespace {

TEST(AmountText, BytesBelowAKibibyteAreNotRoundedToNone) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(1), "1 byte");
  EXPECT_EQ(bytes_text(1'023), "1023 bytes");
  EXPECT_EQ(bytes_text(1'024), "1 KiB");
  EXPECT_EQ(bytes_text(size_t{4} << 20), "4096 KiB");
}

TEST(AmountText, ShortDurationsAreNotRoundedToNone) {
  EXPECT_EQ(duration_text(0), "0 ns");
  EXPECT_EQ(duration_text(999), "999 ns");
  EXPECT_EQ(duration_text(1'000), "0.001 ms");
  EXPECT_EQ(duration_text(250'000), "0.250 ms");
  EXPECT_EQ(duration_text(1'000'000), "0.001 s");
  EXPECT_EQ(duration_text(61'250'000'000), "61.250 s");
}

}  // namespace
}  // namespace diptych::base
