// The hash of a key in a hash index: XXH3.
//
// Every source with procedures includes this, and xxhash.h with its bodies takes all of
// <immintrin.h> where the compiler may use AVX2, which doubles what such a source includes. Only
// inputs of over 240 bytes are hashed by vectors, to the same hash by any: here by those of SSE2.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#pragma push_macro("__AVX2__")
#pragma push_macro("__AVX512F__")
#undef __AVX2__
#undef __AVX512F__
#define XXH_INLINE_ALL
#include <xxhash.h>
#pragma pop_macro("__AVX512F__")
#pragma pop_macro("__AVX2__")

namespace diptych::oltp {

inline uint64_t key_hash(std::string_view key) {
  return XXH3_64bits(key.data(), key.size());
}

// The same of a key whose size the compiler knows: of a short one, the part of the function that is
// for such keys, since the whole is too long to be inlined.
template <size_t kBytes>
uint64_t key_hash(const char* key) {
  if constexpr (kBytes > 16) {
    return XXH3_64bits(key, kBytes);
  } else {
    return XXH3_len_0to16_64b(reinterpret_cast<const uint8_t*>(key), kBytes, XXH3_kSecret, 0);
  }
}

}  // namespace diptych::oltp
