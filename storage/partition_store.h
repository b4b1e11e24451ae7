// PartitionStore: the leaves, free slots and strings behind one Partition (storage/table.h).
//
//   ordinal >> page bits ──► directory_[...] ──► leaf (hot page or block) ──► position
//   ordinal / block rows ──► ranges_[...]: what compaction needs to know of a block's range
//
// An ordinal finds its leaf with one array access: all entries of a block's range name the block.
//
//   hot pages ──full and quiet: compact──► compressed block ──worn, or too large: melt──► hot pages
//                                            │         ▲
//                                            └─ worn, ─┘ no inserts: rewrite_worn
//
// Inserts go to hot pages, in slots that erases freed first. Slots freed in a compressed block stay
// so: a row put there would thaw each of its columns. A block with a quarter of its rows freed is
// worn: when inserts have no slot left, it becomes hot pages again, with the same ordinals, in
// place of new pages. So memory is flat where the data's size is, and pays for deletes when there
// are inserts. Where there are none, it is made anew without the texts of its dead rows, each time
// that another quarter is dead. (Plain blocks take inserts as pages do, and never melt.)
//
// From a range, of pages or a block, with seven of eight rows freed the others move (range_move.h).
//
// A snapshot's images (partition_image.h) have leaves together with the store. The first write to a
// leaf after a cut makes sure that it is the store's own:
//
//   leaf_to_write: cut() == cuts_ ──► it is          no image has it ──► from now on it is
//                  an image has it ──► a copy takes its place, and the image keeps the leaf
//
// Threads    as in leaf.h: one writer, and no reader while it writes. take_back, snapshot_bytes:
//            any.
//
// Invariants
//   S1  Ordinals [0, next_ordinal_) were given out; each is live, or in free_slots_, or freed in a
//       compressed block (frozen_slots_ counts those): one of the three.
//   S2  leaves_ are ordered by first ordinal and cover [0, next_ordinal_) without gaps.
//   S3  A range has a block, or hot pages; never both.
//   S4  worn_ has each compressed block with at least worn_rows() freed rows, once.
//   S5  Range::saved is null for a compressed block, and else what the pages hold unless
//       `changed`: where it is written, they need not be.
//   S6  A leaf whose cut() is cuts_ is in no image. Only such leaves are written.
//   S7  empty_ has only compressed blocks without rows, each once: those whose values are not
//       dropped yet.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/schema.h"
#include "storage/change_watch.h"
#include "storage/compressed_block.h"
#include "storage/free_slots.h"
#include "storage/hot_page.h"
#include "storage/leaf_directory.h"
#include "storage/leaf_format.h"
#include "storage/page_pool.h"
#include "storage/partition_figures.h"
#include "storage/partition_image.h"
#include "storage/plain_leaf.h"
#include "storage/row_moves.h"
#include "storage/storage_options.h"
#include "storage/string_heap.h"
#include "storage/string_pages.h"
#include "storage/table.h"

namespace diptych::storage {

class PartitionStore {
 public:
  // A range is quiet if at most this share of its rows was written since the compaction before:
  // blocks take updates, so it need not be wholly at rest.
  static constexpr uint32_t kQuietShare = 16;
  // A compressed block is worn with this share of its rows freed. Pages with half as many are not
  // compressed: those slots wait for inserts.
  static constexpr uint32_t kWornShare = 4;
  // A range is sparse with at most this share of its rows alive, and still after so many calls of
  // compact() without another one freed: what is about to be empty (a queue's oldest rows) is not
  // worth moving.
  static constexpr uint32_t kSparseShare = 8;
  static constexpr uint32_t kStillLooks = 8;

  // `schema` outlives it, and `buffers`, if it is not nullptr.
  PartitionStore(const base::TableSchema& schema, base::PartitionId partition,
                 const StorageOptions& options, BufferManager* buffers);
  ~PartitionStore();
  PartitionStore(const PartitionStore&) = delete;
  PartitionStore& operator=(const PartitionStore&) = delete;

  const LeafFormat& format() const { return format_; }
  size_t leaf_count() const { return leaves_.size(); }
  const Leaf& leaf(size_t index) const { return *leaves_[index]; }
  Leaf& leaf_of(uint32_t ordinal, uint32_t* position) const {
    DIPTYCH_DCHECK(ordinal < next_ordinal_, "S1: the ordinal was given out");
    Leaf& found = *directory_[ordinal >> page_shift_];
    *position = ordinal - found.first_ordinal();
    return found;
  }
  // The same, and S6 is true of it.
  Leaf& leaf_to_write(uint32_t ordinal, uint32_t* position) {
    Leaf& found = leaf_of(ordinal, position);
    if (found.cut() == cuts_) [[likely]]
      return found;
    return make_own(&found);
  }
  uint64_t live_rows() const;

  // As Partition's.
  uint64_t changes(base::ColumnId column) const {
    return rows_changed_ + cells_updated_[column.value];
  }
  ChangeWatch& watch() { return watch_; }
  void insert(std::span<const NewRow> rows, uint32_t* ordinals);
  uint64_t slots_before_block() const;
  std::optional<uint32_t> append_block(std::span<const NewRow> rows);
  void drop_dead_ranges();
  void prefetch(std::span<const uint32_t> ordinals, std::span<const base::ColumnId> columns);
  void update(std::span<const uint32_t> ordinals, base::ColumnId column,
              std::span<const std::byte* const> records, size_t cell_offset);
  void note_writes(std::span<const uint32_t> ordinals) {
    note_range(range_of(ordinals), static_cast<uint32_t>(ordinals.size()),
               ChangeWatch::Change::kCells);
    for (const uint32_t ordinal : ordinals) watch_.note_row(ordinal);
  }
  void prefetch_erase(uint32_t ordinal) const;
  void erase(uint32_t ordinal);
  // Without a candidate it looks at two counts.
  size_t compact(uint64_t until_ns);
  bool wants_compaction() const;
  // Makes a block of every full range, busy or not, and gives the pages' memory back.
  void compact_all();
  void tell_moves(RowMoves* moves) { moves_ = moves; }

  // As Partition's.
  std::unique_ptr<PartitionImage> cut();
  base::Result<void> restore(SavedPartition saved);
  void finish_restore();
  void reclaim();
  // Of an image that goes: pages that nobody else has.
  void take_back(std::vector<std::unique_ptr<Leaf>> pages);
  size_t snapshot_bytes() const {
    return kept_bytes_.load(std::memory_order_relaxed);  // relaxed: a figure to look at
  }

  PartitionFigures figures() const;

 private:
  friend class RangeMove;  // storage/range_move.h
  // The ordinals of one block.
  struct Range {
    uint32_t writes = 0;       // since the last compact()
    uint32_t freed = 0;        // of its ordinals
    uint32_t dead = 0;         // of these, when its compressed block was made or read
    uint32_t freed_seen = 0;   // when move_sparse() looked last
    uint32_t still_looks = 0;  // since then, that found no other number
    bool is_block = false;
    bool stays_pages = false;     // too large for a block
    bool changed = true;          // since it was saved; not of compressed blocks
    SharedRef<StringHeap> heap;   // of its pages, or its plain block
    SharedRef<SavedPages> saved;  // S5
  };

  void append_page();
  SharedRef<StringHeap> new_heap();
  // Of rows of one range.
  void note_writes(uint32_t first, uint32_t count, ChangeWatch::Change change) {
    note_range(first >> block_shift_, count, change);
    for (uint32_t i = 0; i < count; ++i) watch_.note_row(first + i);
  }
  void note_range(uint32_t number, uint32_t writes, ChangeWatch::Change change) {
    Range& range = ranges_[number];
    range.writes += writes;
    range.changed = true;
    watch_.note_range(number, change);
  }
  // The range's values are what they were, and its summaries may be others.
  void note_remade(size_t range) {
    watch_.note_range(static_cast<uint32_t>(range), ChangeWatch::Change::kAny);
  }
  // The next ordinals that inserts get, one after the other in one page: at most `count_max`.
  uint32_t take_ordinals(size_t count_max, uint32_t* count);

  bool is_compressed(const Range& range) const {
    return range.is_block && block_form_ == BlockForm::kCompressed;
  }
  // S6, of a leaf that may be in an image: it, or a copy that took its place.
  Leaf& make_own(Leaf* leaf);
  SharedRef<Leaf> copy_of(const Leaf& leaf);
  // The store has it no more; images may. Pages without an image go back to the pool.
  void drop(SharedRef<Leaf> leaf);
  // The range's heap, if the strings of a page lie in it.
  StringHeap* heap_of(const PlainLeaf& page);
  void drop_shared(SharedRef<Leaf> leaf);  // of which there is a copy
  void count_as_kept(Leaf* leaf);
  // What a saved leaf will be: a block, or pages.
  bool stays_block(const SavedLeaf& saved) const {
    return saved.form == SavedForm::kBlock && block_form_ == BlockForm::kCompressed;
  }
  base::Result<SharedRef<Leaf>> read_leaf(const SavedLeaf& saved) const;
  void take_block(SharedRef<Leaf> leaf);
  void make_pages(SavedLeaf saved, const Leaf& rows);

  size_t drop_empty_block();
  // All below: storage/range_move.cpp.
  bool is_sparse(uint32_t range) const;
  // The last one that is sparse and still.
  std::optional<uint32_t> find_sparse();
  // Of the range's pages, without a row.
  void make_empty_block(uint32_t range);
  // So that one more takes no memory.
  template <class Item>
  static void make_room(std::vector<Item>* items) {
    if (items->size() == items->capacity()) items->reserve(2 * items->size() + 1);
  }

  size_t first_leaf_of(size_t range) const;
  size_t make_block(size_t range);
  // Puts `block` in the place of the range's pages.
  void replace_pages(size_t range, std::unique_ptr<Leaf> block);
  // The slots that erases freed in the range are not given out any more.
  void withhold_slots(size_t range);
  // The range's compressed block becomes hot pages, whose freed slots inserts may take.
  void melt(size_t range);
  // Of rows of one range: its number.
  uint32_t range_of(std::span<const uint32_t> ordinals) const {
    DIPTYCH_DCHECK(ordinals.front() >> block_shift_ == ordinals.back() >> block_shift_,
                   "rows that are written together are of one range");
    return ordinals.front() >> block_shift_;
  }
  // The range's compressed block, which S6 is true of; nullptr where it has pages, or a plain one.
  CompressedBlock* block_to_write(uint32_t range);
  void update_pages(std::span<const uint32_t> ordinals, base::ColumnId column,
                    std::span<const std::byte* const> records, size_t cell_offset);
  CompressedBlock& compressed_block(size_t range) const {
    return static_cast<CompressedBlock&>(*directory_[range * format_.block_rows >> page_shift_]);
  }
  // Its pages are not compressed yet: rows of the next inserts go there.
  bool awaits_inserts(const Range& range) const;
  // It has texts of many rows that are dead by now.
  bool is_worth_rewriting(const Range& range) const {
    return is_compressed(range) && range.freed < format_.block_rows &&
           range.freed - range.dead >= worn_rows();
  }
  // All: `done` is what was gone through before, in bytes; with theirs it is returned.
  size_t compact_pages(size_t done, uint64_t until_ns);
  size_t move_sparse(size_t done, uint64_t until_ns);
  size_t rewrite_worn(size_t done, uint64_t until_ns);
  size_t freeze_columns(size_t done, uint64_t until_ns);
  size_t settle_columns(size_t done, uint64_t until_ns);

  uint32_t worn_rows() const { return format_.block_rows / kWornShare; }

  LeafFormat format_;
  base::NumaNode node_;
  BlockForm block_form_;
  BufferManager* buffers_;
  base::Settled settled_;
  size_t settle_next_ = 0;  // the range whose block is looked at next (settling.h)
  uint32_t page_shift_;
  uint32_t block_shift_;
  uint32_t next_ordinal_ = 0;
  uint32_t cuts_ = 0;                  // so far
  std::vector<Leaf*> directory_;       // by ordinal >> page_shift_
  std::atomic<size_t> kept_bytes_{0};  // that only images have; writers: as KeptBytes
  PagePool pages_;
  StringPages string_pages_;  // of the ranges' heaps
  std::mutex returned_mutex_;
  std::vector<std::unique_ptr<Leaf>> returned_;  // guarded by it: pages of images that went
  std::vector<Range> ranges_;                    // by ordinal / block rows
  size_t compacted_ranges_ = 0;                  // that are blocks, or stay pages
  size_t thawed_columns_ = 0;                    // of all compressed blocks
  uint64_t frozen_slots_ = 0;                    // S1
  PartitionFigures counts_;                      // those that are no memory
  uint64_t rows_changed_ = 0;                    // inserted and erased, so far
  std::vector<uint64_t> cells_updated_;          // by ColumnId, so far
  ChangeWatch watch_;
  RowMoves* moves_ = nullptr;    // told of them; without it there are none
  bool takes_inserts_ = false;   // since the last compact()
  std::vector<uint32_t> worn_;   // ranges
  std::vector<uint32_t> empty_;  // ranges: S7
  FreeSlots free_slots_;
  std::vector<SharedRef<Leaf>> leaves_;
  SavedPartition restored_;  // until finish_restore(), of leaves_, and all else is empty
};

}  // namespace diptych::storage
