// CompletionList: hands finished calls back to the driver thread that made them.
//
// An intrusive stack: a finished call's own memory is its node, so nothing is allocated and nothing
// can be full. The driver says how many completions it waits for; the one that makes the number
// wakes it, the others cost no system call. On a shared core this lets the engine finish a
// good part of a batch before the driver runs.
//
// Threads    push: any. wait and take_all: the driver.
//
// Its atomic is a parameter so that the stress test can show that it finds weakened orders.
//
// Invariants
//   C1  A node is in the list at most once: it is pushed once per call, and its call is made again
//       only after take_all.
//   C2  count_ is the nodes pushed less those taken; it may lag behind head_, for a moment.
//   C3  The last thing that push touches is pushing_, and the destructor waits for it to be 0: a
//       driver may end as soon as it has taken its last completion.

#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "base/parker.h"

namespace diptych::workloads {

struct Completion {
  Completion* next = nullptr;
};

template <template <class> class Atomic = std::atomic>
class BasicCompletionList {
 public:
  BasicCompletionList() = default;
  ~BasicCompletionList();

  void push(Completion* done);

  // Sleeps until `count` completions are there, or `timeout_ns` has passed (0: no limit).
  void wait(int64_t count, uint64_t timeout_ns);

  // All that are there, oldest first; nullptr: none.
  Completion* take_all();

 private:
  Atomic<Completion*> head_{nullptr};  // writer: pushers, the driver
  Atomic<int64_t> count_{0};           // writer: pushers, the driver
  Atomic<int64_t> wanted_{0};          // writer: the driver
  Atomic<int64_t> pushing_{0};         // writer: pushers
  base::Parker parker_;
};

using CompletionList = BasicCompletionList<>;

template <template <class> class Atomic>
BasicCompletionList<Atomic>::~BasicCompletionList() {
  // acquire: pairs with the release at the end of push (C3). It is a matter of nanoseconds.
  while (pushing_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

template <template <class> class Atomic>
void BasicCompletionList<Atomic>::push(Completion* done) {
  // relaxed: the exchange below publishes it to whoever takes the node.
  pushing_.fetch_add(1, std::memory_order_relaxed);
  // relaxed: the exchange below checks it.
  Completion* head = head_.load(std::memory_order_relaxed);
  do {
    done->next = head;
    // release: pairs with the acquire in take_all, which reads the node. relaxed: only retried.
  } while (!head_.compare_exchange_weak(head, done, std::memory_order_release,
                                        std::memory_order_relaxed));
  // seq_cst, neither release nor acquire: with wait(), either we see its wanted_ or it our count_.
  const int64_t count = count_.fetch_add(1, std::memory_order_seq_cst) + 1;
  // seq_cst (beyond acquire): as above.
  if (count == wanted_.load(std::memory_order_seq_cst)) parker_.wake_all();
  // release: pairs with the acquire in the destructor (C3).
  pushing_.fetch_sub(1, std::memory_order_release);
}

template <template <class> class Atomic>
void BasicCompletionList<Atomic>::wait(int64_t count, uint64_t timeout_ns) {
  // seq_cst (beyond release): see push().
  wanted_.store(count, std::memory_order_seq_cst);
  while (true) {
    const uint32_t ticket = parker_.ticket();
    // seq_cst (beyond acquire): see push().
    if (count_.load(std::memory_order_seq_cst) >= count) return;
    if (timeout_ns == 0) {
      parker_.wait(ticket);
    } else if (!parker_.wait_for(ticket, timeout_ns)) {
      return;
    }
  }
}

template <template <class> class Atomic>
Completion* BasicCompletionList<Atomic>::take_all() {
  // acquire: pairs with the release in push, whose writes to the nodes are read here.
  Completion* newest = head_.exchange(nullptr, std::memory_order_acquire);
  Completion* oldest = nullptr;
  int64_t taken = 0;
  while (newest != nullptr) {
    Completion* const next = newest->next;
    newest->next = oldest;
    oldest = newest;
    newest = next;
    ++taken;
  }
  // relaxed: only the driver lowers it, and wait() reads it afterwards on the same thread.
  count_.fetch_sub(taken, std::memory_order_relaxed);
  return oldest;
}

}  // namespace diptych::workloads
