// Ranges with few rows left: the rows move, and all that is known of them with them.

#include <random>

#include <gtest/gtest.h>

#include "tests/failing_allocation.h"
#include "tests/storage/kept_replica.h"
#include "tests/storage/partition_model.h"
#include "tests/temporary_directory.h"

namespace diptych::storage {
namespace {

using ::diptych::test::FailingAllocation;
using ::diptych::test::TemporaryDirectory;
using test::every_type_schema;
using test::KeptReplica;
using test::narrow_schema;
using test::PartitionModel;

void fill(PartitionModel* model, uint32_t rows) {
  for (uint32_t i = 0; i < rows; ++i) model->insert();
}
// One row in `left` stays, by chance, of those with ordinals in [first, end).
void purge(PartitionModel* model, uint32_t left, uint32_t first = 0, uint32_t end = UINT32_MAX) {
  std::vector<uint32_t> gone;
  for (const auto& [ordinal, row] : model->rows()) {
    if (ordinal >= first && ordinal < end && model->random().below(left) != 0) {
      gone.push_back(ordinal);
    }
  }
  for (const uint32_t ordinal : gone) model->erase(ordinal);
}
// Until there is nothing to do.
void compact(PartitionModel* model) {
  int calls = 0;
  while (model->partition().wants_compaction() && calls < 5000) {
    model->partition().compact();
    ++calls;
  }
  EXPECT_LT(calls, 5000) << "compaction comes to an end";
}
uint32_t slots_scanned(const Partition& partition) {
  uint32_t slots = 0;
  for (size_t l = 0; l < partition.leaf_count(); ++l) {
    if (partition.leaf(l).live_rows() != 0) slots += partition.leaf(l).row_slots();
  }
  return slots;
}

class RangeMoveModel : public ::testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Budgets, RangeMoveModel, ::testing::Values(0, 64 << 10));

// One of the ways in which rows come and go; each leaves some ranges with few.
void change(PartitionModel* model, int round) {
  const uint32_t slots = model->partition().row_slots();
  switch (round % 4) {
    case 0: purge(model, 16); break;
    case 1: fill(model, 2500); break;
    case 2: purge(model, 20, slots / 4, slots / 2); break;
    default:
      for (int i = 0; i < 3000; ++i) {
        if (model->random().below(3) == 0) model->insert();
        if (model->rows().size() > 100) model->erase(model->any_ordinal());
      }
  }
  for (int i = 0; i < 300; ++i) model->update(model->any_ordinal(), model->random().column());
}

TEST_P(RangeMoveModel, AgreesWhileRowsComeAndGoAndMove) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  const base::TableSchema schema = every_type_schema();
  const TemporaryDirectory directory;
  KeptReplica kept(directory.path(), schema, GetParam());
  PartitionModel model(schema, &kept.partition(), seed);
  model.follow_moves();
  for (int round = 0; round < 16; ++round) {
    SCOPED_TRACE(::testing::Message() << "round " << round);
    if (round % 4 == 0) fill(&model, 6 * kBlockRowsMin);
    if (round % 8 == 0) kept.partition().compact_all();
    change(&model, round);
    // What a query, or a checkpoint in the background, has meanwhile.
    const Partition image(kept.partition().cut());
    const auto rows = model.rows();
    for (int call = 0; call < 25; ++call) {
      // A few rows at a time: the time is always up.
      kept.partition().compact();
      if (model.random().below(4) == 0) model.update(model.any_ordinal(), base::ColumnId(0));
      if (call % 8 != 4) continue;
      ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
    }
    ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
    ASSERT_NO_FATAL_FAILURE(model.expect_agreement(image, rows));
    ASSERT_TRUE(kept.buffers().trim().ok());
  }
  EXPECT_GT(kept.partition().figures().rows_moved, kBlockRowsMin);
}

TEST_P(RangeMoveModel, ARestartFindsWhatWasSavedInTheMiddleOfMoves) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  const base::TableSchema schema = every_type_schema();
  const TemporaryDirectory directory;
  KeptReplica kept(directory.path(), schema, GetParam());
  PartitionModel model(schema, &kept.partition(), seed);
  model.follow_moves();
  uint64_t moved_after_restarts = 0;
  for (int round = 0; round < 4; ++round) {
    SCOPED_TRACE(::testing::Message() << "round " << round);
    fill(&model, 8 * kBlockRowsMin);
    if (round % 2 == 0) kept.partition().compact_all();
    purge(&model, 16);
    for (int call = 0; call < 11; ++call) kept.partition().compact();
    ASSERT_TRUE(kept.save().ok());
    const auto reopened = kept.reopen();
    ASSERT_TRUE(reopened.ok()) << reopened.error().to_string();
    model.set_partition(&kept.partition());
    model.follow_moves();
    ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
    compact(&model);
    moved_after_restarts += kept.partition().figures().rows_moved;
    ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
  }
  EXPECT_GT(moved_after_restarts, 0U);
}

// A table of blocks, or of pages, of which one row in sixteen is left, takes about what a new one
// of these rows does.
TEST(RangeMove, WhatIsLeftOfAPurgeIsScannedAndKeptAsIfItWasNew) {
  constexpr uint32_t kBlocks = 32;
  const base::TableSchema schema = narrow_schema();
  for (const bool are_blocks : {true, false}) {
    SCOPED_TRACE(are_blocks ? "blocks" : "pages");
    PartitionModel model(schema, BlockForm::kCompressed, 7, 8 * kBlockRowsMin);
    model.follow_moves();
    Partition& partition = model.partition();
    const uint32_t block_rows = partition.block_rows();
    fill(&model, kBlocks * block_rows);
    if (are_blocks) partition.compact_all();
    const size_t before = partition.figures().memory_bytes();
    purge(&model, 16);
    compact(&model);
    ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
    const size_t live = model.rows().size();
    EXPECT_GT(partition.figures().rows_moved, live / 2);
    EXPECT_LE(slots_scanned(partition), live + 2 * block_rows) << live << " rows live";
    EXPECT_LE(partition.leaf_count(),
              kBlocks + partition.leaf(partition.leaf_count() - 1).row_slots() / 64 + 128);
    EXPECT_LE(partition.figures().memory_bytes(), before / 4);
    // The slots are used again.
    const uint32_t slots = partition.row_slots();
    fill(&model, kBlocks * block_rows / 2);
    EXPECT_LT(partition.row_slots(), slots + block_rows);
    ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
  }
}

TEST(RangeMove, ARangeThatRowsStillGoFromIsLeftAlone) {
  PartitionModel model(narrow_schema(), BlockForm::kCompressed, 8, kBlockRowsMin);
  model.follow_moves();
  fill(&model, 4 * kBlockRowsMin);
  model.partition().compact_all();
  purge(&model, 16, 0, 2 * kBlockRowsMin);
  // A queue's oldest rows.
  for (int call = 0; call < 40; ++call) {
    for (uint32_t range = 0; range < 2; ++range) {
      const auto oldest = model.rows().lower_bound(range * kBlockRowsMin);
      model.erase(oldest->first);
    }
    model.partition().compact();
  }
  EXPECT_EQ(model.partition().figures().rows_moved, 0U);
  compact(&model);
  EXPECT_GT(model.partition().figures().rows_moved, 0U);
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
}

TEST(RangeMove, RowsKeepTheirOrdinalsWhereNobodyIsTold) {
  PartitionModel model(narrow_schema(), BlockForm::kCompressed, 9, kBlockRowsMin);
  fill(&model, 4 * kBlockRowsMin);
  model.partition().compact_all();
  purge(&model, 16);
  compact(&model);
  EXPECT_EQ(model.partition().figures().rows_moved, 0U);
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
}

// Inserts, which need pages with room, and purges take turns: no range goes to and fro.
TEST(RangeMove, OneRangeWithRoomStaysForTheInserts) {
  PartitionModel model(narrow_schema(), BlockForm::kCompressed, 10, kBlockRowsMin);
  model.follow_moves();
  fill(&model, 8 * kBlockRowsMin);
  model.partition().compact_all();
  purge(&model, 16);
  compact(&model);
  const PartitionFigures before = model.partition().figures();
  for (uint32_t i = 0; i < 2 * kBlockRowsMin; ++i) {
    model.insert();
    for (int call = 0; call < 12; ++call) model.partition().compact();
  }
  const PartitionFigures after = model.partition().figures();
  EXPECT_LE(after.blocks_melted - before.blocks_melted, 3U);
  EXPECT_LE(after.rows_moved - before.rows_moved, kBlockRowsMin);
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
}

TEST(RangeMove, MemoryThatIsRefusedLosesNothing) {
  if (!::diptych::test::kAllocationsCanFail) GTEST_SKIP() << "a sanitizer has its own operator new";
  for (const bool are_blocks : {true, false}) {
    for (uint64_t number = 1, more = 1; more != 0; ++number) {
      SCOPED_TRACE(testing::Message() << "allocation " << number);
      PartitionModel model(narrow_schema(), BlockForm::kCompressed, number, kBlockRowsMin);
      model.follow_moves();
      fill(&model, 3 * kBlockRowsMin);
      if (are_blocks) model.partition().compact_all();
      purge(&model, 24);
      for (uint32_t call = 0; call < 8; ++call) model.partition().compact();
      ASSERT_EQ(model.partition().figures().rows_moved, 0U);
      const Partition image(model.partition().cut());
      const auto rows = model.rows();
      {
        const FailingAllocation failing(number);
        // The range that moves, and what is left of it.
        for (int call = 0; call < 2; ++call) model.partition().compact(UINT64_MAX);
        more = failing.has_failed() ? 1 : 0;
      }
      ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
      ASSERT_NO_FATAL_FAILURE(model.expect_agreement(image, rows));
      compact(&model);
      ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
      EXPECT_LE(slots_scanned(model.partition()), kBlockRowsMin);
      fill(&model, kBlockRowsMin);
      ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
    }
  }
}

}  // namespace
}  // namespace diptych::storage
