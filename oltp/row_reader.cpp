#include "oltp/row_reader.h"

namespace diptych::oltp {

const std::byte* RowReader::read(const base::RowLayout& layout, const RowSlot& slot,
                                 base::Vid read_vid, const ColumnChoice& choice) {
  row_.resize(std::max<size_t>(row_.size(), words_of(0, layout.bytes).count));
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

}  // namespace diptych::oltp
