#include "workloads/drivers/completion_list.h"

#include <thread>

namespace diptych::workloads {

CompletionList::~CompletionList() {
  // acquire: pairs with the release at the end of push (C3). It is a matter of nanoseconds.
  while (pushing_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

void CompletionList::push(Completion* done) {
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

void CompletionList::wait(int64_t count, uint64_t timeout_ns) {
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

Completion* CompletionList::take_all() {
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
