// VectorTexts: holds the texts that an expression makes for one vector, or an aggregate for its
// groups or frames.
//
// Each text is charged to the query's budget before its memory is taken (counted_text.h). It stays
// charged until the texts of the next vector are made or the owner is destroyed.
//
// Long texts also take long to make, so the stop signal is checked once a vector and once a MiB.
//
// Threads    one worker.
// Errors     QueryFailure: kOutOfMemory, or the stop signal is set.

#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/string_ref.h"
#include "olap/execution/limits/counted_text.h"
#include "olap/execution/limits/query_heap.h"
#include "olap/execution/vector/letter_case.h"
#include "olap/execution/vector/vector.h"

namespace diptych::olap {

// The total size of the selected texts of a vector.
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

  // Starts a new vector and drops the texts of the previous one.
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
  // Copies the text's bytes into this object, unless the reference itself holds them.
  base::StringRef keep(const base::StringRef& text) {
    if (text.is_short()) return text;
    char* const bytes = allocate(text.size());
    for_text_pieces(text.size(), stop(), [&](size_t at, size_t count) {
      std::memcpy(bytes + at, text.data() + at, count);
    });
    return base::StringRef(std::string_view(bytes, text.size()));
  }
  // Calls write(&text) with an empty text and keeps the result.
  template <class Write>
  base::StringRef make(const Write& write) {
    draft_.clear();
    write(&draft_);
    return keep(base::StringRef(draft_));
  }
  // An empty text that is charged to the same memory; this object outlives it.
  CountedText empty_text() { return CountedText(TextAllocator<char>(&memory_)); }

 private:
  TextMemory memory_;
  QueryHeap heap_;
  CountedText draft_;
};

// Changes the case of a text with letters beyond ASCII.
base::StringRef characters_with_case(LetterCase to, const base::StringRef& text, VectorTexts* made);

// Changes the case of letters. A result may be longer than the text.
template <LetterCase kTo>
base::StringRef text_with_case(const base::StringRef& text, VectorTexts* made) {
  char inlined[base::StringRef::kInlineBytes];
  char* const bytes = text.is_short() ? inlined : made->allocate(text.size());
  bool ascii = true;
  for_text_pieces(text.size(), made->stop(), [&](size_t at, size_t count) {
    ascii &= copy_with_case<kTo>(text.data() + at, count, bytes + at);
  });
  if (!ascii) [[unlikely]]
    return characters_with_case(kTo, text, made);
  return base::StringRef(std::string_view(bytes, text.size()));
}

}  // namespace diptych::olap
