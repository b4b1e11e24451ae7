#include "storage/hot_page.h"

#include <algorithm>
#include <cstring>

namespace diptych::storage {

PagePool::PagePool(const LeafFormat& format, base::NumaNode node)
    : node_(node),
      page_bytes_((format.leaf_bytes(format.page_rows) + 63) / 64 * 64),
      next_region_bytes_(page_bytes_) {}

std::byte* PagePool::take() {
  if (!free_.empty()) {
    std::byte* const page = free_.back();
    free_.pop_back();
    released_ = std::min(released_, free_.size());
    std::memset(page, 0, page_bytes_);
    return page;
  }
  if (regions_.empty() || region_used_ + page_bytes_ > regions_.back().size()) {
    regions_.emplace_back(next_region_bytes_, node_);
    region_bytes_ += next_region_bytes_;
    next_region_bytes_ =
        std::max(page_bytes_, std::min(next_region_bytes_ * 2, base::kHugePageBytes));
    region_used_ = 0;
  }
  std::byte* const page = regions_.back().data() + region_used_;
  region_used_ += page_bytes_;
  return page;
}

void PagePool::release() {
  for (; released_ < free_.size(); ++released_) {
    base::release_memory(free_[released_], page_bytes_);
  }
}

}  // namespace diptych::storage
