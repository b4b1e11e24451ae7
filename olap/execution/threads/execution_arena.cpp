// This file is compiled without ThreadSanitizer (olap/CMakeLists.txt): oneTBB's headers share data
// with its library, which is not instrumented. ParallelRun orders what matters to us.

#include "olap/execution/threads/execution_arena.h"

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>
#include <stdexcept>
#include <system_error>
#include <vector>

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>
#include <tbb/task_scheduler_observer.h>

#include "base/check.h"
#include "base/thread.h"
#include "olap/execution/threads/parallel_run.h"

namespace diptych::olap {

namespace {

// Pins oneTBB's own threads while they work for the arena.
class PinningObserver : public tbb::task_scheduler_observer {
 public:
  PinningObserver(tbb::task_arena& arena, std::vector<uint32_t> cores)
      : tbb::task_scheduler_observer(arena), cores_(std::move(cores)) {
    observe(true);
  }
  ~PinningObserver() override { observe(false); }

  void on_scheduler_entry(bool is_worker) override {
    if (!is_worker) return;
    base::pin_this_thread(cores_);
    base::name_this_thread("olap");
  }

 private:
  std::vector<uint32_t> cores_;
};

}  // namespace

struct ExecutionArena::Scheduler {
  Scheduler(uint32_t threads, const std::vector<uint32_t>& cores)
      : control(tbb::global_control::max_allowed_parallelism,
                std::max<size_t>(threads, tbb::this_task_arena::max_concurrency())),
        stacks(tbb::global_control::thread_stack_size, base::kThreadStackBytes),
        arena(static_cast<int>(threads), 1),
        observer(arena, cores) {
    begin_workers(threads);
  }

  // oneTBB starts its workers when there is work for the first time, and throws where the system
  // gives no thread: here, where somebody can be told, and not in the midst of a query.
  void begin_workers(uint32_t threads) {
    try {
      arena.execute([threads] {
        tbb::parallel_for(
            uint32_t{0}, threads, [](uint32_t) {}, tbb::simple_partitioner());
      });
    } catch (const std::runtime_error&) {
      throw std::system_error(EAGAIN, std::generic_category());
    }
  }

  // The last scheduler of the process joins oneTBB's threads: what they hold of the observer dies
  // before it does. While another scheduler lives, they stay.
  ~Scheduler() {
    observer.observe(false);
    arena.terminate();
    tbb::finalize(workers, std::nothrow);
  }

  tbb::task_scheduler_handle workers{tbb::attach{}};
  tbb::global_control control;  // oneTBB would have no more threads than cores
  tbb::global_control stacks;
  tbb::task_arena arena;
  PinningObserver observer;
};

ExecutionArena::ExecutionArena(const base::SidePlacement& placement)
    : threads_(std::max<uint32_t>(placement.threads, 1)) {
  if (threads_ > 1) scheduler_ = std::make_unique<Scheduler>(threads_, placement.cores);
}

ExecutionArena::~ExecutionArena() = default;

void ExecutionArena::run(uint32_t count, const std::function<void(uint32_t)>& body) {
  DIPTYCH_CHECK(body != nullptr, "there is something to run");
  ParallelRun run(body);
  if (scheduler_ == nullptr || count <= 1) {
    for (uint32_t i = 0; i < count; ++i) run.step(i);
  } else {
    scheduler_->arena.execute([&run, count] {
      tbb::parallel_for(
          tbb::blocked_range<uint32_t>(0, count, 1),
          [&run](const tbb::blocked_range<uint32_t>& range) {
            for (uint32_t i = range.begin(); i != range.end(); ++i) run.step(i);
          },
          tbb::simple_partitioner());
    });
  }
  run.finish(count);
}

}  // namespace diptych::olap
