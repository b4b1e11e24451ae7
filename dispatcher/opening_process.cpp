#include "dispatcher/opening_process.h"

#include <atomic>

#include <pthread.h>
#include <unistd.h>

namespace diptych::dispatcher {
namespace {

// Forks on the way to this process, since they have been counted.
std::atomic<uint32_t> forks{0};  // writer: a child that has no other thread yet

uint32_t counted_forks() {
  // relaxed: as the writer's, before there are threads.
  const auto in_child = [] { forks.fetch_add(1, std::memory_order_relaxed); };
  static const int refused = ::pthread_atfork(nullptr, nullptr, in_child);
  static_cast<void>(refused);  // for lack of memory: then a child is not told
  // relaxed: nothing changes it while there are other threads.
  return forks.load(std::memory_order_relaxed);
}

}  // namespace

OpeningProcess::OpeningProcess() : id_(::getpid()), forks_(counted_forks()) {}

bool OpeningProcess::is_this_one() const {
  // relaxed: nothing changes it while there are other threads.
  return forks.load(std::memory_order_relaxed) == forks_;
}

}  // namespace diptych::dispatcher
