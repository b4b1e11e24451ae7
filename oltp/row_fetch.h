// Fetching a row into the cache before it is read: which of its slot's lines, and the prefetch.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "base/row_layout.h"
#include "oltp/row_version.h"
#include "oltp/table.h"

namespace diptych::oltp {

// Bit i stands for the slot's bytes [64 i, 64 i + 64): those of the versions' words and of the
// columns (none named: all). Where slots do not begin with a line, such bytes may lie in the next
// one too.
inline uint64_t lines_of(const Table& table, std::span<const base::ColumnId> columns) {
  const base::RowLayout& layout = table.layout;
  uint64_t lines = 0;
  const auto add = [&](size_t from, size_t end) {
    for (size_t line = from / kLineBytes; line <= (end - 1) / kLineBytes && line < 64; ++line) {
      lines |= uint64_t{1} << line;
    }
  };
  const size_t row = table.rows.front_bytes() + sizeof(RowSlot);
  add(0, row);
  if (columns.empty()) add(0, row + layout.bytes);
  for (const base::ColumnId id : columns) {
    const base::ColumnLayout& column = layout.column(id);
    const size_t from = row + column.offset;
    add(from, from + column.bytes);
  }
  return table.rows.lines_are_whole() ? lines : lines | lines << 1;
}

inline void fetch_lines(const Table& table, const RowSlot& slot, uint64_t lines) {
  const char* const at = reinterpret_cast<const char*>(&slot) - table.rows.front_bytes();
  for (; lines != 0; lines &= lines - 1) {
    __builtin_prefetch(at + kLineBytes * static_cast<size_t>(__builtin_ctzll(lines)));
  }
}

}  // namespace diptych::oltp
