#include "oltp/string_depot.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "base/check.h"

namespace diptych::oltp {
namespace {

constexpr size_t kSmallBytesMax = 8 * 1024;            // of blocks in spans that share a slab
constexpr size_t kSharedBytesMax = size_t{256} << 10;  // larger blocks get a region of their own
constexpr size_t kRefillBlocks = 128;
constexpr size_t kLookedAtBytes = size_t{1} << 20;  // freed from one has_much_free() to the next

}  // namespace

size_t size_class_of(size_t bytes) {
  if (bytes <= kFineBytesMax) return (bytes - 1) / kFineStepBytes;
  const size_t last = bytes - 1;
  const auto doubling = static_cast<size_t>(std::bit_width(last)) - 1;  // 2^doubling <= last
  const size_t quarter = (last >> (doubling - 2)) & 3;
  const size_t size_class = kFineClasses + (doubling - 10) * 4 + quarter;
  DIPTYCH_CHECK(size_class < kSizeClasses, "a string is smaller than 16 GiB");
  return size_class;
}

size_t size_class_bytes(size_t size_class) {
  if (size_class < kFineClasses) return (size_class + 1) * kFineStepBytes;
  const size_t coarse = size_class - kFineClasses;
  const size_t doubling = 10 + coarse / 4;
  return (size_t{1} << doubling) + (coarse % 4 + 1) * (size_t{1} << (doubling - 2));
}

size_t StringDepot::blocks_of_span(size_t size_class) {
  const size_t bytes = size_class_bytes(size_class);
  if (bytes > kSharedBytesMax) return 1;
  return (bytes <= kSmallBytesMax ? kSpanBytes : kSlabBytes) / bytes;
}

void StringDepot::let_grow(bool may_grow) {
  const std::lock_guard lock(mutex_);
  may_grow_ = may_grow;
}

void StringDepot::check_may_grow() const {
  if (!may_grow_) throw std::bad_alloc();
}

StringDepot::Slab& StringDepot::add_slab() {
  base::Region region;
  if (spare_.empty()) {
    check_may_grow();
    region = supply_.take(kSlabBytes, !slabs_.empty());
  } else {
    region = std::move(spare_.back());
    spare_.pop_back();
  }
  Slab& slab = slabs_[number_of(region.data())];
  slab.region = std::move(region);
  return slab;
}

std::byte* StringDepot::take_span(size_t size_class) {
  const size_t bytes = size_class_bytes(size_class);
  if (bytes > kSharedBytesMax) {
    check_may_grow();
    base::Region region(bytes, node_);
    std::byte* const block = region.data();
    const size_t region_bytes = region.size();
    regions_[block] = std::move(region);
    region_bytes_ += region_bytes;
    return block;
  }
  if (bytes > kSmallBytesMax) {
    Slab& slab = add_slab();
    slab.unused = 0;
    return slab.region.data();
  }
  if (open_.empty()) open_.push_back(&add_slab());
  Slab& slab = *open_.back();
  const auto span = static_cast<size_t>(std::countr_zero(slab.unused));
  slab.unused &= slab.unused - 1;
  if (slab.unused == 0) open_.pop_back();
  return slab.region.data() + span * kSpanBytes;
}

void StringDepot::refill(size_t size_class, Blocks* free) {
  DIPTYCH_DCHECK(free->empty(), "a list is refilled when it is empty");
  const std::lock_guard lock(mutex_);
  Blocks& surplus = surplus_[size_class];
  if (!surplus.empty()) {
    const size_t taken = std::min(kRefillBlocks, surplus.size());
    free->assign(surplus.end() - static_cast<std::ptrdiff_t>(taken), surplus.end());
    surplus.resize(surplus.size() - taken);
    return;
  }
  const size_t bytes = size_class_bytes(size_class);
  const size_t blocks = blocks_of_span(size_class);
  free->reserve(blocks);
  std::byte* const span = take_span(size_class);
  // From the back, since the list is taken from its end: neighbours in time are so in memory.
  for (size_t i = blocks; i-- > 0;) free->push_back(span + i * bytes);
}

void StringDepot::put_back(size_t size_class, Blocks* free, size_t keep) {
  if (free->size() <= keep) return;
  const std::lock_guard lock(mutex_);
  const auto from = free->begin() + static_cast<std::ptrdiff_t>(keep);
  surplus_[size_class].insert(surplus_[size_class].end(), from, free->end());
  free->resize(keep);
}

bool StringDepot::is_due() {
  const size_t bytes = std::exchange(batch_bytes_, 0);
  largest_batch_bytes_ = std::max(largest_batch_bytes_, bytes);
  freed_bytes_ += bytes;
  return freed_bytes_ >= kLookedAtBytes;
}

bool StringDepot::has_much_free(size_t bytes_of_workers) {
  freed_bytes_ = 0;
  largest_batch_bytes_ -= largest_batch_bytes_ / 8;  // one that was large is forgotten in time
  const std::lock_guard lock(mutex_);
  const size_t free = bytes_of_workers + surplus_bytes();
  trimmed_bytes_ = std::min(trimmed_bytes_, free);
  return free > std::max(kept_bytes(), 2 * trimmed_bytes_);
}

void StringDepot::trim() {
  const std::lock_guard lock(mutex_);
  const size_t may_keep = kept_bytes();
  size_t left = may_keep;
  for (size_t i = 0; i < kSizeClasses; ++i) {
    if (size_class_bytes(i) <= kSharedBytesMax) {
      trim_spans(i);
    } else {
      trim_regions(i, &left);
    }
  }
  trimmed_bytes_ = surplus_bytes() - (may_keep - left);
  sort_slabs(left);
}

void StringDepot::trim_spans(size_t size_class) {
  Blocks& free = surplus_[size_class];
  const size_t all = blocks_of_span(size_class);
  if (free.size() < all) return;
  const bool shares_slab = size_class_bytes(size_class) <= kSmallBytesMax;
  const auto count_of = [&](const std::byte* block) -> uint16_t& {
    const auto found = slabs_.find(number_of(block));
    DIPTYCH_CHECK(found != slabs_.end(), "S3: a block lies in a slab");
    Slab& slab = found->second;
    const auto offset = static_cast<size_t>(block - slab.region.data());
    return slab.free_blocks[shares_slab ? offset / kSpanBytes : 0];
  };
  for (const std::byte* const block : free) ++count_of(block);
  std::erase_if(free, [&](const std::byte* block) { return count_of(block) == all; });
  free.shrink_to_fit();
  for (auto& [number, slab] : slabs_) {
    for (size_t span = 0; span < kSpans; ++span) {
      if (slab.free_blocks[span] != all) continue;
      slab.unused |= shares_slab ? uint32_t{1} << span : ~uint32_t{0};
    }
    slab.free_blocks.fill(0);
  }
}

void StringDepot::trim_regions(size_t size_class, size_t* may_keep) {
  const size_t bytes = size_class_bytes(size_class);
  std::erase_if(surplus_[size_class], [&](std::byte* block) {
    if (bytes <= *may_keep) {
      *may_keep -= bytes;
      return false;
    }
    const auto found = regions_.find(block);
    DIPTYCH_CHECK(found != regions_.end(), "S3: a large block has its region");
    region_bytes_ -= found->second.size();
    regions_.erase(found);
    return true;
  });
}

// Those without any used span become spare, or go to the system.
void StringDepot::sort_slabs(size_t may_keep) {
  open_.clear();
  open_.reserve(slabs_.size());
  spare_.reserve(spare_.size() + slabs_.size());
  for (auto next = slabs_.begin(); next != slabs_.end();) {
    const auto at = next++;
    Slab& slab = at->second;
    if (slab.unused == ~uint32_t{0}) {
      spare_.push_back(std::move(slab.region));
      slabs_.erase(at);
    } else if (slab.unused != 0) {
      open_.push_back(&slab);
    }
  }
  spare_.resize(std::min(spare_.size(), may_keep / kSlabBytes));
}

size_t StringDepot::surplus_bytes() const {
  size_t bytes = 0;
  for (size_t i = 0; i < kSizeClasses; ++i) bytes += surplus_[i].size() * size_class_bytes(i);
  return bytes;
}

size_t StringDepot::allocated_bytes() const {
  const std::lock_guard lock(mutex_);
  return allocated();
}

void StringDepot::clear() {
  const std::lock_guard lock(mutex_);
  surplus_.fill({});
  open_.clear();
  slabs_.clear();
  spare_.clear();
  regions_.clear();
  region_bytes_ = 0;
}

}  // namespace diptych::oltp
