// CompressedBlock: a leaf of a block's rows, a chunk a column (storage/encoding), and one of the
// RowIDs. It takes updates in place. Its chunks may be in the block file only (buffered_chunk.h).
//
//   frozen ──a value that its form cannot take: write_cells──► thawed ──quiet: freeze──► frozen
//
// A frozen column has the smallest form, which takes most updates as they are (a number within its
// frame, a text of its dictionary). A thawed one has a form with room, thawed anew when that is
// used up. Each column goes its own way: cold ones stay compressed while hot ones change.
//
// A copy for the writer, where a snapshot has the block, shares the chunks with it; the first write
// to a column copies that column's chunk. So a snapshot costs what is written while it lives.
//
// Threads    as in leaf.h.
// Memory     chunks are allocated by the thread that makes them, one of the replica's node.
//
// Invariants (with L1-L3 of leaf.h)
//   K1  Dead rows have values of their own; what a column's chunk says of them is meaningless.
//   K2  A column has at most text_bytes_max() of text, so that one thaw or freeze is a bounded
//       pause: 64 MiB, and 1 KiB a row in blocks of more than 2^16 rows. Rows with more are kept in
//       pages.
//   K3  A chunk of a block that is its writer's own (leaf.h: cut) is in no other block where the
//       column is `owned`.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "storage/buffered_chunk.h"
#include "storage/chunk_memory.h"
#include "storage/encoding/chunk.h"
#include "storage/leaf.h"
#include "storage/leaf_directory.h"
#include "storage/leaf_format.h"
#include "storage/plain_leaf.h"
#include "storage/storage_options.h"
#include "storage/table.h"

namespace diptych::storage {

class CompressedBlock final : public Leaf {
 public:
  static constexpr size_t text_bytes_max(uint32_t block_rows) {
    return size_t{std::max(block_rows, kBlockRowsDefault)} << 10;
  }
  // A thawed column is frozen after so many looks without a write; twice as many, whenever it was
  // thawed again, up to the most.
  static constexpr uint32_t kQuietLooks = 4;
  static constexpr uint32_t kQuietLooksMax = 1024;

  // `format`, in all of these: of the partition, which the block goes before.
  // From full pages that tile the block's range, in the order of their ordinals.
  // nullptr: a column has too much text (K2).
  // `buffers`: nullptr, or outlives it: without one the chunks stay in memory.
  static std::unique_ptr<CompressedBlock> make(const LeafFormat& format,
                                               std::span<const PlainLeaf* const> pages,
                                               BufferManager* buffers);
  // From a block's rows, which all live and get the ordinals from first_ordinal on.
  // nullptr: a column has too much text (K2).
  static std::unique_ptr<CompressedBlock> make(const LeafFormat& format, uint32_t first_ordinal,
                                               std::span<const NewRow> rows,
                                               BufferManager* buffers);
  // Of a range in which no row lives.
  static std::unique_ptr<CompressedBlock> make_empty(const LeafFormat& format,
                                                     uint32_t first_ordinal,
                                                     BufferManager* buffers);
  // As save() left it; its chunks in the block file, or, with `in_memory`, these.
  CompressedBlock(const LeafFormat& format, const SavedLeaf& saved, BufferManager* buffers);
  CompressedBlock(const LeafFormat& format, const SavedLeaf& saved,
                  std::vector<ChunkMemory> in_memory);

  // A copy that shares the chunks. What is written in it counts, as long as snapshots have the
  // bytes that were there before, in `kept_bytes`, which outlives it.
  CompressedBlock(const CompressedBlock& from, std::atomic<size_t>* kept_bytes);

  base::Result<PinnedColumn> pin(base::ColumnId column) const override;
  base::Result<PinnedColumn> pin_row_ids() const override;
  bool in_memory(base::ColumnId column) const override {
    return columns_[column.value].chunk->in_memory();
  }
  bool read_ahead(base::ColumnId column) const override {
    return columns_[column.value].chunk->read_ahead();
  }
  ColumnSummary summary(base::ColumnId column) const override;
  ColumnStorage storage(base::ColumnId column) const override;

  // As Partition::update, of rows that are all the block's. How many were written: fewer than there
  // are where K2 forbids the next, of which nothing is changed.
  size_t write_cells(base::ColumnId column, std::span<const uint32_t> ordinals,
                     std::span<const std::byte* const> records, size_t cell_offset);
  void erase_row(uint32_t position) { clear_live(position); }
  // Of a block that is the writer's own, and its rows.
  void prefetch(std::span<const uint32_t> ordinals, base::ColumnId column) const {
    const Column& to_write = columns_[column.value];
    if (!to_write.owned) return;
    const auto row_of = [rows = ordinals.data(), first = first_ordinal_](size_t i) {
      return rows[i] - first;
    };
    to_write.chunk->prefetch(ordinals.size(), row_of);
  }

  size_t thawed_columns() const { return thawed_columns_; }
  // A look: columns that were written since the last one are not quiet. Freezes one that is quiet,
  // if it may, and returns the bytes it looked through for that.
  enum class Freeze : uint8_t { kNone, kOne };
  size_t look(Freeze freeze);
  // Of a table whose columns settle (settling.h): a look at the frozen ones, which changes nothing
  // that a snapshot reads. True: one has been quiet for long enough.
  bool look_for_long();
  // Settles such a one: what it looked through, and whether the column became smaller.
  struct Settled {
    size_t bytes = 0;
    bool is_smaller = false;
  };
  Settled settle_one();
  // Both, of a block without rows. No column counts as thawed any more; how many did.
  size_t forget_thaws();
  // Its chunks become as small as can be. Where it throws, as memory runs out, some have, and the
  // block is whole.
  void drop_values();

  // Writes the chunks that changed to the block file. kNoSpace, kIo, and the pace's. Any thread,
  // beside readers, of a snapshot's block.
  base::Result<SavedLeaf> save(const SavePace& pace = {}) const;
  size_t memory_bytes() const;
  size_t own_bytes() const;  // of these, those of no chunk
  // The writer gives it up: what snapshots have of it counts as theirs.
  void keep_all(std::atomic<size_t>* total);

 private:
  struct Column {
    SharedRef<BufferedChunk> chunk{std::make_unique<BufferedChunk>()};
    bool nullable = false;
    bool thawed = false;
    bool written = false;  // since the last look
    bool owned = false;    // K3
    bool settled = false;  // or would be no smaller
    uint32_t quiet_looks = 0;
    uint32_t quiet_looks_needed = kQuietLooks;
  };

  // Columns still empty.
  CompressedBlock(const LeafFormat& format, uint32_t first_ordinal, uint32_t rows,
                  BufferManager* buffers);
  // By column: values that no row has, as small as can be.
  std::vector<encoding::ChunkBytes> constants() const;
  void set_live(std::span<const uint64_t> words);
  void fill(std::vector<encoding::ChunkBytes> chunks);

  base::Result<PinnedColumn> pin(size_t column) const;
  static bool is_long_quiet(const Column& column);
  // Makes K3 true: with a copy of the chunk, where others have it.
  void own(Column* column);
  void replace(Column* column, encoding::ChunkBytes bytes);
  void put(Column* column, encoding::ChunkBytes bytes);
  struct Cells {  // of one column
    std::span<const uint32_t> ordinals;
    std::span<const std::byte* const> records;
    size_t offset;
  };
  // Both: as write_cells, of a column that is owned. to_key(cell): of one that is not null.
  template <class ToKey>
  size_t write_numbers(const ColumnFormat& format, Column* column, const Cells& cells,
                       const ToKey& to_key);
  size_t write_texts(const ColumnFormat& format, Column* column, const Cells& cells);
  // One cell, by whatever way there is. False: K2 forbids it.
  bool write(Column* column, uint32_t row, const encoding::Cell& cell) {
    return column->chunk->patch(row, cell) == encoding::Patch::kDone ||
           thaw_and_write(column, row, cell);
  }
  bool thaw_and_write(Column* column, uint32_t row, const encoding::Cell& cell);

  const LeafFormat* format_;           // of the partition, which it goes before
  size_t column_count_;                // the RowIDs' included
  std::unique_ptr<Column[]> columns_;  // by ColumnId; the RowIDs behind the last
  size_t thawed_columns_ = 0;
  BufferManager* buffers_ = nullptr;
  std::atomic<size_t>* kept_bytes_ = nullptr;  // of a copy
};

}  // namespace diptych::storage
