// Two transactions on two workers, step by step.

#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {

// Lets two transactions take turns.
class Turns {
 public:
  void await(int turn) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return turn_ >= turn; });
  }
  void pass(int turn) {
    const std::lock_guard lock(mutex_);
    turn_ = turn;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int turn_ = 0;  // guarded by mutex_
};

inline void await_commit_after(const Bank& bank, const Transaction& txn) {
  while (bank.engine->last_vid() <= txn.read_vid()) std::this_thread::yield();
}

}  // namespace diptych::oltp::test
