// Threads: named, pinned and owned.
//
// A container may forbid pinning; the engine then runs unpinned and says so once on standard error.

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include <pthread.h>

namespace diptych::base {

// Of every thread of the engine, oneTBB's included; touched only as far as it is used. What
// statements and arguments may take is within half of it. The process's limit (ulimit -s) is not
// asked: a shell's may be far too small, and none at all (unlimited) means 2 MiB.
inline constexpr size_t kThreadStackBytes = size_t{16} << 20;

// As std::thread, with a stack of kThreadStackBytes.
class Thread {
 public:
  Thread() = default;
  explicit Thread(std::function<void()> body);  // std::system_error: the system gives no thread
  Thread(Thread&& other) noexcept;
  Thread& operator=(Thread&& other) noexcept;  // of one that has been joined, or was never begun
  ~Thread();                                   // likewise

  bool joinable() const { return joinable_; }
  void join();

 private:
  bool joinable_ = false;
  pthread_t thread_{};  // where it is joinable
};

// Restricts the calling thread to the cores. False if the system refuses; empty: no restriction.
bool pin_this_thread(std::span<const uint32_t> cores);

// Names the calling thread for debuggers and profilers, which see 15 bytes of it, and for
// named_threads_cpu_ns.
void name_this_thread(const std::string& name);

// Whose thread the calling one is, for as long as it lives. Its id would tell less: a thread that
// begins after its end may have the same.
void mark_this_thread_as_of(const void* owner);
bool is_this_thread_of(const void* owner);

// Lets other threads go first where cores are scarce; the calling one still gets a share.
void lower_priority_of_this_thread();

// Lets the calling thread run as soon as it can, whatever else does: one that works briefly, and
// that many wait for. Round robin in real time; threads that it starts have the usual priority.
// False where the system does not permit it (it does for root, with CAP_SYS_NICE or RLIMIT_RTPRIO).
bool raise_priority_of_this_thread();

// Begins *thread, unless it has begun before. False: the system gives no thread.
bool ensure_begun(Thread* thread, std::function<void()> body);

// CPU time that the calling thread has used, in nanoseconds.
uint64_t thread_cpu_ns();

// CPU time of all threads of this process, ended ones too, while they bore a name that begins so.
// It never falls. About a microsecond a thread: a figure for reports, not for the data path.
uint64_t named_threads_cpu_ns(std::string_view name_prefix);

}  // namespace diptych::base
