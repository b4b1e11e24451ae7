#include "storage/page_pool.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace diptych::storage {

PagePool::PagePool(size_t page_bytes, base::NumaNode node)
    : node_(node), page_bytes_(page_bytes), next_region_bytes_(page_bytes) {
  DIPTYCH_CHECK(page_bytes != 0 && page_bytes % 64 == 0, "pages are whole cache lines");
}

std::byte* PagePool::take_used() {
  if (free_.empty()) return nullptr;
  std::byte* const page = free_.back();
  free_.pop_back();
  released_ = std::min(released_, free_.size());
  least_free_ = std::min(least_free_, free_.size());
  return page;
}

std::byte* PagePool::carve() {
  if (regions_.empty() || region_used_ + page_bytes_ > regions_.back().size()) {
    regions_.emplace_back(next_region_bytes_, node_);
    next_region_bytes_ =
        std::max(page_bytes_, std::min(next_region_bytes_ * 2, base::kHugePageBytes));
    region_used_ = 0;
  }
  // So that giving back takes no memory.
  const size_t pages = carved_bytes_ / page_bytes_ + 1;
  if (free_.capacity() < pages) free_.reserve(2 * pages);
  std::byte* const page = regions_.back().data() + region_used_;
  region_used_ += page_bytes_;
  carved_bytes_ += page_bytes_;
  return page;
}

std::byte* PagePool::take() {
  std::byte* const used = take_used();
  return used != nullptr ? used : carve();
}

std::byte* PagePool::take_zeroed() {
  std::byte* const used = take_used();
  if (used == nullptr) return carve();
  std::memset(used, 0, page_bytes_);
  return used;
}

size_t PagePool::kept_pages() const {
  const size_t used = carved_bytes_ / page_bytes_ - free_.size();
  return std::min(free_.size(), std::max(kSurplusBytesMin / page_bytes_, used / 4));
}

bool PagePool::release_unused() {
  const size_t kept = kept_pages();
  release_but(std::max(kept, free_.size() - least_free_));
  least_free_ = free_.size();
  return released_ + kept >= free_.size();
}

void PagePool::release_but(size_t kept_pages) {
  for (; released_ + kept_pages < free_.size(); ++released_) {
    base::release_memory(free_[released_], page_bytes_);
  }
}

}  // namespace diptych::storage
