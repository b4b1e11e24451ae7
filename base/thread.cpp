#include "base/thread.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/notice.h"

namespace diptych::base {
namespace {

thread_local const void* owner_of_this_thread = nullptr;

uint64_t clock_ns(clockid_t clock) {
  timespec used{};
  clock_gettime(clock, &used);
  return static_cast<uint64_t>(used.tv_sec) * kNsPerSecond + static_cast<uint64_t>(used.tv_nsec);
}

// What named_threads_cpu_ns sums up. Who has a name enters itself, and leaves its time behind.
class NamedThreads {
 public:
  class Entry {
   public:
    Entry() = default;
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry() {
      if (ended_ns_ != nullptr) NamedThreads::all().leave(this);
    }
    void rename(std::string name) { NamedThreads::all().rename(this, std::move(name)); }

   private:
    friend NamedThreads;
    uint64_t* ended_ns_ = nullptr;  // its name's; nullptr: it has none
    std::string name_;
    clockid_t clock_{};
    uint64_t begin_ns_ = 0;  // of the time under this name
  };

  // Never destroyed: threads may end after everything else.
  static NamedThreads& all() {
    static NamedThreads* const threads = new NamedThreads;
    return *threads;
  }

  uint64_t cpu_ns(std::string_view name_prefix) const {
    const std::lock_guard lock(mutex_);
    uint64_t sum_ns = 0;
    for (auto ended = ended_ns_.lower_bound(name_prefix);
         ended != ended_ns_.end() && ended->first.starts_with(name_prefix); ++ended) {
      sum_ns += ended->second;
    }
    for (const Entry* entry : live_) {
      if (entry->name_.starts_with(name_prefix)) sum_ns += ns_of(*entry);
    }
    return sum_ns;
  }

 private:
  // Memory that is refused is refused before anything has changed; leave() takes none.
  void rename(Entry* entry, std::string name) {
    const std::lock_guard lock(mutex_);
    uint64_t& ended_ns = ended_ns_[name];
    if (entry->ended_ns_ == nullptr) {
      live_.insert(entry);
      pthread_getcpuclockid(pthread_self(), &entry->clock_);
    } else {
      *entry->ended_ns_ += ns_of(*entry);
    }
    entry->ended_ns_ = &ended_ns;
    entry->name_ = std::move(name);
    entry->begin_ns_ = clock_ns(entry->clock_);
  }
  void leave(Entry* entry) {
    const std::lock_guard lock(mutex_);
    *entry->ended_ns_ += ns_of(*entry);
    live_.erase(entry);
  }
  static uint64_t ns_of(const Entry& entry) { return clock_ns(entry.clock_) - entry.begin_ns_; }

  mutable std::mutex mutex_;  // guards the two, and the entries
  std::unordered_set<const Entry*> live_;
  std::map<std::string, uint64_t, std::less<>> ended_ns_;  // by name
};

thread_local NamedThreads::Entry name_of_this_thread;

// What the body throws ends the process.
void* run_body(void* owned) {
  const std::unique_ptr<std::function<void()>> body(static_cast<std::function<void()>*>(owned));
  (*body)();
  return nullptr;
}

}  // namespace

Thread::Thread(std::function<void()> body) {
  auto owned = std::make_unique<std::function<void()>>(std::move(body));
  pthread_attr_t attributes;
  int refused = pthread_attr_init(&attributes);
  if (refused == 0) {
    refused = pthread_attr_setstacksize(&attributes, kThreadStackBytes);
    if (refused == 0) refused = pthread_create(&thread_, &attributes, run_body, owned.get());
    pthread_attr_destroy(&attributes);
  }
  if (refused != 0) throw std::system_error(refused, std::generic_category());
  static_cast<void>(owned.release());  // the thread's
  joinable_ = true;
}

Thread::Thread(Thread&& other) noexcept
    : joinable_(std::exchange(other.joinable_, false)), thread_(other.thread_) {}

Thread& Thread::operator=(Thread&& other) noexcept {
  DIPTYCH_CHECK(!joinable_, "a thread that runs is joined before another takes its place");
  joinable_ = std::exchange(other.joinable_, false);
  thread_ = other.thread_;
  return *this;
}

Thread::~Thread() {
  DIPTYCH_CHECK(!joinable_, "a thread is joined before its owner goes");
}

void Thread::join() {
  DIPTYCH_CHECK(joinable_, "a thread is joined once");
  pthread_join(thread_, nullptr);
  joinable_ = false;
}

bool pin_this_thread(std::span<const uint32_t> cores) {
  if (cores.empty()) return true;
  const size_t count = *std::max_element(cores.begin(), cores.end()) + size_t{1};
  struct Free {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  const std::unique_ptr<cpu_set_t, Free> set(CPU_ALLOC(count));
  const size_t bytes = CPU_ALLOC_SIZE(count);
  int refused = ENOMEM;
  if (set != nullptr) {
    CPU_ZERO_S(bytes, set.get());
    for (const uint32_t core : cores) CPU_SET_S(core, bytes, set.get());
    refused = pthread_setaffinity_np(pthread_self(), bytes, set.get());
  }
  if (refused == 0) return true;
  static NoticeOnce once;
  if (once.is_due()) {
    notify("threads run unpinned: the system refuses: {}", std::strerror(refused));
  }
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
  try {
    name_of_this_thread.rename(name);
  } catch (const std::bad_alloc&) {
    // Its time is in no report; it works nonetheless.
  }
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

bool ensure_begun(Thread* thread, std::function<void()> body) {
  if (thread->joinable()) return true;
  try {
    *thread = Thread(std::move(body));
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

uint64_t thread_cpu_ns() {
  return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t named_threads_cpu_ns(std::string_view name_prefix) {
  return NamedThreads::all().cpu_ns(name_prefix);
}

}  // namespace diptych::base
