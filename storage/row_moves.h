// RowMoves: who knows rows by their ordinals, and is told where those are that compaction moved.
//
// Threads    the partition's writer calls it, between batches.

#pragma once

#include <cstdint>

#include "base/ids.h"

namespace diptych::storage {

class RowMoves {
 public:
  // The row lives at this ordinal from now on. Takes no memory: a move cannot be undone then.
  virtual void row_moved(base::RowId row_id, uint32_t ordinal) noexcept = 0;

 protected:
  ~RowMoves() = default;
};

}  // namespace diptych::storage
