#include "oltp/row_reader.h"

#include <cstring>

#include "base/check.h"

namespace diptych::oltp {

const std::byte* RowReader::read(const base::RowLayout& layout, const RowSlot& slot,
                                 base::Vid read_vid, const ColumnChoice& choice) {
  room_for(layout.bytes);
  const auto copy = [&](const auto& read_words) {
    if (choice.all) return read_words(words_of(0, layout.bytes));
    for (const auto& columns : {choice.columns, choice.also}) {
      for (const base::ColumnId id : columns) {
        const base::ColumnLayout& column = layout.column(id);
        read_words(words_of(column.offset, column.bytes));
      }
    }
  };
  if (!read_version(slot, read_vid, row_.data(), copy)) return nullptr;
  return reinterpret_cast<const std::byte*>(row_.data());
}

const std::byte* RowReader::read_groups(const base::RowLayout& layout, const RowSlot& slot,
                                        base::Vid read_vid, const ColumnChoice& choice,
                                        base::WorkerId reader) {
  room_for(layout.bytes);
  // Group 0 first: it says whether there is a row, and an index's columns are in it.
  const GroupMask groups = groups_of(layout, choice) | 1;
  for (uint32_t group = 0; group < layout.group_count; ++group) {
    if ((groups >> group & 1) == 0) continue;
    const auto copy = [&](const auto& read_words) {
      const auto take = [&](const base::ColumnLayout& column) {
        if (column.group == group) read_words(words_of(column.offset, column.bytes));
      };
      if (choice.all) {
        for (const base::ColumnLayout& column : layout.columns) take(column);
        return;
      }
      for (const base::ColumnId id : choice.columns) take(layout.column(id));
      for (const base::ColumnId id : choice.also) take(layout.column(id));
    };
    // acquire: another worker's Undo is looked into.
    const uint64_t word = slot.group(group).word.load(std::memory_order_acquire);
    if (RowVersion::is_owned_by(word, reader)) {
      copy([&](WordSpan span) {
        std::memcpy(row_.data() + span.first, slot.row() + size_t{8} * span.first,
                    size_t{8} * span.count);
      });
      continue;
    }
    const bool there = read_version(slot, read_vid, row_.data(), copy, group);
    DIPTYCH_DCHECK(there || group == 0, "a row has a version of each group (V6)");
    if (!there) return nullptr;
  }
  return reinterpret_cast<const std::byte*>(row_.data());
}

}  // namespace diptych::oltp
