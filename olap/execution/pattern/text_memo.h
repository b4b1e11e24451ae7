// TextMemo: which texts of a vector pass a test, asked once for those that come again. A column of
// few different texts is decoded to references to its dictionary, so equal references are found
// without a look at the bytes; short texts are in their reference.
//
// Cost       2 ns for a text that comes again, 3 for one that does not; where those are most, it is
//            left alone for some vectors.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/string_ref.h"

namespace diptych::olap {

class TextMemo {
 public:
  // Another vector, whose long texts may lie where others did.
  void start() {
    if (vectors_skipped_ != 0) {
      --vectors_skipped_;
      return;
    }
    if (missed_ > asked_ / 2) vectors_skipped_ = kVectorsSkipped;
    asked_ = missed_ = 0;
    entries_.fill(Entry());
  }

  // passes(text), or what it gave for the same reference.
  template <class Passes>
  bool ask(const base::StringRef& text, const Passes& passes) {
    if (vectors_skipped_ != 0) return passes(text);
    Entry key;
    static_assert(sizeof key.words == sizeof text);
    std::memcpy(key.words, &text, sizeof text);
    constexpr uint64_t kMix = 0x9e3779b97f4a7c15;
    Entry& entry = entries_[(key.words[0] ^ key.words[1] * kMix) * kMix >> 58];
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
  struct Entry {
    uint64_t words[2] = {UINT64_MAX, UINT64_MAX};  // no text's: its size is not 2^32 - 1
    bool passes = false;
  };

  std::array<Entry, 64> entries_;
  uint32_t asked_ = 0;  // in the vector before
  uint32_t missed_ = 0;
  uint32_t vectors_skipped_ = 0;
};

}  // namespace diptych::olap
