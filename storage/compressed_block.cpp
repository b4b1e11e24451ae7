#include "storage/compressed_block.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/string_ref.h"
#include "storage/cell.h"
#include "storage/encoded_rows.h"
#include "storage/encoding/encode.h"
#include "storage/settling.h"

namespace diptych::storage {
namespace {

using encoding::Cell;
using encoding::Chunk;
using encoding::ChunkBytes;
using encoding::ChunkHeader;

using Bytes = const std::byte*;

}  // namespace

CompressedBlock::CompressedBlock(const LeafFormat& format, uint32_t first_ordinal, uint32_t rows,
                                 BufferManager* buffers)
    : Leaf(LeafForm::kCompressed),
      format_(&format),
      column_count_(format.columns.size() + 1),
      columns_(std::make_unique<Column[]>(column_count_)),
      buffers_(buffers) {
  first_ordinal_ = first_ordinal;
  row_slots_ = rows;
  for (size_t c = 0; c < format.columns.size(); ++c) {
    columns_[c].nullable = format.columns[c].nullable;
  }
}

void CompressedBlock::set_live(std::span<const uint64_t> words) {
  live_bits_.insert(live_bits_.end(), words.begin(), words.end());
  for (const uint64_t word : words) live_rows_ += static_cast<uint32_t>(std::popcount(word));
}

std::unique_ptr<CompressedBlock> CompressedBlock::make(const LeafFormat& format,
                                                       std::span<const PlainLeaf* const> pages,
                                                       BufferManager* buffers) {
  const uint32_t first_ordinal = pages.front()->first_ordinal();
  DIPTYCH_CHECK(pages.size() * format.page_rows == format.block_rows, "the pages tile the block");
  DIPTYCH_CHECK(first_ordinal % format.block_rows == 0, "blocks tile the ordinals");
  std::vector<ChunkBytes> chunks = encode_rows(format, pages, text_bytes_max(format.block_rows));
  if (chunks.empty()) return nullptr;
  std::unique_ptr<CompressedBlock> block(
      new CompressedBlock(format, first_ordinal, format.block_rows, buffers));
  block->live_bits_.reserve(format.block_rows / 64);
  for (const PlainLeaf* page : pages) {
    DIPTYCH_CHECK(
        page->full() && page->first_ordinal() == first_ordinal + block->live_bits_.size() * 64,
        "a block is made from full, adjacent pages");
    block->set_live({page->live_bits(), format.page_rows / 64});
  }
  block->fill(std::move(chunks));
  return block;
}

std::unique_ptr<CompressedBlock> CompressedBlock::make(const LeafFormat& format,
                                                       uint32_t first_ordinal,
                                                       std::span<const NewRow> rows,
                                                       BufferManager* buffers) {
  DIPTYCH_CHECK(rows.size() == format.block_rows, "a block's rows come together");
  DIPTYCH_CHECK(first_ordinal % format.block_rows == 0, "blocks tile the ordinals");
  std::vector<ChunkBytes> chunks = encode_rows(format, rows, text_bytes_max(format.block_rows));
  if (chunks.empty()) return nullptr;
  std::unique_ptr<CompressedBlock> block(
      new CompressedBlock(format, first_ordinal, format.block_rows, buffers));
  block->set_live(std::vector<uint64_t>(format.block_rows / 64, ~uint64_t{0}));
  block->fill(std::move(chunks));
  return block;
}

void CompressedBlock::fill(std::vector<ChunkBytes> chunks) {
  for (size_t c = 0; c < chunks.size(); ++c) {
    columns_[c].chunk->fill(buffers_, ChunkMemory(std::move(chunks[c])));
  }
}

CompressedBlock::CompressedBlock(const LeafFormat& format, const SavedLeaf& saved,
                                 BufferManager* buffers)
    : CompressedBlock(format, saved.first_ordinal, saved.rows, buffers) {
  set_live(saved.live_bits);
  for (size_t c = 0; c < column_count_; ++c) {
    columns_[c].chunk->fill(buffers, saved.columns[c].chunk);
    columns_[c].thawed = saved.columns[c].thawed;
    thawed_columns_ += columns_[c].thawed ? 1 : 0;
  }
}

CompressedBlock::CompressedBlock(const LeafFormat& format, const SavedLeaf& saved,
                                 std::vector<ChunkMemory> in_memory)
    : CompressedBlock(format, saved.first_ordinal, saved.rows, nullptr) {
  set_live(saved.live_bits);
  for (size_t c = 0; c < column_count_; ++c) {
    columns_[c].chunk->fill(nullptr, std::move(in_memory[c]));
  }
}

CompressedBlock::CompressedBlock(const CompressedBlock& from, std::atomic<size_t>* kept_bytes)
    : Leaf(from),
      format_(from.format_),
      column_count_(from.column_count_),
      columns_(std::make_unique<Column[]>(column_count_)),
      thawed_columns_(from.thawed_columns_),
      buffers_(from.buffers_),
      kept_bytes_(kept_bytes) {
  std::copy_n(from.columns_.get(), column_count_, columns_.get());
  for (size_t c = 0; c < column_count_; ++c) columns_[c].owned = false;
}

void CompressedBlock::put(Column* column, ChunkBytes bytes) {
  column->chunk->keep(kept_bytes_);
  column->chunk = SharedRef<BufferedChunk>(std::make_unique<BufferedChunk>());
  column->chunk->fill(buffers_, ChunkMemory(std::move(bytes)));
}

void CompressedBlock::own(Column* column) {
  if (column->chunk->is_shared()) {
    ChunkBytes copy;
    {
      const ChunkPin shared(*column->chunk);
      const std::span<const std::byte> bytes = shared->span();
      copy.assign(bytes.begin(), bytes.end());
    }
    put(column, std::move(copy));
  }
  column->owned = true;
}

void CompressedBlock::replace(Column* column, ChunkBytes bytes) {
  if (column->chunk->is_shared()) {
    put(column, std::move(bytes));
  } else {
    column->chunk->replace(std::move(bytes));
  }
  column->owned = true;
}

void CompressedBlock::keep_all(std::atomic<size_t>* total) {
  keep(total, own_bytes());
  for (size_t c = 0; c < column_count_; ++c) columns_[c].chunk->keep(total);
}

base::Result<SavedLeaf> CompressedBlock::save(const SavePace& pace) const {
  SavedLeaf saved;
  saved.form = SavedForm::kBlock;
  saved.first_ordinal = first_ordinal_;
  saved.rows = row_slots_;
  saved.live_bits = live_bits_;
  for (size_t c = 0; c < column_count_; ++c) {
    const base::Result<SavedChunk> chunk = columns_[c].chunk->save(pace);
    if (!chunk.ok()) return chunk.error();
    saved.columns.push_back({*chunk, columns_[c].thawed});
  }
  return saved;
}

size_t CompressedBlock::own_bytes() const {
  return sizeof *this + live_bits_.capacity() * sizeof(uint64_t) + column_count_ * sizeof(Column);
}

size_t CompressedBlock::memory_bytes() const {
  size_t bytes = own_bytes() + column_count_ * sizeof(BufferedChunk);
  for (size_t c = 0; c < column_count_; ++c) bytes += columns_[c].chunk->memory_bytes();
  return bytes;
}

base::Result<PinnedColumn> CompressedBlock::pin(size_t column) const {
  const base::Result<Chunk> chunk = columns_[column].chunk->pin();
  if (chunk.ok()) return PinnedColumn(columns_[column].chunk.get(), *chunk);
  return chunk.error().within(format_->described(column, first_ordinal_, row_slots_));
}

base::Result<PinnedColumn> CompressedBlock::pin(base::ColumnId column) const {
  return pin(size_t{column.value});
}

base::Result<PinnedColumn> CompressedBlock::pin_row_ids() const {
  return pin(column_count_ - 1);
}

ColumnSummary CompressedBlock::summary(base::ColumnId column) const {
  const ChunkHeader found = columns_[column.value].chunk->header();
  ColumnSummary summary;
  summary.has_null = found.null_rows != 0;
  switch (found.kind) {
    case encoding::ValueKind::kInt32:
    case encoding::ValueKind::kInt64:
      summary.known = true;
      summary.min = found.min;
      summary.max = found.max;
      break;
    case encoding::ValueKind::kDouble:
      if (found.min > found.max) {
        summary.min_double = std::numeric_limits<double>::infinity();
        summary.max_double = -summary.min_double;
        summary.known = true;
        break;
      }
      // NaN is above all others.
      summary.min_double = encoding::key_double(found.min);
      summary.max_double = encoding::key_double(found.max);
      summary.known = !std::isnan(summary.max_double);
      break;
    case encoding::ValueKind::kBoolean:
    case encoding::ValueKind::kText: break;
  }
  return summary;
}

ColumnStorage CompressedBlock::storage(base::ColumnId column) const {
  const Column& found = columns_[column.value];
  const ChunkHeader header = found.chunk->header();
  return {encoding::encoding_name(header.encoding), header.bytes, found.thawed};
}

bool CompressedBlock::thaw_and_write(Column* column, uint32_t row, const Cell& cell) {
  const auto nulls = column->nullable ? encoding::NullRoom::kMap : encoding::NullRoom::kNone;
  // A quarter is room that is free.
  const size_t bytes_max = text_bytes_max(row_slots_) / 4 * 5;
  if (cell.text.size() > bytes_max) return false;  // without making room for it first
  // It is too large, or its bounds are not its values': who melts the block asks for neither.
  base::Result<ChunkBytes> chunk = thaw(*ChunkPin(*column->chunk), row, cell, nulls);
  if (!chunk.ok() || chunk->size() > bytes_max) return false;
  // Of patched text the bytes say less than of what else texts are thawed to.
  const Chunk thawed_chunk = Chunk::trusted(*chunk);
  if (thawed_chunk.encoding() == encoding::Encoding::kPatchedText &&
      thawed_chunk.text_bytes() > bytes_max) {
    return false;
  }
  replace(column, std::move(*chunk));
  column->settled = false;
  if (column->thawed) return true;
  column->thawed = true;
  ++thawed_columns_;
  return true;
}

template <class ToKey>
size_t CompressedBlock::write_numbers(const ColumnFormat& format, Column* column,
                                      const Cells& cells, const ToKey& to_key) {
  // Copies: what is written might be any of these, as far as the compiler knows.
  const auto is_null = [nullable = format.nullable, at = format.null_in_cell](Bytes cell) {
    return nullable && cell[at] != std::byte{0};
  };
  const size_t count = cells.ordinals.size();
  const uint32_t first_ordinal = first_ordinal_;
  for (size_t done = 0; done < count; ++done) {
    const uint32_t* const ordinals = cells.ordinals.data() + done;
    const Bytes* const records = cells.records.data() + done;
    done += column->chunk->patch_numbers(
        count - done, [=](size_t i) { return ordinals[i] - first_ordinal; },
        [=, offset = cells.offset](size_t i, int64_t* key) {
          const Bytes cell = records[i] + offset;
          if (is_null(cell)) return false;
          *key = to_key(cell);
          return true;
        });
    if (done == count) break;
    const Bytes cell = cells.records[done] + cells.offset;
    const Cell value = is_null(cell) ? Cell::null() : Cell::number(to_key(cell));
    if (!write(column, cells.ordinals[done] - first_ordinal, value)) return done;
  }
  return count;
}

size_t CompressedBlock::write_texts(const ColumnFormat& format, Column* column,
                                    const Cells& cells) {
  for (size_t i = 0; i < cells.ordinals.size(); ++i) {
    const std::byte* const cell = cells.records[i] + cells.offset;
    const bool is_null = format.nullable && cell[format.null_in_cell] != std::byte{0};
    const Cell value =
        is_null ? Cell::null() : Cell::of_text(cell_string(format.kind, cell, cells.records[i]));
    if (!write(column, cells.ordinals[i] - first_ordinal_, value)) return i;
  }
  return cells.ordinals.size();
}

size_t CompressedBlock::write_cells(base::ColumnId id, std::span<const uint32_t> ordinals,
                                    std::span<const std::byte* const> records, size_t cell_offset) {
  for ([[maybe_unused]] const uint32_t ordinal : ordinals) {
    DIPTYCH_DCHECK(lives(ordinal - first_ordinal_), "only its live rows are updated");
  }
  const ColumnFormat& format = format_->columns[id.value];
  Column* const column = &columns_[id.value];
  column->written = true;
  if (!column->owned) own(column);
  const Cells cells{ordinals, records, cell_offset};
  const auto numbers = [&](auto to_key) { return write_numbers(format, column, cells, to_key); };
  switch (format.kind) {
    case CellKind::kInt32: return numbers([](Bytes cell) { return int64_t{load<int32_t>(cell)}; });
    case CellKind::kInt64: return numbers([](Bytes cell) { return load<int64_t>(cell); });
    case CellKind::kDouble:
      return numbers([](Bytes cell) { return encoding::double_key(load<double>(cell)); });
    case CellKind::kBoolean:
      return numbers([](Bytes cell) { return int64_t{*cell != std::byte{0}}; });
    case CellKind::kInlineString:
    case CellKind::kLongString: break;
  }
  return write_texts(format, column, cells);
}

size_t CompressedBlock::look(Freeze freeze) {
  size_t looked_through = 0;
  for (size_t c = 0; c < column_count_; ++c) {
    Column& column = columns_[c];
    if (!column.thawed) continue;
    column.quiet_looks = column.written ? 0 : column.quiet_looks + 1;
    column.written = false;
    const bool is_quiet = column.quiet_looks >= column.quiet_looks_needed;
    if (!is_quiet || freeze == Freeze::kNone || looked_through != 0) continue;
    base::Result<ChunkBytes> frozen = [&] {
      const ChunkPin thawed(*column.chunk);
      looked_through = thawed->bytes();
      DecodeBuffer buffer;
      return encoding::encode(thawed->decode(0, row_slots_, &buffer));
    }();
    DIPTYCH_CHECK(frozen.ok(), "K2: a block's columns are far below what a chunk takes");
    replace(&column, std::move(*frozen));
    column.thawed = false;
    column.quiet_looks = 0;
    column.quiet_looks_needed = std::min(2 * column.quiet_looks_needed, kQuietLooksMax);
    --thawed_columns_;
  }
  return looked_through;
}

bool CompressedBlock::is_long_quiet(const Column& column) {
  return !column.thawed && !column.settled &&
         column.quiet_looks >= kQuietFactor * column.quiet_looks_needed;
}

bool CompressedBlock::look_for_long() {
  bool found = false;
  for (size_t c = 0; c < column_count_; ++c) {
    Column& column = columns_[c];
    if (column.thawed || column.settled) continue;
    column.settled = column.chunk->header().encoding == encoding::Encoding::kZstd;
    column.quiet_looks = column.written ? 0 : column.quiet_looks + 1;
    column.written = false;
    found = found || is_long_quiet(column);
  }
  return found;
}

CompressedBlock::Settled CompressedBlock::settle_one() {
  Column* const end = columns_.get() + column_count_;
  Column* const column = std::find_if(columns_.get(), end, is_long_quiet);
  DIPTYCH_CHECK(column != end, "look_for_long has found one");
  Settled done;
  auto smaller = [&] {
    const ChunkPin frozen(*column->chunk);
    done.bytes = frozen->bytes();
    return settled_form(*frozen);
  }();
  done.is_smaller = smaller.has_value();
  if (smaller) replace(column, std::move(*smaller));
  column->settled = true;
  column->quiet_looks = 0;
  return done;
}

std::vector<ChunkBytes> CompressedBlock::constants() const {
  // As words: zeroes are a value of any type, of strings the empty one.
  const std::vector<uint64_t> zeroes(size_t{row_slots_} * sizeof(base::StringRef) / 8);
  std::vector<ChunkBytes> constants;
  for (size_t c = 0; c < column_count_; ++c) {
    const bool is_row_ids = c + 1 == column_count_;
    const auto kind =
        is_row_ids ? encoding::ValueKind::kInt64 : encoding::value_kind(format_->columns[c].type);
    base::Result<ChunkBytes> constant =
        encoding::encode({kind, row_slots_, zeroes.data(), nullptr}, encoding::Encoding::kConstant);
    DIPTYCH_CHECK(constant.ok(), "rows that are all the same are a constant");
    constants.push_back(std::move(*constant));
  }
  return constants;
}

std::unique_ptr<CompressedBlock> CompressedBlock::make_empty(const LeafFormat& format,
                                                             uint32_t first_ordinal,
                                                             BufferManager* buffers) {
  DIPTYCH_CHECK(first_ordinal % format.block_rows == 0, "blocks tile the ordinals");
  std::unique_ptr<CompressedBlock> block(
      new CompressedBlock(format, first_ordinal, format.block_rows, buffers));
  block->live_bits_.resize(format.block_rows / 64);
  block->fill(block->constants());
  return block;
}

void CompressedBlock::drop_values() {
  DIPTYCH_CHECK(live_rows_ == 0, "only what no row has is dropped");
  std::vector<ChunkBytes> bytes = constants();
  for (size_t c = 0; c < column_count_; ++c) {
    Column& column = columns_[c];
    replace(&column, std::move(bytes[c]));
    column.written = false;
  }
}

size_t CompressedBlock::forget_thaws() {
  DIPTYCH_CHECK(live_rows_ == 0, "what rows have is frozen before it counts as frozen");
  for (size_t c = 0; c < column_count_; ++c) columns_[c].thawed = false;
  return std::exchange(thawed_columns_, 0);
}

}  // namespace diptych::storage
