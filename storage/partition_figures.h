// PartitionFigures: what a partition's memory goes into, and how often its rows changed their form.

#pragma once

#include <cstddef>
#include <cstdint>

namespace diptych::storage {

struct PartitionFigures {
  // Memory, in bytes; of blocks what is in memory.
  size_t page_bytes = 0;
  size_t block_bytes = 0;
  size_t string_bytes = 0;     // long strings of pages
  size_t directory_bytes = 0;  // which leaf has a row, and which slots are free
  size_t snapshot_bytes = 0;   // that only snapshots have; of pages, part of the above
  // Since the database was opened.
  uint64_t blocks_made = 0;       // of pages, rewritten ones, and the rows of loads
  uint64_t blocks_melted = 0;     // back to pages
  uint64_t blocks_rewritten = 0;  // without what many dead rows had
  uint64_t rows_moved = 0;        // from where few were left
  uint64_t columns_thawed = 0;    // of blocks, made wide enough to be written in place
  uint64_t columns_frozen = 0;    // encoded anew once they were quiet
  uint64_t columns_settled = 0;   // compressed further after that

  size_t memory_bytes() const { return page_bytes + block_bytes + string_bytes + directory_bytes; }

  void add(const PartitionFigures& other) {
    page_bytes += other.page_bytes;
    block_bytes += other.block_bytes;
    string_bytes += other.string_bytes;
    directory_bytes += other.directory_bytes;
    snapshot_bytes += other.snapshot_bytes;
    blocks_made += other.blocks_made;
    blocks_melted += other.blocks_melted;
    blocks_rewritten += other.blocks_rewritten;
    rows_moved += other.rows_moved;
    columns_thawed += other.columns_thawed;
    columns_frozen += other.columns_frozen;
    columns_settled += other.columns_settled;
  }
};

}  // namespace diptych::storage
