// BwHints: leaves of a BwTree to try before descending from the root.
//
// Keys often start with a group (district, account), and a group has one place where entries arrive
// and one where they leave. For each first word, hints keep the last two leaves used and their
// bounds, so a miss costs only the hint's cache lines; descending a cold tree costs a miss a level.
//
// A leaf's bounds never change. Its birth shows whether the block still holds that leaf; a frozen
// leaf may have been replaced, any other is in the tree.
//
// Threads    hints belong to one worker, the leaves to all.
// Memory     2 * kPlaces hints of a cache line or two, from the first note on; none while the tree
//            is one leaf, and none for keys of one word or of many (kUseful).

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

#include "base/alignment.h"
#include "base/hash.h"
#include "oltp/bw_entry.h"

namespace diptych::oltp {

// kFrozen: of the leaf's status.
template <class Leaf, uint64_t kFrozen>
class BwHints {
 public:
  using Entry = std::remove_cvref_t<decltype(Leaf::low)>;
  static constexpr uint32_t kPlaceBits = 10;
  static constexpr size_t kPlaces = size_t{1} << kPlaceBits;

  struct alignas(base::kLineBytes) Hint {
    Entry low;
    Entry high;
    Leaf* leaf = nullptr;
    uint64_t birth = BwNode::kNoBirth;  // also where the leaf was replaced before it was noted

    bool covers(const Entry& entry) const { return !(entry < low) && entry < high; }
    // null: the leaf has left the tree, or may have.
    Leaf* leaf_in_tree() const {
      if (birth == BwNode::kNoBirth || leaf->birth() != birth) return nullptr;
      // acquire: whoever froze and replaced the leaf did so before its other changes that this
      // worker has seen.
      return (leaf->status.load(std::memory_order_acquire) & kFrozen) == 0 ? leaf : nullptr;
    }
  };

  // The hint of the leaf that has, or had, the place of the entry; null: none is known.
  const Hint* find(const Entry& entry) const {
    if (places_ == nullptr) return nullptr;
    for (const Hint& hint : places_[place_of(entry)]) {
      if (hint.leaf != nullptr && hint.covers(entry)) return &hint;
    }
    return nullptr;
  }
  // The hint noted last for the first word of the entry; null: there is none.
  const Hint* newest(const Entry& entry) const {
    if (places_ == nullptr) return nullptr;
    const Hint& hint = places_[place_of(entry)][0];
    return hint.leaf == nullptr ? nullptr : &hint;
  }
  void note(const Entry& entry, Leaf* leaf) {
    if constexpr (kUseful) {
      if (places_ == nullptr) {
        if (is_whole_tree(*leaf)) return;  // there is no descent to save
        places_ = std::make_unique<Place[]>(kPlaces);
      }
      Place& place = places_[place_of(entry)];
      if (!place[0].covers(entry)) place[1] = place[0];  // otherwise it was this leaf
      place[0] = {leaf->low, leaf->high, leaf, leaf->birth()};
    }
  }

  size_t allocated_bytes() const { return places_ == nullptr ? 0 : kPlaces * sizeof(Place); }

 private:
  using Place = std::array<Hint, 2>;  // the newer one first
  // One word would be the whole key.
  static constexpr bool kUseful =
      std::tuple_size_v<decltype(Entry::words)> >= 2 && sizeof(Hint) <= 2 * base::kLineBytes;

  static bool is_whole_tree(const Leaf& leaf) {
    return !(Entry{} < leaf.low) && !(leaf.high < Entry::infinity());
  }
  static size_t place_of(const Entry& entry) { return base::spread(entry.words[0], kPlaceBits); }

  std::unique_ptr<Place[]> places_;
};

template <class Hints, size_t kCount>
size_t bytes_of(const std::array<Hints, kCount>& hints) {
  size_t bytes = 0;
  for (const Hints& one : hints) bytes += one.allocated_bytes();
  return bytes;
}

}  // namespace diptych::oltp
