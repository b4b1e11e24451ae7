// "1 row", "2 rows": a number with what it counts, for messages.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace diptych::base {

// For nouns whose plural ends in s.
inline std::string counted(uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace diptych::base
