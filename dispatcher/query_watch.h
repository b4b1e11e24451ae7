// QueryWatch: answers queries while their batch runs: those that were cancelled, those whose time
// is over, and those that have ended before others of the batch.
//
// A batch may run for seconds; who cancelled, gave a query 50 ms, or asked for little, is not to
// wait for its end. So a thread of its own tells the query's control to stop, which the executor
// sees within milliseconds, and answers in its place; and it answers what has ended, since a
// completion is to hold up neither the batch nor, under the batch's locks, itself.
//
// Threads    add, remove, cancel, finish: any, after start. The thread sleeps until the nearest
//            deadline, a cancel, or an end.
// Cost       nothing for queries without a deadline that end with their batch; a mutex and a map's
//            node for one with it.
//
// Invariants
//   W1  by_deadline_ has each answer that was added and not removed, once.
//   W2  What finish() was called for is done before stop() returns.

#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "base/thread.h"
#include "dispatcher/query_answer.h"

namespace diptych::dispatcher {

class QueryWatch {
 public:
  QueryWatch() = default;
  static QueryWatchPtr make();
  ~QueryWatch();
  QueryWatch(const QueryWatch&) = delete;
  QueryWatch& operator=(const QueryWatch&) = delete;

  // Begins the thread. std::system_error: the system gives none.
  void start();
  // Watches an answer that has a deadline, until it is removed.
  void add(QueryAnswerPtr answer);
  void remove(const QueryAnswer& answer);
  // Stops the query and has it answered soon. Again, or of one that was answered: no effect.
  void cancel(QueryAnswerPtr answer);
  // Calls this soon, on the watch's thread: it finishes an answer. Not after stop().
  void finish(std::function<void()> answer);
  // Some of these have not been called, or not returned, yet: who finishes another answer itself
  // would overtake them.
  bool is_finishing();

  // Called on the watch's thread when queries that were stopped have been answered: what they hold
  // may be taken back. Before anything else.
  void when_stopped(std::function<void()> tell) { when_stopped_ = std::move(tell); }

  // Tells whether the calling thread is one that answers wait for, until stop(). Before anything
  // else.
  void tell_awaited_threads(std::function<bool()> is_awaited) {
    is_awaited_ = std::move(is_awaited);
  }
  bool awaits_this_thread();

  // Ends the thread; nothing is watched from then on. Again: no effect.
  void stop();
  bool runs_this_thread() const { return base::is_this_thread_of(this); }

 private:
  using Answers = std::vector<QueryAnswerPtr>;

  void run();

  std::function<void()> when_stopped_;
  std::mutex mutex_;  // guards all below
  std::function<bool()> is_awaited_;
  std::condition_variable changed_;
  std::multimap<uint64_t, QueryAnswerPtr> by_deadline_;
  Answers cancelled_;
  std::deque<std::function<void()>> ended_;  // the first until it has returned
  bool stopping_ = false;
  base::Thread thread_;
};

}  // namespace diptych::dispatcher
