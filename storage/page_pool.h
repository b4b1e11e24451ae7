// PagePool: memory in pieces of one size, that go and come with the data: hot pages, and what
// strings of hot pages lie in.
//
// Pages are carved from regions of growing size, and taken back when a compaction has copied what
// they hold; the one given back last is taken first. New memory is dear (the system clears it,
// and on a virtual machine the host may have to find it first), so it goes back to the system only
// by release() and its like.
//
// Threads    one owner.

#pragma once

#include <cstddef>
#include <vector>

#include "base/arena.h"
#include "base/ids.h"

namespace diptych::storage {

class PagePool {
 public:
  static constexpr size_t kSurplusBytesMin = size_t{2} << 20;

  // `page_bytes`: a multiple of 64.
  PagePool(size_t page_bytes, base::NumaNode node);

  size_t page_bytes() const { return page_bytes_; }
  std::byte* take();         // its bytes are anything
  std::byte* take_zeroed();  // its bytes are zero
  void give_back(std::byte* page) noexcept { free_.push_back(page); }
  void release() { release_but(0); }  // the free pages' memory; they can be taken as before
  // The same, but for as much as a quarter of what is in use, or kSurplusBytesMin: whoever comes
  // next wants that.
  void release_surplus() { release_but(kept_pages()); }
  // Of that, what was free ever since the call before. False: there is more.
  bool release_unused();
  // Of the pages that were ever taken and not released since.
  size_t memory_bytes() const { return carved_bytes_ - released_ * page_bytes_; }

 private:
  std::byte* take_used();  // nullptr: none is free
  std::byte* carve();
  size_t kept_pages() const;  // of the free ones
  void release_but(size_t kept_pages);

  base::NumaNode node_;
  size_t page_bytes_;
  size_t next_region_bytes_;
  size_t carved_bytes_ = 0;
  size_t region_used_ = 0;  // bytes of the last region
  std::vector<base::Region> regions_;
  std::vector<std::byte*> free_;
  size_t released_ = 0;    // the first so many of free_ have no memory
  size_t least_free_ = 0;  // since the last release_unused(): of free_, these stayed
};

}  // namespace diptych::storage
