// RowReader: reads the version of a row that a snapshot sees, while other workers may be changing
// the row (row_version.h). It copies the row, repairs the copy by the images, and repeats this if
// the row's word has changed meanwhile.
//
// Threads    one worker. It takes no lock and writes nothing shared. A read is repeated only if
//            another transaction has made progress (lock-free).

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/row_layout.h"
#include "oltp/row_version.h"

namespace diptych::oltp {

// The columns that a read needs.
struct ColumnChoice {
  bool all = true;
  std::span<const base::ColumnId> columns;  // unless all
  std::span<const base::ColumnId> also;     // an index's, to look at the row's key
};

// Bit g: group g of the row.
using GroupMask = uint32_t;
inline GroupMask all_groups(const base::RowLayout& layout) {
  return (GroupMask{1} << layout.group_count) - 1;
}
// The groups of the chosen columns.
inline GroupMask groups_of(const base::RowLayout& layout, const ColumnChoice& choice) {
  if (choice.all) return all_groups(layout);
  GroupMask groups = 0;
  for (const base::ColumnId id : choice.columns) groups |= GroupMask{1} << layout.column(id).group;
  return groups;
}

// Reads words of the group's version that the snapshot sees, each to its place in `row`. Returns
// false if the snapshot has no row. copy(read_words) calls read_words(WordSpan) for the needed
// words, all of which belong to the group. The calling worker does not own the group.
template <template <class> class Atomic, class Copy>
bool read_version(const BasicRowSlot<Atomic>& slot, base::Vid read_vid, uint64_t* row,
                  const Copy& copy, uint32_t group = 0) {
  const BasicRowVersion<Atomic>& version = slot.group(group);
  const auto read_words = [&](WordSpan span) {
    for (uint32_t i = span.first; i < span.first + span.count; ++i) {
      // acquire: who meets an owner's bytes finds the image that it made before (V1), and no later
      // load is done earlier.
      row[i] = slot.row_words()[i].load(std::memory_order_acquire);
    }
  };
  while (true) {
    // acquire: pairs with the releases of claims and commits; older and the Undo are as they left
    // them.
    const uint64_t word = version.word.load(std::memory_order_acquire);
    const BasicUndo<Atomic>* newest = nullptr;
    if ((word & kOwned) != 0) {
      newest = version.undo_of(word);
    } else if (is_hidden(word, read_vid)) {
      // acquire: as above; a later commit's is found out below.
      newest = version.older.load(std::memory_order_acquire);
    }
    uint64_t seen = word;
    for (const auto* undo = newest; is_hidden(seen, read_vid); undo = undo->older) {
      seen = undo->before;
    }
    if ((seen & kLive) == 0) return false;
    copy(read_words);
    seen = word;
    for (const auto* undo = newest; is_hidden(seen, read_vid); undo = undo->older) {
      // acquire: pairs with the release in keep_image. From the newest image to the oldest: what a
      // word was first is what it stays.
      const BeforeImage* image = undo->images.load(std::memory_order_acquire);
      for (; image != nullptr; image = image->next) {
        std::copy_n(image->words(), image->word_count, row + image->first_word);
      }
      seen = undo->before;
    }
    // relaxed: ordered behind the copy by its acquires.
    if (version.word.load(std::memory_order_relaxed) == word) return true;
  }
}

class RowReader {
 public:
  // The row with its chosen columns; nullptr if the snapshot has no row. Valid until the next read.
  const std::byte* read(const base::RowLayout& layout, const RowSlot& slot, base::Vid read_vid,
                        const ColumnChoice& choice);
  // As read(), for a table with column groups: reads each group of the chosen columns, and group 0
  // for the row's existence. If the reader owns a group, it sees its own bytes.
  const std::byte* read_groups(const base::RowLayout& layout, const RowSlot& slot,
                               base::Vid read_vid, const ColumnChoice& choice,
                               base::WorkerId reader);

  // The buffer of the next read, for a row of this size; for callers of read_version().
  uint64_t* room_for(size_t row_bytes) {
    row_.resize(std::max<size_t>(row_.size(), (row_bytes + 7) / 8));
    return row_.data();
  }

 private:
  std::vector<uint64_t> row_;
};

}  // namespace diptych::oltp
