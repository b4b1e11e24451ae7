// The comparison of the replicas can fail: each way in which they may differ is found and named.

#include "dispatcher/replica_comparison.h"

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "propagation/bulk_load.h"
#include "propagation/export/update_queue.h"
#include "tests/storage/every_type_table.h"
#include "tests/storage/one_row.h"
#include "tests/storage/record_rows.h"

namespace diptych::dispatcher {
namespace {

using storage::test::every_type_schema;
using storage::test::RandomRows;
using storage::test::RecordRow;
using storage::test::TestRow;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr base::TableId kTable{0};
constexpr uint32_t kPartitions = 2;

// One table of every type, equal in both replicas.
class ReplicaComparisonTest : public ::testing::Test {
 protected:
  explicit ReplicaComparisonTest(int32_t rows = 200) : row_count_(rows) {}

  void SetUp() override {
    ASSERT_TRUE(catalog_.add_table(every_type_schema()));
    engine_ = std::make_unique<oltp::Engine>(&catalog_, oltp::EngineOptions{}, &updates_);
    engine_->add_table(kTable);
    replica_.add_table(catalog_.table(kTable));
    applier_.add_tables(base::in_turn);
    for (int32_t id = 0; id < row_count_; ++id) {
      rows_.push_back(random_.row());
      rows_.back().set(base::ColumnId(0), int64_t{id});
    }
    size_t next = 0;
    const auto row_by_row = [&]() -> oltp::RowBatch {
      if (next == rows_.size()) return {};
      return {rows_[next++].bytes(), 1};
    };
    propagation::BulkLoad sink(&replica_, &applier_, kTable, base::in_turn, {});
    auto loaded = engine_->load(kTable, row_by_row, &sink);
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    sink.finish(*loaded);
    engine_->for_each_row(kTable,
                          [this](base::RowId id, const std::byte*) { row_ids_.push_back(id); });
    ASSERT_EQ(row_ids_.size(), rows_.size());
    EXPECT_THAT(differences(), IsEmpty());
  }

  // What the comparison says, "row N: what" each; their number is `differences` as well.
  std::vector<std::string> differences() {
    const ReplicaComparison found = *compare_replicas(catalog_, *engine_, replica_, applier_);
    EXPECT_EQ(found.differences, found.first.size());
    std::vector<std::string> texts;
    for (const ReplicaDifference& each : found.first) {
      texts.push_back("row " + std::to_string(each.row_id.value) + ": " + each.what);
    }
    return texts;
  }

  base::Tid tid(base::RowId id) const { return applier_.find(kTable, id).value(); }
  storage::Partition& partition(base::RowId id) {
    return replica_.table(kTable).partition(tid(id).partition);
  }
  static std::string row(base::RowId id) { return "row " + std::to_string(id.value); }

  // Overwrites one cell of the columnar replica.
  void damage(base::RowId id, base::ColumnId column, const base::Value& value) {
    TestRow changed = rows_.front();
    changed.set(column, value);
    RecordRow record(layout_);
    record.encode(changed);
    storage::test::update_cell(partition(id), tid(id).ordinal, column, record.cell(column),
                               record.strings_base());
  }

  const int32_t row_count_;
  base::Catalog catalog_;
  propagation::UpdateQueue updates_;
  const base::RowLayout layout_{every_type_schema()};
  RandomRows random_ = RandomRows::all_different(layout_, 7);
  std::vector<TestRow> rows_;
  std::vector<base::RowId> row_ids_;  // of the OLTP replica, in its order
  storage::Replica replica_{{.partitions = kPartitions, .block_rows = 4096}};
  propagation::Applier applier_{&replica_, base::NumaNode(0)};
  std::unique_ptr<oltp::Engine> engine_;
};

TEST_F(ReplicaComparisonTest, NamesTheOneCellThatDiffersInEveryColumn) {
  for (size_t c = 0; c < layout_.columns.size(); ++c) {
    const base::ColumnId column(static_cast<uint16_t>(c));
    const base::RowId id = row_ids_[c];
    const base::Value before = partition(id).value(tid(id).ordinal, column);
    base::Value other = random_.value(column);
    while (other == before) other = random_.value(column);
    damage(id, column, other);
    const auto found = differences();
    ASSERT_EQ(found.size(), 1u) << layout_.column(column).type.to_string();
    EXPECT_THAT(found[0], HasSubstr(row(id) + ": column " +
                                    catalog_.table(kTable).column(column).name + ": "));
    damage(id, column, before);
    ASSERT_THAT(differences(), IsEmpty());
  }
}

TEST_F(ReplicaComparisonTest, TellsNullFromAValueBothWays) {
  const base::ColumnId column(1);  // int_null
  for (const base::RowId id : {row_ids_[0], row_ids_[1]}) {
    const base::Value before = partition(id).value(tid(id).ordinal, column);
    damage(id, column, base::is_null(before) ? base::Value(int64_t{0}) : base::Value());
    ASSERT_EQ(differences().size(), 1u);
    damage(id, column, before);
  }
}

TEST_F(ReplicaComparisonTest, FindsARowThatIsMissing) {
  const base::RowId id = row_ids_[3];
  partition(id).erase(tid(id).ordinal);
  const auto found = differences();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], HasSubstr(row(id)));
}

TEST_F(ReplicaComparisonTest, FindsARowThatOnlyTheColumnarReplicaHas) {
  const base::RowId surplus(1'000'000);
  RecordRow record(layout_);
  record.encode(rows_[0]);
  storage::Table& table = replica_.table(kTable);
  storage::test::insert_row(table.partition(table.partition_of(surplus)), surplus, record.row(),
                            record.strings_base());
  const auto found = differences();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], HasSubstr(row(surplus) + ": only in the OLAP replica"));
}

TEST_F(ReplicaComparisonTest, FindsASecondRowWithTheSameRowId) {
  const base::RowId twice = row_ids_[5];
  RecordRow record(layout_);
  record.encode(rows_[5]);
  storage::test::insert_row(partition(twice), twice, record.row(), record.strings_base());
  const auto found = differences();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], HasSubstr(row(twice) + ": only in the OLAP replica"));
}

// More than are looked up at a time, in many leaves.
class ManyRowsComparisonTest : public ReplicaComparisonTest {
 protected:
  ManyRowsComparisonTest() : ReplicaComparisonTest(20'000) {}
};

TEST_F(ManyRowsComparisonTest, NamesEachRowThatDiffersWhereverItLies) {
  const base::ColumnId column(0);
  std::mt19937_64 random(11);
  for (int64_t round = 1; round <= 5; ++round) {
    std::map<base::RowId, base::Value> before;
    for (size_t i = 0; i < kDifferencesNamedMax; ++i) {
      const base::RowId id = row_ids_[random() % row_ids_.size()];
      before.emplace(id, partition(id).value(tid(id).ordinal, column));
      damage(id, column, -round);
    }
    const auto found = differences();
    EXPECT_EQ(found.size(), before.size());
    for (const auto& [id, value] : before) {
      EXPECT_THAT(found, Contains(HasSubstr(row(id) + ": column ")));
      damage(id, column, value);
    }
    EXPECT_THAT(differences(), IsEmpty());
  }
  for (const base::RowId id : row_ids_) damage(id, column, int64_t{-1});
  EXPECT_EQ(compare_replicas(catalog_, *engine_, replica_, applier_)->differences, row_ids_.size());
}

}  // namespace
}  // namespace diptych::dispatcher
