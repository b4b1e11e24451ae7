// SplitMix64's mixing (Steele, Lea and Flood, OOPSLA'14): a bijection whose results look random.

#pragma once

#include <cstdint>

namespace diptych::base {

// A generator is split_mix(state += kSplitMixStep), from any seed.
inline constexpr uint64_t kSplitMixStep = 0x9e3779b97f4a7c15;

constexpr uint64_t split_mix(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
  return bits ^ (bits >> 31);
}

}  // namespace diptych::base
