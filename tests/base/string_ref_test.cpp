#include "base/string_ref.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace diptych::base {
namespace {

std::string text_of(size_t size) {
  std::string text;
  for (size_t i = 0; i < size; ++i) text += static_cast<char>('a' + i);
  return text;
}

// The array is as long as the text: a byte read behind it is found by AddressSanitizer.
TEST(StringRef, HasTheBytesOfATextOfEverySizeAndNoneBehindIt) {
  for (size_t size = 0; size <= 24; ++size) {
    const std::string text = text_of(size);
    const std::vector<char> bytes(text.begin(), text.end());
    const StringRef ref(std::string_view(bytes.data(), size));
    EXPECT_EQ(ref.view(), text);
    EXPECT_EQ(ref.size(), size);
    EXPECT_EQ(ref.data() == bytes.data(), size > StringRef::kInlineBytes);
    EXPECT_EQ(std::string_view(ref.first_bytes(), std::min<size_t>(size, 4)), text.substr(0, 4));
  }
}

TEST(StringRef, TheUnusedTailOfAShortOneIsZero) {
  for (size_t size = 0; size <= StringRef::kInlineBytes; ++size) {
    using Words = std::array<uint64_t, 2>;
    const auto words = std::bit_cast<Words>(StringRef(text_of(size)));
    Words expected = {size, 0};
    std::memcpy(reinterpret_cast<char*>(expected.data()) + 4, text_of(size).data(), size);
    EXPECT_EQ(words, expected) << size;
  }
}

}  // namespace
}  // namespace diptych::base
