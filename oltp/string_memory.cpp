#include "oltp/string_memory.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace diptych::oltp {
namespace {

constexpr size_t kSlabBytes = base::kHugePageBytes;
constexpr size_t kRunBytes = 16 * 1024;             // carved at a time for small classes
constexpr size_t kSharedBytesMax = kSlabBytes / 8;  // larger blocks get a region of their own
constexpr size_t kKeptBlocks = 512;                 // a worker keeps these of each class,
constexpr size_t kKeptBytes = size_t{1} << 20;      // or as many as lie in this
constexpr size_t kRefillBlocks = 128;

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

std::byte* StringDepot::carve(size_t bytes) {
  if (bytes > kSharedBytesMax) {
    slabs_.emplace_back(bytes, node_);
    allocated_bytes_ += slabs_.back().size();
    return slabs_.back().data();
  }
  if (bytes > left_bytes_) {
    slabs_.emplace_back(kSlabBytes, node_);
    allocated_bytes_ += kSlabBytes;
    next_ = slabs_.back().data();
    left_bytes_ = kSlabBytes;
  }
  std::byte* const at = next_;
  next_ += bytes;
  left_bytes_ -= bytes;
  return at;
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
  const size_t blocks = std::max<size_t>(1, kRunBytes / bytes);
  std::byte* const run = carve(blocks * bytes);
  // From the back, since the list is taken from its end: neighbours in time are so in memory.
  for (size_t i = blocks; i-- > 0;) {
    free->push_back(run + i * bytes);
  }
}

void StringDepot::put_back(size_t size_class, Blocks* free, size_t keep) {
  if (free->size() <= keep) return;
  const std::lock_guard lock(mutex_);
  const auto from = free->begin() + static_cast<std::ptrdiff_t>(keep);
  surplus_[size_class].insert(surplus_[size_class].end(), from, free->end());
  free->resize(keep);
}

size_t StringDepot::allocated_bytes() const {
  const std::lock_guard lock(mutex_);
  return allocated_bytes_;
}

void StringDepot::clear() {
  const std::lock_guard lock(mutex_);
  slabs_.clear();
  next_ = nullptr;
  left_bytes_ = 0;
  allocated_bytes_ = 0;
  surplus_.fill({});
}

void StringMemory::reclaim() {
  for (size_t i = 0; i < kSizeClasses; ++i) {
    StringDepot::Blocks& retired = retired_[i];
    if (retired.empty()) continue;
    free_[i].insert(free_[i].end(), retired.begin(), retired.end());
    retired.clear();
  }
}

void StringMemory::balance() {
  for (size_t i = 0; i < kSizeClasses; ++i) {
    const size_t kept = std::clamp<size_t>(kKeptBytes / size_class_bytes(i), 1, kKeptBlocks);
    depot_->put_back(i, &free_[i], kept);
  }
}

void StringMemory::give_back() {
  for (size_t i = 0; i < kSizeClasses; ++i) depot_->put_back(i, &free_[i], 0);
}

}  // namespace diptych::oltp
