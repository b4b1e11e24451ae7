// VectorTexts: where the texts lie that an expression makes for one vector.
//
// They take what the rows' values say, not what a vector of anything else takes: repeat() makes 200
// MB of a thousand rows. So they count in the query's budget, until the next vector's are made or
// the expression goes, though nobody keeps them; up to kBytesUncounted they do not, so that usual
// texts cost no atomic operation.
//
// Long texts also take long: whoever makes them looks at the stop signal once a vector, and once a
// MiB.
//
// Threads    one worker.
// Errors     QueryFailure: kOutOfMemory, where what is over the limit is one text, or a MiB; and
//            where the signal is set.

#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "base/string_ref.h"
#include "olap/execution/memory_budget.h"
#include "olap/execution/query_heap.h"
#include "olap/execution/stop_signal.h"
#include "olap/execution/vector.h"

namespace diptych::olap {

// What of its query an expression minds. Both outlive it.
struct QueryLimits {
  MemoryBudget* memory;
  const StopSignal* stop;
};

// Of the selected rows of a vector of texts.
inline size_t text_bytes(const Vector& texts, const Selection& rows) {
  size_t bytes = 0;
  for_selected(rows, [&](uint32_t i) {
    if (!texts.is_null(i)) bytes += texts.as<base::StringRef>()[i].size();
  });
  return bytes;
}

class VectorTexts {
 public:
  static constexpr size_t kBytesUncounted = size_t{64} << 10;

  explicit VectorTexts(const QueryLimits& limits)
      : charge_(limits.memory, "the texts that its expressions make"), stop_(*limits.stop) {}

  // Another vector: forgets the texts of the one before.
  void start() {
    heap_.clear();
    count();
  }

  char* allocate(size_t bytes) {
    char* const result = heap_.allocate(bytes);
    if (heap_.memory_bytes() != heap_bytes_) [[unlikely]]
      count();
    return result;
  }
  // The same text with its bytes, where they are not in the reference itself, here.
  base::StringRef keep(const base::StringRef& text) {
    if (text.is_short()) return text;
    char* const bytes = allocate(text.size());
    std::memcpy(bytes, text.data(), text.size());
    return base::StringRef(std::string_view(bytes, text.size()));
  }
  // The text that write(&text) makes of an empty one.
  template <class Write>
  base::StringRef make(const Write& write) {
    draft_.clear();
    write(&draft_);
    if (draft_.size() > draft_bytes_) [[unlikely]]
      count();
    return keep(base::StringRef(draft_));
  }

 private:
  void count() {
    stop_.check();
    heap_bytes_ = heap_.memory_bytes();
    draft_bytes_ = draft_.capacity();
    const size_t bytes = heap_bytes_ + draft_bytes_;
    charge_.set(bytes <= kBytesUncounted ? 0 : bytes);
  }

  QueryHeap heap_;
  std::string draft_;
  size_t heap_bytes_ = 0;   // when they were counted last
  size_t draft_bytes_ = 0;  // likewise
  MemoryCharge charge_;
  const StopSignal& stop_;
};

}  // namespace diptych::olap
