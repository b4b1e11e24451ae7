// The equality of a packer's keys as a type, so that loops over keys are compiled for it.

#pragma once

#include <algorithm>
#include <cstdint>

#include "olap/execution/key_packer.h"

namespace diptych::olap {

// Runs f with the equality of the packer's keys, by their width where words decide.
template <class F>
void with_equality(const KeyPacker& packer, F&& f) {
  const uint32_t words = packer.words();
  if (!packer.words_decide()) {
    f([&packer](const uint64_t* a, const uint64_t* b) { return packer.equal_keys(a, b); });
  } else if (words == 1) {
    f([](const uint64_t* a, const uint64_t* b) { return a[0] == b[0]; });
  } else if (words == 2) {
    f([](const uint64_t* a, const uint64_t* b) { return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0; });
  } else {
    f([words](const uint64_t* a, const uint64_t* b) { return std::equal(a, a + words, b); });
  }
}

}  // namespace diptych::olap
