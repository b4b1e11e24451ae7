#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "propagation/applier.h"
#include "propagation/export/export_mode.h"
#include "storage/compressed_block.h"
#include "tests/propagation/update_history.h"
#include "tests/storage/every_type_table.h"

namespace diptych::propagation {
namespace {

using base::ColumnId;
using base::in_turn;
using base::NumaNode;
using base::RowId;
using base::TableId;
using base::Vid;
using base::WorkerId;
using storage::test::every_type_schema;
using storage::test::RandomRows;
using storage::test::TestRow;
using test::History;
using test::HistoryOptions;
using test::side_by_side;

void run_history(const HistoryOptions& options, int steps, const base::ForEach& for_each) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed << " partitions " << options.partitions
                                  << " step " << options.id_step);
  History history(seed, options);
  std::mt19937_64 random(seed);
  for (int step = 0; step < steps; ++step) {
    for (uint64_t batches = random() % 4; batches != 0; --batches) {
      history.run_batch(random() % 200);
    }
    ASSERT_NO_FATAL_FAILURE(history.apply_and_compare(for_each));
  }
}

// Few rows, many changes of each: insert, update, delete and reuse meet within one slice, and
// updates collapse.
TEST(ApplierModel, EqualsTheSerialHistoryWhereRowIdsAreReusedAtOnce) {
  for (int i = 0; i < 4; ++i) run_history({.workers = 4, .rows_max = 12}, 60, in_turn);
}

TEST(ApplierModel, EqualsTheSerialHistoryForAnyNumberOfPartitionsAndWorkers) {
  for (const uint32_t partitions : {1U, 2U, 3U, 7U}) {
    const HistoryOptions options{
        .partitions = partitions, .workers = partitions, .rows_max = 1500, .id_step = 97};
    run_history(options, 25, in_turn);
  }
}

TEST(ApplierModel, EqualsTheSerialHistoryInSlicesOfFewRecords) {
  for (const size_t slice_records : {1U, 7U, 50U}) {
    const HistoryOptions options{.partitions = 2,
                                 .workers = 3,
                                 .rows_max = 300,
                                 .id_step = 50,
                                 .slice_records = slice_records};
    run_history(options, 15, in_turn);
  }
}

TEST(ApplierModel, EqualsTheSerialHistoryWhereRecordsAreOfManyRows) {
  for (const size_t slice_records : {5U, 2048U}) {
    const HistoryOptions options{
        .partitions = 2, .workers = 2, .rows_max = 1200, .slice_records = slice_records};
    const uint64_t seed = std::random_device()();
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    History history(seed, options);
    history.insert_all();
    for (int step = 0; step < 12; ++step) {
      history.run_batch(60);
      ASSERT_NO_FATAL_FAILURE(history.apply_and_compare(in_turn));
    }
  }
}

TEST(ApplierModel, EqualsTheSerialHistoryOfSparseRowIds) {
  run_history({.partitions = 2, .rows_max = 400, .id_step = uint64_t{1} << 40}, 20, in_turn);
}

TEST(ApplierModel, EqualsTheSerialHistoryOfWholeRows) {
  for (const size_t rows_max : {12U, 600U}) {
    const HistoryOptions options{.partitions = 2,
                                 .workers = 3,
                                 .rows_max = rows_max,
                                 .id_step = 100,
                                 .mode = ExportMode::kRows};
    run_history(options, 20, in_turn);
  }
}

TEST(ApplierStress, EqualsTheSerialHistoryWithPartitionsAndTablesSideBySide) {
  const HistoryOptions options{
      .partitions = 4, .workers = 3, .rows_max = 800, .id_step = 97, .slice_records = 60};
  run_history(options, 15, side_by_side);
}

TEST(Applier, MovesTheSnapshotWhereThereIsNothingToApply) {
  storage::Replica replica({.partitions = 2});
  base::TableSchema schema = every_type_schema();
  replica.add_table(schema);
  Applier applier(&replica, NumaNode(0));
  CollectedSets collected;
  collected.snapshot = Vid(9);
  EXPECT_EQ(applier.apply(collected, in_turn).changes, 0U);
  EXPECT_EQ(replica.snapshot(), Vid(9));
}

// One row, and a set to fill: what a case does to it is applied in one go.
class OneRow : public testing::Test {
 protected:
  OneRow() : schema_(every_type_schema()), layout_(schema_), rows_(layout_, 1), row_(rows_.row()) {
    replica_.add_table(schema_);
    applier_.add_tables(in_turn);
  }

  void insert() { set_->append_insert(Vid(++vid_), kRow, layout_, row_.bytes()); }
  void erase() { set_->append_delete(Vid(++vid_), kRow); }
  void update(ColumnId column) {
    row_.set(column, rows_.value(column));
    set_->append_update(Vid(++vid_), kRow, layout_, row_.bytes(), {layout_, {&column, 1}});
  }
  ApplyReport apply() {
    CollectedSets collected;
    collected.snapshot = Vid(vid_);
    collected.sets.push_back({WorkerId(0), TableId(0), std::move(set_)});
    set_ = std::make_unique<UpdateSet>(&memory_);
    return applier_.apply(collected, in_turn);
  }
  void expect_the_row() {
    const std::optional<base::Tid> tid = applier_.find(TableId(0), kRow);
    ASSERT_TRUE(tid.has_value());
    const storage::Partition& partition = replica_.table(TableId(0)).partition(tid->partition);
    for (size_t c = 0; c < layout_.columns.size(); ++c) {
      EXPECT_EQ(partition.value(tid->ordinal, ColumnId(static_cast<uint16_t>(c))),
                row_.values()[c]);
    }
  }

  static constexpr RowId kRow{77};
  base::TableSchema schema_;
  base::RowLayout layout_;
  RandomRows rows_;
  TestRow row_;
  storage::Replica replica_{storage::StorageOptions{}};
  Applier applier_{&replica_, NumaNode(0)};
  UpdateChunks memory_;
  std::unique_ptr<UpdateSet> set_ = std::make_unique<UpdateSet>(&memory_);
  uint64_t vid_ = 0;
};

TEST_F(OneRow, IsWrittenOnceForAllUpdatesOfOneColumn) {
  insert();
  for (int i = 0; i < 50; ++i) {
    update(ColumnId(0));
    update(ColumnId(1));
  }
  const ApplyReport report = apply();
  EXPECT_EQ(report.updates, 100U);
  EXPECT_EQ(report.collapsed, 98U);
  expect_the_row();
}

TEST_F(OneRow, IsRightAfterUpdatesOfMoreSubsetsOfColumnsThanAreKeptInMind) {
  insert();
  apply();
  PartitionApplier& partition = applier_.partition(TableId(0), base::PartitionId(0));
  for (uint64_t subset = 1; subset < 4 * PartitionApplier::kReadersMax; ++subset) {
    std::vector<ColumnId> columns;
    for (uint16_t c = 0; c < layout_.columns.size(); ++c) {
      if ((subset >> c & 1) != 0) columns.emplace_back(c);
    }
    for (const ColumnId column : columns) row_.set(column, rows_.value(column));
    set_->append_update(Vid(++vid_), kRow, layout_, row_.bytes(), {layout_, columns});
    if (subset % 100 != 0) continue;
    apply();
    EXPECT_LE(partition.reader_count(), PartitionApplier::kReadersMax + 100);
    ASSERT_NO_FATAL_FAILURE(expect_the_row());
  }
  apply();
  expect_the_row();
}

TEST_F(OneRow, IsInsertedAgainUnderItsRowIdWithinOneApply) {
  insert();
  update(ColumnId(0));
  erase();
  row_ = rows_.row();
  insert();
  update(ColumnId(1));
  erase();
  row_ = rows_.row();
  insert();
  const ApplyReport report = apply();
  EXPECT_EQ(report.inserts, 3U);
  EXPECT_EQ(report.deletes, 2U);
  expect_the_row();
}

TEST_F(OneRow, HasAnIndexPageAgainAfterItWasTheLastOfItsPage) {
  for (int i = 0; i < 3; ++i) {
    insert();
    apply();
    expect_the_row();
    erase();
    apply();
    EXPECT_FALSE(applier_.find(TableId(0), kRow).has_value());
  }
}

TEST(Applier, TakesNoMoreMemoryWhereRowIdsMoveOn) {
  storage::Replica replica{storage::StorageOptions{}};
  const base::TableSchema schema = every_type_schema();
  const base::RowLayout layout(schema);
  replica.add_table(schema);
  Applier applier(&replica, NumaNode(0));
  RandomRows rows(layout, 1);
  const TestRow row = rows.row();
  UpdateChunks memory;
  constexpr uint64_t kRound = 1000;
  size_t bytes = 0;
  for (uint64_t round = 0; round < 40; ++round) {
    CollectedSets collected;
    collected.snapshot = Vid(round + 1);
    auto set = std::make_unique<UpdateSet>(&memory);
    for (uint64_t id = round * kRound; id < (round + 1) * kRound; ++id) {
      if (round != 0) set->append_delete(collected.snapshot, RowId(id - kRound));
      set->append_insert(collected.snapshot, RowId(id), layout, row.bytes());
    }
    collected.sets.push_back({WorkerId(0), TableId(0), std::move(set)});
    applier.apply(collected, in_turn);
    if (round == 5) bytes = applier.memory_bytes();
  }
  EXPECT_EQ(applier.memory_bytes(), bytes);
}

// A block of long texts, nearly as many as one can have, of which a new one makes pages: while more
// updates of it than a group takes are on their way.
class RowsOfLongTexts : public testing::Test {
 protected:
  static constexpr uint32_t kRows = storage::kBlockRowsMin;
  static constexpr size_t kTextBytes = 100'000;

  static base::TableSchema schema() {
    base::TableSchema schema;
    schema.name = "long_text";
    schema.columns.push_back({"k", {base::TypeKind::kInt}, base::Nullability::kNotNull});
    schema.columns.push_back({"t", {base::TypeKind::kVarchar}, base::Nullability::kNotNull});
    schema.columns.push_back({"n", {base::TypeKind::kBigInt}, base::Nullability::kNotNull});
    return schema;
  }
  RowsOfLongTexts() {
    replica_.add_table(schema_);
    applier_.add_tables(in_turn);
    for (uint32_t i = 0; i < kRows; ++i) {
      rows_.emplace_back(layout_, std::vector<base::Value>{static_cast<int64_t>(i),
                                                           i < 10 ? long_ : "b", int64_t{7}});
      set_->append_insert(Vid(++vid_), RowId(i), layout_, rows_.back().bytes());
    }
    apply();
    partition().compact_all();
  }

  storage::Partition& partition() {
    return replica_.table(TableId(0)).partition(base::PartitionId(0));
  }
  void update(uint32_t row, const std::string& text) {
    const ColumnId columns[] = {ColumnId(1), ColumnId(2)};
    rows_[row].set(columns[0], text);
    rows_[row].set(columns[1], int64_t{row} << 40);
    set_->append_update(Vid(++vid_), RowId(row), layout_, rows_[row].bytes(), {layout_, columns});
  }
  void apply() {
    CollectedSets collected;
    collected.snapshot = Vid(vid_);
    collected.sets.push_back({WorkerId(0), TableId(0), std::move(set_)});
    set_ = std::make_unique<UpdateSet>(&memory_);
    applier_.apply(collected, in_turn);
  }
  void expect_all_rows() {
    for (uint32_t i = 0; i < kRows; ++i) {
      const std::optional<base::Tid> tid = applier_.find(TableId(0), RowId(i));
      ASSERT_TRUE(tid.has_value());
      for (uint16_t c = 0; c < 3; ++c) {
        ASSERT_TRUE(partition().value(tid->ordinal, ColumnId(c)) == rows_[i].values()[c])
            << "row " << i << ", column " << c;
      }
    }
  }

  const std::string long_ = std::string(kTextBytes, 'x');
  base::TableSchema schema_ = schema();
  base::RowLayout layout_{schema_};
  std::vector<TestRow> rows_;
  storage::Replica replica_{storage::StorageOptions{.block_rows = kRows}};
  Applier applier_{&replica_, NumaNode(0)};
  UpdateChunks memory_;
  std::unique_ptr<UpdateSet> set_ = std::make_unique<UpdateSet>(&memory_);
  uint64_t vid_ = 0;
};

TEST_F(RowsOfLongTexts, AreWrittenOnWhereTheirBlockBecomesPagesOnTheWay) {
  ASSERT_EQ(partition().leaf(0).form(), storage::LeafForm::kCompressed);
  const auto most = static_cast<uint32_t>(
      storage::CompressedBlock::text_bytes_max(kRows) / kTextBytes * 5 / 4 + 1);
  for (uint32_t i = 10; i < most; ++i) update(i, long_);
  apply();
  ASSERT_EQ(partition().leaf(0).form(), storage::LeafForm::kCompressed);
  // The first is in the dictionary still; of the others the first makes pages.
  constexpr uint32_t kUpdates = 3 * PartitionApplier::kGroup;
  for (uint32_t i = 0; i < kUpdates; ++i) {
    update(kRows - kUpdates + i, i == 0 ? "b" : "new " + std::to_string(i));
  }
  apply();
  EXPECT_EQ(partition().leaf(0).form(), storage::LeafForm::kPlain);
  expect_all_rows();
}

// Each partition could get all records of a turn, and gets its share.
TEST(Applier, TakesMemoryInProportionToItsPartitions) {
  constexpr uint32_t kPartitions = 256;
  constexpr size_t kSlice = 64;
  storage::Replica replica({.partitions = kPartitions, .block_rows = storage::kBlockRowsMin});
  const base::TableSchema schema = every_type_schema();
  replica.add_table(schema);
  Applier applier(&replica, NumaNode(0), kSlice);
  applier.add_tables(in_turn);
  const base::RowLayout layout(schema);
  const TestRow row = RandomRows(layout, 1).row();
  UpdateChunks memory;
  CollectedSets collected;
  collected.snapshot = Vid(1);
  collected.sets.push_back({WorkerId(0), TableId(0), std::make_unique<UpdateSet>(&memory)});
  for (uint64_t i = 0; i < kPartitions * kSlice; ++i) {
    const base::RowId row_id(i * base::kRowIdRun);
    collected.sets[0].updates->append_insert(Vid(1), row_id, layout, row.bytes());
  }
  applier.apply(collected, in_turn);
  size_t indexes = 0;
  for (uint32_t p = 0; p < kPartitions; ++p) {
    indexes += applier.partition(TableId(0), base::PartitionId(p)).memory_bytes();
  }
  EXPECT_LT(applier.memory_bytes() - indexes, kPartitions * size_t{50'000});
}

// A database may have many tables, of which each gets a record now and then.
TEST(Applier, TakesNoMemoryForTablesThatHadARecordOnce) {
  constexpr uint32_t kTables = 100;
  constexpr uint32_t kPartitions = 64;
  storage::Replica replica({.partitions = kPartitions, .block_rows = storage::kBlockRowsMin});
  base::TableSchema schema = every_type_schema();
  for (uint32_t t = 0; t < kTables; ++t) {
    schema.id = TableId(t);
    schema.name = "t" + std::to_string(t);
    replica.add_table(schema);
  }
  Applier applier(&replica, NumaNode(0));
  const base::RowLayout layout(schema);
  const TestRow row = RandomRows(layout, 1).row();
  UpdateChunks memory;
  const auto insert = [&](uint64_t vid, uint32_t first, uint32_t tables) {
    CollectedSets collected;
    collected.snapshot = Vid(vid);
    for (uint32_t t = first; t < first + tables; ++t) {
      collected.sets.push_back({WorkerId(0), TableId(t), std::make_unique<UpdateSet>(&memory)});
      collected.sets.back().updates->append_insert(Vid(vid), RowId(vid), layout, row.bytes());
    }
    applier.apply(collected, in_turn);
  };
  const auto bytes = [&] {
    size_t indexes = 0;
    for (uint32_t t = 0; t < kTables; ++t) {
      for (uint32_t p = 0; p < kPartitions; ++p) {
        indexes += applier.partition(TableId(t), base::PartitionId(p)).memory_bytes();
      }
    }
    return applier.memory_bytes() - indexes;
  };
  const size_t before = bytes();
  for (uint32_t t = 0; t < kTables; ++t) insert(1 + t, t, 1);
  EXPECT_LT(bytes() - before, 100'000U) << "one after the other";
  insert(1 + kTables, 0, kTables);
  EXPECT_LT(bytes() - before, kTables * 10'000U) << "all at once";
}

// The least time of some applies of one record, with so many tables.
uint64_t least_apply_ns(uint32_t tables) {
  storage::Replica replica({.partitions = 2, .block_rows = storage::kBlockRowsMin});
  base::TableSchema schema;
  schema.columns.push_back({"id", {base::TypeKind::kBigInt, 0, 0, 0}, base::Nullability::kNotNull});
  for (uint32_t t = 0; t < tables; ++t) {
    schema.id = TableId(t);
    replica.add_table(schema);
  }
  Applier applier(&replica, NumaNode(0));
  const base::RowLayout layout(schema);
  const std::vector<std::byte> row(layout.bytes);
  UpdateChunks memory;
  uint64_t least_ns = UINT64_MAX;
  for (uint64_t vid = 1; vid <= 100; ++vid) {
    CollectedSets collected;
    collected.snapshot = Vid(vid);
    collected.sets.push_back({WorkerId(0), TableId(0), std::make_unique<UpdateSet>(&memory)});
    collected.sets[0].updates->append_insert(Vid(vid), RowId(vid), layout, row.data());
    const uint64_t begin_ns = base::steady_ns();
    applier.apply(collected, in_turn);
    least_ns = std::min(least_ns, base::steady_ns() - begin_ns);
  }
  return least_ns;
}

TEST(Applier, LooksAtTheTablesOnlyThatHaveRecords) {
  EXPECT_LT(least_apply_ns(1000), 20 * least_apply_ns(1));
}

// Rows of two blocks, of which one record updates the last of the first and some of the second.
TEST(Applier, WritesARecordOfRowsOfTwoBlocksInItsTurn) {
  constexpr uint32_t kBlock = storage::kBlockRowsMin;
  constexpr uint64_t kFirst = kBlock - 10;  // RowID of the first row
  storage::Replica replica({.partitions = 1, .block_rows = kBlock});
  const base::TableSchema schema = every_type_schema();
  replica.add_table(schema);
  Applier applier(&replica, NumaNode(0));
  applier.add_tables(in_turn);
  const base::RowLayout layout(schema);
  RandomRows rows(layout, 1);
  TestRow row = rows.row();
  UpdateChunks memory;
  CollectedSets collected;
  collected.snapshot = Vid(9);
  collected.sets.push_back({WorkerId(0), TableId(0), std::make_unique<UpdateSet>(&memory)});
  UpdateSet& set = *collected.sets[0].updates;
  for (uint64_t i = 0; i < 2 * kBlock; ++i) {
    set.append_insert(Vid(1), RowId(kFirst + i), layout, row.bytes());
  }
  const ColumnId column = *schema.find_column("bigint");
  const auto update = [&](uint64_t vid, uint64_t ordinal, int64_t value) {
    row.set(column, value);
    set.append_update(Vid(vid), RowId(kFirst + ordinal), layout, row.bytes(),
                      {layout, {&column, 1}});
  };
  update(2, kBlock + 2, 100);
  for (uint64_t i = kBlock - 5; i < kBlock + 5; ++i) update(3, i, 200);
  update(4, kBlock + 2, 300);
  update(4, kBlock + 3, 300);
  applier.apply(collected, in_turn);
  const storage::Partition& partition = replica.table(TableId(0)).partition(base::PartitionId(0));
  for (uint32_t i = kBlock - 5; i < kBlock + 5; ++i) {
    const int64_t value = i == kBlock + 2 || i == kBlock + 3 ? 300 : 200;
    EXPECT_EQ(partition.value(i, column), base::Value(value)) << "ordinal " << i;
  }
}

// More than are erased together, some of which come again under a later VID.
TEST(Applier, ErasesTheRowsOfARecordAndTakesThemAgain) {
  storage::Replica replica({.partitions = 2});
  const base::TableSchema schema = every_type_schema();
  replica.add_table(schema);
  Applier applier(&replica, NumaNode(0));
  applier.add_tables(in_turn);
  const base::RowLayout layout(schema);
  RandomRows rows(layout, 1);
  const TestRow row = rows.row();
  UpdateChunks memory;
  CollectedSets collected;
  collected.snapshot = Vid(9);
  collected.sets.push_back({WorkerId(0), TableId(0), std::make_unique<UpdateSet>(&memory)});
  UpdateSet& set = *collected.sets[0].updates;
  constexpr uint64_t kRows = 1000;
  for (uint64_t i = 0; i < kRows; ++i) set.append_insert(Vid(1), RowId(i), layout, row.bytes());
  for (uint64_t i = 10; i < kRows - 10; ++i) set.append_delete(Vid(2), RowId(i));
  for (uint64_t i = 300; i < 400; ++i) set.append_insert(Vid(3), RowId(i), layout, row.bytes());
  for (uint64_t i = 350; i < 360; ++i) set.append_delete(Vid(4), RowId(i));
  size_t deletes = 0;
  set.for_each([&](const UpdateRecord& record) { deletes += record.type == UpdateType::kDelete; });
  EXPECT_EQ(deletes, 5u);  // four runs of RowIds, one of which again
  const ApplyReport report = applier.apply(collected, in_turn);
  EXPECT_EQ(report.deletes, kRows - 20 + 10);
  for (uint64_t i = 0; i < kRows; ++i) {
    const bool lives = i < 10 || i >= kRows - 10 || (i >= 300 && i < 350) || (i >= 360 && i < 400);
    EXPECT_EQ(applier.find(TableId(0), RowId(i)).has_value(), lives) << "row " << i;
  }
}

TEST(ApplierDeathTest, RefusesAnUpdateOfAnAbsentRow) {
  storage::Replica replica({.partitions = 2});
  base::TableSchema schema = every_type_schema();
  replica.add_table(schema);
  Applier applier(&replica, NumaNode(0));
  const base::RowLayout layout(schema);
  RandomRows rows(layout, 1);
  const TestRow row = rows.row();
  UpdateChunks memory;
  CollectedSets collected;
  collected.snapshot = Vid(1);
  collected.sets.push_back({WorkerId(0), TableId(0), std::make_unique<UpdateSet>(&memory)});
  const ColumnId column(0);
  collected.sets[0].updates->append_update(Vid(1), RowId(5), layout, row.bytes(),
                                           {layout, {&column, 1}});
  EXPECT_DEATH(applier.apply(collected, in_turn), "A2");
}

}  // namespace
}  // namespace diptych::propagation
