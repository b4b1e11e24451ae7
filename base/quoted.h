// quoted(): what stands somewhere, for a message: in double quotes, on one line, cut where it is
// long.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace diptych::base {

inline constexpr size_t kQuotedBytesMax = 40;

// Of UTF-8; it ends with a whole character, and control characters are \x and two digits.
inline std::string quoted(std::string_view text) {
  size_t end = text.size();
  if (end > kQuotedBytesMax) {
    end = kQuotedBytesMax;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  }
  std::string shown = "\"";
  for (const char c : text.substr(0, end)) {
    const auto byte = static_cast<uint8_t>(c);
    if (byte < 0x20 || byte == 0x7f) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown.push_back(c);
    }
  }
  return shown + (end < text.size() ? "...\"" : "\"");
}

}  // namespace diptych::base
