#include "base/thread.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

namespace diptych::base {
namespace {

thread_local const void* owner_of_this_thread = nullptr;

}  // namespace

bool pin_this_thread(std::span<const uint32_t> cores) {
  if (cores.empty()) return true;
  const size_t count = *std::max_element(cores.begin(), cores.end()) + size_t{1};
  struct Free {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  const std::unique_ptr<cpu_set_t, Free> set(CPU_ALLOC(count));
  const size_t bytes = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(bytes, set.get());
  for (const uint32_t core : cores) CPU_SET_S(core, bytes, set.get());
  const int refused = pthread_setaffinity_np(pthread_self(), bytes, set.get());
  if (refused == 0) return true;
  static std::once_flag said;
  std::call_once(said, [refused] {
    std::fprintf(stderr, "diptych: threads run unpinned: the system refuses: %s\n",
                 std::strerror(refused));
  });
  return false;
}

void mark_this_thread_as_of(const void* owner) {
  owner_of_this_thread = owner;
}

bool is_this_thread_of(const void* owner) {
  return owner_of_this_thread == owner;
}

void name_this_thread(const std::string& name) {
  constexpr size_t kNameBytesMax = 15;
  // Fails only for a name that is too long, and a name matters to nobody but a debugger.
  pthread_setname_np(pthread_self(), name.substr(0, kNameBytesMax).c_str());
}

void lower_priority_of_this_thread() {
  constexpr int kNicest = 19;
  // Of the thread alone, on Linux. It matters to nobody's result if the system refuses.
  static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNicest));
}

bool raise_priority_of_this_thread() {
  sched_param lowest{};
  lowest.sched_priority = sched_get_priority_min(SCHED_RR);
  // Of the thread alone, on Linux.
  return sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest) == 0;
}

bool ensure_begun(std::thread* thread, std::function<void()> body) {
  if (thread->joinable()) return true;
  try {
    *thread = std::thread(std::move(body));
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

uint64_t thread_cpu_ns() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(used.tv_nsec);
}

}  // namespace diptych::base
