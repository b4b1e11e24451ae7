#include "oltp/row_reader.h"

#include <algorithm>

namespace diptych::oltp {
namespace {

bool is_hidden(uint64_t word, base::Vid read_vid) {
  return (word & kOwned) != 0 || (word & kVidMask) > read_vid.value;
}

void copy_words(const RowSlot& slot, WordSpan span, uint64_t* to) {
  for (uint32_t i = span.first; i < span.first + span.count; ++i) {
    // acquire: who meets an owner's bytes finds the image that it made before (V1), and no later
    // load is done earlier.
    to[i] = slot.row_words()[i].load(std::memory_order_acquire);
  }
}

void copy_columns(const base::RowLayout& layout, const RowSlot& slot,
                  std::span<const base::ColumnId> columns, uint64_t* to) {
  for (const base::ColumnId id : columns) {
    const base::ColumnLayout& column = layout.column(id);
    copy_words(slot, words_of(column.offset, column.bytes), to);
  }
}

// From the newest image to the oldest: what a word was first is what it stays.
void apply_images(const Undo& undo, uint64_t* to) {
  // acquire: pairs with the release in publish_images.
  const BeforeImage* image = undo.images.load(std::memory_order_acquire);
  for (; image != nullptr; image = image->next) {
    std::copy_n(image->words(), image->word_count, to + image->first_word);
  }
}

}  // namespace

const std::byte* RowReader::read(const base::RowLayout& layout, const RowSlot& slot,
                                 base::Vid read_vid, const ColumnChoice& choice) {
  row_.resize(std::max<size_t>(row_.size(), (layout.bytes + 7) / 8));
  while (true) {
    // acquire: pairs with the releases of claims and commits; older and the Undo are as they left
    // them.
    const uint64_t word = slot.word.load(std::memory_order_acquire);
    const Undo* newest = nullptr;
    if ((word & kOwned) != 0) {
      newest = undo_of(word);
    } else if (is_hidden(word, read_vid)) {
      // acquire: as above; a later commit's is found out below.
      newest = slot.older.load(std::memory_order_acquire);
    }
    uint64_t seen = word;
    for (const Undo* undo = newest; is_hidden(seen, read_vid); undo = undo->older) {
      seen = undo->before;
    }
    if ((seen & kLive) == 0) return nullptr;
    if (choice.all) {
      copy_words(slot, words_of(0, layout.bytes), row_.data());
    } else {
      copy_columns(layout, slot, choice.columns, row_.data());
      copy_columns(layout, slot, choice.also, row_.data());
    }
    uint64_t hidden = word;
    for (const Undo* undo = newest; is_hidden(hidden, read_vid); undo = undo->older) {
      apply_images(*undo, row_.data());
      hidden = undo->before;
    }
    // relaxed: ordered behind the copy by its acquires.
    if (slot.word.load(std::memory_order_relaxed) == word) {
      return reinterpret_cast<const std::byte*>(row_.data());
    }
  }
}

}  // namespace diptych::oltp
