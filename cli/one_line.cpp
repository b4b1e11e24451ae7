#include "cli/one_line.h"

#include <cstddef>

#include <fmt/format.h>

namespace diptych::cli {

std::string on_one_line(std::string_view text) {
  std::string line;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    switch (c) {
      case '\n': line += "\\n"; break;
      case '\r': line += "\\r"; break;
      case '\t': line += "\\t"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          line += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
        } else if (c == '\xc2' && i + 1 < text.size() && text[i + 1] < '\xa0') {
          line += fmt::format("\\u{:04x}", static_cast<unsigned char>(text[++i]));
        } else {
          line.push_back(c);
        }
    }
  }
  return line;
}

}  // namespace diptych::cli
