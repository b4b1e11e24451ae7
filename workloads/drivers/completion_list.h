// CompletionList: hands finished calls back to the driver thread that made them.
//
// An intrusive stack: a finished call's own memory is its node, so nothing is allocated and nothing
// can be full. The driver says how many completions it waits for; the one that makes the number
// wakes it, the others cost no system call. On a shared core this lets the engine finish a
// good part of a batch before the driver runs.
//
// Threads    push: any. wait and take_all: the driver.
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

#include "base/parker.h"

namespace diptych::workloads {

struct Completion {
  Completion* next = nullptr;
};

class CompletionList {
 public:
  CompletionList() = default;
  ~CompletionList();

  void push(Completion* done);

  // Sleeps until `count` completions are there, or `timeout_ns` has passed (0: no limit).
  void wait(int64_t count, uint64_t timeout_ns);

  // All that are there, oldest first; nullptr: none.
  Completion* take_all();

 private:
  std::atomic<Completion*> head_{nullptr};  // writer: pushers, the driver
  std::atomic<int64_t> count_{0};           // writer: pushers, the driver
  std::atomic<int64_t> wanted_{0};          // writer: the driver
  std::atomic<int64_t> pushing_{0};         // writer: pushers
  base::Parker parker_;
};

}  // namespace diptych::workloads
