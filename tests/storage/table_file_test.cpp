#include "storage/table_file.h"

#include <random>

#include <gtest/gtest.h>

#include "tests/storage/saved_replica.h"

namespace diptych::storage {
namespace {

using base::ErrorCode;
using base::TableId;
using base::Vid;
using test::read_bytes;
using test::SavedReplica;
using test::TemporaryDirectory;
using test::write_bytes;

TEST(TableFile, GivesBackEveryRowWithItsRowIdForAnyNumberOfPartitions) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  for (const uint32_t partitions : {1U, 3U}) {
    SavedReplica source(partitions);
    source.fill(seed, 3000, Vid(5));
    TemporaryDirectory directory;
    const std::string path = directory.path() + "/t.dtf";
    const base::Result<TableFileInfo> written =
        write_table_file(path, source.replica().table(TableId(0)));
    ASSERT_TRUE(written.ok()) << written.error().to_string();
    for (const uint32_t other : {1U, 2U, 5U}) {
      SavedReplica target(other);
      const base::Result<TableFileInfo> read =
          read_table_file(path, &target.replica().table(TableId(0)));
      ASSERT_TRUE(read.ok()) << read.error().to_string();
      EXPECT_EQ(read->checksum, written->checksum);
      EXPECT_EQ(read->bytes, written->bytes);
      EXPECT_EQ(target.rows()[0], source.rows()[0]);
    }
  }
}

TEST(TableFile, HoldsAnEmptyTable) {
  SavedReplica source(2);
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/t.dtf";
  ASSERT_TRUE(write_table_file(path, source.replica().table(TableId(0))).ok());
  SavedReplica target(1);
  ASSERT_TRUE(read_table_file(path, &target.replica().table(TableId(0))).ok());
  EXPECT_EQ(target.replica().table(TableId(0)).live_rows(), 0U);
}

TEST(TableFile, ReportsEveryDamagedByteAndEveryCutAsCorrupt) {
  SavedReplica source(2);
  source.fill(11, 4, Vid(5));
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/t.dtf";
  ASSERT_TRUE(write_table_file(path, source.replica().table(TableId(0))).ok());
  const std::string intact = read_bytes(path);
  const auto expect_corrupt = [&](const std::string& bytes, size_t at) {
    write_bytes(path, bytes);
    SavedReplica target(1);
    const base::Result<TableFileInfo> read =
        read_table_file(path, &target.replica().table(TableId(0)));
    ASSERT_FALSE(read.ok()) << "byte " << at;
    ASSERT_EQ(read.code(), ErrorCode::kCorrupt) << read.error().to_string();
    ASSERT_NE(read.error().message.find(path), std::string::npos);
  };
  for (size_t at = 0; at < intact.size(); ++at) {
    std::string damaged = intact;
    damaged[at] = static_cast<char>(damaged[at] ^ (at % 2 == 0 ? 0xff : 1 << at / 2 % 8));
    expect_corrupt(damaged, at);
    expect_corrupt(intact.substr(0, at), at);
  }
  expect_corrupt(intact + "x", intact.size());
}

TEST(TableFile, IsRefusedByATableOfAnotherSchema) {
  SavedReplica source(1);
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/t.dtf";
  ASSERT_TRUE(write_table_file(path, source.replica().table(TableId(0))).ok());
  SavedReplica target(1);
  const base::Result<TableFileInfo> read =
      read_table_file(path, &target.replica().table(TableId(1)));
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("another schema"), std::string::npos);
}

TEST(TableFile, NamesThePathWhereTheDirectoryIsMissing) {
  SavedReplica source(1);
  const base::Result<TableFileInfo> written =
      write_table_file("/nonexistent/t.dtf", source.replica().table(TableId(0)));
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.code(), ErrorCode::kNotFound);
  EXPECT_NE(written.error().message.find("/nonexistent/t.dtf"), std::string::npos);
}

}  // namespace
}  // namespace diptych::storage
