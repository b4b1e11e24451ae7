// Table file (.dtf): the rows of one table at one VID.
//
//   file     = header, chunk * header.chunks        all integers little-endian
//
//   header
//            | magic "DIPTYCHT" | version u32 | unused u32 | fingerprint u64 | rows u64
//            | chunks u64 | XXH3-64 of the 40 bytes before |
//   chunk    | magic "LEAF" u32 | row slots u32 | live rows u32 | unused u32 | payload bytes u64
//            | XXH3-64 of the payload | XXH3-64 of the 32 bytes before | payload
//   payload  | row ids: u64 * slots | live bits: u64 * ceil(slots / 64) | columns, each:
//              | null bits: u64 * ceil(slots / 64), of a nullable column only
//              | values: slots * (4 | 8 | 8 | 1) bytes for int32, int64, double, boolean kinds, or
//                strings: lengths u32 * slots, then the bytes one after the other; dead and null
//                rows have length 0
//
// A chunk is one leaf as it is. Loading inserts its live rows anew, into the partition that their
// RowIDs hash to: RowIDs survive, TIDs and the number of partitions need not. Pages become blocks
// as soon as they can, so the table comes back as blocks but for the last rows of each partition.
//
// Every byte is under a checksum, and every size is compared with what the file has left before it
// is used: a damaged file is kCorrupt, with its path, an offset and what is wrong.

#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "base/schema.h"
#include "storage/table.h"

namespace diptych::storage {

struct TableFileInfo {
  uint64_t rows = 0;
  uint64_t bytes = 0;
  uint64_t checksum = 0;  // XXH3-64 of the file
};

// Of the table's name and its columns' names, types and nullability: a file is loaded only into the
// table that it was written from.
uint64_t schema_fingerprint(const base::TableSchema& schema);

// Writes and syncs a new file (not its directory). On an error no file is left.
base::Result<TableFileInfo> write_table_file(const std::string& path, const Table& table);

// Inserts the file's rows into the table, which is empty. After an error the table has some of
// them: the caller discards it.
base::Result<TableFileInfo> read_table_file(const std::string& path, Table* table);

}  // namespace diptych::storage
