// SpaceMap: which pages of the block file are free, and which must stay as they are for a restart.
//
// Shadow paging: the state that a restart finds is never written over. A page is
//
//            allocate()               release(), new since the last commit
//   free ──────────────────► used ─────────────────────────────────────────► free
//     ▲                        │ release(), the durable state names it
//     └──────── commit() ──── held
//
// What is used at begin_commit() is what the coming state names. From then on a restart may find
// either state (a rename may reach the disk though its sync fails), so both are kept, until
// commit() says that it can only be the new one. A commit that fails is just begun again: what it
// may have made durable stays until one succeeds. Pages may be allocated and released in between.
//
// Page 0, the file's header, is used always. The file grows by extents (free_pages.h) and has only
// page 0 while nothing is in it.
//
// Invariants
//   F1  free = neither used nor durable; held = durable and not used.
//   F2  What the coming or the last committed state names is durable.
//
// Threads    one owner; BlockFile holds its lock.

#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "storage/free_pages.h"

namespace diptych::storage {

class SpaceMap {
 public:
  static constexpr uint32_t kExtentsMax = (uint32_t{1} << 20) - 1;  // page numbers have 32 bits

  // Of a file with so many extents, of which nothing is used.
  explicit SpaceMap(uint32_t extents = 0);

  // The lowest free run of so many pages, and its first page; nothing: grow() first.
  std::optional<uint32_t> allocate(uint32_t pages);
  // By how many extents the file must grow so that the run fits for sure; 0: the file would have
  // more pages than an address can name.
  uint32_t extents_to_grow(uint32_t pages) const;
  void grow(uint32_t extents);
  // The lowest free run, if it ends before this page.
  std::optional<uint32_t> allocate_before(uint32_t end, uint32_t pages);

  // Pages that one allocate() or adopt() gave.
  void release(uint32_t first, uint32_t pages);

  // Pages that the durable state names: for reading its manifest. False, and nothing happens: they
  // are not in the file, or not free.
  bool adopt(uint32_t first, uint32_t pages);

  void begin_commit();
  // Begins, too, if that was not done. Gives free extents at the file's end back: returns the
  // pages that the file has from now on.
  uint32_t commit();
  // What is used from this page on should move to lower ones, so that commit() can give the extents
  // back: the file has a quarter more than what is used or held, and an extent. Not too much at a
  // time: 64 MiB, or a sixteenth of the file. pages(): nothing should.
  uint32_t moves_from() const;

  uint32_t pages() const;  // in the file
  uint32_t free_pages() const { return free_.free(); }
  uint32_t held_pages() const { return held_; }  // released, but durable

 private:
  void give_back_extents();

  FreePages free_;
  std::vector<uint64_t> used_;     // a bit a page, as the next two
  std::vector<uint64_t> durable_;  // a restart may find a state that names it
  std::vector<uint64_t> coming_;   // the state being committed names it
  bool begun_ = false;
  uint32_t held_ = 0;
};

}  // namespace diptych::storage
