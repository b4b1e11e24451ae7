// An operation that is interrupted at one of its atomic steps, where others' whole operations take
// place: with each of its steps in turn, all that can happen between two of them, in one thread.
//
//   interruption = {steps before it, what takes place then};
//   ... the operation, on a structure of Interrupted atomics ...
//   const bool was_interrupted = end_interruption();   // false: it has fewer steps

#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "tests/oltp/stepped_atomic.h"

namespace diptych::oltp {

struct Interruption {
  uint64_t steps_before = ~uint64_t{0};
  std::function<void()> take_place;
};
inline Interruption interruption;

inline void interrupt_step() {
  if (interruption.steps_before-- != 0) return;
  const Interruption now = std::exchange(interruption, {});
  now.take_place();
}

inline bool end_interruption() {
  return !std::exchange(interruption, {}).take_place;
}

template <class Value>
using Interrupted = SteppedAtomic<Value, interrupt_step>;

}  // namespace diptych::oltp
