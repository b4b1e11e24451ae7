// Block: a leaf of kBlockRows rows, made from the full hot pages of its range of ordinals.
//
// Its columns are contiguous over all its rows, so a scan runs on without a break; rows keep their
// ordinals. Uncompressed for now: the encodings of a later issue replace single columns of it.

#pragma once

#include <memory>
#include <span>

#include "base/arena.h"
#include "storage/hot_page.h"
#include "storage/plain_leaf.h"

namespace diptych::storage {

class Block final : public PlainLeaf {
 public:
  // Copies the pages, which are full, in the order of their ordinals, and tile the block's range.
  // Strings are not copied: the slots move, their cells stay in the partition's heap.
  Block(const LeafFormat& format, std::span<const HotPage* const> pages, base::NumaNode node);

  size_t bytes() const { return memory_.size(); }

 private:
  Block(const LeafFormat& format, std::span<const HotPage* const> pages, base::Region memory);

  base::Region memory_;
};

}  // namespace diptych::storage
