// ForEach: how somebody has parts of his work done, by threads that whoever calls him has.

#pragma once

#include <cstdint>
#include <functional>

namespace diptych::base {

// Runs body(i) for every i < count, side by side or not, and returns when all are done.
using ForEach = std::function<void(uint32_t count, const std::function<void(uint32_t)>& body)>;

inline void in_turn(uint32_t count, const std::function<void(uint32_t)>& body) {
  for (uint32_t i = 0; i < count; ++i) body(i);
}

}  // namespace diptych::base
