// A partition's rows to the block file, from an image, and back, to its store.

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/quoted.h"
#include "storage/buffer_manager.h"
#include "storage/encoded_rows.h"
#include "storage/encoding/encode.h"
#include "storage/partition_image.h"
#include "storage/partition_store.h"

namespace diptych::storage {
namespace {

// Pages with more text are several leaves in the file, so that a chunk stays well below its limits.
constexpr size_t kSavedTextBytesMax = size_t{64} << 20;

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

// The chunk, verified and opened.
base::Result<ChunkMemory> read_chunk(const SavedChunk& saved, BlockFile* file) {
  base::Result<ChunkMemory> memory = file->read(saved.address);
  if (!memory.ok()) return memory;
  const base::Result<void> checked = check_chunk(saved, std::as_const(*memory).bytes(), *file);
  if (!checked.ok()) return checked.error();
  return memory;
}

// A page is saved as a whole.
base::Result<void> check_texts(const LeafFormat& format, const PlainLeaf& page, size_t bytes) {
  if (bytes <= encoding::kChunkTextBytesMax) return {};
  return base::Error(
      base::ErrorCode::kUnsupported,
      fmt::format("table {}, partition {}: rows {} to {} have {} bytes of text in one column, "
                  "more than the {} that can be saved together; delete or shorten some",
                  base::quoted(format.schema->name), format.partition.value, page.first_ordinal(),
                  page.first_ordinal() + page.row_slots() - 1, bytes,
                  encoding::kChunkTextBytesMax));
}

}  // namespace

void SavedPages::clear() {
  for (const SavedLeaf& leaf : leaves_) {
    for (const SavedColumn& column : leaf.columns) file_->release(column.chunk.address);
  }
  leaves_.clear();
}

base::Result<void> SavedPages::write_leaf(const LeafFormat& format,
                                          std::span<const PlainLeaf* const> pages,
                                          const SavePace& pace) {
  SavedLeaf& leaf = leaves_.emplace_back(leaf_of_pages(pages));
  for (const encoding::ChunkBytes& chunk : encode_rows(format, pages, SIZE_MAX)) {
    const base::Result<ChunkAddress> address = file_->write(chunk);
    if (!address.ok()) return address.error();
    SavedColumn& column = leaf.columns.emplace_back();
    column.chunk.address = *address;
    std::memcpy(&column.chunk.header, chunk.data(), sizeof column.chunk.header);
    const auto goes_on = keep_pace(pace, address->pages() * size_t{kFilePageBytes});
    if (!goes_on.ok()) return goes_on;
  }
  return {};
}

base::Result<void> SavedPages::write(const LeafFormat& format,
                                     std::span<const PlainLeaf* const> pages,
                                     const SavePace& pace) {
  try {
    auto written = write_leaves(format, pages, pace);
    if (!written.ok()) clear();
    return written;
  } catch (...) {
    clear();
    throw;
  }
}

base::Result<void> SavedPages::write_leaves(const LeafFormat& format,
                                            std::span<const PlainLeaf* const> pages,
                                            const SavePace& pace) {
  size_t first = 0;
  size_t texts = 0;
  for (size_t i = 0; i < pages.size(); ++i) {
    const size_t bytes = text_bytes(format, *pages[i]);
    if (const auto fits = check_texts(format, *pages[i], bytes); !fits.ok()) return fits;
    if (i != first && texts + bytes > kSavedTextBytesMax) {
      const auto written = write_leaf(format, pages.subspan(first, i - first), pace);
      if (!written.ok()) return written;
      first = i;
      texts = 0;
    }
    texts += bytes;
  }
  return write_leaf(format, pages.subspan(first), pace);
}

base::Result<void> SavedPages::move(const SavePace& pace) {
  for (SavedLeaf& leaf : leaves_) {
    for (SavedColumn& column : leaf.columns) {
      ChunkAddress& address = column.chunk.address;
      if (!file_->should_move(address)) continue;
      const base::Result<ChunkMemory> memory = file_->read(address);
      if (!memory.ok()) continue;  // the next start meets the damage
      const base::Result<ChunkAddress> moved = file_->move(address, memory->bytes());
      if (!moved.ok()) return moved.error();
      if (moved->page != address.page) file_->release(std::exchange(address, *moved));
      const auto goes_on = keep_pace(pace, address.pages() * size_t{kFilePageBytes});
      if (!goes_on.ok()) return goes_on;
    }
  }
  return {};
}

base::Result<SavedPartition> PartitionImage::save(const SavePace& pace) const {
  SavedPartition saved;
  for (size_t i = 0; i < leaves_.size();) {
    if (leaves_[i]->form() == LeafForm::kCompressed) {
      const auto& block = static_cast<const CompressedBlock&>(*leaves_[i++]);
      base::Result<SavedLeaf> leaf = block.save(pace);
      if (!leaf.ok()) return leaf.error();
      saved.push_back(std::move(*leaf));
      continue;
    }
    const uint32_t range = leaves_[i]->first_ordinal() / format().block_rows;
    std::vector<const PlainLeaf*> pages;
    for (; i < leaves_.size() && leaves_[i]->first_ordinal() / format().block_rows == range; ++i) {
      pages.push_back(static_cast<const PlainLeaf*>(leaves_[i].get()));
    }
    SavedPages& rows = *saved_[range];
    const auto written = rows.is_written() ? rows.move(pace) : rows.write(format(), pages, pace);
    if (!written.ok()) return written.error();
    saved.insert(saved.end(), rows.leaves().begin(), rows.leaves().end());
  }
  return saved;
}

// Rows that go back to pages are read at once, for whoever reads them before they do.
base::Result<SharedRef<Leaf>> PartitionStore::read_leaf(const SavedLeaf& saved) const {
  if (stays_block(saved)) {
    return SharedRef<Leaf>(std::make_unique<CompressedBlock>(format_, saved, buffers_));
  }
  std::vector<ChunkMemory> chunks;
  for (size_t c = 0; c < saved.columns.size(); ++c) {
    base::Result<ChunkMemory> chunk = read_chunk(saved.columns[c].chunk, &buffers_->file());
    if (!chunk.ok()) {
      return chunk.error().within(format_.described(c, saved.first_ordinal, saved.rows));
    }
    chunks.push_back(std::move(*chunk));
  }
  return SharedRef<Leaf>(std::make_unique<CompressedBlock>(format_, saved, std::move(chunks)));
}

base::Result<void> PartitionStore::restore(SavedPartition saved) {
  DIPTYCH_CHECK(next_ordinal_ == 0, "a partition is restored while it is empty");
  uint32_t rows = 0;
  for (const SavedLeaf& leaf : saved) {
    if (rows % format_.page_rows != 0) {
      return base::Error(
          base::ErrorCode::kCorrupt,
          fmt::format("{}: rows {} to {} begin within a page", buffers_->file().path(),
                      leaf.first_ordinal, leaf.first_ordinal + leaf.rows - 1));
    }
    base::Result<SharedRef<Leaf>> read = read_leaf(leaf);
    if (!read.ok()) return read.error();
    leaves_.push_back(std::move(*read));
    rows += leaf.rows;
  }
  restored_ = std::move(saved);
  return {};
}

void PartitionStore::finish_restore() {
  SavedPartition saved = std::exchange(restored_, {});
  if (saved.empty()) return;
  std::vector<SharedRef<Leaf>> read = std::exchange(leaves_, {});
  watch_.note_all();
  for (size_t i = 0; i < saved.size(); ++i) {
    if (stays_block(saved[i])) {
      take_block(std::move(read[i]));
    } else {
      make_pages(std::move(saved[i]), *read[i]);
      read[i] = {};
    }
  }
}

void PartitionStore::take_block(SharedRef<Leaf> leaf) {
  const auto& block = static_cast<const CompressedBlock&>(*leaf);
  Range& range = ranges_.emplace_back();
  range.is_block = true;
  // A restart alone rewrites nothing: what is dead counts as if the block was made without it.
  range.freed = range.dead = block.row_slots() - block.live_rows();
  range.changed = false;
  const auto number = static_cast<uint32_t>(ranges_.size() - 1);
  ++compacted_ranges_;
  frozen_slots_ += range.freed;
  thawed_columns_ += block.thawed_columns();
  if (range.freed >= worn_rows()) worn_.push_back(number);
  if (block.live_rows() == 0) empty_.push_back(number);
  directory_.insert(directory_.end(), format_.block_rows / format_.page_rows, &*leaf);
  next_ordinal_ += block.row_slots();
  leaves_.push_back(std::move(leaf));
}

void PartitionStore::make_pages(SavedLeaf saved, const Leaf& rows) {
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
  // Chunks of a block that is kept in pages now are given up: the next save writes pages.
  range.changed = saved.form != SavedForm::kPages;
  SharedRef<SavedPages> given_up;
  SharedRef<SavedPages>& pages = range.changed ? given_up : range.saved;
  if (!pages) pages = SharedRef<SavedPages>(std::make_unique<SavedPages>(&buffers_->file()));
  pages->add(std::move(saved));
}

}  // namespace diptych::storage
