#include "dispatcher/command_log/log_watch.h"

#include <chrono>
#include <utility>

#include "base/amount_text.h"
#include "base/clock.h"
#include "dispatcher/late_answers.h"

namespace diptych::dispatcher {
namespace {

uint64_t waited(uint64_t since_ns, uint64_t now_ns) {
  return since_ns == 0 || now_ns < since_ns ? 0 : now_ns - since_ns;
}

}  // namespace

LogWatch::LogWatch(std::string directory, std::function<void()> while_it_hangs)
    : directory_(std::move(directory)), while_it_hangs_(std::move(while_it_hangs)) {
  thread_ = base::Thread([this] { run(); });
}

LogWatch::~LogWatch() {
  stop();
}

void LogWatch::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_asked_.notify_all();
  thread_.join();
}

void LogWatch::begins() {
  // relaxed: a time, and nothing is read behind it.
  since_ns_.store(base::steady_ns(), std::memory_order_relaxed);
}

void LogWatch::ends() {
  // relaxed: as in begins.
  since_ns_.store(0, std::memory_order_relaxed);
}

uint64_t LogWatch::waited_ns() const {
  // relaxed: as in begins.
  const uint64_t since_ns = since_ns_.load(std::memory_order_relaxed);
  return waited(since_ns, base::steady_ns());
}

void LogWatch::run() {
  base::mark_this_thread_as_of(this);
  base::name_this_thread("oltp-log-watch");
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    lock.unlock();
    const std::chrono::nanoseconds pause(look());
    lock.lock();
    stop_asked_.wait_for(lock, pause, [this] { return stopping_; });
  }
  lock.unlock();
  static_cast<void>(look());  // what was told to have begun is told to have ended
}

uint64_t LogWatch::look() {
  // relaxed: as in begins.
  const uint64_t since_ns = since_ns_.load(std::memory_order_relaxed);
  const uint64_t now_ns = base::steady_ns();
  if (told_since_ns_ != 0 && since_ns != told_since_ns_) {
    base::notify("transactions go on: the disk of {} had the log wait for {}", directory_,
                 base::duration_text(now_ns - told_since_ns_));
    told_since_ns_ = 0;
  }
  const uint64_t waited_ns = waited(since_ns, now_ns);
  if (waited_ns < kHangNs) return kHangNs - waited_ns;
  if (told_since_ns_ == 0 && notice_.is_due(now_ns)) {
    base::notify("transactions wait for the log: the disk of {} has not answered for {}",
                 directory_, base::duration_text(waited_ns));
    told_since_ns_ = since_ns;
  }
  while_it_hangs_();
  return kLateAnswerNs;
}

}  // namespace diptych::dispatcher
