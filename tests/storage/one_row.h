// Writes of one row, or one cell, to a partition, which takes many at a time.

#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "storage/table.h"

namespace diptych::storage::test {

// Its ordinal. The row, and its long strings, as a NewRow's.
inline uint32_t insert_row(Partition& partition, base::RowId row_id, const std::byte* row,
                           const std::byte* strings_base) {
  const NewRow one{row_id, row, strings_base};
  uint32_t ordinal = 0;
  partition.insert({&one, 1}, &ordinal);
  return ordinal;
}

// The cell, and its long string, lie in the record.
inline void update_cell(Partition& partition, uint32_t ordinal, base::ColumnId column,
                        const std::byte* cell, const std::byte* record) {
  partition.note_writes({&ordinal, 1});
  partition.update({&ordinal, 1}, column, {&record, 1}, static_cast<size_t>(cell - record));
}

}  // namespace diptych::storage::test
