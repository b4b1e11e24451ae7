// UTF-8: where texts that come from outside (CSV cells, SQL, values of calls) are checked, and
// where texts are cut.

#pragma once

#include <cstddef>
#include <string_view>

namespace diptych::base {

// How many bytes at the front are well-formed UTF-8 (no overlong forms, no surrogates): the offset
// of the first byte that is not, or text.size().
size_t valid_utf8_bytes(std::string_view text);

inline bool is_valid_utf8(std::string_view text) {
  return valid_utf8_bytes(text) == text.size();
}

// A byte of a character, but not its first.
constexpr bool is_utf8_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// The text's beginning, in whole characters that have at most so many bytes together.
constexpr std::string_view utf8_prefix(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  size_t bytes = bytes_max;
  while (bytes > 0 && is_utf8_continuation(text[bytes])) --bytes;
  return text.substr(0, bytes);
}

}  // namespace diptych::base
