// A partition in a block file, under budgets of all sizes, beside a map of its rows: whatever is
// evicted, written, saved and read back, its rows are the map's.

#include <gtest/gtest.h>

#include "tests/storage/kept_replica.h"
#include "tests/storage/partition_model.h"
#include "tests/temporary_directory.h"

namespace diptych::storage {
namespace {

using base::ColumnId;
using diptych::test::TemporaryDirectory;
using test::KeptReplica;
using test::PartitionModel;

constexpr size_t kNoBudget = 0;
constexpr size_t kTinyBudget = 64 << 10;  // of some MB
constexpr size_t kHalfBudget = 400 << 10;

class BufferedPartition : public ::testing::TestWithParam<size_t> {};

TEST_P(BufferedPartition, HasTheRowsOfTheModel) {
  const base::TableSchema schema = test::every_type_schema();
  TemporaryDirectory directory;
  KeptReplica kept(directory.path(), schema, GetParam());
  PartitionModel model(schema, &kept.partition(), 1);
  for (int i = 0; i < 4000; ++i) model.insert();
  kept.partition().compact_all();
  for (int round = 0; round < 8; ++round) {
    for (int i = 0; i < 300; ++i) {
      const uint64_t choice = model.random().below(8);
      if (choice == 0) model.insert();
      if (choice == 1) model.erase(model.any_ordinal());
      if (choice > 1) model.update(model.any_ordinal(), model.random().column());
    }
    for (int i = 0; i < 6; ++i) kept.partition().compact();
    ASSERT_TRUE(kept.buffers().trim().ok());
    const BufferFigures figures = kept.buffers().figures();
    if (GetParam() != kNoBudget) {
      ASSERT_LE(figures.memory_bytes, GetParam());
    }
    ASSERT_NO_FATAL_FAILURE(model.expect_agreement()) << "round " << round;
    if (round % 2 == 0) continue;
    ASSERT_TRUE(kept.save().ok());
    const base::Result<void> reopened = kept.reopen();
    ASSERT_TRUE(reopened.ok()) << reopened.error().to_string();
    model.set_partition(&kept.partition());
    ASSERT_NO_FATAL_FAILURE(model.expect_agreement()) << "round " << round;
  }
  if (GetParam() == kTinyBudget) {
    EXPECT_GT(kept.buffers().figures().evictions, 50U);
  }
}

INSTANTIATE_TEST_SUITE_P(Budgets, BufferedPartition,
                         ::testing::Values(kNoBudget, kTinyBudget, kHalfBudget));

// A block keeps its columns' bounds though its chunks are not in memory.
TEST(BufferedChunk, TellsItsBoundsWithoutBeingRead) {
  const base::TableSchema schema = test::narrow_schema();
  TemporaryDirectory directory;
  KeptReplica kept(directory.path(), schema, kTinyBudget);
  PartitionModel model(schema, &kept.partition(), 2);
  for (uint32_t i = 0; i < kBlockRowsMin; ++i) model.insert();
  kept.partition().compact_all();
  ASSERT_TRUE(kept.save().ok());
  ASSERT_TRUE(kept.reopen().ok());
  const Leaf& leaf = kept.partition().leaf(0);
  const ColumnSummary summary = leaf.summary(ColumnId(0));
  EXPECT_EQ(kept.buffers().figures().loads, 0U);
  EXPECT_TRUE(summary.known);
  const PinnedColumn column = value_or_throw(leaf.pin(ColumnId(0)));
  EXPECT_EQ(kept.buffers().figures().loads, 1U);
  DecodeBuffer buffer;
  const auto* const values = column.view(0, kBlockRowsMin, &buffer).as<int32_t>();
  const auto [least, greatest] = std::minmax_element(values, values + kBlockRowsMin);
  EXPECT_EQ(summary.min, *least);
  EXPECT_EQ(summary.max, *greatest);
}

// What is pinned stays, though the budget is used up many times over.
TEST(BufferedChunk, StaysWhereItIsWhileItIsPinned) {
  const base::TableSchema schema = test::narrow_schema();
  TemporaryDirectory directory;
  KeptReplica kept(directory.path(), schema, kTinyBudget);
  PartitionModel model(schema, &kept.partition(), 3);
  for (uint32_t i = 0; i < 40 * kBlockRowsMin; ++i) model.insert();
  kept.partition().compact_all();
  ASSERT_TRUE(kept.save().ok());
  ASSERT_TRUE(kept.reopen().ok());
  model.set_partition(&kept.partition());
  DecodeBuffer buffer;
  const PinnedColumn first = value_or_throw(kept.partition().leaf(0).pin(ColumnId(2)));
  const void* const place = first.view(0, 64, &buffer).values;
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
  EXPECT_GT(kept.buffers().figures().evictions, 40U);
  EXPECT_EQ(first.view(0, 64, &buffer).values, place);
}

// Loads that find the arena pinned go over the budget, and go again: memory does not add up to all
// that was read between two trims.
TEST(BufferedChunk, IsLetGoForTheNextOneThatFindsNoRoom) {
  const base::TableSchema schema = test::narrow_schema();
  TemporaryDirectory directory;
  KeptReplica kept(directory.path(), schema, kTinyBudget);
  PartitionModel model(schema, &kept.partition(), 6);
  model.random() = test::RandomRows::all_different(model.layout(), 7);
  constexpr size_t kLeaves = 64;
  for (uint32_t i = 0; i < kLeaves * kBlockRowsMin; ++i) model.insert();
  kept.partition().compact_all();
  ASSERT_TRUE(kept.save().ok());
  ASSERT_TRUE(kept.reopen().ok());
  constexpr size_t kTogether = 16;
  const size_t columns = schema.columns.size();
  for (size_t first = 0; first < kLeaves; first += kTogether) {
    std::vector<PinnedColumn> pinned;
    for (size_t i = 0; i < kTogether * columns; ++i) {
      const Leaf& leaf = kept.partition().leaf(first + i / columns);
      pinned.push_back(value_or_throw(leaf.pin(ColumnId(static_cast<uint16_t>(i % columns)))));
    }
  }
  const BufferFigures figures = kept.buffers().figures();
  EXPECT_GT(figures.bytes_over_budget, 0U);
  const size_t together = figures.bytes_read / (kLeaves / kTogether);
  EXPECT_LE(figures.memory_bytes, kTinyBudget + 2 * together);
}

// One that is larger than the arena has no room to gain there.
TEST(BufferedChunk, StaysWhereALargerOneCannotTakeItsPlace) {
  base::TableSchema schema = test::narrow_schema();
  schema.columns[2].type = {base::TypeKind::kVarchar, 0, 0, 300};
  TemporaryDirectory directory;
  KeptReplica kept(directory.path(), schema, kTinyBudget);
  PartitionModel model(schema, &kept.partition(), 7);
  model.random() = test::RandomRows::all_different(model.layout(), 7);
  for (uint32_t i = 0; i < 2 * kBlockRowsMin; ++i) model.insert();
  kept.partition().compact_all();
  ASSERT_TRUE(kept.save().ok());
  ASSERT_TRUE(kept.reopen().ok());
  const Leaf& leaf = kept.partition().leaf(0);
  ASSERT_TRUE(leaf.pin(ColumnId(0)).ok());
  ASSERT_GT(leaf.storage(ColumnId(2)).bytes, kTinyBudget);
  ASSERT_TRUE(leaf.pin(ColumnId(2)).ok());
  EXPECT_TRUE(leaf.in_memory(ColumnId(0)));
}

// What is pinned or was changed stays when all others are let go; these are read anew.
TEST(BufferedChunk, IsLetGoWithAllThatTheFileHas) {
  const base::TableSchema schema = test::narrow_schema();
  TemporaryDirectory directory;
  KeptReplica kept(directory.path(), schema, size_t{64} << 20);
  PartitionModel model(schema, &kept.partition(), 5);
  for (uint32_t i = 0; i < 8 * kBlockRowsMin; ++i) model.insert();
  kept.partition().compact_all();
  ASSERT_TRUE(kept.save().ok());
  ASSERT_TRUE(kept.reopen().ok());
  model.set_partition(&kept.partition());
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
  const uint64_t loads = kept.buffers().figures().loads;
  kept.buffers().evict_all();
  EXPECT_EQ(kept.buffers().figures().evictions, loads);
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
  EXPECT_EQ(kept.buffers().figures().loads, 2 * loads);
  for (int i = 0; i < 100; ++i) model.update(model.any_ordinal(), ColumnId(0));
  const PinnedColumn pinned = value_or_throw(kept.partition().leaf(0).pin(ColumnId(2)));
  DecodeBuffer buffer;
  const void* const place = pinned.view(0, 64, &buffer).values;
  kept.buffers().evict_all();
  EXPECT_LT(kept.buffers().figures().evictions, 2 * loads);
  EXPECT_EQ(pinned.view(0, 64, &buffer).values, place);
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
}

// A damaged chunk is an error of who reads it, with the file and the byte, and of nobody else.
TEST(BufferedChunk, IsCorruptWhereItsBytesAreDamaged) {
  const base::TableSchema schema = test::narrow_schema();
  TemporaryDirectory directory;
  KeptReplica kept(directory.path(), schema, kNoBudget);
  PartitionModel model(schema, &kept.partition(), 4);
  for (uint32_t i = 0; i < 3 * kBlockRowsMin; ++i) model.insert();
  kept.partition().compact_all();
  const base::Result<SavedPartition> saved = kept.partition().save();
  ASSERT_TRUE(saved.ok());
  ASSERT_TRUE(kept.save().ok());
  const ChunkAddress damaged = (*saved)[1].columns[0].chunk.address;
  std::string bytes = diptych::test::read_bytes(kept.file());
  bytes[damaged.offset() + damaged.bytes / 2] ^= 0x10;
  diptych::test::write_bytes(kept.file(), bytes);
  ASSERT_TRUE(kept.reopen().ok());
  const Partition& partition = kept.partition();
  const base::Result<PinnedColumn> column = partition.leaf(1).pin(ColumnId(0));
  ASSERT_FALSE(column.ok());
  EXPECT_EQ(column.code(), base::ErrorCode::kCorrupt);
  EXPECT_NE(column.error().message.find(kept.file()), std::string::npos);
  EXPECT_NE(column.error().message.find(std::to_string(damaged.offset())), std::string::npos);
  EXPECT_TRUE(partition.leaf(1).pin(ColumnId(1)).ok());
  EXPECT_TRUE(partition.leaf(0).pin(ColumnId(0)).ok());
  EXPECT_THROW(std::ignore = partition.value(kBlockRowsMin, ColumnId(0)), ChunkFailure);
}

}  // namespace
}  // namespace diptych::storage
