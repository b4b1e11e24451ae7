// Saves that move what lies at the end of a block file that is much longer than what it has.

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "storage/buffer_manager.h"
#include "storage/replica_files.h"
#include "tests/storage/long_file.h"
#include "tests/storage/saved_replica.h"
#include "tests/temporary_directory.h"

namespace diptych::storage {
namespace {

using base::Vid;
using diptych::test::TemporaryDirectory;
using test::LongFile;
using test::SavedReplica;

constexpr uint32_t kBlockAndPages = 2 * kBlockRowsMin;  // of which a quarter goes again

void expect_reads_back(const std::string& directory, const SavedReplica& expected) {
  const Manifest manifest = *read_manifest(directory);
  SavedReplica target(directory, manifest.partitions, SavedReplica::File::kOpen);
  const auto loaded = load_replica(directory, manifest, &target.replica());
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  target.finish_restore();
  EXPECT_EQ(target.rows(), expected.rows());
}

// By the memory that blocks may take; with little, their chunks are read to be moved.
class SaveMoves : public ::testing::TestWithParam<size_t> {
 protected:
  SaveMoves() { LongFile::create(directory_.path()); }

  BlockFile& file() { return source_->replica().buffers()->file(); }
  void evict_all() { source_->replica().buffers()->evict_all(); }
  // With the front of its file taken.
  void open() {
    const auto count_writes = [this](FileStep at) -> base::Result<void> {
      writes_ += at == FileStep::kWrite ? 1 : 0;
      return {};
    };
    source_.emplace(directory_.path(), 1, SavedReplica::File::kOpen, count_writes, GetParam());
    hole_.emplace(&file());
  }
  void save() {
    const auto saved = source_->save();
    ASSERT_TRUE(saved.ok()) << saved.error().to_string();
  }

  TemporaryDirectory directory_;
  int writes_ = 0;
  std::optional<SavedReplica> source_;
  std::optional<LongFile> hole_;
};

INSTANTIATE_TEST_SUITE_P(Budgets, SaveMoves, ::testing::Values(0, 1 << 20));

TEST_P(SaveMoves, WhatLiesAtTheFilesEndAndGiveItBack) {
  open();
  source_->fill(1, kBlockAndPages, Vid(10));
  const Partition& some =
      source_->replica().table(base::TableId(0)).partition(base::PartitionId(0));
  ASSERT_EQ(some.leaf(0).form(), LeafForm::kCompressed);
  ASSERT_EQ(some.leaf(some.leaf_count() - 1).form(), LeafForm::kPlain);
  ASSERT_NO_FATAL_FAILURE(save());
  ASSERT_EQ(file().bytes(), 3 * kExtentBytes);
  hole_->come_free();
  ASSERT_NO_FATAL_FAILURE(save());
  ASSERT_EQ(file().held_bytes(), 0U);
  ASSERT_EQ(file().bytes(), 3 * kExtentBytes) << "a restart needed the space in front until then";
  const uint64_t used = file().bytes() - file().free_bytes();
  const auto rows = source_->rows();
  evict_all();
  {
    const BlockFile::Hold hold(&file());
    ASSERT_NO_FATAL_FAILURE(save());
    EXPECT_EQ(file().bytes() - file().free_bytes(), used) << "a backup would have both places kept";
  }
  ASSERT_NO_FATAL_FAILURE(save());
  EXPECT_EQ(file().bytes(), kExtentBytes);
  EXPECT_EQ(file().bytes() - file().free_bytes(), used);
  EXPECT_EQ(std::filesystem::file_size(file().path()), kExtentBytes);
  EXPECT_EQ(source_->rows(), rows);
  ASSERT_NO_FATAL_FAILURE(expect_reads_back(directory_.path(), *source_));
  evict_all();
  EXPECT_EQ(source_->rows(), rows) << "chunks that left memory are read from where they are now";
  source_->update_all(2, Vid(20));
  ASSERT_NO_FATAL_FAILURE(save());
  expect_reads_back(directory_.path(), *source_);
}

TEST_P(SaveMoves, DirectoriesThatAreAsTheyWere) {
  open();
  source_->fill(1, 1, Vid(10));
  ASSERT_NO_FATAL_FAILURE(save());
  hole_->come_free();
  ASSERT_NO_FATAL_FAILURE(save());
  ASSERT_EQ(file().bytes(), 3 * kExtentBytes);
  const uint64_t used = file().bytes() - file().free_bytes();
  ASSERT_NO_FATAL_FAILURE(save());
  EXPECT_EQ(file().bytes(), kExtentBytes);
  EXPECT_EQ(file().bytes() - file().free_bytes(), used);
  expect_reads_back(directory_.path(), *source_);
}

TEST_P(SaveMoves, NothingOfAFileThatIsNotMuchTooLong) {
  open();
  source_->fill(1, kBlockAndPages, Vid(10));
  ASSERT_NO_FATAL_FAILURE(save());
  hole_->come_free_by_half();
  ASSERT_NO_FATAL_FAILURE(save());
  writes_ = 0;
  ASSERT_NO_FATAL_FAILURE(save());
  EXPECT_EQ(writes_, 0);
  EXPECT_EQ(file().bytes(), 3 * kExtentBytes);
}

// Damage is met by who needs the bytes, and stops no save.
TEST_P(SaveMoves, AllButAChunkThatCannotBeRead) {
  open();
  source_->fill(1, kBlockAndPages, Vid(10));
  ASSERT_NO_FATAL_FAILURE(save());
  hole_->come_free();
  ASSERT_NO_FATAL_FAILURE(save());
  evict_all();
  std::fstream blocks(file().path(), std::ios::in | std::ios::out | std::ios::binary);
  blocks.seekp(2 * kExtentBytes + 100);  // in the first chunk that was saved
  blocks.put('\x55');
  blocks.close();
  writes_ = 0;
  ASSERT_NO_FATAL_FAILURE(save());
  EXPECT_GT(writes_, 10);
  EXPECT_EQ(file().bytes(), 3 * kExtentBytes) << "it stays where it is";
  const Manifest manifest = *read_manifest(directory_.path());
  SavedReplica target(directory_.path(), manifest.partitions, SavedReplica::File::kOpen);
  ASSERT_TRUE(load_replica(directory_.path(), manifest, &target.replica()).ok());
  target.finish_restore();
  EXPECT_THROW(target.rows(), ChunkFailure);
}

}  // namespace
}  // namespace diptych::storage
