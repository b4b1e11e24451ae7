// RangeMove: gives the rows of a sparse range of ordinals other slots, so that scans and memory
// follow the rows that live, also where no inserts come for the slots of those that do not.
//
//   sparse block ──────────────────► free slots of pages, else new pages behind all others
//   sparse pages, await inserts ───► free slots of pages before them: one range with room stays
//   the range, without a row ──────► a block that has no values ──inserts: melt──► hot pages
//
// A range is sparse with at most an eighth of its rows alive, so that each move is paid for by
// seven deletes, and its rows move once it is still: for some calls of compact() no other row has
// gone. What is about to be empty (a queue's oldest rows) is not worth a move.
//
// Whoever knows rows by their ordinals is told (row_moves.h); without anybody no row moves. To a
// ChangeWatch, a row that moves is one that goes and another that comes.
//
// Threads    the partition's writer, between batches. Snapshots have leaves of their own.
// Memory     rows of a vector of a scan at a time, and pages.
// Errors     ChunkFailure, of reading the rows, and std::bad_alloc; both between moves.
//
// Invariants
//   N1  A row lives at one ordinal, which was told last. What moves at a time (rows to slots of one
//       page) does so as a whole, or not at all where memory runs out.
//   N2  Rows of pages only go to lower ordinals, and rows of a block only to pages: so moves end.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "storage/copied_rows.h"
#include "storage/leaf.h"
#include "storage/table.h"

namespace diptych::storage {

class PartitionStore;

class RangeMove {
 public:
  // Of a range that is_sparse().
  RangeMove(PartitionStore* store, uint32_t range);

  // Moves rows until the time is up, or there is no slot for the next. `done` is what was gone
  // through before, in bytes; with its own it is returned.
  size_t run(size_t done, uint64_t until_ns);

 private:
  // Of one page.
  struct Slots {
    uint32_t first = 0;
    uint32_t count = 0;    // 0: there are none
    bool are_new = false;  // not given out yet
  };

  bool move(Leaf* from, const CopiedRows& copied);  // false: there is no slot for the next
  Slots find_slots(size_t count_max);
  void fill(const Slots& slots, std::span<const NewRow> rows);
  void give_back_new(const Slots& slots);
  // N1: takes no memory.
  void finish(const Slots& slots, Leaf* from, std::span<const NewRow> rows,
              std::span<const uint32_t> positions);

  PartitionStore* const store_;
  const uint32_t range_;
  const uint32_t begin_;  // its first ordinal
  const bool is_block_;
};

}  // namespace diptych::storage
