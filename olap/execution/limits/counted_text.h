// CountedText: a std::string that counts in its query's budget, each growth before it takes the
// memory; TextMemory: how many bytes of them there are.
//
// A text takes what a row's values say, not what a vector of anything else takes: repeat() makes a
// gigabyte of one row. Up to kBytesUncounted nothing is counted, so that usual texts cost no atomic
// operation. While one grows, the stop signal is looked at, too.
//
// Threads    one worker. A TextMemory outlives its texts.
// Errors     QueryFailure: kOutOfMemory, before the memory is taken; and where the signal is set.

#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>

#include "olap/execution/limits/memory_budget.h"
#include "olap/execution/limits/stop_signal.h"

namespace diptych::olap {

class TextMemory {
 public:
  static constexpr size_t kBytesUncounted = size_t{64} << 10;

  // `what` is a literal, as MemoryCharge's.
  TextMemory(const QueryLimits& limits, const char* what)
      : charge_(limits.memory, what), stop_(*limits.stop) {}

  const StopSignal& stop() const { return stop_; }
  // Called before they are taken.
  void take(size_t bytes) {
    stop_.check();
    set(bytes_ + bytes);
  }
  void give_back(size_t bytes) { set(bytes_ - bytes); }

 private:
  void set(size_t bytes) {
    charge_.set(bytes <= kBytesUncounted ? 0 : bytes);
    bytes_ = bytes;
  }

  size_t bytes_ = 0;
  MemoryCharge charge_;
  const StopSignal& stop_;
};

template <class T>
class TextAllocator {
 public:
  using value_type = T;

  explicit TextAllocator(TextMemory* memory) : memory_(memory) {}

  T* allocate(size_t count) {
    memory_->take(count * sizeof(T));
    return std::allocator<T>().allocate(count);
  }
  void deallocate(T* at, size_t count) {
    std::allocator<T>().deallocate(at, count);
    memory_->give_back(count * sizeof(T));
  }

  // For loops that fill a long text.
  const StopSignal& stop() const { return memory_->stop(); }

  bool operator==(const TextAllocator&) const = default;

 private:
  TextMemory* memory_;
};

// Calls use(first, bytes) for a text's pieces of a MiB, which take some milliseconds at most, and
// looks at the signal between them.
template <class Use>
void for_text_pieces(size_t text_bytes, const StopSignal& stop, const Use& use) {
  constexpr size_t kPieceBytes = size_t{1} << 20;
  for (size_t at = 0; at < text_bytes; at += kPieceBytes) {
    if (at != 0) stop.check();
    use(at, std::min(kPieceBytes, text_bytes - at));
  }
}

using CountedText = std::basic_string<char, std::char_traits<char>, TextAllocator<char>>;

}  // namespace diptych::olap
