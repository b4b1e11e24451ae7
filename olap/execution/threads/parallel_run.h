// ParallelRun: one piece of parallel work, whose steps any threads carry out.
//
// The arena's scheduler (oneTBB) orders the caller's writes before the steps, and the steps' writes
// before its return. ParallelRun repeats this order with its own atomics, because oneTBB is not
// built for ThreadSanitizer, which would not see its ordering. It also passes the first exception
// of a step to the caller.
//
// Use        caller: ParallelRun run(body); scheduler calls run.step(i) once for every i of
//            [0, count) on any threads; caller, after all of them: run.finish(count).
// Threads    step() from any number at once.

#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>

namespace diptych::olap {

class ParallelRun {
 public:
  explicit ParallelRun(const std::function<void(uint32_t)>& body);

  void step(uint32_t index) noexcept;
  // Rethrows the exception of the first failed step.
  void finish(uint32_t count);

 private:
  const std::function<void(uint32_t)>* body_;
  std::atomic<bool> started_{false};  // writer: the caller
  std::atomic<uint32_t> done_{0};     // writers: the threads that run steps
  std::mutex failure_mutex_;
  std::exception_ptr failure_;  // guarded by failure_mutex_
};

}  // namespace diptych::olap
