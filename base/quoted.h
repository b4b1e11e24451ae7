// quoted(): what stands somewhere, for a message: in double quotes, on one line, cut where it is
// long.
//
// A message says "cannot <what was tried>". In it all that somebody else wrote is quoted(): names,
// values, pieces of a file or of SQL. A path is not: it stands bare and whole, to be copied.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/utf8.h"

namespace diptych::base {

inline constexpr size_t kQuotedBytesMax = 40;

// Of UTF-8; it ends with a whole character, and control characters are \x and two digits.
inline std::string quoted(std::string_view text) {
  const std::string_view beginning = utf8_prefix(text, kQuotedBytesMax);
  std::string shown = "\"";
  for (const char c : beginning) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x20 || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown.push_back(c);
    }
  }
  return shown + (beginning.size() < text.size() ? "...\"" : "\"");
}

}  // namespace diptych::base
