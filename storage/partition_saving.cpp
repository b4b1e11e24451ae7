// PartitionStore: its rows to the block file, and back.

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "storage/buffer_manager.h"
#include "storage/encoded_rows.h"
#include "storage/partition_store.h"

namespace diptych::storage {
namespace {

// Pages with more text are several leaves in the file, so that a chunk stays well below its limits.
constexpr size_t kSavedTextBytesMax = CompressedBlock::kTextBytesMax;

SavedLeaf leaf_of_pages(std::span<const PlainLeaf* const> pages) {
  SavedLeaf saved;
  saved.form = SavedForm::kPages;
  saved.first_ordinal = pages.front()->first_ordinal();
  for (const PlainLeaf* page : pages) {
    saved.rows += page->row_slots();
    saved.live_bits.insert(saved.live_bits.end(), page->live_bits(),
                           page->live_bits() + encoding::bitmap_words(page->row_slots()));
  }
  return saved;
}

base::Result<void> write_chunks(const std::vector<encoding::ChunkBytes>& chunks, BlockFile* file,
                                SavedLeaf* leaf) {
  for (const encoding::ChunkBytes& chunk : chunks) {
    const base::Result<ChunkAddress> address = file->write(chunk);
    if (!address.ok()) return address.error();
    SavedColumn& column = leaf->columns.emplace_back();
    column.chunk.address = *address;
    std::memcpy(&column.chunk.header, chunk.data(), sizeof column.chunk.header);
  }
  return {};
}

// The chunk, verified and opened.
base::Result<ChunkMemory> read_chunk(const SavedChunk& saved, BlockFile* file) {
  base::Result<ChunkMemory> memory = file->read(saved.address);
  if (!memory.ok()) return memory;
  const base::Result<void> checked = check_chunk(saved, std::as_const(*memory).bytes(), *file);
  if (!checked.ok()) return checked.error();
  return memory;
}

}  // namespace

size_t PartitionStore::leaves_of(size_t range) const {
  if (ranges_[range].is_block) return 1;
  const auto first = static_cast<uint32_t>(range * format_.block_rows);
  const uint32_t rows = std::min(format_.block_rows, next_ordinal_ - first);
  return (rows + format_.page_rows - 1) / format_.page_rows;
}

void PartitionStore::forget_saved(Range* range) {
  for (const SavedLeaf& leaf : range->saved) {
    for (const SavedColumn& column : leaf.columns) buffers_->file().release(column.chunk.address);
  }
  range->saved.clear();
}

base::Result<void> PartitionStore::save_pages(size_t number) {
  Range& range = ranges_[number];
  forget_saved(&range);
  range.changed = true;
  const size_t first = first_leaf_of(number);
  std::vector<const PlainLeaf*> pages;
  size_t texts = 0;
  const auto write = [&]() -> base::Result<void> {
    range.saved.push_back(leaf_of_pages(pages));
    const auto chunks = encode_rows(format_, pages, SIZE_MAX);
    pages.clear();
    texts = 0;
    return write_chunks(chunks, &buffers_->file(), &range.saved.back());
  };
  for (size_t i = 0; i < leaves_of(number); ++i) {
    const auto& page = static_cast<const PlainLeaf&>(*leaves_[first + i]);
    const size_t bytes = text_bytes(format_, page);
    if (!pages.empty() && texts + bytes > kSavedTextBytesMax) {
      if (const auto written = write(); !written.ok()) return written;
    }
    pages.push_back(&page);
    texts += bytes;
  }
  if (const auto written = write(); !written.ok()) return written;
  range.changed = false;
  return {};
}

base::Result<SavedPartition> PartitionStore::save() {
  DIPTYCH_CHECK(buffers_ != nullptr, "a replica in memory has nowhere to be saved");
  SavedPartition saved;
  for (size_t i = 0; i < ranges_.size(); ++i) {
    Range& range = ranges_[i];
    if (is_compressed(range)) {
      base::Result<SavedLeaf> leaf = compressed_block(i).save();
      if (!leaf.ok()) return leaf.error();
      saved.push_back(std::move(*leaf));
      continue;
    }
    if (range.changed) {
      if (const auto written = save_pages(i); !written.ok()) return written.error();
    }
    saved.insert(saved.end(), range.saved.begin(), range.saved.end());
  }
  return saved;
}

void PartitionStore::restore_block(const SavedLeaf& saved) {
  auto block = std::make_unique<CompressedBlock>(format_, saved, buffers_);
  Range& range = ranges_.emplace_back();
  range.is_block = true;
  range.freed = saved.rows - block->live_rows();
  range.changed = false;
  const auto number = static_cast<uint32_t>(ranges_.size() - 1);
  ++settled_ranges_;
  frozen_slots_ += range.freed;
  thawed_columns_ += block->thawed_columns();
  if (range.freed >= worn_rows()) worn_.push_back(number);
  if (block->live_rows() == 0) empty_.push_back(number);
  directory_.insert(directory_.end(), format_.block_rows / format_.page_rows, block.get());
  leaves_.push_back(std::move(block));
  next_ordinal_ += saved.rows;
}

base::Result<void> PartitionStore::restore_pages(SavedLeaf saved) {
  std::vector<ChunkMemory> chunks;
  for (const SavedColumn& column : saved.columns) {
    base::Result<ChunkMemory> chunk = read_chunk(column.chunk, &buffers_->file());
    if (!chunk.ok()) return chunk.error();
    chunks.push_back(std::move(*chunk));
  }
  const CompressedBlock rows(format_, saved, std::move(chunks));
  for (uint32_t first = 0; first < saved.rows; first += format_.page_rows) {
    append_page();
    auto& page = static_cast<PlainLeaf&>(*leaves_.back());
    page.copy_rows(rows, first);
    next_ordinal_ += page.row_slots();
  }
  Range& range = ranges_.back();
  for (uint32_t i = 0; i < saved.rows; ++i) {
    if (rows.lives(i)) continue;
    free_slots_.add(saved.first_ordinal + i);
    ++range.freed;
  }
  const bool stays_saved = saved.form == SavedForm::kPages;
  range.changed = !stays_saved;
  range.saved.push_back(std::move(saved));
  if (!stays_saved) forget_saved(&range);
  return {};
}

base::Result<void> PartitionStore::restore(SavedPartition saved) {
  DIPTYCH_CHECK(next_ordinal_ == 0, "a partition is restored while it is empty");
  for (SavedLeaf& leaf : saved) {
    if (next_ordinal_ % format_.page_rows != 0) {
      return base::Error(
          base::ErrorCode::kCorrupt,
          fmt::format("{}: rows {} to {} begin within a page", buffers_->file().path(),
                      leaf.first_ordinal, leaf.first_ordinal + leaf.rows - 1));
    }
    if (leaf.form == SavedForm::kBlock && block_form_ == BlockForm::kCompressed) {
      restore_block(leaf);
    } else if (const auto restored = restore_pages(std::move(leaf)); !restored.ok()) {
      return restored;
    }
  }
  return {};
}

}  // namespace diptych::storage
