// LogWatch: does what the log's thread cannot while it waits for a disk that hangs.
//
// A thread that is in a write or a sync answers nobody and says nothing. So another one looks
// whether it has been there for longer than kHangNs. While it is, the watch says so on standard
// error, at most once a minute, and calls `while_it_hangs` again and again, which answers calls
// whose time is over. It also says when a hang of which it has told has ended.
//
// Threads    begins, ends: the log's. waited_ns: any. `while_it_hangs` runs on the watch's own.
// Cost       a clock and two stores for a group; the thread wakes once a second.

#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "base/notice.h"
#include "base/thread.h"

namespace diptych::dispatcher {

class LogWatch {
 public:
  static constexpr uint64_t kHangNs = 1'000'000'000;

  LogWatch(std::string directory, std::function<void()> while_it_hangs);
  ~LogWatch();  // stops
  LogWatch(const LogWatch&) = delete;
  LogWatch& operator=(const LogWatch&) = delete;

  // The log's thread is at the disk from now on; again: it has been heard of meanwhile.
  void begins();
  void ends();
  // For how long it has been there; 0: it is not.
  uint64_t waited_ns() const;

  // Ends the thread. Again: no effect.
  void stop();
  bool runs_this_thread() const { return base::is_this_thread_of(this); }

 private:
  void run();
  uint64_t look();  // and how long it need not look again

  const std::string directory_;
  const std::function<void()> while_it_hangs_;
  std::atomic<uint64_t> since_ns_{0};  // 0: not at the disk; writer: the log's thread

  // The thread's.
  base::NoticePause notice_{60'000'000'000};
  uint64_t told_since_ns_ = 0;  // of the hang that was told, and has not ended; 0: none

  std::mutex mutex_;
  std::condition_variable stop_asked_;
  bool stopping_ = false;  // guarded by mutex_
  base::Thread thread_;
};

}  // namespace diptych::dispatcher
