// RowIndex: RowID -> ordinal, of one partition. Arrays, since RowIDs are slot numbers of the OLTP
// replica's tables: dense, and given out in runs.
//
//   RowID   | page number | place: 8 bits |
//
//   directory_: page number ──► Page        a hash table of few entries: 16 bytes for 256 RowIDs
//   Page        | rows, u32 | (60 bytes) | ordinals + 1, u32 * 256 |       0: no such row
//
// A lookup is a probe of the directory, which mostly is in the cache, and one load of the page,
// which apply() hides by grouped software prefetch: it takes the entry's place early, and reads it
// later. Rows that are inserted together lie in the same lines. All RowIDs of a page are of one
// partition (storage::Table::partition_of), so no page is there twice.
//
// Threads    one writer between batches; lookups from the same thread, or from many when none
//            writes.
// Memory     4 to 5 bytes a RowID where they are dense, and never more than 1.2 KB a row where
//            they are not. Pages do not move; growing moves the directory only. A page whose rows
//            are all gone is used again after trim().
//
// Invariants
//   R1  A RowID has one entry at most.
//   R2  A page of the directory has rows, or is in emptied_.

#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "base/alignment.h"
#include "base/arena.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/ids.h"

namespace diptych::propagation {

class RowIndex {
 public:
  static constexpr uint32_t kPageRows = base::kRowIdRun;
  static constexpr uint32_t kPageRowsBits = std::countr_zero(kPageRows);
  // An ordinal plus one; 0: no such row.
  using Entry = uint32_t;

  explicit RowIndex(base::NumaNode node);

  void insert(base::RowId row_id, uint32_t ordinal) {  // row_id must be absent
    DIPTYCH_CHECK(ordinal != std::numeric_limits<uint32_t>::max(), "ordinals are stored plus one");
    Page* const page = page_of(row_id);
    Entry& found = page->entries[place(row_id)];
    DIPTYCH_CHECK(found == 0, "R1: an inserted RowID is absent");
    found = ordinal + 1;
    ++page->rows;
    ++size_;
  }
  void move(base::RowId row_id, uint32_t ordinal) {  // row_id must be there
    Entry& found = page_of(row_id)->entries[place(row_id)];
    DIPTYCH_CHECK(found != 0, "A2: only a row that lives moves");
    found = ordinal + 1;
  }
  std::optional<uint32_t> find(base::RowId row_id) const;
  std::optional<uint32_t> erase(base::RowId row_id);  // the ordinal it had
  // Where the RowID's entry is or will be: it stays there until trim(). Those of one kRowIdRun lie
  // one behind the other.
  const Entry* entry(base::RowId row_id) { return &page_of(row_id)->entries[place(row_id)]; }
  // Hints that entry() will be asked for soon.
  void prefetch(base::RowId row_id) const {
    const uint64_t number = row_id.value >> kPageRowsBits;
    if (number != last_number_) __builtin_prefetch(&directory_[home(number)]);
  }
  // Takes back the pages that have become empty.
  void trim();

  size_t size() const { return size_; }
  size_t memory_bytes() const;

 private:
  struct alignas(base::kLineBytes) Page {
    uint32_t rows;
    alignas(base::kLineBytes) Entry entries[kPageRows];
  };
  struct Slot {
    uint64_t number = 0;
    Page* page = nullptr;  // none: the slot is free
  };

  static uint32_t place(base::RowId row_id) { return row_id.value % kPageRows; }
  size_t home(uint64_t number) const { return number * base::kGolden64 >> shift_; }
  // Of the slot that has the number, or of the free one where it belongs.
  size_t find_slot(uint64_t number) const {
    size_t at = home(number);
    while (directory_[at].page != nullptr && directory_[at].number != number) {
      at = (at + 1) & (directory_.size() - 1);
    }
    return at;
  }
  Page* page_of(base::RowId row_id) {
    const uint64_t number = row_id.value >> kPageRowsBits;
    if (number == last_number_) return last_page_;
    Page* const page = directory_[find_slot(number)].page;
    return page != nullptr ? remember(number, page) : add_page(number);
  }
  Page* remember(uint64_t number, Page* page) {
    last_number_ = number;
    return last_page_ = page;
  }
  Page* add_page(uint64_t number);
  void resize_directory(size_t slots);
  void remove_slot(uint64_t number);

  base::NumaNode node_;
  std::vector<Slot> directory_;  // a power of two, at most half full, linear probing
  uint32_t shift_ = 0;           // 64 less the binary logarithm of directory_.size()
  size_t pages_ = 0;             // in the directory
  size_t size_ = 0;
  uint64_t last_number_;  // of last_page_, the one looked up last; or a number that none has
  Page* last_page_ = nullptr;
  std::vector<uint64_t> emptied_;  // numbers of pages that had no row when they were noted
  std::vector<Page*> free_pages_;  // all of whose entries are 0
  std::vector<base::Region> regions_;
  size_t region_used_ = 0;  // bytes of the last region
  size_t region_bytes_ = 0;
};

}  // namespace diptych::propagation
