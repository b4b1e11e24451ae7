#include "olap/execution/threads/parallel_run.h"

#include "base/check.h"

namespace diptych::olap {

ParallelRun::ParallelRun(const std::function<void(uint32_t)>& body) : body_(&body) {
  // release: pairs with the acquire in step(): the caller's writes come before every step.
  started_.store(true, std::memory_order_release);
}

void ParallelRun::step(uint32_t index) noexcept {
  // acquire: pairs with the release in the constructor.
  const bool started = started_.load(std::memory_order_acquire);
  DIPTYCH_CHECK(started, "a step runs after its run was made");
  try {
    (*body_)(index);
  } catch (...) {
    const std::lock_guard<std::mutex> guard(failure_mutex_);
    if (failure_ == nullptr) failure_ = std::current_exception();
  }
  // release: pairs with the acquire in finish(): the step's writes come before the caller goes on.
  done_.fetch_add(1, std::memory_order_release);
}

void ParallelRun::finish(uint32_t count) {
  // acquire: pairs with the release in step().
  const uint32_t done = done_.load(std::memory_order_acquire);
  DIPTYCH_CHECK(done == count, "the scheduler returns when every step has run");
  if (failure_ != nullptr) std::rethrow_exception(failure_);
}

}  // namespace diptych::olap
