// VectorTexts: where the texts lie that an expression makes for one vector, or an aggregate for its
// groups or frames.
//
// They count in the query's budget (counted_text.h), each before it takes the memory, until the
// next vector's are made or their owner goes, though nobody keeps them.
//
// Long texts also take long: whoever makes them looks at the stop signal once a vector, and once a
// MiB.
//
// Threads    one worker.
// Errors     QueryFailure: kOutOfMemory, and where the signal is set.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/string_ref.h"
#include "olap/execution/limits/counted_text.h"
#include "olap/execution/limits/query_heap.h"
#include "olap/execution/vector/ascii_case.h"
#include "olap/execution/vector/vector.h"

namespace diptych::olap {

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
  explicit VectorTexts(const QueryLimits& limits,
                       const char* what = "the texts that its expressions make")
      : memory_(limits, what), draft_(empty_text()) {}

  // Another vector: forgets the texts of the one before.
  void start() {
    memory_.stop().check();
    const size_t before = heap_.memory_bytes();
    heap_.clear();
    if (heap_.memory_bytes() != before) memory_.give_back(before - heap_.memory_bytes());
  }

  const StopSignal& stop() const { return memory_.stop(); }
  size_t memory_bytes() const { return heap_.memory_bytes(); }

  char* allocate(size_t bytes) {
    if (const size_t more = heap_.growth_for(bytes); more != 0) [[unlikely]]
      memory_.take(more);
    return heap_.allocate(bytes);
  }
  // The same text with its bytes, where they are not in the reference itself, here.
  base::StringRef keep(const base::StringRef& text) {
    if (text.is_short()) return text;
    char* const bytes = allocate(text.size());
    for_text_pieces(text.size(), stop(), [&](size_t at, size_t count) {
      std::memcpy(bytes + at, text.data() + at, count);
    });
    return base::StringRef(std::string_view(bytes, text.size()));
  }
  // The text that write(&text) makes of an empty one.
  template <class Write>
  base::StringRef make(const Write& write) {
    draft_.clear();
    write(&draft_);
    return keep(base::StringRef(draft_));
  }
  // One that is counted with these, which outlive it.
  CountedText empty_text() { return CountedText(TextAllocator<char>(&memory_)); }

 private:
  TextMemory memory_;
  QueryHeap heap_;
  CountedText draft_;
};

// Letters of ASCII change; other bytes of UTF-8 stay.
template <LetterCase kTo>
base::StringRef text_with_case(const base::StringRef& text, VectorTexts* made) {
  char inlined[base::StringRef::kInlineBytes];
  char* const bytes = text.is_short() ? inlined : made->allocate(text.size());
  for_text_pieces(text.size(), made->stop(), [&](size_t at, size_t count) {
    copy_with_case<kTo>(text.data() + at, count, bytes + at);
  });
  return base::StringRef(std::string_view(bytes, text.size()));
}

}  // namespace diptych::olap
