// short_copy: memcpy for the few bytes that most texts have.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace diptych::base {

// As memcpy; without a call where there are few bytes.
inline void short_copy(void* to, const void* from, size_t bytes) {
  constexpr size_t kShortMax = 128;
  if (bytes > kShortMax) {
    std::memcpy(to, from, bytes);
    return;
  }
  auto* target = static_cast<std::byte*>(to);
  const auto* source = static_cast<const std::byte*>(from);
  // The first and the last bytes, which may overlap.
  const auto ends = [&](auto word) {
    decltype(word) last;
    std::memcpy(&word, source, sizeof word);
    std::memcpy(&last, source + bytes - sizeof word, sizeof word);
    std::memcpy(target, &word, sizeof word);
    std::memcpy(target + bytes - sizeof word, &last, sizeof word);
  };
  struct Wide {
    uint64_t words[2];
  };
  for (; bytes > 2 * sizeof(Wide); bytes -= sizeof(Wide)) {
    std::memcpy(target, source, sizeof(Wide));
    target += sizeof(Wide);
    source += sizeof(Wide);
  }
  if (bytes >= sizeof(Wide)) return ends(Wide());
  if (bytes >= 8) return ends(uint64_t{});
  if (bytes >= 4) return ends(uint32_t{});
  for (size_t i = 0; i < bytes; ++i) target[i] = source[i];
}

}  // namespace diptych::base
