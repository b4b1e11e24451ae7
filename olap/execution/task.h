// Task: a step of a plan that can be suspended: a coroutine, which another coroutine awaits.
//
//   Task run_child(...);                      nothing runs before it is awaited or started
//   co_await run_child(...);                  rethrows the child's exception
//   Task plan = run(...); plan.start();       runs until it has ended or waits for a shared scan
//
// Arguments passed by reference outlive the coroutine. Destroying a task before its end destroys
// the steps for which it waits.
//
// Threads    one at a time.

#pragma once

#include <coroutine>
#include <exception>
#include <utility>

#include "base/check.h"

namespace diptych::olap {

class [[nodiscard]] Task {
 public:
  struct promise_type {
    // Resumes the coroutine that awaits this one, if any.
    struct End {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(
          std::coroutine_handle<promise_type> ended) const noexcept {
        const std::coroutine_handle<> next = ended.promise().awaiting;
        return next == nullptr ? std::noop_coroutine() : next;
      }
      void await_resume() const noexcept {}
    };

    Task get_return_object() {
      return Task(std::coroutine_handle<promise_type>::from_promise(*this));
    }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    End final_suspend() const noexcept { return {}; }
    void return_void() const {}
    void unhandled_exception() { failure = std::current_exception(); }

    std::coroutine_handle<> awaiting;
    std::exception_ptr failure;
  };

  Task(Task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (coroutine_ != nullptr) coroutine_.destroy();
  }

  void start() { coroutine_.resume(); }
  bool has_ended() const { return coroutine_.done(); }
  // Rethrows the task's exception, if any. The task has ended.
  void check() const {
    DIPTYCH_CHECK(has_ended(), "a task that is asked how it went has ended");
    if (coroutine_.promise().failure) std::rethrow_exception(coroutine_.promise().failure);
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
    coroutine_.promise().awaiting = awaiting;
    return coroutine_;
  }
  void await_resume() const { check(); }

 private:
  explicit Task(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

}  // namespace diptych::olap
