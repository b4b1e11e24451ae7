// Every byte of a saved replica's files, damaged, end to end: what is read is what was saved, or an
// error that names the file and the place.

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "storage/buffer_manager.h"
#include "storage/inspection.h"
#include "storage/replica_files.h"
#include "tests/sanitizers.h"
#include "tests/storage/one_row.h"
#include "tests/storage/record_rows.h"
#include "tests/temporary_directory.h"

namespace diptych::storage {
namespace {

using base::ColumnId;
using base::ErrorCode;
using base::PartitionId;
using base::Result;
using base::TableId;
using test::TestRow;
using testing::HasSubstr;

// Between bytes that are damaged: where one read shows it, where a whole load does, and where an
// inspection that reads all chunks does. Each run begins at others (first_at), so that none is left
// out for good.
constexpr uint64_t kStride = diptych::test::kSanitized ? 97 : 1;
constexpr uint64_t kLoadStride = diptych::test::kSanitized ? 679 : 1;
constexpr uint64_t kInspectionStride = 399 * kStride;

base::TableSchema damage_schema(uint32_t id, base::Settled settled) {
  using base::Nullability;
  using base::TypeKind;
  base::TableSchema schema;
  schema.id = TableId(id);
  schema.name = settled == base::Settled::kOn ? "settled" : "fresh";
  schema.settled = settled;
  schema.columns.push_back({"id", {TypeKind::kBigInt}, Nullability::kNotNull});
  schema.columns.push_back({"constant", {TypeKind::kInt}, Nullability::kNotNull});
  schema.columns.push_back({"byte", {TypeKind::kInt}, Nullability::kNullable});
  schema.columns.push_back({"word", {TypeKind::kVarchar, 0, 0, 20}, Nullability::kNotNull});
  schema.columns.push_back({"letters", {TypeKind::kChar, 0, 0, 12}, Nullability::kNotNull});
  schema.columns.push_back({"any", {TypeKind::kInt}, Nullability::kNotNull});
  schema.columns.push_back({"words", {TypeKind::kVarchar}, Nullability::kNullable});
  schema.columns.push_back({"double", {TypeKind::kDouble}, Nullability::kNotNull});
  schema.columns.push_back({"thawed", {TypeKind::kVarchar, 0, 0, 20}, Nullability::kNotNull});
  schema.columns.push_back({"patched", {TypeKind::kChar, 0, 0, 12}, Nullability::kNotNull});
  schema.columns.push_back({"phrase", {TypeKind::kVarchar}, Nullability::kNotNull});
  schema.indexes.push_back(
      {"damage_pkey", {}, base::IndexKind::kHash, base::Uniqueness::kUnique, {ColumnId(0)}});
  return schema;
}

// Damaged while it lives.
class DamagedByte {
 public:
  DamagedByte(const std::string& path, uint64_t offset)
      : file_(::open(path.c_str(), O_RDWR | O_CLOEXEC)), offset_(static_cast<off_t>(offset)) {
    flip();
  }
  DamagedByte(const DamagedByte&) = delete;
  DamagedByte& operator=(const DamagedByte&) = delete;
  ~DamagedByte() {
    flip();
    ::close(file_);
  }

 private:
  void flip() const {
    char byte = 0;
    EXPECT_EQ(::pread(file_, &byte, 1, offset_), 1);
    byte = static_cast<char>(byte ^ (1 << offset_ % 8));
    EXPECT_EQ(::pwrite(file_, &byte, 1, offset_), 1);
  }

  const int file_;
  const off_t offset_;
};

// A block of each table, partly erased and with two thawed columns, and some rows in pages.
class DamageModel : public testing::Test {
 protected:
  static constexpr uint32_t kTables = 2;
  static constexpr uint32_t kRows = kBlockRowsMin + 150;

  uint64_t first_at(uint64_t stride) { return random_() % stride; }

  // What is named, by where it begins in the file.
  struct Chunk {
    ChunkAddress address;
    SavedForm form;
    const Leaf* leaf;
    uint32_t table;
    size_t column;
  };

  DamageModel() {
    open(*BlockFile::create(directory_.path()));
    for (uint32_t t = 0; t < kTables; ++t) fill(&replica_->table(TableId(t)));
    EXPECT_TRUE(save_replica(directory_.path(), replica_.get(), {}).ok());
    manifest_ = *read_manifest(directory_.path());
    intact_ = *load_and_read();
    EXPECT_TRUE(load().ok());
    note_chunks();
  }

  Result<void> load() {
    replica_.reset();
    auto file = BlockFile::open(directory_.path(), {}, ReadCache::kUse);
    if (!file.ok()) return file.error();
    open(std::move(*file));
    return load_replica(directory_.path(), manifest_, replica_.get());
  }
  // All values of all rows.
  Result<std::string> load_and_read() {
    if (const auto loaded = load(); !loaded.ok()) return loaded.error();
    std::string all;
    for (uint32_t t = 0; t < kTables; ++t) {
      const Partition& partition = replica_->table(TableId(t)).partition(PartitionId(0));
      for (size_t l = 0; l < partition.leaf_count(); ++l) {
        for (size_t c = 0; c <= schemas_[t].columns.size(); ++c) {
          const Result<void> read = read_column(partition.leaf(l), t, c, &all);
          if (!read.ok()) return read.error();
        }
      }
    }
    return all;
  }
  Result<PinnedColumn> pin(const Leaf& leaf, uint32_t table, size_t column) const {
    if (column == schemas_[table].columns.size()) return leaf.pin_row_ids();
    return leaf.pin(ColumnId(static_cast<uint16_t>(column)));
  }
  Result<Inspection> inspect() const {
    std::vector<const base::TableSchema*> schemas;
    for (const base::TableSchema& schema : schemas_) schemas.push_back(&schema);
    return inspect_replica(directory_.path(), manifest_, schemas, Verify::kYes, [](double) {});
  }
  std::string file() const { return directory_.path() + "/blocks.dtb"; }

  void expect_named(const base::Error& error, const Chunk& chunk) const {
    const base::TableSchema& schema = schemas_[chunk.table];
    EXPECT_EQ(error.code, ErrorCode::kCorrupt);
    EXPECT_THAT(error.message, HasSubstr(fmt::format("table \"{}\", partition 0: ", schema.name)));
    EXPECT_THAT(error.message,
                HasSubstr(chunk.column == schema.columns.size()
                              ? std::string("the RowIDs")
                              : fmt::format("column \"{}\"", schema.columns[chunk.column].name)));
    EXPECT_THAT(error.message, HasSubstr(file()));
    EXPECT_THAT(error.message, HasSubstr(fmt::format("at byte {} ", chunk.address.offset())));
  }
  void expect_found(const Chunk& chunk) const {
    const Result<Inspection> inspected = inspect();
    ASSERT_TRUE(inspected.ok()) << inspected.error().to_string();
    ASSERT_EQ(inspected->damaged.size(), 1U);
    EXPECT_EQ(inspected->damaged[0].table, schemas_[chunk.table].name);
    EXPECT_EQ(inspected->damaged[0].file, file());
    EXPECT_EQ(inspected->damaged[0].offset, chunk.address.offset());
  }

  std::mt19937_64 random_{std::random_device()()};  // errors name the byte, so no seed is needed
  diptych::test::TemporaryDirectory directory_;
  const std::array<base::TableSchema, kTables> schemas_ = {damage_schema(0, base::Settled::kOff),
                                                           damage_schema(1, base::Settled::kOn)};
  Manifest manifest_;
  std::unique_ptr<Replica> replica_;
  std::string intact_;
  std::map<uint64_t, Chunk> chunks_;

 private:
  void open(std::unique_ptr<BlockFile> file) {
    replica_ = std::make_unique<Replica>(StorageOptions{.block_rows = kBlockRowsMin});
    replica_->keep_in(std::move(file), 0);
    for (const base::TableSchema& schema : schemas_) replica_->add_table(schema);
  }
  static std::string phrase(uint64_t number) {
    return fmt::format("the customer of district {} in warehouse {} has no further orders",
                       number % 20, number / 20);
  }
  static void fill(Table* table) {
    Partition& partition = table->partition(PartitionId(0));
    const std::string_view words[] = {"orders", "stock", "customer", "district", "warehouse"};
    test::RandomRows random(table->layout(), 5);
    test::RecordRow record(table->layout());
    for (uint32_t i = 0; i < kRows; ++i) {
      std::string sentence;
      for (uint64_t n = random.below(9); n != 0; --n) {
        sentence += std::string(words[random.below(5)]) + std::to_string(random.below(1000)) + " ";
      }
      const auto byte = static_cast<int64_t>(random.below(256));
      const auto any = static_cast<int32_t>(random.random()());
      record.encode(
          TestRow(table->layout(),
                  {int64_t{i} * 3, int64_t{7}, i % 9 == 0 ? base::Value() : base::Value(byte),
                   std::string(words[random.below(5)]), random.text(12), int64_t{any}, sentence,
                   static_cast<double>(random.random()()) / 3, std::string(words[random.below(5)]),
                   random.text(12), phrase(random.below(200))}));
      test::insert_row(partition, base::RowId(i), record.row(), record.strings_base());
    }
    for (uint32_t i = 5; i < kRows; i += 17) partition.erase(i);
    for (int look = 0; look < 200; ++look) partition.compact();
    // A word that the block's dictionary lacks, and letters in place of others.
    record.encode(TestRow(
        table->layout(),
        {int64_t{0}, int64_t{7}, base::Value(), std::string(), std::string(), int64_t{0},
         std::string(), 0.0, std::string("terminal"), std::string("never before"), std::string()}));
    for (const ColumnId thawed : {ColumnId(8), ColumnId(9)}) {
      test::update_cell(partition, 0, thawed, record.cell(thawed), record.strings_base());
    }
  }
  Result<void> read_column(const Leaf& leaf, uint32_t table, size_t column,
                           std::string* all) const {
    const Result<PinnedColumn> pinned = pin(leaf, table, column);
    if (!pinned.ok()) return pinned.error();
    const bool is_row_ids = column == schemas_[table].columns.size();
    DecodeBuffer buffer;
    const ColumnView view = pinned->view(0, leaf.row_slots(), &buffer);
    for (uint32_t i = 0; i < leaf.row_slots(); ++i) {
      *all += leaf.lives(i) ? (view.is_null(i) ? 'n' : 'v') : 'd';
      if (!leaf.lives(i) || view.is_null(i)) continue;
      if (!is_row_ids && schemas_[table].columns[column].type.is_string()) {
        *all += view.as<base::StringRef>()[i].view();
        continue;
      }
      const size_t bytes =
          is_row_ids ? sizeof(uint64_t) : value_bytes(schemas_[table].columns[column].type);
      all->append(static_cast<const char*>(view.values) + i * bytes, bytes);
    }
    return {};
  }
  void note_chunks() {
    const auto other = *BlockFile::open(directory_.path());
    for (uint32_t t = 0; t < kTables; ++t) {
      const SavedTable saved =
          *read_table(manifest_.tables[t], manifest_, schemas_[t], other.get());
      const SavedPartition& leaves = saved.partitions[0];
      for (size_t l = 0; l < leaves.size(); ++l) {
        const Leaf& leaf = replica_->table(TableId(t)).partition(PartitionId(0)).leaf(l);
        for (size_t c = 0; c < leaves[l].columns.size(); ++c) {
          const ChunkAddress& address = leaves[l].columns[c].chunk.address;
          chunks_[address.offset()] = {address, leaves[l].form, &leaf, t, c};
        }
      }
    }
  }
};

TEST_F(DamageModel, HasChunksOfEveryEncoding) {
  const Result<Inspection> inspected = inspect();
  ASSERT_TRUE(inspected.ok());
  EXPECT_TRUE(inspected->damaged.empty());
  for (int e = 0; e < encoding::kEncodings; ++e) {
    EXPECT_NE(inspected->sizes.by_encoding[static_cast<size_t>(e)].chunks, 0U)
        << encoding::encoding_name(static_cast<encoding::Encoding>(e));
  }
}

TEST_F(DamageModel, OfTheManifestIsNamed) {
  const std::string path = directory_.path() + "/manifest.json";
  const size_t bytes = diptych::test::read_bytes(path).size();
  for (uint64_t at = 0; at < bytes; ++at) {
    const DamagedByte damaged(path, at);
    const Result<Manifest> read = read_manifest(directory_.path());
    ASSERT_FALSE(read.ok()) << "byte " << at;
    ASSERT_EQ(read.code(), ErrorCode::kCorrupt) << "byte " << at;
    ASSERT_THAT(read.error().message, HasSubstr(path)) << "byte " << at;
  }
}

TEST_F(DamageModel, OfTheFilesHeaderIsNamed) {
  for (uint64_t at = first_at(kStride); at < kFilePageBytes; at += kStride) {
    const DamagedByte damaged(file(), at);
    for (const auto& error : {load().error(), inspect().error()}) {
      ASSERT_EQ(error.code, ErrorCode::kCorrupt) << "byte " << at;
      ASSERT_THAT(error.message, HasSubstr(file())) << "byte " << at;
      ASSERT_THAT(error.message, HasSubstr("byte 0")) << "byte " << at;
    }
  }
}

TEST_F(DamageModel, OfALeafDirectoryIsNamed) {
  for (uint32_t t = 0; t < kTables; ++t) {
    const ChunkAddress& directory = manifest_.tables[t].directory;
    for (uint64_t at = first_at(kLoadStride); at < directory.bytes; at += kLoadStride) {
      const DamagedByte damaged(file(), directory.offset() + at);
      for (const auto& error : {load().error(), inspect().error()}) {
        ASSERT_EQ(error.code, ErrorCode::kCorrupt) << "byte " << at;
        ASSERT_THAT(error.message, HasSubstr(fmt::format("the directory of table \"{}\": {}",
                                                         schemas_[t].name, file())));
        ASSERT_THAT(error.message, HasSubstr(fmt::format("at byte {} ", directory.offset())));
      }
    }
  }
}

TEST_F(DamageModel, OfABlocksChunkIsNamedByWhoReadsItAndByTheInspection) {
  const uint64_t first = first_at(kInspectionStride);
  uint64_t looked_at = first;
  for (const auto& [offset, chunk] : chunks_) {
    if (chunk.form != SavedForm::kBlock) continue;
    for (uint64_t at = first_at(kStride); at < chunk.address.bytes; at += kStride) {
      SCOPED_TRACE(testing::Message() << "byte " << offset + at);
      const DamagedByte damaged(file(), offset + at);
      const Result<PinnedColumn> pinned = pin(*chunk.leaf, chunk.table, chunk.column);
      ASSERT_FALSE(pinned.ok()) << "byte " << offset + at;
      if (looked_at++ % kInspectionStride != 0) continue;
      ASSERT_NO_FATAL_FAILURE(expect_named(pinned.error(), chunk));
      ASSERT_NO_FATAL_FAILURE(expect_found(chunk));
    }
    const Result<PinnedColumn> pinned = pin(*chunk.leaf, chunk.table, chunk.column);
    ASSERT_TRUE(pinned.ok()) << pinned.error().to_string();
  }
  EXPECT_GT(looked_at - first, 500U);
}

TEST_F(DamageModel, OfAPagesChunkIsNamedByTheLoadAndByTheInspection) {
  for (const auto& [offset, chunk] : chunks_) {
    if (chunk.form != SavedForm::kPages) continue;
    for (uint64_t at = first_at(kInspectionStride); at < chunk.address.bytes;
         at += kInspectionStride) {
      SCOPED_TRACE(testing::Message() << "byte " << offset + at);
      const DamagedByte damaged(file(), offset + at);
      ASSERT_NO_FATAL_FAILURE(expect_found(chunk));
      const Result<void> loaded = load();
      ASSERT_FALSE(loaded.ok()) << "byte " << offset + at;
      ASSERT_NO_FATAL_FAILURE(expect_named(loaded.error(), chunk));
    }
  }
}

// Padding, and pages that nothing names.
TEST_F(DamageModel, OfBytesThatNothingIsInChangesNoRow) {
  std::set<uint64_t> ends;
  for (const auto& [offset, chunk] : chunks_) ends.insert(offset + chunk.address.bytes);
  uint64_t looked_at = 0;
  const uint64_t bytes = replica_->buffers()->file().bytes();
  const auto look_at = [&](uint64_t at) {
    const DamagedByte damaged(file(), at);
    const Result<std::string> read = load_and_read();
    ASSERT_TRUE(read.ok()) << "byte " << at << ": " << read.error().to_string();
    ASSERT_EQ(*read, intact_) << "byte " << at;
    ASSERT_TRUE(inspect()->damaged.empty()) << "byte " << at;
    ++looked_at;
  };
  for (const uint64_t end : ends) {
    if (end % kFilePageBytes == 0) continue;
    ASSERT_NO_FATAL_FAILURE(look_at(end));
  }
  uint64_t named_to = 0;
  for (const auto& [offset, chunk] : chunks_) {
    named_to = offset + chunk.address.pages() * kFilePageBytes;
  }
  for (const ManifestTable& table : manifest_.tables) {
    named_to = std::max(
        named_to, table.directory.offset() + table.directory.pages() * uint64_t{kFilePageBytes});
  }
  for (uint64_t at = named_to; at < bytes; at += 999'983) ASSERT_NO_FATAL_FAILURE(look_at(at));
  EXPECT_GT(looked_at, 20U);
}

}  // namespace
}  // namespace diptych::storage
