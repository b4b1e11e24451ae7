// HotPage: an uncompressed leaf of kHotPageBytes that takes new rows (Colibri's hot side).
//
// It holds the largest power of two of rows, at least 64, that fits kHotPageBytes, so that pages
// tile a block's range of ordinals. A table whose rows take over 1 KiB has pages of 64 rows that
// are larger. PagePool carves pages from regions of growing size, and takes them back when a
// compaction has copied their rows; release() gives the memory of those to the system.

#pragma once

#include <cstddef>
#include <vector>

#include "base/arena.h"
#include "base/ids.h"
#include "storage/plain_leaf.h"

namespace diptych::storage {

class HotPage final : public PlainLeaf {
 public:
  // `memory`: zeroed, of PagePool::page_bytes(); it stays the pool's.
  HotPage(const LeafFormat& format, uint32_t first_ordinal, std::byte* memory, StringHeap* heap)
      : PlainLeaf(format, first_ordinal, format.page_rows, memory, heap) {}

  std::byte* memory() const { return data(); }
};

class PagePool {
 public:
  PagePool(const LeafFormat& format, base::NumaNode node);

  size_t page_bytes() const { return page_bytes_; }
  std::byte* take();  // zeroed
  void give_back(std::byte* page) { free_.push_back(page); }
  void release();  // the free pages' memory; they can be taken as before
  size_t memory_bytes() const { return region_bytes_ - released_ * page_bytes_; }

 private:
  base::NumaNode node_;
  size_t page_bytes_;
  size_t next_region_bytes_;
  size_t region_bytes_ = 0;
  size_t region_used_ = 0;  // bytes of the last region
  std::vector<base::Region> regions_;
  std::vector<std::byte*> free_;
  size_t released_ = 0;  // the first so many of free_ have no memory
};

}  // namespace diptych::storage
