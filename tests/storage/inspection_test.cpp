#include "storage/inspection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "storage/buffer_manager.h"
#include "storage/leaf_directory.h"
#include "tests/storage/one_row.h"
#include "tests/storage/saved_replica.h"
#include "tests/temporary_directory.h"

namespace diptych::storage {
namespace {

using base::ErrorCode;
using base::Result;
using base::Vid;
using diptych::test::read_bytes;
using diptych::test::TemporaryDirectory;
using diptych::test::write_bytes;
using test::SavedReplica;
using testing::HasSubstr;

std::vector<const base::TableSchema*> schemas_of(const Replica& replica) {
  std::vector<const base::TableSchema*> schemas;
  for (uint32_t t = 0; t < replica.table_count(); ++t) {
    schemas.push_back(&replica.table(base::TableId(t)).schema());
  }
  return schemas;
}

Result<Inspection> inspect(const TemporaryDirectory& directory, const SavedReplica& source,
                           Verify verify) {
  const Result<Manifest> manifest = read_manifest(directory.path());
  if (!manifest.ok()) return manifest.error();
  return inspect_replica(directory.path(), *manifest, schemas_of(source.replica()), verify,
                         [](double done) { EXPECT_LE(done, 1); });
}

// What a leaf's column takes uncompressed, from the replica in memory.
uint64_t decoded_bytes(const Leaf& leaf, const base::TableSchema& schema, size_t column) {
  const bool is_row_ids = column == schema.columns.size();
  const PinnedColumn pinned = value_or_throw(
      is_row_ids ? leaf.pin_row_ids() : leaf.pin(base::ColumnId(static_cast<uint16_t>(column))));
  DecodeBuffer buffer;
  const ColumnView view = pinned.view(0, leaf.row_slots(), &buffer);
  if (is_row_ids) return leaf.row_slots() * sizeof(uint64_t);
  const base::DataType& type = schema.columns[column].type;
  const bool is_text = encoding::value_kind(type) == encoding::ValueKind::kText;
  uint64_t bytes = uint64_t{leaf.row_slots()} * (is_text ? 4 : value_bytes(type));
  for (uint32_t i = 0; i < leaf.row_slots(); ++i) {
    if (is_text && !view.is_null(i)) bytes += view.as<base::StringRef>()[i].size();
  }
  return bytes;
}

// As pages are saved range by range, leaves in memory are no leaves of the directory: null maps,
// which are whole words, may take a word more: they are bounded, and all else is equal.
void expect_sizes(const Table& table, const TableInspection& inspected) {
  uint64_t rows = 0;
  std::vector<uint64_t> bytes(table.schema().columns.size() + 1);
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    const Partition& partition = table.partition(base::PartitionId(p));
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      rows += partition.leaf(l).row_slots();
      for (size_t c = 0; c < bytes.size(); ++c) {
        bytes[c] += decoded_bytes(partition.leaf(l), table.schema(), c);
      }
    }
  }
  EXPECT_EQ(inspected.rows, rows);
  EXPECT_EQ(inspected.live_rows, table.live_rows());
  ASSERT_EQ(inspected.columns.size(), bytes.size());
  for (size_t c = 0; c < bytes.size(); ++c) {
    const ColumnInspection& column = inspected.columns[c];
    EXPECT_EQ(column.sizes.all.values, rows) << column.name;
    const uint64_t null_maps =
        column.name.ends_with("_null") ? rows / 8 + 8 * column.sizes.all.chunks : 0;
    EXPECT_GE(column.sizes.all.uncompressed_bytes, bytes[c]) << column.name;
    EXPECT_LE(column.sizes.all.uncompressed_bytes, bytes[c] + null_maps) << column.name;
  }
  EXPECT_EQ(inspected.columns.back().name, kRowIdColumn);
}

TEST(Inspection, SizesAreThoseOfTheReplicaThatWasSaved) {
  TemporaryDirectory directory;
  SavedReplica source(directory.path(), 2);
  source.fill(1, 5000, Vid(3));
  ASSERT_TRUE(source.save().ok());
  for (const Verify verify : {Verify::kNo, Verify::kYes}) {
    const Result<Inspection> inspected = inspect(directory, source, verify);
    ASSERT_TRUE(inspected.ok()) << inspected.error().to_string();
    ASSERT_EQ(inspected->tables.size(), 2U);
    for (uint32_t t = 0; t < 2; ++t) {
      expect_sizes(source.replica().table(base::TableId(t)), inspected->tables[t]);
    }
    EXPECT_TRUE(inspected->damaged.empty());
    EXPECT_EQ(inspected->manifest.vid, Vid(3));
  }
}

TEST(Inspection, TotalsAreTheSumsOfTheirPartsAndOfTheFile) {
  TemporaryDirectory directory;
  SavedReplica source(directory.path(), 2);
  source.fill(2, 5000, Vid(3));
  ASSERT_TRUE(source.save().ok());
  const Result<Inspection> inspected = inspect(directory, source, Verify::kYes);
  ASSERT_TRUE(inspected.ok()) << inspected.error().to_string();
  const ChunkSizes& sizes = inspected->sizes;
  ChunkTotals by_encoding;
  for (const ChunkTotals& totals : sizes.by_encoding) by_encoding += totals;
  ChunkTotals by_temperature;
  for (const ChunkTotals& totals : sizes.by_temperature) by_temperature += totals;
  uint64_t directories = 0;
  uint64_t chunks = 0;
  for (const TableInspection& table : inspected->tables) {
    directories += file_pages(table.directory_bytes) * kFilePageBytes;
    chunks += (table.blocks + table.page_leaves) * table.columns.size();
  }
  for (const ChunkTotals& part : {by_encoding, by_temperature}) {
    EXPECT_EQ(part.chunks, sizes.all.chunks);
    EXPECT_EQ(part.values, sizes.all.values);
    EXPECT_EQ(part.compressed_bytes, sizes.all.compressed_bytes);
    EXPECT_EQ(part.uncompressed_bytes, sizes.all.uncompressed_bytes);
  }
  EXPECT_EQ(sizes.all.chunks, chunks);
  EXPECT_EQ(inspected->chunks_read, chunks);
  EXPECT_EQ(inspected->bytes_read, sizes.all.compressed_bytes);
  EXPECT_EQ(inspected->file_bytes - inspected->free_bytes,
            kFilePageBytes + directories + sizes.all.file_bytes);
}

// Rows in pages are hot; a column that was updated is warm, and the others stay cold.
TEST(Inspection, TellsTheTemperatureOfRowsAndColumns) {
  TemporaryDirectory directory;
  SavedReplica source(directory.path(), 1);
  source.fill(1, 5 * kBlockRowsMin, Vid(1));
  Table& written_table = source.replica().table(base::TableId(0));
  Partition& partition = written_table.partition(base::PartitionId(0));
  test::RandomRows random = test::RandomRows::all_different(written_table.layout(), 5);
  test::RecordRow record(written_table.layout());
  const base::ColumnId written = *written_table.schema().find_column("varchar");
  uint64_t blocks = 0;
  uint64_t hot_rows = 0;
  for (size_t l = 0; l < partition.leaf_count(); ++l) {
    const bool is_block = partition.leaf(l).form() == LeafForm::kCompressed;
    blocks += is_block ? 1 : 0;
    hot_rows += is_block ? 0 : partition.leaf(l).row_slots();
  }
  ASSERT_GE(blocks, 2U);
  ASSERT_GE(hot_rows, 1U);
  for (uint32_t i = 0; i < kBlockRowsMin; ++i) {
    if (!partition.leaf(0).lives(i)) continue;
    record.encode(random.row());
    test::update_cell(partition, i, written, record.cell(written), record.strings_base());
  }
  ASSERT_TRUE(partition.leaf(0).storage(written).thawed);
  ASSERT_TRUE(source.save().ok());
  const Result<Inspection> inspected = inspect(directory, source, Verify::kNo);
  ASSERT_TRUE(inspected.ok()) << inspected.error().to_string();
  const TableInspection& table = inspected->tables[0];
  EXPECT_EQ(table.blocks, blocks);
  EXPECT_EQ(table.page_leaves, 1U);
  EXPECT_EQ(table.hot_rows, hot_rows);
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const auto chunks = [&](Temperature temperature) {
      return table.columns[c].sizes.by_temperature[static_cast<size_t>(temperature)].chunks;
    };
    const uint64_t warm = c == written.value ? 1 : 0;
    EXPECT_EQ(chunks(Temperature::kHot), 1U);
    EXPECT_EQ(chunks(Temperature::kWarm), warm);
    EXPECT_EQ(chunks(Temperature::kCold), blocks - warm);
  }
}

SavedTable saved_table(const std::string& directory, const Manifest& manifest,
                       const base::TableSchema& schema) {
  const auto file = BlockFile::open(directory);
  DIPTYCH_CHECK(file.ok(), "the file is there");
  const auto saved = read_table(manifest.tables[0], manifest, schema, file->get());
  DIPTYCH_CHECK(saved.ok(), "the directory is intact");
  return *saved;
}

TEST(Inspection, VerifyListsEveryDamagedChunkAndNoOther) {
  TemporaryDirectory directory;
  SavedReplica source(directory.path(), 1);
  source.fill(1, 2500, Vid(1));
  ASSERT_TRUE(source.save().ok());
  const base::TableSchema& schema = source.replica().table(base::TableId(0)).schema();
  const SavedTable saved = saved_table(directory.path(), *read_manifest(directory.path()), schema);
  const std::string path = directory.path() + "/blocks.dtb";
  const std::string intact = read_bytes(path);
  const SavedPartition& leaves = saved.partitions[0];
  for (size_t l = 0; l < leaves.size(); ++l) {
    for (size_t c = 0; c < leaves[l].columns.size(); c += 3) {
      const ChunkAddress& address = leaves[l].columns[c].chunk.address;
      std::string damaged = intact;
      damaged[address.offset() + (c * 7919 + l * 31) % address.bytes] ^= 0x10;
      write_bytes(path, damaged);
      const Result<Inspection> inspected = inspect(directory, source, Verify::kYes);
      ASSERT_TRUE(inspected.ok()) << inspected.error().to_string();
      ASSERT_EQ(inspected->damaged.size(), 1U);
      const DamagedChunk& found = inspected->damaged[0];
      EXPECT_EQ(found.table, schema.name);
      const bool is_row_ids = c == schema.columns.size();
      EXPECT_EQ(found.column, is_row_ids ? kRowIdColumn : schema.columns[c].name);
      EXPECT_EQ(found.partition, 0U);
      EXPECT_EQ(found.first_row, leaves[l].first_ordinal);
      EXPECT_EQ(found.last_row, leaves[l].first_ordinal + leaves[l].rows - 1);
      EXPECT_EQ(found.file, path);
      EXPECT_EQ(found.offset, address.offset());
      EXPECT_THAT(found.what, HasSubstr("checksum"));
      EXPECT_EQ(inspected->chunks_read + 1, inspected->sizes.all.chunks);
    }
  }
}

// The chunk is intact and another than the directory says: the header must be compared.
TEST(Inspection, VerifyListsAChunkThatIsNotTheOneThatWasSaved) {
  TemporaryDirectory directory;
  SavedReplica source(directory.path(), 1);
  source.fill(1, 2500, Vid(1));
  ASSERT_TRUE(source.save().ok());
  Manifest manifest = *read_manifest(directory.path());
  const base::TableSchema& schema = source.replica().table(base::TableId(0)).schema();
  SavedTable saved = saved_table(directory.path(), manifest, schema);
  saved.partitions[0][1].columns[2].chunk.header.max -= 1;
  BlockFile& file = source.replica().buffers()->file();
  const Result<ChunkAddress> address = file.write(write_directory(schema, saved));
  ASSERT_TRUE(address.ok());
  manifest.tables[0].directory = *address;
  ASSERT_TRUE(write_manifest(directory.path(), manifest).ok());
  const Result<Inspection> inspected = inspect(directory, source, Verify::kYes);
  ASSERT_TRUE(inspected.ok()) << inspected.error().to_string();
  ASSERT_EQ(inspected->damaged.size(), 1U);
  EXPECT_EQ(inspected->damaged[0].column, schema.columns[2].name);
  EXPECT_THAT(inspected->damaged[0].what, HasSubstr("header"));
}

TEST(Inspection, OfADamagedDirectoryFailsAsTheDatabaseDoes) {
  TemporaryDirectory directory;
  SavedReplica source(directory.path(), 1);
  source.fill(1, 100, Vid(1));
  ASSERT_TRUE(source.save().ok());
  const Manifest manifest = *read_manifest(directory.path());
  const std::string path = directory.path() + "/blocks.dtb";
  std::string bytes = read_bytes(path);
  bytes[manifest.tables[1].directory.offset() + 40] ^= 1;
  write_bytes(path, bytes);
  const Result<Inspection> inspected = inspect(directory, source, Verify::kNo);
  ASSERT_FALSE(inspected.ok());
  EXPECT_EQ(inspected.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(inspected.error().message, HasSubstr(path));
}

}  // namespace
}  // namespace diptych::storage
