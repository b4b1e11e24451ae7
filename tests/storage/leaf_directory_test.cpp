// What the fuzz targets of directory and manifest have found, and the neighbours of that.

#include "storage/leaf_directory.h"

#include <optional>

#include <gtest/gtest.h>

#include "storage/manifest.h"
#include "storage/storage_options.h"
#include "tests/storage/every_type_table.h"

namespace diptych::storage {
namespace {

TEST(LeafDirectory, OfATableWithoutPartitionsIsCorrupt) {
  const base::TableSchema schema = test::every_type_schema();
  SavedTable table{.block_rows = kBlockRowsMin, .partitions = {}};
  const auto none = read_directory(schema, write_directory(schema, table));
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.code(), base::ErrorCode::kCorrupt);
  table.partitions.resize(3);
  const auto three = read_directory(schema, write_directory(schema, table));
  ASSERT_TRUE(three.ok()) << three.error().to_string();
  EXPECT_EQ(three->partitions.size(), 3U);
}

// Queries skip blocks by the headers that the directory has, without a look at their chunks.
TEST(LeafDirectory, BoundsThatNoChunkHasAreCorrupt) {
  const base::TableSchema schema = test::every_type_schema();
  SavedLeaf leaf{.form = SavedForm::kPages, .first_ordinal = 0, .rows = 64, .live_bits = {1}};
  for (size_t c = 0; c <= schema.columns.size(); ++c) {
    encoding::ChunkHeader header{};
    header.magic = encoding::kChunkMagic;
    header.bytes = 4096;
    header.rows = leaf.rows;
    header.encoding = encoding::Encoding::kPlain;
    header.kind = c == schema.columns.size() ? encoding::ValueKind::kInt64
                                             : encoding::value_kind(schema.columns[c].type);
    leaf.columns.push_back({{{1, header.bytes, 0}, header}, false});
  }
  const auto code_of = [&] {
    const SavedTable table{.block_rows = kBlockRowsMin, .partitions = {{leaf}}};
    const auto read = read_directory(schema, write_directory(schema, table));
    return read.ok() ? std::optional<base::ErrorCode>() : read.code();
  };
  EXPECT_EQ(code_of(), std::nullopt);
  encoding::ChunkHeader& row_ids = leaf.columns.back().chunk.header;
  row_ids.min = 1;
  EXPECT_EQ(code_of(), base::ErrorCode::kCorrupt) << "rows without a value";
  row_ids.max = 300;
  row_ids.encoding = encoding::Encoding::kFrame;
  row_ids.code_bits = 16;
  EXPECT_EQ(code_of(), std::nullopt);
  row_ids.code_bits = 8;
  EXPECT_EQ(code_of(), base::ErrorCode::kCorrupt) << "outside of the frame";
  row_ids.code_bits = 64;
  EXPECT_EQ(code_of(), base::ErrorCode::kCorrupt) << "no frame";
}

// A replica cannot be made of such numbers, whatever the checksum says.
TEST(Manifest, WithoutPartitionsOrWithBlocksOfAnySizeIsCorrupt) {
  const auto code_of = [](uint32_t partitions, uint32_t block_rows) {
    Manifest manifest;
    manifest.partitions = partitions;
    manifest.block_rows = block_rows;
    const auto read = manifest_from_text("m", *manifest_to_text(manifest));
    return read.ok() ? std::optional<base::ErrorCode>() : read.code();
  };
  EXPECT_EQ(code_of(1, kBlockRowsMin), std::nullopt);
  EXPECT_EQ(code_of(7, kBlockRowsMax), std::nullopt);
  EXPECT_EQ(code_of(0, kBlockRowsMin), base::ErrorCode::kCorrupt);
  for (const uint32_t rows : {0U, kBlockRowsMin / 2, kBlockRowsMin + 1, 2 * kBlockRowsMax}) {
    EXPECT_EQ(code_of(1, rows), base::ErrorCode::kCorrupt) << rows;
  }
}

}  // namespace
}  // namespace diptych::storage
