// RowReader: reads the version of a row that a snapshot sees while other workers may be changing it
// (row_version.h): copy, mend by the images, look whether the word is still the same, else again.
//
// Threads    one worker's. Takes no lock and writes nothing shared; a read is repeated only when
//            another transaction has got on (lock-free).

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/row_layout.h"
#include "oltp/row_version.h"

namespace diptych::oltp {

// The columns that a read wants.
struct ColumnChoice {
  bool all = true;
  std::span<const base::ColumnId> columns;  // unless all
  std::span<const base::ColumnId> also;     // an index's, to look at the row's key
};

class RowReader {
 public:
  // The row, its chosen columns filled in; nullptr: the snapshot has none. It stays until the next
  // read. `slot` is not owned by the calling worker.
  const std::byte* read(const base::RowLayout& layout, const RowSlot& slot, base::Vid read_vid,
                        const ColumnChoice& choice);

 private:
  std::vector<uint64_t> row_;
};

// What the row was before its owner, or is: a word without kOwned. kOwned: somebody is at it.
inline uint64_t settled_word(uint64_t word) {
  if ((word & kOwned) == 0) return word;
  const Undo* const undo = undo_of(word);
  // acquire: pairs with the release in roll_back; the row's bytes are as before.
  return undo->rolled_back.load(std::memory_order_acquire) ? undo->before : word;
}

}  // namespace diptych::oltp
