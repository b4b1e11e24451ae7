// Inspection: what a saved replica consists of, from manifest, leaf directories and chunks, without
// a replica in memory: by table, column and encoding.
//
// Sizes      compressed: bytes of chunks, RowIDs included, as a column of its own. uncompressed:
//            the same values decoded, dead rows included: numbers by their width, texts 4 bytes and
//            their own, and a bit a row where a chunk has nulls. in the file: whole pages.
// Reading    chunks of texts are read to learn their lengths, all others where `verify` asks.
//            One that is damaged is listed and counts with what the directory says of it.
// Temperature  hot: rows kept as pages, which take inserts; warm: chunks that were thawed to take
//            updates; cold: frozen ones.
//
// Errors     as load_replica's, where manifest or leaf directories are damaged.
// Threads    one. The directory is locked by the caller.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/schema.h"
#include "base/types.h"
#include "storage/encoding/chunk_header.h"
#include "storage/manifest.h"

namespace diptych::storage {

enum class Temperature : uint8_t { kHot, kWarm, kCold };
inline constexpr int kTemperatures = 3;

std::string_view temperature_name(Temperature temperature);  // "hot"

struct ChunkTotals {
  uint64_t chunks = 0;
  uint64_t values = 0;  // rows, dead ones included
  uint64_t compressed_bytes = 0;
  uint64_t uncompressed_bytes = 0;
  uint64_t file_bytes = 0;

  ChunkTotals& operator+=(const ChunkTotals& other);
  double ratio() const;  // compressed by uncompressed; 0: of nothing
};

struct ChunkSizes {
  ChunkTotals all;
  std::array<ChunkTotals, encoding::kEncodings> by_encoding;
  std::array<ChunkTotals, kTemperatures> by_temperature;

  void add(const ChunkTotals& chunk, encoding::Encoding encoding, Temperature temperature);
  ChunkSizes& operator+=(const ChunkSizes& other);
};

inline constexpr std::string_view kRowIdColumn = "(RowID)";

struct ColumnInspection {
  std::string name;
  base::DataType type;
  ChunkSizes sizes;
};

struct TableInspection {
  std::string name;
  uint64_t rows = 0;  // slots that were ever used
  uint64_t live_rows = 0;
  uint64_t blocks = 0;
  uint64_t page_leaves = 0;  // runs of rows that were in pages
  uint64_t hot_rows = 0;     // of them
  uint64_t directory_bytes = 0;
  std::vector<ColumnInspection> columns;  // the RowIDs last
  ChunkSizes sizes;
};

struct DamagedChunk {
  std::string table;
  std::string column;
  uint32_t partition = 0;
  uint32_t first_row = 0;  // ordinals in the partition
  uint32_t last_row = 0;
  std::string file;
  uint64_t offset = 0;
  std::string what;
};

struct Inspection {
  Manifest manifest;
  std::string block_file;
  uint64_t file_bytes = 0;
  uint64_t free_bytes = 0;  // of the file: what is not named, and is written next
  std::vector<TableInspection> tables;
  ChunkSizes sizes;
  bool verified = false;     // every chunk was read
  uint64_t chunks_read = 0;  // whole ones
  uint64_t bytes_read = 0;   // of them
  std::vector<DamagedChunk> damaged;
};

enum class Verify : uint8_t { kNo, kYes };

// `schemas`: of the tables that the manifest's DDL makes. `progress` gets the share of the chunks
// that were looked at, after each.
base::Result<Inspection> inspect_replica(const std::string& directory, const Manifest& manifest,
                                         std::span<const base::TableSchema* const> schemas,
                                         Verify verify,
                                         const std::function<void(double done)>& progress);

}  // namespace diptych::storage
