// Damaged directories and manifests: what their fuzz targets have found, the neighbours of that,
// and each check by itself.

#include "storage/leaf_directory.h"

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
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

// Two leaves of pages, and damage done to them.
class DamagedDirectory : public testing::Test {
 protected:
  DamagedDirectory() {
    leaves_.push_back(leaf_of(0, 128, {1, 1}));
    leaves_.push_back(leaf_of(128, 70, {1, 1}));
  }

  SavedLeaf leaf_of(uint32_t first_ordinal, uint32_t rows, std::vector<uint64_t> live_bits) const {
    SavedLeaf leaf{SavedForm::kPages, first_ordinal, rows, std::move(live_bits), {}};
    for (size_t c = 0; c <= schema_.columns.size(); ++c) {
      encoding::ChunkHeader header{};
      header.magic = encoding::kChunkMagic;
      header.bytes = 4096;
      header.rows = rows;
      header.encoding = encoding::Encoding::kPlain;
      header.kind = c == schema_.columns.size() ? encoding::ValueKind::kInt64
                                                : encoding::value_kind(schema_.columns[c].type);
      leaf.columns.push_back({{{1, header.bytes, 0}, header}, false});
    }
    return leaf;
  }
  std::vector<std::byte> bytes() const {
    return write_directory(schema_, {.block_rows = kBlockRowsMin, .partitions = {leaves_}});
  }
  // Nothing: they are right.
  std::string problem(const std::vector<std::byte>& bytes) const {
    const auto read = read_directory(schema_, bytes);
    if (read.ok()) return {};
    EXPECT_EQ(read.code(), base::ErrorCode::kCorrupt);
    return read.error().message;
  }
  std::string problem() const { return problem(bytes()); }
  // Of the directory with another number at a byte.
  std::string problem_with(size_t at, uint32_t number) const {
    std::vector<std::byte> changed = bytes();
    std::memcpy(changed.data() + at, &number, sizeof number);
    return problem(changed);
  }

  base::TableSchema schema_ = test::every_type_schema();
  SavedPartition leaves_;
};

TEST_F(DamagedDirectory, WithAnotherNumberOfColumnsRowsOrBytesIsCorrupt) {
  constexpr size_t kColumns = 20;
  constexpr size_t kLiveRows = 32 + 8 + 12;  // of the first leaf
  EXPECT_EQ(problem(), "");
  const auto columns = static_cast<uint32_t>(schema_.columns.size());
  EXPECT_EQ(problem_with(kColumns, columns + 1), "");
  EXPECT_THAT(problem_with(kColumns, columns), testing::HasSubstr("number of columns"));
  EXPECT_EQ(problem_with(kLiveRows, 2), "");
  EXPECT_THAT(problem_with(kLiveRows, 3), testing::HasSubstr("number of live rows"));
  std::vector<std::byte> longer = bytes();
  longer.resize(longer.size() + 8);
  EXPECT_THAT(problem(longer), testing::HasSubstr("behind the last leaf"));
  longer.resize(longer.size() - 16);
  EXPECT_THAT(problem(longer), testing::HasSubstr("ends early"));
}

TEST_F(DamagedDirectory, OfOtherColumnsIsCorrupt) {
  const std::vector<std::byte> written = bytes();
  base::Nullability& nullability = schema_.columns.back().nullability;
  nullability = nullability == base::Nullability::kNullable ? base::Nullability::kNotNull
                                                            : base::Nullability::kNullable;
  EXPECT_THAT(problem(written), testing::HasSubstr("another schema"));
}

TEST_F(DamagedDirectory, WhoseLeavesDoNotFollowEachOtherIsCorrupt) {
  leaves_[1].first_ordinal = 64;
  EXPECT_THAT(problem(), testing::HasSubstr("that follow"));
  leaves_[1].first_ordinal = 192;
  EXPECT_THAT(problem(), testing::HasSubstr("that follow"));
  leaves_ = {leaf_of(0, 70, {1, 1}), leaf_of(70, 64, {1})};
  EXPECT_THAT(problem(), testing::HasSubstr("that follow")) << "the first is too short";
  // The second one's rows are of two blocks.
  const std::vector<uint64_t> live(kBlockRowsMin / 64, 1);
  leaves_ = {leaf_of(0, kBlockRowsMin - 64, live), leaf_of(kBlockRowsMin - 64, 64, {1})};
  leaves_[0].live_bits.pop_back();
  EXPECT_EQ(problem(), "");
  leaves_[1] = leaf_of(kBlockRowsMin - 64, 128, {1, 1});
  EXPECT_THAT(problem(), testing::HasSubstr("that follow"));
}

TEST_F(DamagedDirectory, WithRowsThatLiveBehindTheLastIsCorrupt) {
  leaves_[1].live_bits[1] = uint64_t{1} << 5;  // row 69
  EXPECT_EQ(problem(), "");
  leaves_[1].live_bits[1] = uint64_t{1} << 6;
  EXPECT_THAT(problem(), testing::HasSubstr("behind the last row"));
}

TEST_F(DamagedDirectory, OfChunksThatAreNotOfItsColumnsIsCorrupt) {
  const auto problem_of = [&](size_t column, const auto& change) {
    const SavedPartition whole = leaves_;
    change(&leaves_[0].columns[column].chunk);
    std::string found = problem();
    leaves_ = whole;
    return found;
  };
  const size_t row_ids = schema_.columns.size();
  EXPECT_THAT(problem_of(row_ids, [](auto* chunk) { ++chunk->header.rows; }),
              testing::HasSubstr("no chunk that fits"));
  EXPECT_THAT(problem_of(row_ids, [](auto* chunk) { ++chunk->address.bytes; }),
              testing::HasSubstr("no chunk that fits"));
  EXPECT_THAT(problem_of(row_ids, [](auto* chunk) { chunk->address.page = 0; }),
              testing::HasSubstr("no chunk that fits"));
  EXPECT_THAT(
      problem_of(row_ids, [](auto* chunk) { chunk->header.kind = encoding::ValueKind::kDouble; }),
      testing::HasSubstr("no chunk that fits"));
  EXPECT_THAT(problem_of(row_ids, [](auto* chunk) { chunk->header.null_rows = 1; }),
              testing::HasSubstr("has nulls"));
  for (size_t c = 0; c < schema_.columns.size(); ++c) {
    if (schema_.columns[c].nullability != base::Nullability::kNullable) continue;
    EXPECT_EQ(problem_of(c, [](auto* chunk) { chunk->header.null_rows = 127; }), "");
    EXPECT_THAT(problem_of(c, [](auto* chunk) { chunk->header.null_rows = 129; }),
                testing::HasSubstr("no chunk that fits"));
  }
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
