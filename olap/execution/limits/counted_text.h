// CountedText: a std::string whose growth is charged to the query's budget before the memory is
// taken. TextMemory: the number of bytes in such texts.
//
// The size of a text depends on a row's values: repeat() can make a gigabyte from one row. Up to
// kBytesUncounted bytes are not counted, so that usual texts cost no atomic operation. Each growth
// also checks the stop signal.
//
// Threads    one worker. A TextMemory outlives its texts.
// Errors     QueryFailure: kOutOfMemory before the memory is taken, or the stop signal is set.

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

  // `what` is a literal, as for MemoryCharge.
  TextMemory(const QueryLimits& limits, const char* what)
      : charge_(limits.memory, what), stop_(*limits.stop) {}

  const StopSignal& stop() const { return stop_; }
  // Counts the bytes. Called before the memory is taken.
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

// Calls use(first, bytes) for pieces of 1 MiB of a text, which take some milliseconds at most, and
// checks the signal between them.
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
