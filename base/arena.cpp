#include "base/arena.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <span>
#include <utility>

#include <sys/mman.h>

#include "base/address_reserve.h"
#include "base/alignment.h"
#include "base/check.h"
#include "base/page_preparer.h"
#include "base/sanitizers.h"

namespace diptych::base {
namespace {

constexpr size_t kRegionBytesMax = size_t{16} << 20;  // growth ends here; big blocks may pass it
constexpr size_t kAlignmentMax = 64;

// The process's, one a node and kind of page. Under a sanitizer there is none, and every region is
// mapped for itself: what is given back faults when it is touched.
class Reserves {
 public:
  static Reserves& all() {
    static auto* const reserves = new Reserves();  // outlives all regions
    return *reserves;
  }

  AddressReserve* of(NumaNode node, Pages pages) {
    if (kSanitized) return nullptr;
    const std::lock_guard lock(mutex_);
    return &reserves_.try_emplace({node.value, pages}, node, pages).first->second;
  }
  // Of which memory is, nullptr: it was mapped for itself.
  AddressReserve* that_has(const std::byte* data) {
    const std::lock_guard lock(mutex_);
    for (auto& [key, reserve] : reserves_) {
      if (reserve.has(data)) return &reserve;
    }
    return nullptr;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<uint32_t, Pages>, AddressReserve> reserves_;  // guarded by mutex_
};

}  // namespace

Region::Region(size_t bytes, NumaNode node) {
  if (bytes == 0) return;
  const Pages pages = bytes >= kHugePageBytes ? Pages::kHuge : Pages::kSmall;
  bytes_ = round_up(bytes, page_bytes(pages));
  reserve_ = Reserves::all().of(node, pages);
  if (reserve_ != nullptr) data_ = reserve_->take(bytes_);
  if (data_ != nullptr) return;
  reserve_ = nullptr;
  map(node);
}

// Without the reserve.
void Region::map(NumaNode node) {
  const bool huge = bytes_ >= kHugePageBytes;
  const size_t mapped_bytes = bytes_ + (huge ? kHugePageBytes : 0);
  void* mapped = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* start = static_cast<std::byte*>(mapped);
  data_ = start;
  if (huge) {
    // Mapped 2 MiB too long, so that an aligned piece of the right size lies within.
    const size_t head = round_up(reinterpret_cast<uintptr_t>(start), kHugePageBytes) -
                        reinterpret_cast<uintptr_t>(start);
    data_ = start + head;
    if (head != 0) munmap(start, head);
    if (head != kHugePageBytes) munmap(data_ + bytes_, kHugePageBytes - head);
    prefer_huge_pages(data_, bytes_);
  }
  bind_to_node(data_, bytes_, node);
}

Region::Region(Region&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      reserve_(std::exchange(other.reserve_, nullptr)) {}

Region& Region::operator=(Region&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(reserve_, other.reserve_);
  return *this;
}

Region::~Region() {
  if (data_ == nullptr) return;
  if (reserve_ != nullptr) {
    reserve_->give_back(data_, bytes_);
  } else {
    munmap(data_, bytes_);
  }
}

void release_memory(std::byte* data, size_t bytes) {
  const auto start = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = round_up(start, page_bytes(Pages::kSmall));
  const uintptr_t end = (start + bytes) / page_bytes(Pages::kSmall) * page_bytes(Pages::kSmall);
  // Of memory that is locked (mlockall) the system takes none.
  if (first < end && madvise(data + (first - start), end - first, MADV_DONTNEED) != 0) {
    std::memset(data + (first - start), 0, end - first);
  }
}

// A reserve's stays mapped, so it can be touched: page faults keep others from less than madvise,
// which has the process's memory map as long as it makes pages.
void populate_memory(std::byte* data, size_t bytes) {
  AddressReserve* const reserve = Reserves::all().that_has(data);
  if (reserve == nullptr) {
    // A refusal (an old kernel, memory that is gone) costs time only.
    (void)madvise(data, bytes, MADV_POPULATE_WRITE);
    return;
  }
  for (size_t at = 0; at < bytes; at += page_bytes(Pages::kSmall)) {
    uint8_t zero = 0;
    // relaxed: a write that changes nothing, whoever uses the memory meanwhile.
    std::atomic_ref(reinterpret_cast<uint8_t&>(data[at]))
        .compare_exchange_strong(zero, 0, std::memory_order_relaxed);
  }
  reserve->release_free(data, bytes);
}

void prefer_huge_pages(std::byte* data, size_t bytes) {
  if (bytes < kHugePageBytes) return;
  const auto start = reinterpret_cast<uintptr_t>(data);
  const uintptr_t first = round_up(start, kHugePageBytes);
  const uintptr_t end = (start + bytes) / kHugePageBytes * kHugePageBytes;
  // A refusal (huge pages switched off) costs speed only.
  if (first < end) (void)madvise(data + (first - start), end - first, MADV_HUGEPAGE);
}

Region RegionSupply::take(size_t bytes, bool more) {
  const bool is_made = next_.size() >= bytes;
  Region region = is_made ? std::exchange(next_, {}) : Region(bytes, place_.node);
  if (!more || place_.preparer == nullptr) return region;
  const std::span<std::byte> memory(region.data(), region.size());
  const size_t first = std::min(memory.size(), PagePreparer::kAheadBytes);
  place_.preparer->prepare(is_made ? memory.subspan(first) : memory);
  try {
    next_ = Region(bytes, place_.node);
  } catch (const std::bad_alloc&) {
    return region;  // only who takes the next one needs it
  }
  place_.preparer->prepare({next_.data(), first});
  return region;
}

Arena::Arena(MemoryPlace place, size_t first_region_bytes)
    : supply_(place), next_region_bytes_(std::max<size_t>(first_region_bytes, kAlignmentMax)) {}

std::byte* Arena::enter(size_t region, size_t bytes) {
  current_ = region;
  free_ = regions_[region].data() + bytes;
  end_ = regions_[region].data() + regions_[region].size();
  return regions_[region].data();
}

std::byte* Arena::allocate_elsewhere(size_t bytes) {
  // The first one may not have been entered yet.
  for (size_t next = free_ == nullptr ? 0 : current_ + 1; next < regions_.size(); ++next) {
    if (bytes <= regions_[next].size()) return enter(next, bytes);
  }
  const size_t region_bytes = std::max({bytes, next_region_bytes_, size_t{1}});
  // An arena that has grown to this will fill it, and go on.
  regions_.push_back(supply_.take(region_bytes, region_bytes >= kRegionBytesMax / 2));
  next_region_bytes_ =
      std::max(next_region_bytes_, std::min(next_region_bytes_ * 2, kRegionBytesMax));
  return enter(regions_.size() - 1, bytes);
}

std::string_view Arena::copy(std::string_view text) {
  std::byte* bytes = allocate(text.size(), 1);
  if (!text.empty()) std::memcpy(bytes, text.data(), text.size());
  return {reinterpret_cast<const char*>(bytes), text.size()};
}

void Arena::reset() {
  if (!regions_.empty()) enter(0, 0);
}

size_t Arena::allocated_bytes() const {
  size_t bytes = 0;
  for (const Region& region : regions_) bytes += region.size();
  return bytes;
}

}  // namespace diptych::base
