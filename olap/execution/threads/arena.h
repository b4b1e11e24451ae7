// ExecutionArena: the threads that run queries and apply updates, on the OLAP replica's cores.
//
// With one thread everything runs in the calling thread, without a scheduler. With more, a oneTBB
// task_arena of that many slots: the calling thread takes one, oneTBB's workers the others, each
// pinned to the replica's cores when it enters (the caller's own pinning is its owner's business).
// Threads may exceed cores; work is handed out in steps that wait for nobody, so a thread that
// never gets to run delays nothing.
//
// Threads    run(): any number of callers, who share the threads. Not from within a step.

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

  // body(i) once for every i of [0, count); returns when all are done. Every step runs, also after
  // one threw; then the first exception is thrown on.
  void run(uint32_t count, const std::function<void(uint32_t)>& body);

 private:
  struct Scheduler;  // arena.cpp

  uint32_t threads_;
  std::unique_ptr<Scheduler> scheduler_;  // nullptr with one thread
};

}  // namespace diptych::olap
