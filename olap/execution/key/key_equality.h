// Makes the equality of a packer's keys a type, so that loops over keys are specialised for it.

#pragma once

#include <cstdint>
#include <type_traits>

#include "olap/execution/key/key_packer.h"

namespace diptych::olap {

// Calls f with the width of keys, which is a compile-time constant for narrow keys.
template <class F>
void with_width(uint32_t words, F&& f) {
  switch (words) {
    case 1: return f(std::integral_constant<uint32_t, 1>());
    case 2: return f(std::integral_constant<uint32_t, 2>());
    case 3: return f(std::integral_constant<uint32_t, 3>());
    case 4: return f(std::integral_constant<uint32_t, 4>());
    case 5: return f(std::integral_constant<uint32_t, 5>());
    default: return f(words);
  }
}

// Calls f with the equality of the packer's keys, specialised by width. Even if words do not
// decide, equal keys mostly have equal words, so these are compared first.
template <class F>
void with_equality(const KeyPacker& packer, F&& f) {
  with_width(packer.words(), [&](auto words) {
    const auto same_words = [words](const uint64_t* a, const uint64_t* b) {
      uint64_t difference = 0;
      for (uint32_t w = 0; w < words; ++w) difference |= a[w] ^ b[w];
      return difference == 0;
    };
    if (packer.words_decide()) {
      f(same_words);
    } else {
      f([&packer, same_words](const uint64_t* a, const uint64_t* b) {
        return same_words(a, b) || packer.equal_keys(a, b);
      });
    }
  });
}

}  // namespace diptych::olap
