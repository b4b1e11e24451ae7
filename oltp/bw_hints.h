// BwHints: leaves of a BwTree that are worth a try before the way down from the root.
//
// Keys often begin with what they are grouped by (a district, an account), and each group has one
// place where its entries come (the newest order) and one where they go. Hints remember, for the
// first word of a key, the two leaves that operations on such keys were in last, with the leaves'
// bounds, so that ones that will not do cost their lines and no more. Four levels of a cold tree
// cost as many misses.
//
// With one worker only: a leaf's bounds never change while it is in the tree, and a block that is
// in no tree says so (BwNode::kGoneLevel).
//
// Threads    one worker's.
// Memory     2 kPlaces lines, from the first note on; none for keys that have one word or many.

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
  static constexpr size_t kPlaceBits = 10;
  static constexpr size_t kPlaces = size_t{1} << kPlaceBits;

  // The leaf that has the place of the entry; null: not known.
  Leaf* find(const Entry& entry) const {
    const Hint* const hint = hint_for(entry);
    if (hint == nullptr) return nullptr;
    const Leaf& leaf = *hint->leaf;
    const bool is_it = leaf.level == 0 && leaf.low == hint->low && leaf.high == hint->high;
    return is_it ? hint->leaf : nullptr;
  }
  // The leaf that had it, without a look at the leaf, which may be in no tree.
  Leaf* find_unseen(const Entry& entry) const {
    const Hint* const hint = hint_for(entry);
    return hint == nullptr ? nullptr : hint->leaf;
  }
  // The leaf that was noted last for the first word of the entry, or null; it may be in no tree.
  const Leaf* near(const Entry& entry) const {
    return places_ == nullptr ? nullptr : places_[place_of(entry)][0].leaf;
  }
  void note(const Entry& entry, Leaf* leaf) {
    if constexpr (kUseful) {
      if (disabled_) return;
      if (places_ == nullptr) places_ = std::make_unique<Place[]>(kPlaces);
      Place& place = places_[place_of(entry)];
      place[1] = place[0];
      place[0] = {leaf->low, leaf->high, leaf};
    }
  }
  // For good: a tree that several workers ever shared has none.
  void disable() {
    places_.reset();
    disabled_ = true;
  }

 private:
  struct alignas(kLineBytes) Hint {
    Entry low;
    Entry high;
    Leaf* leaf = nullptr;
  };
  using Place = std::array<Hint, 2>;  // the newer one first
  // One word would be the whole key.
  static constexpr bool kUseful =
      std::tuple_size_v<decltype(Entry::words)> >= 2 && sizeof(Hint) <= 2 * kLineBytes;

  static size_t place_of(const Entry& entry) {
    constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;
    return entry.words[0] * kGolden >> (64 - kPlaceBits);
  }

  const Hint* hint_for(const Entry& entry) const {
    if (places_ == nullptr) return nullptr;
    for (const Hint& hint : places_[place_of(entry)]) {
      if (hint.leaf != nullptr && !(entry < hint.low) && entry < hint.high) return &hint;
    }
    return nullptr;
  }

  std::unique_ptr<Place[]> places_;
  bool disabled_ = false;
};

}  // namespace diptych::oltp
