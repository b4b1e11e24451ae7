// StringDepot: the memory of long strings, in blocks of size classes, of which workers hold lists
// (string_memory.h).
//
//   slab, 2 MiB   | span: class 3 | span: class 7 | unused | ... |   64 KiB, blocks up to 8 KiB
//                 | span: class 45                               |   blocks up to 256 KiB
//   region        | block |                                          larger ones
//
// A free block is remembered by its address in a list of its class, so that freeing touches none of
// the (by then cold) memory, and nothing counts the blocks of a span. Where strings change their
// sizes, free blocks pile up in classes that nobody needs any more. When they have become many,
// trim() counts them: a span of which all blocks are free is unused again, for any class.
//
// Threads    refill() from any worker; the rest leader only, at a boundary.
// Memory     on the replica's node; a PagePreparer makes the pages of the next slab. An eighth of
//            it, or kFreeBytesMin, may be free, beside what a batch frees and the next one takes;
//            or as much again as lies free in spans with live blocks. The system gets the rest.
//
// Invariants
//   S3  All blocks of a span are of one class. Each is a string's, or in one list.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "base/arena.h"
#include "base/memory_place.h"

namespace diptych::oltp {

// Classes: steps of 32 bytes up to 1 KiB, then four to each doubling.
inline constexpr size_t kFineStepBytes = 32;
inline constexpr size_t kFineBytesMax = 1024;
inline constexpr size_t kFineClasses = kFineBytesMax / kFineStepBytes;
inline constexpr size_t kSizeClasses = kFineClasses + 4 * 24;

// Of 1 byte or more.
size_t size_class_of(size_t bytes);
size_t size_class_bytes(size_t size_class);

class StringDepot {
 public:
  using Blocks = std::vector<std::byte*>;
  static constexpr size_t kFreeBytesMin = size_t{8} << 20;

  explicit StringDepot(base::MemoryPlace place) : supply_(place), node_(place.node) {}

  // Puts at least one block of the class into the empty list. Any worker. std::bad_alloc: there is
  // no memory, or it would take more than it has, which it may not (let_grow).
  void refill(size_t size_class, Blocks* free);
  // Takes all but `keep` blocks of the list.
  void put_back(size_t size_class, Blocks* free, size_t keep);

  // Whether it may take more memory than it has; it may at first.
  void let_grow(bool may_grow);

  // At a boundary: notes what a worker's strings have freed.
  void note_freed(size_t bytes) { batch_bytes_ += bytes; }
  // At the boundary's end. True if it is time to ask has_much_free().
  bool is_due();
  // Whether trim() is worth its time, where workers' lists have so much.
  bool has_much_free(size_t bytes_of_workers);
  // After workers have put back all.
  void trim();

  size_t allocated_bytes() const;
  // Nobody has a string any more.
  void clear();

 private:
  static constexpr size_t kSlabBytes = base::kHugePageBytes;
  static constexpr size_t kSpanBytes = 64 * 1024;
  static constexpr size_t kSpans = kSlabBytes / kSpanBytes;

  struct Slab {
    base::Region region;
    uint32_t unused = ~uint32_t{0};                 // a bit each span
    std::array<uint16_t, kSpans> free_blocks = {};  // within trim()
  };
  static_assert(kSpans == 32, "spans have a bit each in Slab::unused");

  static size_t blocks_of_span(size_t size_class);
  static uintptr_t number_of(const std::byte* in_slab) {
    return reinterpret_cast<uintptr_t>(in_slab) / kSlabBytes;
  }
  // These need mutex_.
  void check_may_grow() const;
  std::byte* take_span(size_t size_class);
  Slab& add_slab();
  void trim_spans(size_t size_class);
  void trim_regions(size_t size_class, size_t* may_keep);
  void sort_slabs(size_t may_keep);
  size_t surplus_bytes() const;
  size_t allocated() const { return (slabs_.size() + spare_.size()) * kSlabBytes + region_bytes_; }
  // Of free memory.
  size_t kept_bytes() const {
    return std::max(kFreeBytesMin, allocated() / 8) + largest_batch_bytes_;
  }

  mutable std::mutex mutex_;
  std::array<Blocks, kSizeClasses> surplus_;              // guarded by mutex_
  std::unordered_map<uintptr_t, Slab> slabs_;             // guarded by mutex_; by number_of()
  std::vector<Slab*> open_;                               // guarded by mutex_; with unused spans
  std::vector<base::Region> spare_;                       // guarded by mutex_; slabs of no class
  std::unordered_map<std::byte*, base::Region> regions_;  // guarded by mutex_; of one block each
  size_t region_bytes_ = 0;                               // guarded by mutex_; of regions_
  base::RegionSupply supply_;                             // guarded by mutex_
  bool may_grow_ = true;                                  // guarded by mutex_
  base::NumaNode node_;

  size_t batch_bytes_ = 0;          // that the batch has freed
  size_t largest_batch_bytes_ = 0;  // of the latest batches
  size_t freed_bytes_ = 0;          // since the last has_much_free()
  size_t trimmed_bytes_ = 0;        // free in spans with live blocks after trim(), or less
};

}  // namespace diptych::oltp
