// let_others_in(): a point amid an operation of a stress test at which other threads may come in.
//
// Threads  any. What it remembers is the thread's own: it orders nothing, so ThreadSanitizer still
//          sees every race.
// Cost     that of sched_yield, while the test has its cores for itself. Where another program
//          wants the core, a yield costs a whole time slice, and tens of thousands of them make a
//          minute of a second. Threads of a test yield again within microseconds; so after a yield
//          that took a slice, the thread leaves out the next kYieldsLeftOut. It is then the other
//          program that interrupts it, anywhere.

#pragma once

#include <chrono>
#include <cstdint>

#include <sched.h>

namespace diptych::oltp {

constexpr std::chrono::microseconds kYieldIsASlice{500};
constexpr uint32_t kYieldsLeftOut = 63;

inline void let_others_in() {
  thread_local uint32_t left_out = 0;
  if (left_out > 0) {
    --left_out;
    return;
  }
  const auto before = std::chrono::steady_clock::now();
  sched_yield();
  if (std::chrono::steady_clock::now() - before >= kYieldIsASlice) left_out = kYieldsLeftOut;
}

}  // namespace diptych::oltp
