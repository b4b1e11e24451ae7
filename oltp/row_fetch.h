// Fetching a row into the cache before it is read: which of its slot's lines, and the prefetch.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/alignment.h"
#include "base/row_binding.h"
#include "oltp/row_version.h"
#include "oltp/table.h"

namespace diptych::oltp {

// Lines of a row's slot: bit i stands for its bytes [64 i, 64 i + 64).
using SlotLines = uint64_t;

// Where a slot begins with a line and has no words in front: the version's word, and the members
// (none named: the whole row). A constant, once the compiler has been at it.
template <class Row, auto... Members>
SlotLines lines_of_members() {
  const auto lines = [](size_t from, size_t end) {
    SlotLines covered = 0;
    for (size_t line = from / base::kLineBytes; line <= (end - 1) / base::kLineBytes && line < 64;
         ++line) {
      covered |= SlotLines{1} << line;
    }
    return covered;
  };
  if constexpr (sizeof...(Members) == 0) {
    return lines(0, sizeof(RowSlot) + sizeof(Row));
  } else {
    const auto member = [&](size_t offset, size_t bytes) {
      return lines(sizeof(RowSlot) + offset, sizeof(RowSlot) + offset + bytes);
    };
    return (lines(0, sizeof(RowSlot)) | ... |
            member(static_cast<size_t>(std::bit_cast<ptrdiff_t>(Members)),
                   sizeof(typename base::MemberOf<Members>::Cell)));
  }
}

// In the table's slots: what is elsewhere in the line, or behind other words, may lie in the next.
inline SlotLines lines_in(const Table& table, SlotLines lines) {
  const bool as_said = table.rows.lines_are_whole() && table.rows.front_bytes() == 0;
  return as_said ? lines : lines | lines << 1;
}

inline void fetch_lines(const Table& table, const RowSlot& slot, SlotLines lines) {
  const char* const at = reinterpret_cast<const char*>(&slot) - table.rows.front_bytes();
  for (; lines != 0; lines &= lines - 1) {
    __builtin_prefetch(at + base::kLineBytes * static_cast<size_t>(std::countr_zero(lines)));
  }
}

}  // namespace diptych::oltp
