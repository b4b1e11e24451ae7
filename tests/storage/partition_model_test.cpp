#include "tests/storage/partition_model.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "storage/table.h"
#include "tests/storage/every_type_table.h"
#include "tests/storage/one_row.h"
#include "tests/storage/record_rows.h"

namespace diptych::storage {
namespace {

using base::ColumnId;
using base::NumaNode;
using base::RowId;
using test::every_type_schema;
using test::narrow_schema;
using test::RandomRows;
using test::RecordRow;
using test::TestRow;

std::string name_of(const ::testing::TestParamInfo<BlockForm>& info) {
  return info.param == BlockForm::kPlain ? "PlainBlocks" : "CompressedBlocks";
}

TEST(HotPages, AgreeWithAMapOfRowsThroughInsertUpdateEraseAndReuse) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  test::PartitionModel model(every_type_schema(), BlockForm::kCompressed, seed);
  RandomRows& random = model.random();
  for (int step = 0; step < 60'000; ++step) {
    const bool grows = step % 20'000 < 12'000;
    const uint64_t dice = random.below(10);
    const auto known = model.rows().lower_bound(static_cast<uint32_t>(random.below(8000)));
    if (known == model.rows().end() || dice < (grows ? 6U : 1U)) {
      model.insert();
    } else if (dice < 8) {
      model.update(known->first, random.column());
    } else {
      model.erase(known->first);
    }
    if (step % 15'000 != 14'999) continue;
    ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
  }
}

class BlockModel : public ::testing::TestWithParam<BlockForm> {};

// Rows across several block ranges; blocks are made, and columns thaw and freeze, while updates,
// erases and reuse go on.
TEST_P(BlockModel, KeepsRowsAndOrdinalsWhenPagesBecomeBlocks) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  test::PartitionModel model(narrow_schema(), GetParam(), seed);
  size_t written = 0;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 25'000; ++i) model.insert();
    const size_t slots = model.rows().rbegin()->first + 1;
    if (GetParam() == BlockForm::kPlain) {
      ASSERT_EQ(slots, model.rows().size());  // slots were reused, lowest first
    } else {
      // Compressed blocks keep those of less than a quarter of their rows.
      ASSERT_LE(slots, model.rows().size() + slots / 4);
    }
    for (int i = 0; i < 2'000; ++i) {
      model.update(model.any_ordinal(), model.random().column());
      model.erase(model.any_ordinal());
    }
    for (int i = 0; i < 2'000; ++i) model.insert();
    for (int i = 0; i < 3; ++i) written += model.partition().compact();
    ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
  }
  EXPECT_GT(written, 0U);
  EXPECT_EQ(model.partition().leaf(0).row_slots(), kBlockRowsDefault);
  int looks = 0;
  while (model.partition().compact() != 0 && looks < 100) ++looks;
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
}

// All rows of some blocks go, and others come: what erases freed is used again.
TEST_P(BlockModel, UsesTheSlotsOfDeletedRowsAgain) {
  test::PartitionModel model(narrow_schema(), GetParam(), 7);
  for (uint32_t i = 0; i < 3 * kBlockRowsDefault; ++i) model.insert();
  model.partition().compact_all();
  const size_t loaded = model.partition().memory_bytes();
  for (int round = 0; round < 2; ++round) {
    for (uint32_t i = 0; i < kBlockRowsDefault; ++i) model.erase(model.any_ordinal());
    for (uint32_t i = 0; i < kBlockRowsDefault; ++i) model.insert();
    model.partition().compact_all();
    ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
    ASSERT_LE(model.rows().rbegin()->first, 4 * kBlockRowsDefault);
    ASSERT_LT(model.partition().memory_bytes(), 2 * loaded);
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, BlockModel,
                         ::testing::Values(BlockForm::kCompressed, BlockForm::kPlain), name_of);

TEST(Partition, LeavesABusyRangeInItsPages) {
  const base::TableSchema schema = narrow_schema();
  const base::RowLayout layout(schema);
  RandomRows rows(layout, 3);
  Partition partition(schema);
  RecordRow record(layout);
  record.encode(rows.row());
  for (uint32_t i = 0; i < kBlockRowsDefault; ++i) {
    test::insert_row(partition, RowId(i), record.row(), record.strings_base());
  }
  const size_t pages = partition.leaf_count();
  for (int call = 0; call < 3; ++call) {
    for (uint32_t i = 0; i < kBlockRowsDefault / 4; ++i) {
      test::update_cell(partition, i, ColumnId(0), record.cell(ColumnId(0)), record.strings_base());
    }
    EXPECT_EQ(partition.compact(), 0U);
  }
  EXPECT_EQ(partition.leaf_count(), pages);
  EXPECT_GT(partition.compact(), 0U);
  EXPECT_EQ(partition.leaf_count(), 1U);
}

// Hundreds of ranges wait: a call makes one block, and more only until its time is up.
TEST(Partition, CompactsUntilItsTimeIsUp) {
  constexpr uint32_t kRanges = 500;
  constexpr uint64_t kMillisecond = 1'000'000;
  const base::TableSchema schema = narrow_schema();
  const base::RowLayout layout(schema);
  Partition partition(schema, {.block_rows = kBlockRowsMin});
  RandomRows rows(layout, 4);
  RecordRow record(layout);
  for (uint32_t i = 0; i < kRanges * kBlockRowsMin; ++i) {
    if (i % 100 == 0) record.encode(rows.row());
    test::insert_row(partition, RowId(i), record.row(), record.strings_base());
  }
  const auto made = [&] { return partition.figures().blocks_made; };
  EXPECT_EQ(partition.compact(), 0U) << "the inserts made every range busy";
  EXPECT_GT(partition.compact(), 0U);
  EXPECT_EQ(made(), 1U);
  partition.compact(base::steady_ns() - kMillisecond);
  EXPECT_EQ(made(), 2U) << "one, where the time is up already";
  partition.compact(base::steady_ns() + kMillisecond);
  EXPECT_GT(made(), 2U);
  EXPECT_LT(made(), kRanges / 2);
  partition.compact(UINT64_MAX);
  EXPECT_EQ(made(), kRanges);
}

TEST_P(BlockModel, IsBlocksWithoutTheMemoryOfTheirPagesAfterALoad) {
  test::PartitionModel model(narrow_schema(), GetParam(), 5);
  for (uint32_t i = 0; i < 2 * kBlockRowsDefault + 10; ++i) model.insert();
  const size_t loaded = model.partition().memory_bytes();
  model.partition().compact_all();
  EXPECT_EQ(model.partition().leaf_count(), 3U);
  const size_t compacted = model.partition().memory_bytes();
  EXPECT_LT(compacted,
            GetParam() == BlockForm::kCompressed ? loaded * 2 / 3 : loaded + loaded / 20);
  model.expect_agreement();
  for (uint32_t i = 0; i < kBlockRowsDefault; ++i)
    model.insert();  // on pages whose memory was given back
  model.expect_agreement();
  EXPECT_GT(model.partition().memory_bytes(), compacted + loaded / 3);
}

// As TPC-C's constant-size variant: each round inserts, updates and deletes as many rows.
TEST(Partition, KeepsItsMemoryFlatInAConstantSizeRun) {
  const base::TableSchema schema = every_type_schema();
  const base::RowLayout layout(schema);
  RandomRows rows = RandomRows::all_different(layout, 4);
  Partition partition(schema);
  RecordRow record(layout);
  std::vector<uint32_t> live;
  const auto insert = [&] {
    record.encode(rows.row());
    live.push_back(test::insert_row(partition, RowId(1), record.row(), record.strings_base()));
  };
  for (int i = 0; i < 5'000; ++i) insert();
  size_t settled = 0;
  for (int round = 0; round < 40; ++round) {
    for (int i = 0; i < 2'500; ++i) {
      std::swap(live[rows.below(live.size())], live.back());
      partition.erase(live.back());
      live.pop_back();
      insert();
      const ColumnId column = rows.column();
      record.encode(rows.row());
      test::update_cell(partition, live[rows.below(live.size())], column, record.cell(column),
                        record.strings_base());
    }
    partition.compact();
    if (round == 9) settled = partition.memory_bytes();
  }
  EXPECT_LE(partition.memory_bytes(), settled + settled / 50);
}

TEST(Partition, KnowsNothingOfADoubleColumnThatHoldsNan) {
  const base::TableSchema schema = narrow_schema();
  const base::RowLayout layout(schema);
  Partition partition(schema);
  RecordRow record(layout);
  const auto insert = [&](double value) {
    record.encode(TestRow(layout, {int64_t{1}, value, std::monostate()}));
    test::insert_row(partition, RowId(1), record.row(), record.strings_base());
  };
  EXPECT_EQ(partition.leaf_count(), 0U);
  insert(2.5);
  const ColumnSummary summary = partition.leaf(0).summary(ColumnId(1));
  EXPECT_TRUE(summary.known);
  EXPECT_EQ(summary.min_double, 2.5);
  EXPECT_EQ(summary.max_double, 2.5);
  EXPECT_FALSE(summary.has_null);
  insert(std::nan(""));
  insert(3.5);
  EXPECT_FALSE(partition.leaf(0).summary(ColumnId(1)).known);
}

}  // namespace
}  // namespace diptych::storage
