#include "base/utf8.h"

namespace diptych::base {
namespace {

// The number of bytes of the character at the front of text, 0 if it is malformed.
size_t character_bytes(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return 0;
  for (size_t i = 1; i < bytes; ++i) {
    if (!is_utf8_continuation(text[i])) return 0;
  }
  const unsigned char second = at(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second > 0x9f;
  const bool beyond = lead == 0xf4 && second > 0x8f;
  return overlong || surrogate || beyond ? 0 : bytes;
}

}  // namespace

size_t valid_utf8_bytes(std::string_view text) {
  size_t valid = 0;
  while (valid < text.size()) {
    const size_t bytes = character_bytes(text.substr(valid));
    if (bytes == 0) break;
    valid += bytes;
  }
  return valid;
}

}  // namespace diptych::base
