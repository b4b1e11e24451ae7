// Fetching a row into the cache before it is read: which of its slot's lines, and the prefetch.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/row_layout.h"
#include "oltp/row_version.h"

namespace diptych::oltp {

// Bit i stands for the slot's bytes [64 i, 64 i + 64), counted from `front_bytes` (of the RowTable)
// before the RowSlot: those of the versions' words and of the columns (none named: all).
inline uint64_t lines_of(const base::RowLayout& layout, size_t front_bytes,
                         std::span<const base::ColumnId> columns) {
  uint64_t lines = 0;
  const auto add = [&](size_t from, size_t end) {
    for (size_t line = from / kLineBytes; line <= (end - 1) / kLineBytes && line < 64; ++line) {
      lines |= uint64_t{1} << line;
    }
  };
  const size_t row = front_bytes + sizeof(RowSlot);
  add(0, row);
  if (columns.empty()) add(0, row + layout.bytes);
  for (const base::ColumnId id : columns) {
    const base::ColumnLayout& column = layout.column(id);
    const size_t from = row + column.offset;
    add(from, from + column.bytes);
  }
  return lines;
}

// Slots are not aligned to the cache's lines, so a column's last bytes may lie in one more line.
inline void fetch_lines(const RowSlot& slot, size_t front_bytes, uint64_t lines) {
  const char* const at = reinterpret_cast<const char*>(&slot) - front_bytes;
  for (; lines != 0; lines &= lines - 1) {
    __builtin_prefetch(at + kLineBytes * static_cast<size_t>(__builtin_ctzll(lines)));
  }
}

}  // namespace diptych::oltp
