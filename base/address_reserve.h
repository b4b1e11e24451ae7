// AddressReserve: address space for regions, mapped once and handed out in pages.
//
// mmap, munmap and madvise(MADV_HUGEPAGE) wait until every thread of the process is out of its
// page faults, and out of what PagePreparer is making: up to 20 ms where that thread shares its
// core, in the middle of a batch of transactions. Within the reserve a region costs no system call,
// and giving one back costs the release of its pages, which waits for nobody.
//
//   a range (64 GiB of addresses, no memory):  [ taken ][ free ][ taken ][ free ............. ]
//
// Threads    any.
// Memory     that of the pages which were touched and not given back.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "base/ids.h"
#include "base/memory_place.h"

namespace diptych::base {

enum class Pages : uint8_t { kSmall, kHuge };
size_t page_bytes(Pages pages);

class AddressReserve {
 public:
  // `range_bytes`: how much is mapped at a time, whole huge pages.
  AddressReserve(NumaNode node, Pages pages, size_t range_bytes = size_t{64} << 30);
  ~AddressReserve();  // nothing of it is used any more
  AddressReserve(const AddressReserve&) = delete;
  AddressReserve& operator=(const AddressReserve&) = delete;

  // `bytes` (whole pages) of zeroes, at a page. nullptr: the system gives no more addresses (a
  // limit of the process, strict overcommit).
  std::byte* take(size_t bytes);
  // All that one take() gave. Does not fail: where there is no memory to note them, addresses are
  // lost, without pages.
  void give_back(std::byte* data, size_t bytes);
  bool has(const std::byte* data);
  // For who touches memory that may have been given back meanwhile: what of it is free has no
  // pages afterwards.
  void release_free(std::byte* data, size_t bytes);

 private:
  struct Range {
    std::byte* mapped;
    size_t bytes;
  };

  bool add_range(size_t bytes);
  void add_free(std::byte* data, size_t bytes);

  const NumaNode node_;
  const Pages pages_;
  const size_t range_bytes_;
  std::mutex mutex_;
  std::vector<Range> ranges_;  // guarded by mutex_
  // Guarded by mutex_: runs, none of which ends where another one begins.
  std::map<std::byte*, size_t> free_;
};

// Prefers the node for the pages of memory that is not used yet. Where it cannot be, it costs
// speed, never correctness.
void bind_to_node(std::byte* data, size_t bytes, NumaNode node);

}  // namespace diptych::base
