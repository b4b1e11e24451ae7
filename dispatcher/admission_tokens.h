// AdmissionTokens: the hard limit on what is admitted and not completed, and the door that closes.
//
//   take -> [in use, at most `limit`] -> give_back            close(): no take succeeds any more
//
// Threads    any. take never blocks; take_or_wait sleeps until a token is given back or the door
//            closes.
//
// Invariants
//   T1  in_use() <= limit.
//   T2  Once closed, in_use() only falls: when it is 0, nobody will push another entry.

#pragma once

#include <atomic>
#include <cstdint>

#include "base/parker.h"
#include "base/result.h"

namespace diptych::dispatcher {

class AdmissionTokens {
 public:
  AdmissionTokens(uint32_t limit, base::SpinPolicy policy) : limit_(limit), returned_(policy) {}

  base::Result<void> take();          // kOverloaded, kClosed
  base::Result<void> take_or_wait();  // kClosed
  // Gives one back; who waits for it sleeps on until announce_returned().
  void give_back();
  void announce_returned() { returned_.wake_all(); }

  void close();
  // True once closed with nothing in use.
  bool drained() const;
  uint32_t in_use() const;

 private:
  static constexpr uint64_t kClosed = uint64_t{1} << 63;

  const uint32_t limit_;
  std::atomic<uint64_t> state_{0};  // kClosed | tokens in use; writers: all
  base::Parker returned_;
};

}  // namespace diptych::dispatcher
