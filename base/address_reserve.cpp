#include "base/address_reserve.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include <numa.h>
#include <numaif.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alignment.h"
#include "base/arena.h"
#include "base/check.h"

namespace diptych::base {
namespace {

bool machine_has_nodes() {
  static const bool several = numa_available() >= 0 && numa_max_node() > 0;
  return several;
}

}  // namespace

void bind_to_node(std::byte* data, size_t bytes, NumaNode node) {
  constexpr size_t kNodesMax = 1024;
  if (!machine_has_nodes() || node.value >= kNodesMax) return;
  unsigned long mask[kNodesMax / 64] = {};
  mask[node.value / 64] = 1UL << (node.value % 64);
  // A refusal: a node of a made-up topology, a container.
  (void)mbind(data, bytes, MPOL_PREFERRED, mask, kNodesMax, 0);
}

size_t page_bytes(Pages pages) {
  static const auto small = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return pages == Pages::kHuge ? kHugePageBytes : small;
}

AddressReserve::AddressReserve(NumaNode node, Pages pages, size_t range_bytes)
    : node_(node), pages_(pages), range_bytes_(range_bytes) {
  DIPTYCH_CHECK(range_bytes % kHugePageBytes == 0, "a range is whole huge pages");
}

AddressReserve::~AddressReserve() {
  for (const Range& range : ranges_) munmap(range.mapped, range.bytes);
}

std::byte* AddressReserve::take(size_t bytes) {
  DIPTYCH_CHECK(bytes != 0 && bytes % page_bytes(pages_) == 0, "regions are whole pages");
  const std::lock_guard lock(mutex_);
  const auto is_long_enough = [bytes](const auto& run) { return run.second >= bytes; };
  auto found = std::ranges::find_if(free_, is_long_enough);
  if (found == free_.end()) {
    const size_t least = round_up(bytes, kHugePageBytes);
    if (!add_range(std::max(least, range_bytes_)) && !add_range(least)) return nullptr;
    found = std::ranges::find_if(free_, is_long_enough);
  }
  std::byte* const data = found->first;
  auto rest = free_.extract(found);
  rest.key() += bytes;
  rest.mapped() -= bytes;
  if (rest.mapped() != 0) free_.insert(std::move(rest));
  return data;
}

void AddressReserve::give_back(std::byte* data, size_t bytes) {
  release_memory(data, bytes);
  const std::lock_guard lock(mutex_);
  try {
    add_free(data, bytes);
  } catch (const std::bad_alloc&) {
    // Its memory is given back; only addresses are lost. Destructors call this.
  }
}

bool AddressReserve::has(const std::byte* data) {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(ranges_, [data](const Range& range) {
    return data >= range.mapped && data < range.mapped + range.bytes;
  });
}

void AddressReserve::release_free(std::byte* data, size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto run = free_.upper_bound(data);
  if (run != free_.begin()) --run;
  for (; run != free_.end() && run->first < data + bytes; ++run) {
    std::byte* const first = std::max(data, run->first);
    std::byte* const end = std::min(data + bytes, run->first + run->second);
    if (first < end) release_memory(first, static_cast<size_t>(end - first));
  }
}

// One huge page longer than asked for, so that whole ones lie within.
bool AddressReserve::add_range(size_t bytes) {
  const size_t mapped_bytes = bytes + kHugePageBytes;
  ranges_.reserve(ranges_.size() + 1);  // what is mapped is not lost
  void* const mapped = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return false;
  auto* const start = static_cast<std::byte*>(mapped);
  ranges_.push_back({start, mapped_bytes});
  const auto address = reinterpret_cast<uintptr_t>(start);
  std::byte* const first = start + (round_up(address, kHugePageBytes) - address);
  if (pages_ == Pages::kHuge) prefer_huge_pages(first, bytes);
  bind_to_node(first, bytes, node_);
  add_free(first, bytes);
  return true;
}

void AddressReserve::add_free(std::byte* data, size_t bytes) {
  auto next = free_.lower_bound(data);
  DIPTYCH_CHECK(next == free_.end() || data + bytes <= next->first, "a region is given back once");
  const bool joins_next = next != free_.end() && data + bytes == next->first;
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    DIPTYCH_CHECK(before->first + before->second <= data, "a region is given back once");
    if (before->first + before->second == data) {
      before->second += bytes;
      if (joins_next) before->second += free_.extract(next).mapped();
      return;
    }
  }
  if (joins_next) {
    auto joined = free_.extract(next);
    joined.key() = data;
    joined.mapped() += bytes;
    free_.insert(std::move(joined));
    return;
  }
  free_.emplace(data, bytes);
}

}  // namespace diptych::base
