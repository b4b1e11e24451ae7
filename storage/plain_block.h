// PlainBlock: a block of uncompressed rows (BlockForm::kPlain).
//
// Its columns are contiguous over all its rows, so a scan runs on without a break; rows keep their
// ordinals. What compressed blocks are measured against.

#pragma once

#include <memory>
#include <span>

#include "base/arena.h"
#include "storage/hot_page.h"
#include "storage/plain_leaf.h"

namespace diptych::storage {

class PlainBlock final : public PlainLeaf {
 public:
  // Copies the pages, which are full, in the order of their ordinals, and tile the block's range.
  // Strings are not copied: the slots move, their cells stay in the range's heap.
  PlainBlock(const LeafFormat& format, std::span<const HotPage* const> pages,
             const SharedRef<StringHeap>& heap, base::NumaNode node);
  // A copy, the strings included.
  PlainBlock(const PlainBlock& from, base::NumaNode node);

  size_t bytes() const { return memory_.size(); }

 private:
  PlainBlock(const LeafFormat& format, std::span<const HotPage* const> pages,
             const SharedRef<StringHeap>& heap, base::Region memory);
  PlainBlock(const PlainBlock& from, base::Region memory);

  base::Region memory_;
};

}  // namespace diptych::storage
