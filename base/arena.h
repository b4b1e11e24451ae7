// Memory for the data path: regions bound to a NUMA node, and a bump arena on top.
//
// Region     whole pages that prefer their node (mbind, where the machine has several; a full node
//            spills over rather than kill the process), huge ones where it has at least 2 MiB: then
//            its addresses come from a reserve. std::bad_alloc: the system refuses the addresses
//            (memory that the machine lacks is met at the first touch: callers bound their use).
// RegionSupply  one region after the other, to be filled from their beginnings, whose pages a
//            PagePreparer makes in time.
// Arena      bump allocation in regions of growing size; everything is freed at once. Not
//            thread-safe: one owner. reset() keeps the regions for reuse.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/memory_place.h"

namespace diptych::base {

class AddressReserve;  // base/address_reserve.h

class Region {
 public:
  Region() = default;
  // Zeroed memory, at least so much: whole pages, huge ones from 2 MiB on.
  Region(size_t bytes, NumaNode node);
  Region(Region&& other) noexcept;
  Region& operator=(Region&& other) noexcept;
  ~Region();

  std::byte* data() const { return data_; }
  size_t size() const { return bytes_; }

 private:
  void map(NumaNode node);

  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  AddressReserve* reserve_ = nullptr;  // that it is from
};

// Gives the whole system pages within the bytes of a region to the system; they read as zeroes
// when they are used again.
void release_memory(std::byte* data, size_t bytes);

// Makes the pages of memory now, not at their first touch, which reads and then writes them.
void populate_memory(std::byte* data, size_t bytes);

// Asks the system for huge pages where whole ones lie within memory that is not used yet.
void prefer_huge_pages(std::byte* data, size_t bytes);

class RegionSupply {
 public:
  explicit RegionSupply(MemoryPlace place) : place_(place) {}

  // At least so many bytes. `more`: another region like it will follow, so the pages of this one
  // are made, and the first ones of the next, which the user would else come to at once.
  Region take(size_t bytes, bool more);

 private:
  MemoryPlace place_;
  Region next_;
};

class Arena {
 public:
  explicit Arena(MemoryPlace place, size_t first_region_bytes = 64 * 1024);
  Arena(Arena&&) = default;
  Arena& operator=(Arena&&) = default;

  // Memory that stays until reset() or destruction. Alignment: a power of two, at most 64.
  std::byte* allocate(size_t bytes, size_t alignment = 8) {
    std::byte* const start = round_up(free_, alignment);
    if (bytes > static_cast<size_t>(end_ - free_) || start > end_ - bytes) {
      return allocate_elsewhere(bytes);
    }
    free_ = start + bytes;
    return start;
  }
  std::string_view copy(std::string_view text);

  void reset();
  size_t allocated_bytes() const;  // of regions, used or not

 private:
  static std::byte* round_up(std::byte* at, size_t alignment) {
    const uintptr_t address = reinterpret_cast<uintptr_t>(at);
    return at + ((address + alignment - 1) & ~(alignment - 1)) - address;
  }
  // From the next region, or a new one. Regions are page-aligned.
  std::byte* allocate_elsewhere(size_t bytes);
  std::byte* enter(size_t region, size_t bytes);

  RegionSupply supply_;
  size_t next_region_bytes_;
  std::vector<Region> regions_;
  size_t current_ = 0;         // the region being filled
  std::byte* free_ = nullptr;  // what is free of it begins here,
  std::byte* end_ = nullptr;   // and ends here
};

}  // namespace diptych::base
