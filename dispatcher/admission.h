// How calls and queries are admitted: what both have options for.

#pragma once

#include <cstddef>
#include <cstdint>

namespace diptych::dispatcher {

enum class Admission : uint8_t { kRefuse, kWait };  // when the queue is full

// While all are waiting, batches take them as 16 to 4 to 1; what one leaves goes to the next.
enum class Priority : uint8_t { kHigh, kNormal, kLow };
inline constexpr size_t kPriorities = 3;

}  // namespace diptych::dispatcher
