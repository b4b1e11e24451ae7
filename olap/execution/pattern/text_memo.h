// TextMemo: remembers which texts of a vector pass a test, so that a repeated text is tested once.
// A column of few distinct texts is decoded to references into its dictionary, so equal references
// are recognised without reading the bytes; a short text lies in its reference.
//
// Cost       2 ns for a repeated text, 3 ns for another. If most texts do not repeat, the memo is
//            not used for some vectors.

#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "base/hash.h"
#include "base/string_ref.h"

namespace diptych::olap {

class TextMemo {
 public:
  // Starts a new vector, whose long texts may lie at the addresses of earlier texts.
  void start() {
    if (vectors_skipped_ != 0) {
      --vectors_skipped_;
      return;
    }
    if (missed_ > asked_ / 2) vectors_skipped_ = kVectorsSkipped;
    asked_ = missed_ = 0;
    entries_.fill(Entry());
  }

  // Returns passes(text), or its earlier result for the same reference.
  template <class Passes>
  bool ask(const base::StringRef& text, const Passes& passes) {
    if (vectors_skipped_ != 0) return passes(text);
    Entry key;
    static_assert(sizeof key.words == sizeof text);
    std::memcpy(key.words, &text, sizeof text);
    Entry& entry =
        entries_[base::spread(key.words[0] ^ key.words[1] * base::kGolden64, kEntryBits)];
    ++asked_;
    if (entry.words[0] != key.words[0] || entry.words[1] != key.words[1]) {
      ++missed_;
      key.passes = passes(text);
      entry = key;
    }
    return entry.passes;
  }

 private:
  static constexpr uint32_t kVectorsSkipped = 15;
  static constexpr uint32_t kEntryBits = 6;
  struct Entry {
    uint64_t words[2] = {UINT64_MAX, UINT64_MAX};  // no text has the size 2^32 - 1
    bool passes = false;
  };

  std::array<Entry, 1U << kEntryBits> entries_;
  uint32_t asked_ = 0;  // in the current vector
  uint32_t missed_ = 0;
  uint32_t vectors_skipped_ = 0;
};

}  // namespace diptych::olap
