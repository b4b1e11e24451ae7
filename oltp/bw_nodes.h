// BwNodes: the nodes of a BwTree: layout, search within a leaf, what a leaf holds.
//
//   leaf    | birth | level 0 | count | newest | status | dead bits | low | high | sorted | added |
//   inner   | birth | level   | count | ...                                            (bw_inner.h)
//
//   birth   distinguishes the node from earlier and later ones in its block (BwNode).
//   sorted  `count` entries in order; with several workers they never change, and erasing one sets
//           its dead bit (63 a word).
//   added   slots behind them, at most kAddedMax, in the order in which they were claimed.
//   status  | frozen: 63 | answers: 40-62 | claimed slots: 32-39 | visible slots: 0-31 |
//   low     no entry of the leaf is less than `low`, and all are less than `high`.
//   page    a node's id: the address of its mapping word, which holds the node's present address.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "base/alignment.h"
#include "base/check.h"
#include "base/int128.h"
#include "oltp/bw_entry.h"
#include "oltp/bw_inner.h"
#include "oltp/multi_word_cas.h"

namespace diptych::oltp {

// kNodeBytes: about the bytes of a leaf's entries; tests make it tiny, to force splits and merges.
template <size_t kWords, size_t kNodeBytes, template <class> class Atomic>
struct BwNodes {
  using Entry = BwEntry<kWords>;
  using Word = typename MultiWordCas<Atomic>::Word;

  static constexpr uint32_t kEntriesMax =
      static_cast<uint32_t>(std::max<size_t>(4, kNodeBytes / sizeof(Entry)));
  static constexpr uint32_t kAddedMax = std::clamp<uint32_t>(kEntriesMax / 8, 2, 16);
  static constexpr uint32_t kChildrenMax = static_cast<uint32_t>(
      std::max<size_t>(4, kNodeBytes / (sizeof(Entry) + sizeof(int64_t) + sizeof(Word*))));
  static constexpr uint32_t kDeadBits = 63;
  static constexpr uint32_t kDeadWords = (kEntriesMax + kDeadBits - 1) / kDeadBits;

  // In status and in words of dead bits: the leaf is being replaced, and no longer changes.
  static constexpr uint64_t kFrozen = uint64_t{1} << 63;
  static constexpr uint32_t kClaimedShift = 32;
  static constexpr uint64_t kOneClaimed = uint64_t{1} << kClaimedShift;
  static constexpr uint64_t kOneAnswer = uint64_t{1} << 40;
  static constexpr uint64_t kAnswers = kFrozen - kOneAnswer;
  static constexpr uint64_t kShown = kAnswers | (kOneClaimed - 1);  // what an insertion looks at

  using Node = BwNode;
  using Inner = BwInner<kWords, kChildrenMax, Word>;
  struct Leaf : Node {
    uint32_t newest = 0;                     // where the newest entry lies among the sorted
    Atomic<uint64_t> status{0};              // writers: all workers
    Atomic<uint64_t> dead[kDeadWords] = {};  // writers: all workers
    Entry low;
    Entry high;
    Entry entries[kEntriesMax];

    uint32_t slots_max() const { return std::min(kAddedMax, kEntriesMax - this->count); }
    // Whether the next leaf may have entries with the key. The last leaf has none behind it, though
    // its bound has the words of the greatest key.
    bool goes_on(const std::array<uint64_t, kWords>& key) const {
      return high.has_key(key) && high.row != Entry::infinity().row;
    }
  };
  static constexpr size_t kBytes =
      base::round_up(std::max(sizeof(Leaf), sizeof(Inner)), base::kLineBytes);
  static_assert(kEntriesMax <= 1u << 20 && kAddedMax <= 32, "slots have a bit each in status");

  static constexpr uint32_t visible(uint64_t status) { return static_cast<uint32_t>(status); }
  static constexpr uint32_t claimed(uint64_t status) { return (status >> kClaimedShift) & 0xff; }
  static constexpr uint64_t with_answer(uint64_t status) {
    return (status & ~kAnswers) | ((status + kOneAnswer) & kAnswers);
  }

  // The number of entries that are less. One pair of words tells nearly all entries of a leaf
  // apart: the first pair, or, for long keys, the first behind the words that all have in common.
  static uint32_t lower_bound(const Entry* entries, uint32_t count, const Entry& entry) {
    size_t word = 0;
    if constexpr (kWords > 2) {
      if (count == 0) return 0;
      const Entry& last = entries[count - 1];
      for (; word + 1 < kWords && entries->words[word] == last.words[word]; ++word) {
        if (entry.words[word] == last.words[word]) continue;
        return entry.words[word] < last.words[word] ? 0 : count;
      }
    }
    const base::uint128_t wanted = entry.wide(word);
    // The oldest entry of a queue.
    if (count != 0 && wanted <= entries->wide(word) && !(*entries < entry)) return 0;
    const uint32_t at =
        count_first(entries, count, [&](const Entry& other) { return other.wide(word) < wanted; });
    if constexpr (kWords == 1) return at;
    if (at == count || !(entries[at] < entry)) return at;
    return at +
           count_first(entries + at, count - at, [&](const Entry& other) { return other < entry; });
  }
  template <Bound kBound>
  static bool lies_beyond(const Leaf& leaf, const Entry& entry) {
    return kBound == Bound::kBefore ? leaf.high < entry : !(entry < leaf.high);
  }

  // Prefetch all that a search may look at, so that it waits for memory once, not at every step.
  static void prefetch_leaf(const Node* node) { prefetch<sizeof(Leaf)>(node); }
  static void prefetch_inner(const Node* node) {
    prefetch<sizeof(Inner) - sizeof(Inner::separators)>(node);
  }
  // The number of entries, from the first on, that are below. There is no branch on the comparison,
  // whose result is a coin toss; the number of rounds depends on the count alone.
  template <class IsBelow>
  static uint32_t count_first(const Entry* entries, uint32_t count, const IsBelow& is_below) {
    const Entry* from = entries;
    while (count > 1) {
      const uint32_t half = count / 2;
      const size_t bytes = half * sizeof(Entry);
      const size_t taken = is_below(from[half - 1]) ? ~size_t{0} : 0;
      from = reinterpret_cast<const Entry*>(reinterpret_cast<const char*>(from) + (bytes & taken));
      count -= half;
    }
    return static_cast<uint32_t>(from - entries) + (count == 1 && is_below(*from) ? 1 : 0);
  }

  template <size_t kFirstBytes>
  static void prefetch(const Node* node) {
    constexpr size_t kBytesMax = 64 * base::kLineBytes;
    for (size_t byte = 0; byte < std::min(kFirstBytes, kBytesMax); byte += base::kLineBytes) {
      __builtin_prefetch(reinterpret_cast<const char*>(node) + byte);
    }
  }

  // The first sorted entry from `at` on whose dead bit is clear; the leaf's count if there is none.
  // `dead`: the leaf's words, or a copy.
  template <class Words>
  static uint32_t live_from(const Leaf& leaf, const Words& dead, uint32_t at) {
    while (at < leaf.count) {
      const uint32_t bit = at % kDeadBits;
      const uint64_t live = ~(uint64_t{dead[at / kDeadBits]} & ~kFrozen) >> bit;
      const auto skipped = static_cast<uint32_t>(__builtin_ctzll(live));
      at += std::min(skipped, kDeadBits - bit);
      if (skipped < kDeadBits - bit) break;
    }
    return std::min(at, leaf.count);
  }

  // True if the leaf has live sorted entries and no others.
  static bool is_plain(const Leaf& leaf) {
    // seq_cst, and acquire below: as in LeafView, which this saves.
    uint64_t others = visible(leaf.status.load(std::memory_order_seq_cst));
    // acquire: likewise.
    for (const auto& dead : leaf.dead) others |= dead.load(std::memory_order_acquire) & ~kFrozen;
    return others == 0;
  }

  // A leaf's entries at one moment, in order: the live sorted ones, and the visible added ones.
  class LeafView {
   public:
    struct Place {
      uint32_t sorted;
      uint32_t added;
    };

    explicit LeafView(const Leaf& leaf) : leaf_(leaf) {
      // seq_cst: pairs with the publication of a slot; in one order with others'
      // (BwTree::insert_spanning).
      const uint64_t status = leaf.status.load(std::memory_order_seq_cst);
      for (uint32_t i = 0; i < kDeadWords; ++i) {
        // acquire: an entry that was erased and added again is not seen twice: whoever published
        // the added one had seen the bit. The status is loaded first.
        dead_[i] = leaf.dead[i].load(std::memory_order_acquire) & ~kFrozen;
        any_dead_ |= dead_[i];
      }
      for (uint32_t bits = visible(status); bits != 0; bits &= bits - 1) {
        add(static_cast<uint32_t>(__builtin_ctz(bits)));
      }
    }

    uint32_t size() const {
      uint32_t live = leaf_.count + added_;
      for (const uint64_t bits : dead_) live -= static_cast<uint32_t>(__builtin_popcountll(bits));
      return live;
    }
    Place begin() const { return {0, 0}; }
    Place end() const { return {leaf_.count, added_}; }
    Place lower_bound(const Entry& entry) const {
      Place place{BwNodes::lower_bound(leaf_.entries, leaf_.count, entry), 0};
      while (place.added < added_ && added(place.added) < entry) ++place.added;
      return place;
    }
    // The entry at the place, which moves behind it; null at the end.
    const Entry* next(Place* place) const {
      if (any_dead_ != 0) place->sorted = live_from(leaf_, dead_, place->sorted);
      const bool some_sorted = place->sorted < leaf_.count;
      if (place->added < added_ &&
          (!some_sorted || added(place->added) < leaf_.entries[place->sorted])) {
        return &added(place->added++);
      }
      return some_sorted ? &leaf_.entries[place->sorted++] : nullptr;
    }
    // The entry before the place, which moves to it; null at the beginning.
    const Entry* previous(Place* place) const {
      while (place->sorted > 0 && is_dead(place->sorted - 1)) --place->sorted;
      const bool some_sorted = place->sorted > 0;
      if (place->added > 0 &&
          (!some_sorted || leaf_.entries[place->sorted - 1] < added(place->added - 1))) {
        return &added(--place->added);
      }
      return some_sorted ? &leaf_.entries[--place->sorted] : nullptr;
    }
    // The visible entry whose slot was claimed last; null if there is none.
    const Entry* newest_added() const {
      if (added_ == 0) return nullptr;
      return &leaf_.entries[leaf_.count + *std::max_element(order_, order_ + added_)];
    }

   private:
    const Entry& added(uint32_t i) const { return leaf_.entries[leaf_.count + order_[i]]; }
    bool is_dead(uint32_t i) const {
      return any_dead_ != 0 && (dead_[i / kDeadBits] >> (i % kDeadBits) & 1) != 0;
    }
    void add(uint32_t slot) {
      const Entry* const slots = leaf_.entries + leaf_.count;
      uint32_t at = added_++;
      for (; at > 0 && slots[slot] < slots[order_[at - 1]]; --at) order_[at] = order_[at - 1];
      order_[at] = static_cast<uint8_t>(slot);
    }

    const Leaf& leaf_;
    uint32_t added_ = 0;
    uint64_t any_dead_ = 0;
    uint64_t dead_[kDeadWords];
    uint8_t order_[kAddedMax];  // of slots, by entry; added_ of them
  };
};

}  // namespace diptych::oltp
