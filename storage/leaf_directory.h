// Leaf directory: what the block file has of a table: its leaves, and where their chunks lie.
//
//   directory = "DIPTDIR2" | fingerprint u64 | block rows u32 | columns u32 | partitions u32
//               | unused u32 | leaves u32 * partitions (and 4 bytes, if they are odd) | leaf ...
//   leaf      = form u32 | first ordinal u32 | rows u32 | live rows u32
//               | live bits: u64 * ceil(rows / 64), unless all rows live | column ...
//   column    = page u32 | bytes u32 | XXH3-64 u64 | thawed u32 | unused u32 | chunk header (64 B)
//
// All integers are little-endian. `columns` counts the RowIDs, which come last. The leaves of a
// partition are in the order of their ordinals, without gaps. A leaf of pages is what pages that
// still take inserts hold: it is written as chunks, and read back into pages.
//
// A directory is itself a chunk of bytes in the block file; the manifest has its place and its
// checksum. Each size is looked at before it is used, so damage is an error whatever the bytes are.

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/schema.h"
#include "storage/buffered_chunk.h"

namespace diptych::storage {

struct SavedColumn {
  SavedChunk chunk;
  bool thawed = false;
};

enum class SavedForm : uint32_t { kBlock, kPages };

struct SavedLeaf {
  SavedForm form = SavedForm::kBlock;
  uint32_t first_ordinal = 0;
  uint32_t rows = 0;
  std::vector<uint64_t> live_bits;   // behind the last row: 0
  std::vector<SavedColumn> columns;  // by ColumnId, and the RowIDs

  uint32_t live_rows() const;
};

using SavedPartition = std::vector<SavedLeaf>;

struct SavedTable {
  uint32_t block_rows = 0;
  std::vector<SavedPartition> partitions;

  uint64_t live_rows() const;
};

// Of the table's name and its columns' names, types and nullability: a directory is read only for
// the table that it was written for.
uint64_t schema_fingerprint(const base::TableSchema& schema);

std::vector<std::byte> write_directory(const base::TableSchema& schema, const SavedTable& table);

// kCorrupt: what is wrong and at which byte; the caller adds the file.
base::Result<SavedTable> read_directory(const base::TableSchema& schema,
                                        std::span<const std::byte> bytes);

}  // namespace diptych::storage
