// PartitionStore: the leaves, free slots and strings behind one Partition (storage/table.h).
//
//   ordinal >> page bits ──► directory_[...] ──► PlainLeaf (hot page or block) ──► position
//   ordinal >> 16        ──► ranges_[...]: what compaction needs to know of a block's range
//
// An ordinal finds its leaf with one array access: all entries of a compacted range name its block.
//
// Threads    as in leaf.h: one writer, and no reader while it writes.
//
// Invariants
//   S1  Ordinals [0, next_ordinal_) were given out; each is live or in free_slots_, never both.
//   S2  leaves_ are ordered by first ordinal and cover [0, next_ordinal_) without gaps.
//   S3  A range has a block, or hot pages; never both.

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/row_layout.h"
#include "storage/free_slots.h"
#include "storage/hot_page.h"
#include "storage/leaf_format.h"
#include "storage/plain_leaf.h"
#include "storage/string_heap.h"
#include "storage/table.h"

namespace diptych::storage {

class PartitionStore {
 public:
  // A range is quiet if at most this many writes met it since the compaction before. It need not be
  // wholly at rest: as blocks are uncompressed for now, they take updates as well as pages do.
  static constexpr uint32_t kQuietWritesMax = kBlockRows / 16;

  PartitionStore(const base::RowLayout& layout, base::NumaNode node);
  PartitionStore(const PartitionStore&) = delete;
  PartitionStore& operator=(const PartitionStore&) = delete;

  const LeafFormat& format() const { return format_; }
  size_t leaf_count() const { return leaves_.size(); }
  const PlainLeaf& leaf(size_t index) const { return *leaves_[index]; }
  PlainLeaf& leaf_of(uint32_t ordinal, uint32_t* position) const {
    DIPTYCH_DCHECK(ordinal < next_ordinal_, "S1: the ordinal was given out");
    PlainLeaf& found = *directory_[ordinal >> page_shift_];
    *position = ordinal - found.first_ordinal();
    return found;
  }
  uint64_t live_rows() const { return next_ordinal_ - free_slots_.size(); }

  // As Partition's.
  void insert(std::span<const NewRow> rows, uint32_t* ordinals);
  void update(std::span<const RowPlace> places, base::ColumnId column,
              std::span<const std::byte* const> records, size_t cell_offset) {
    PlainLeaf::write_cells(format_.columns[column.value], column, places, records, cell_offset,
                           &heap_);
  }
  void note_writes(std::span<const RowPlace> places) {
    for (const RowPlace& place : places) note_writes(place.leaf->first_ordinal(), 1);
  }
  void erase(uint32_t ordinal);
  // At most one block a call; bytes written. Without a candidate it looks at one flag.
  size_t compact();
  // Makes a block of every full range, busy or not, and gives the pages' memory back.
  void compact_all();

  size_t memory_bytes() const;

 private:
  // The ordinals of one block.
  struct Range {
    uint32_t writes = 0;  // since the last compact()
    bool is_block = false;
  };

  void append_page();
  void note_writes(uint32_t ordinal, uint32_t count) {
    ranges_[ordinal / kBlockRows].writes += count;
  }
  // The next ordinals that inserts get, one after the other in one leaf: at most `count_max`.
  uint32_t take_ordinals(size_t count_max, uint32_t* count);
  size_t make_block(size_t range);

  LeafFormat format_;
  base::NumaNode node_;
  uint32_t page_shift_;
  uint32_t next_ordinal_ = 0;
  std::vector<PlainLeaf*> directory_;  // by ordinal >> page_shift_
  std::vector<Range> ranges_;          // by ordinal / kBlockRows
  size_t blocks_ = 0;                  // ranges with a block
  FreeSlots free_slots_;
  StringHeap heap_;
  PagePool pages_;
  std::vector<std::unique_ptr<PlainLeaf>> leaves_;
};

}  // namespace diptych::storage
