// ExecutionArena: the threads that run queries and apply updates, on the OLAP replica's cores.
//
// With one thread, everything runs in the calling thread, without a scheduler. With more, a oneTBB
// task_arena has that many slots: the calling thread takes one, and oneTBB's workers take the
// others. Each worker is pinned to the replica's cores when it enters; the owner of the calling
// thread decides about its pinning. There may be more threads than cores: work is divided into
// steps that wait for nobody, so a thread that does not get to run delays nothing.
//
// Threads    run(): any number of callers, which share the threads; not from within a step.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/topology.h"

namespace diptych::olap {

class ExecutionArena {
 public:
  explicit ExecutionArena(const base::SidePlacement& placement);
  ~ExecutionArena();

  uint32_t threads() const { return threads_; }

  // Calls body(i) once for every i of [0, count) and returns when all calls have ended. Every step
  // runs even if another has thrown; then the first exception is rethrown.
  void run(uint32_t count, const std::function<void(uint32_t)>& body);

 private:
  struct Scheduler;  // arena.cpp

  uint32_t threads_;
  std::unique_ptr<Scheduler> scheduler_;  // nullptr with one thread
};

}  // namespace diptych::olap
