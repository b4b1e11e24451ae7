#include "storage/compressed_block.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.h"
#include "storage/cell.h"
#include "storage/encoding/encode.h"

namespace diptych::storage {
namespace {

using encoding::Cell;
using encoding::Chunk;
using encoding::ChunkBytes;
using encoding::ColumnRun;

// A run of the pages' values, one page behind the other.
struct PageValues {
  std::vector<uint64_t> values;  // as words: any value type is aligned
  std::vector<uint64_t> nulls;

  ColumnRun run(encoding::ValueKind kind, bool nullable) const {
    return {kind, kBlockRows, values.data(), nullable ? nulls.data() : nullptr};
  }
};

PageValues column_of(const LeafFormat& format, const ColumnFormat& column,
                     std::span<const HotPage* const> pages) {
  PageValues all;
  all.values.resize(size_t{kBlockRows} * column.value_bytes / sizeof(uint64_t));
  if (column.nullable) all.nulls.resize(kBlockRows / 64);
  const uint32_t rows = format.page_rows;
  auto* to = reinterpret_cast<std::byte*>(all.values.data());
  auto* nulls = reinterpret_cast<std::byte*>(all.nulls.data());
  for (const HotPage* page : pages) {
    const std::byte* const from = page->memory();
    const size_t bytes = size_t{rows} * column.value_bytes;
    std::memcpy(to, from + format.values_offset(column, rows), bytes);
    to += bytes;
    if (!column.nullable) continue;
    std::memcpy(nulls, from + format.nulls_offset(column, rows), rows / 8);
    nulls += rows / 8;
  }
  return all;
}

uint64_t text_bytes(const ColumnRun& run) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < run.rows; ++i) bytes += run.as<base::StringRef>()[i].size();
  return bytes;
}

ChunkBytes encoded(const ColumnRun& run) {
  base::Result<ChunkBytes> chunk = encoding::encode(run);
  DIPTYCH_CHECK(chunk.ok(), "C2: a block's columns are far below what a chunk takes");
  return std::move(*chunk);
}

}  // namespace

CompressedBlock::CompressedBlock(const LeafFormat& format, std::span<const HotPage* const> pages)
    : Leaf(LeafForm::kCompressed) {
  DIPTYCH_CHECK(pages.size() * format.page_rows == kBlockRows, "the pages tile the block");
  first_ordinal_ = pages.front()->first_ordinal();
  DIPTYCH_CHECK(first_ordinal_ % kBlockRows == 0, "blocks tile the ordinals");
  row_slots_ = kBlockRows;
  live_bits_.reserve(kBlockRows / 64);
  for (const HotPage* page : pages) {
    DIPTYCH_CHECK(page->full() && page->first_ordinal() == first_ordinal_ + live_bits_.size() * 64,
                  "a block is made from full, adjacent pages");
    live_bits_.insert(live_bits_.end(), page->live_bits(),
                      page->live_bits() + format.page_rows / 64);
    live_rows_ += page->live_rows();
  }
  columns_.reserve(format.columns.size() + 1);
  bytes_ = sizeof *this + live_bits_.capacity() * sizeof(uint64_t) +
           columns_.capacity() * sizeof(Column);
}

std::unique_ptr<CompressedBlock> CompressedBlock::make(const LeafFormat& format,
                                                       std::span<const HotPage* const> pages) {
  std::unique_ptr<CompressedBlock> block(new CompressedBlock(format, pages));
  for (const ColumnFormat& column : format.columns) {
    if (!block->add_column(format, column, pages)) return nullptr;
  }
  // The RowIDs lie in front of a page's columns, like one of BIGINT.
  ColumnFormat row_ids;
  row_ids.type = {base::TypeKind::kBigInt};
  row_ids.value_bytes = sizeof(uint64_t);
  DIPTYCH_CHECK(block->add_column(format, row_ids, pages), "numbers fit any block");
  return block;
}

bool CompressedBlock::add_column(const LeafFormat& format, const ColumnFormat& column,
                                 std::span<const HotPage* const> pages) {
  const PageValues values = column_of(format, column, pages);
  const ColumnRun run = values.run(encoding::value_kind(column.type), column.nullable);
  if (column.is_string() && text_bytes(run) > kTextBytesMax) return false;
  Column& added = columns_.emplace_back();
  added.nullable = column.nullable;
  set_chunk(&added, encoded(run));
  return true;
}

void CompressedBlock::set_chunk(Column* column, ChunkBytes chunk) {
  if (chunk.capacity() > chunk.size() + chunk.size() / 32) {
    chunk = ChunkBytes(chunk.begin(), chunk.end());  // without what its making had to spare
  }
  bytes_ += chunk.capacity();
  bytes_ -= column->chunk.capacity();
  column->chunk = std::move(chunk);
}

ColumnView CompressedBlock::column(base::ColumnId column, uint32_t first, uint32_t count,
                                   DecodeBuffer* buffer) const {
  const ColumnRun run = chunk(column).decode(first, count, buffer);
  return {run.values, run.nulls, run.rows};
}

ColumnSummary CompressedBlock::summary(base::ColumnId column) const {
  const Chunk found = chunk(column);
  ColumnSummary summary;
  summary.has_null = found.null_rows() != 0;
  switch (found.kind()) {
    case encoding::ValueKind::kInt32:
    case encoding::ValueKind::kInt64:
      summary.known = true;
      summary.min = found.min();
      summary.max = found.max();
      break;
    case encoding::ValueKind::kDouble:
      if (found.min() > found.max()) {
        summary.min_double = std::numeric_limits<double>::infinity();
        summary.max_double = -summary.min_double;
        summary.known = true;
        break;
      }
      // NaN is above all others.
      summary.min_double = encoding::key_double(found.min());
      summary.max_double = encoding::key_double(found.max());
      summary.known = !std::isnan(summary.max_double);
      break;
    case encoding::ValueKind::kBoolean:
    case encoding::ValueKind::kText: break;
  }
  return summary;
}

ColumnStorage CompressedBlock::storage(base::ColumnId column) const {
  const Column& found = columns_[column.value];
  return {encoding::encoding_name(chunk(column).encoding()), found.chunk.capacity(), found.thawed};
}

base::RowId CompressedBlock::row_id(uint32_t position) const {
  const Cell cell = Chunk::trusted(columns_.back().chunk).at(position, nullptr);
  return base::RowId(static_cast<uint64_t>(cell.key));
}

bool CompressedBlock::write(Column* column, uint32_t row, const Cell& cell, size_t* thawed) {
  column->written = true;
  if (Chunk::patch(column->chunk, row, cell) == encoding::Patch::kDone) return true;
  const auto nulls = column->nullable ? encoding::NullRoom::kMap : encoding::NullRoom::kNone;
  base::Result<ChunkBytes> chunk = thaw(Chunk::trusted(column->chunk), row, cell, nulls);
  // The only error is one of size (encode.h).
  if (!chunk.ok() || chunk->size() > kTextBytesMax + kTextBytesMax / 4) return false;
  set_chunk(column, std::move(*chunk));
  if (column->thawed) return true;
  column->thawed = true;
  ++thawed_columns_;
  ++*thawed;
  return true;
}

template <class ToCell>
CompressedBlock::Written CompressedBlock::write_each(const ColumnFormat& format,
                                                     base::ColumnId column,
                                                     std::span<const RowPlace> places,
                                                     std::span<const std::byte* const> records,
                                                     size_t cell_offset, ToCell to_cell) {
  Written written;
  for (size_t i = 0; i < places.size(); ++i) {
    auto& block = static_cast<CompressedBlock&>(*places[i].leaf);
    DIPTYCH_DCHECK(block.lives(places[i].position), "only a live row is updated");
    const std::byte* const from = records[i] + cell_offset;
    const bool is_null = format.nullable && from[format.null_in_cell] != std::byte{0};
    const Cell cell = is_null ? Cell::null() : to_cell(from, records[i]);
    Column& chunk = block.columns_[column.value];
    if (!block.write(&chunk, places[i].position, cell, &written.thawed)) break;
    ++written.cells;
  }
  return written;
}

CompressedBlock::Written CompressedBlock::write_cells(const ColumnFormat& format,
                                                      base::ColumnId column,
                                                      std::span<const RowPlace> places,
                                                      std::span<const std::byte* const> records,
                                                      size_t cell_offset) {
  const auto write = [&](auto to_cell) {
    return write_each(format, column, places, records, cell_offset, to_cell);
  };
  using Bytes = const std::byte*;
  switch (format.kind) {
    case CellKind::kInt32:
      return write([](Bytes cell, Bytes) { return Cell::number(load<int32_t>(cell)); });
    case CellKind::kInt64:
      return write([](Bytes cell, Bytes) { return Cell::number(load<int64_t>(cell)); });
    case CellKind::kDouble:
      return write([](Bytes cell, Bytes) { return Cell::of_double(load<double>(cell)); });
    case CellKind::kBoolean:
      return write([](Bytes cell, Bytes) { return Cell::number(*cell != std::byte{0}); });
    case CellKind::kInlineString:
    case CellKind::kLongString: break;
  }
  return write([&](Bytes cell, Bytes record) {
    return Cell::of_text(cell_string(format.kind, cell, record));
  });
}

size_t CompressedBlock::look(Freeze freeze) {
  size_t looked_through = 0;
  for (Column& column : columns_) {
    if (!column.thawed) continue;
    column.quiet_looks = column.written ? 0 : column.quiet_looks + 1;
    column.written = false;
    const bool is_quiet = column.quiet_looks >= column.quiet_looks_needed;
    if (!is_quiet || freeze == Freeze::kNone || looked_through != 0) continue;
    looked_through = column.chunk.size();
    DecodeBuffer buffer;
    set_chunk(&column, encoded(Chunk::trusted(column.chunk).decode(0, kBlockRows, &buffer)));
    column.thawed = false;
    column.quiet_looks = 0;
    column.quiet_looks_needed = std::min(2 * column.quiet_looks_needed, kQuietLooksMax);
    --thawed_columns_;
  }
  return looked_through;
}

}  // namespace diptych::storage
