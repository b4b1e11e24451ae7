// UTF-8: where texts that come from outside (CSV cells, SQL, values of calls) are checked.

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

}  // namespace diptych::base
