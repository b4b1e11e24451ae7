#include "base/utf8.h"

#include <gtest/gtest.h>

namespace diptych::base {
namespace {

TEST(Utf8, WellFormedTextIsTakenAndNothingElse) {
  for (const char* good : {"", "plain", "\u00e4", "\u20ac", "\U0001f600", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(is_valid_utf8(good)) << good;
  }
  for (const char* bad :
       {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xe2\x82", "a\xffz"}) {
    EXPECT_FALSE(is_valid_utf8(bad));
  }
}

TEST(Utf8, TheFirstMalformedByteIsFound) {
  EXPECT_EQ(valid_utf8_bytes(""), 0U);
  EXPECT_EQ(valid_utf8_bytes("\u00e4b"), 3U);
  EXPECT_EQ(valid_utf8_bytes("\u00e4b\xe4"), 3U);
}

TEST(Utf8, APrefixHasWholeCharacters) {
  constexpr std::string_view kText = "a\u00e4\u20ac\U0001f600";  // 1, 2, 3 and 4 bytes
  for (size_t bytes = 0; bytes <= kText.size() + 1; ++bytes) {
    const std::string_view prefix = utf8_prefix(kText, bytes);
    const size_t whole = bytes < 1 ? 0 : bytes < 3 ? 1 : bytes < 6 ? 3 : bytes < 10 ? 6 : 10;
    EXPECT_EQ(prefix, kText.substr(0, whole)) << bytes;
  }
  EXPECT_EQ(utf8_prefix("\x80\x80\x80", 2), "") << "of no UTF-8";
}

}  // namespace
}  // namespace diptych::base
