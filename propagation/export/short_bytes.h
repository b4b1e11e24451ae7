// Few bytes, or some lines, copied and compared in moves that may overlap, and without a call.

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace diptych::propagation {

// kBytes <= bytes <= 2 * kBytes.
template <size_t kBytes>
void copy_ends(const std::byte* from, size_t bytes, std::byte* to) {
  std::memcpy(to, from, kBytes);
  std::memcpy(to + bytes - kBytes, from + bytes - kBytes, kBytes);
}

inline void copy_bytes(const std::byte* from, size_t bytes, std::byte* to) {
  constexpr size_t kMove = 32;
  if (bytes >= kMove) {
    const std::byte* const last = from + bytes - kMove;
    for (; from < last; from += kMove, to += kMove) std::memcpy(to, from, kMove);
    std::memcpy(to - (from - last), last, kMove);
  } else if (bytes >= 16) {
    copy_ends<16>(from, bytes, to);
  } else if (bytes >= 8) {
    copy_ends<8>(from, bytes, to);
  } else if (bytes >= 4) {
    copy_ends<4>(from, bytes, to);
  } else {
    for (size_t i = 0; i < bytes; ++i) to[i] = from[i];
  }
}

inline bool has_bytes(const std::byte* here, size_t bytes, const std::byte* there) {
  const auto differ_at = [&](size_t at) {
    uint64_t words[2];
    std::memcpy(&words[0], here + at, sizeof words[0]);
    std::memcpy(&words[1], there + at, sizeof words[1]);
    return words[0] != words[1];
  };
  size_t at = 0;
  if (bytes < 8) {
    while (at < bytes && here[at] == there[at]) ++at;
    return at == bytes;
  }
  for (; at < bytes - 8; at += 8) {
    if (differ_at(at)) return false;
  }
  return !differ_at(bytes - 8);
}

}  // namespace diptych::propagation
