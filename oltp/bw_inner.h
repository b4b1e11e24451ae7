// BwInner: an inner node of a BwTree, and the search in it.
//
//   | birth | level | count | word, shift | heads ... | children ... | separators ... |
//
//   separators  every entry below children[i] is less than separators[i], and not less than
//               separators[i - 1]; the last one is the node's upper bound.
//   heads       64 bits of each separator but the last, taken behind their common prefix; signed,
//               because AVX2 compares signed. They nearly always tell the separators apart. A
//               search counts the lesser heads eight at a time, with independent loads, unlike the
//               steps of a binary search.
//
// Immutable once published; a change of the tree builds and seals a new one.

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/check.h"
#include "oltp/bw_entry.h"

namespace diptych::oltp {

template <size_t kWords, uint32_t kChildrenMax, class Word>
struct BwInner : BwNode {
  using Entry = BwEntry<kWords>;
  static constexpr uint32_t kHeadsAtOnce = 8;

  uint32_t word = 0;   // the heads begin in this word,
  uint32_t shift = 0;  // behind so many bits of it
  int64_t heads[(kChildrenMax + kHeadsAtOnce - 1) / kHeadsAtOnce * kHeadsAtOnce];
  Word* children[kChildrenMax];
  Entry separators[kChildrenMax];

  // The child to descend to, if the entry does not lie beyond the node.
  template <Bound kBound>
  uint32_t child_for(const Entry& entry) const {
    const uint32_t heads_count = count - 1;
    const Entry& first = separators[0];
    for (uint32_t i = 0; i < word; ++i) {
      if (entry.word(i) != first.word(i)) return entry.word(i) < first.word(i) ? 0 : heads_count;
    }
    const uint64_t different = entry.word(word) ^ first.word(word);
    if (shift != 0 && different >> (64 - shift) != 0) {
      return entry.word(word) < first.word(word) ? 0 : heads_count;
    }
    const int64_t head = head_of(entry);
    const uint32_t padded = (heads_count + kHeadsAtOnce - 1) / kHeadsAtOnce * kHeadsAtOnce;
    int64_t lesser = 0;
    for (uint32_t i = 0; i < padded; ++i) lesser += heads[i] < head ? 1 : 0;
    auto at = static_cast<uint32_t>(lesser);
    while (at < heads_count && heads[at] == head && is_behind<kBound>(entry, separators[at])) ++at;
    return at;
  }
  template <Bound kBound>
  bool lies_beyond(const Entry& entry) const {
    return is_behind<kBound>(entry, separators[count - 1]);
  }

  // Computes the heads, once level, count, separators and children are set.
  void seal() {
    const uint32_t heads_count = count - 1;
    word = 0;
    shift = 0;
    if (heads_count > 1) {
      const Entry& last = separators[heads_count - 1];
      for (; separators[0].word(word) == last.word(word); ++word) {
        DIPTYCH_CHECK(word < kWords, "separators ascend, the word behind the key's is the row");
      }
      shift = static_cast<uint32_t>(__builtin_clzll(separators[0].word(word) ^ last.word(word)));
    }
    for (uint32_t i = 0; i < heads_count; ++i) heads[i] = head_of(separators[i]);
    for (uint32_t i = heads_count; i % kHeadsAtOnce != 0; ++i) {
      heads[i] = std::numeric_limits<int64_t>::max();  // less than none
    }
  }

 private:
  int64_t head_of(const Entry& entry) const {
    uint64_t bits = entry.word(word) << shift;
    if (shift != 0 && word < kWords) bits |= entry.word(word + 1) >> (64 - shift);
    return static_cast<int64_t>(bits ^ uint64_t{1} << 63);
  }
  template <Bound kBound>
  static bool is_behind(const Entry& entry, const Entry& separator) {
    return kBound == Bound::kBefore ? separator < entry : !(entry < separator);
  }
};

}  // namespace diptych::oltp
