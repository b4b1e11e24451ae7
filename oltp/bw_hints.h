// BwHints: leaves of a BwTree that are worth a try before the way down from the root.
//
// Keys often begin with what they are grouped by (a district, an account), and each group has one
// place where its entries come (the newest order) or go. A hint remembers, for the first word of a
// key, the leaf that the last operation on such a key was in, with the leaf's bounds, so that one
// that will not do costs a line and no more. Four levels of a cold tree cost as many misses.
//
// With one worker only: a leaf's bounds never change while it is in the tree, and a block that is
// in no tree says so (BwNode::kGoneLevel).
//
// Threads    one worker's.
// Memory     kHints lines, from the first note on; none for keys that have one word or many.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "oltp/bw_entry.h"
#include "oltp/row_version.h"

namespace diptych::oltp {

template <class Leaf>
class BwHints {
 public:
  using Entry = std::remove_cvref_t<decltype(Leaf::low)>;
  static constexpr size_t kHintBits = 10;
  static constexpr size_t kHints = size_t{1} << kHintBits;

  // The leaf that has the place of the entry; null: not known.
  Leaf* find(const Entry& entry) const {
    if (hints_ == nullptr) return nullptr;
    const Hint& hint = hints_[place_of(entry)];
    if (hint.leaf == nullptr || entry < hint.low || !(entry < hint.high)) return nullptr;
    const Leaf& leaf = *hint.leaf;
    const bool is_it = leaf.level == 0 && leaf.low == hint.low && leaf.high == hint.high;
    return is_it ? hint.leaf : nullptr;
  }
  // The leaf that was noted for the first word of the entry, or null; it may be in no tree.
  const Leaf* near(const Entry& entry) const {
    return hints_ == nullptr ? nullptr : hints_[place_of(entry)].leaf;
  }
  void note(const Entry& entry, Leaf* leaf) {
    if constexpr (kUseful) {
      if (disabled_) return;
      if (hints_ == nullptr) hints_ = std::make_unique<Hint[]>(kHints);
      hints_[place_of(entry)] = {leaf->low, leaf->high, leaf};
    }
  }
  // For good: a tree that several workers ever shared has none.
  void disable() {
    hints_.reset();
    disabled_ = true;
  }

 private:
  struct alignas(kLineBytes) Hint {
    Entry low;
    Entry high;
    Leaf* leaf = nullptr;
  };
  // One word would be the whole key.
  static constexpr bool kUseful =
      std::tuple_size_v<decltype(Entry::words)> >= 2 && sizeof(Hint) <= 2 * kLineBytes;

  static size_t place_of(const Entry& entry) {
    constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
    return entry.words[0] * kGolden >> (64 - kHintBits);
  }

  std::unique_ptr<Hint[]> hints_;
  bool disabled_ = false;
};

}  // namespace diptych::oltp
