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
  return page;
}

std::byte* PagePool::carve() {
  if (regions_.empty() || region_used_ + page_bytes_ > regions_.back().size()) {
    regions_.emplace_back(next_region_bytes_, node_);
    next_region_bytes_ =
        std::max(page_bytes_, std::min(next_region_bytes_ * 2, base::kHugePageBytes));
    region_used_ = 0;
  }
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

void PagePool::release_surplus() {
  const size_t used_bytes = carved_bytes_ - free_.size() * page_bytes_;
  release_but(std::max(kSurplusBytesMin, used_bytes / 4));
}

void PagePool::release_but(size_t kept_bytes) {
  const size_t released = free_.size() - std::min(free_.size(), kept_bytes / page_bytes_);
  for (; released_ < released; ++released_) {
    base::release_memory(free_[released_], page_bytes_);
  }
}

}  // namespace diptych::storage
