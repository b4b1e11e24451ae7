#include "storage/plain_block.h"

#include <cstring>
#include <utility>

#include "base/check.h"

namespace diptych::storage {

PlainBlock::PlainBlock(const LeafFormat& format, std::span<const HotPage* const> pages,
                       const SharedRef<StringHeap>& heap, base::NumaNode node)
    : PlainBlock(format, pages, heap, base::Region(format.leaf_bytes(format.block_rows), node)) {}

PlainBlock::PlainBlock(const LeafFormat& format, std::span<const HotPage* const> pages,
                       const SharedRef<StringHeap>& heap, base::Region memory)
    : PlainLeaf(format, pages.front()->first_ordinal(), format.block_rows, memory.data(), heap),
      memory_(std::move(memory)) {
  DIPTYCH_CHECK(pages.size() * format.page_rows == format.block_rows, "the pages tile the block");
  DIPTYCH_CHECK(first_ordinal() % format.block_rows == 0, "blocks tile the ordinals");
  const uint32_t rows = format.page_rows;
  size_t place = 0;
  for (const HotPage* page : pages) {
    DIPTYCH_CHECK(page->full() && page->first_ordinal() == first_ordinal() + place * rows,
                  "a block is made from full, adjacent pages");
    const std::byte* const from = page->memory();
    std::memcpy(data() + place * rows * sizeof(uint64_t), from, rows * sizeof(uint64_t));
    for (const ColumnFormat& column : format.columns) {
      const size_t bytes = size_t{rows} * column.value_bytes;
      std::memcpy(values(column) + place * bytes, from + format.values_offset(column, rows), bytes);
      if (!column.nullable) continue;
      std::memcpy(nulls(column) + place * (rows / 64), from + format.nulls_offset(column, rows),
                  rows / 8);
    }
    std::memcpy(live_bits_.data() + place * (rows / 64), page->live_bits(), rows / 8);
    live_rows_ += page->live_rows();
    ++place;
  }
  row_slots_ = format.block_rows;
  tighten_bounds();
}

PlainBlock::PlainBlock(const PlainBlock& from, base::NumaNode node)
    : PlainBlock(from, base::Region(from.memory_.size(), node)) {}

PlainBlock::PlainBlock(const PlainBlock& from, base::Region memory)
    : PlainLeaf(from, memory.data()), memory_(std::move(memory)) {}

}  // namespace diptych::storage
