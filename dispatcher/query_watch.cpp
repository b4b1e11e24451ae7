#include "dispatcher/query_watch.h"

#include <chrono>
#include <memory>
#include <utility>

#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"

namespace diptych::dispatcher {

QueryWatchPtr QueryWatch::make() {
  return std::make_shared<QueryWatch>();  // shared_ptr: see QueryWatchPtr
}

QueryWatch::~QueryWatch() {
  stop();
}

void QueryWatch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    by_deadline_.clear();
    if (!thread_.joinable()) return;
  }
  changed_.notify_all();
  thread_.join();
  const std::lock_guard lock(mutex_);
  is_awaited_ = nullptr;  // handles ask on, when what it looks at has gone
}

bool QueryWatch::awaits_this_thread() {
  const std::lock_guard lock(mutex_);
  return is_awaited_ != nullptr && is_awaited_();
}

void QueryWatch::start() {
  const std::lock_guard lock(mutex_);
  thread_ = base::Thread([this] { run(); });
}

void QueryWatch::add(QueryAnswerPtr answer) {
  const uint64_t deadline_ns = answer->deadline_ns();
  DIPTYCH_CHECK(deadline_ns != 0, "only what has a deadline is watched");
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  const auto place = by_deadline_.emplace(deadline_ns, std::move(answer));
  if (place == by_deadline_.begin()) changed_.notify_all();
}

void QueryWatch::remove(const QueryAnswer& answer) {
  const std::lock_guard lock(mutex_);
  const auto [first, end] = by_deadline_.equal_range(answer.deadline_ns());
  for (auto place = first; place != end; ++place) {
    if (place->second.get() != &answer) continue;
    by_deadline_.erase(place);
    return;
  }
}

void QueryWatch::cancel(QueryAnswerPtr answer) {
  if (!answer->control().cancel()) return;
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  cancelled_.push_back(std::move(answer));
  changed_.notify_all();
}

void QueryWatch::finish(std::function<void()> answer) {
  const std::lock_guard lock(mutex_);
  DIPTYCH_CHECK(!stopping_, "W2: who answers queries has ended before");
  ended_.push_back(std::move(answer));
  if (ended_.size() == 1) changed_.notify_all();
}

bool QueryWatch::is_finishing() {
  const std::lock_guard lock(mutex_);
  return !ended_.empty();
}

void QueryWatch::run() {
  base::mark_this_thread_as_of(this);
  base::name_this_thread("olap-watch");
  std::unique_lock lock(mutex_);
  while (!stopping_ || !ended_.empty()) {
    Answers stopped = std::exchange(cancelled_, {});
    const uint64_t now_ns = base::steady_ns();
    while (!by_deadline_.empty() && by_deadline_.begin()->first <= now_ns) {
      stopped.push_back(std::move(by_deadline_.begin()->second));
      by_deadline_.erase(by_deadline_.begin());
      stopped.back()->control().expire();
    }
    if (!stopped.empty()) {
      lock.unlock();
      for (const auto& answer : stopped) answer->finish_early();
      stopped.clear();
      if (when_stopped_) when_stopped_();
      lock.lock();
    } else if (!ended_.empty()) {
      std::function<void()> answer = std::move(ended_.front());
      lock.unlock();
      answer();
      answer = nullptr;  // it may be the last to have the completion, which may have anything
      lock.lock();
      ended_.pop_front();
    } else if (by_deadline_.empty()) {
      changed_.wait(lock);
    } else {
      changed_.wait_for(lock, std::chrono::nanoseconds(by_deadline_.begin()->first - now_ns));
    }
  }
}

}  // namespace diptych::dispatcher
