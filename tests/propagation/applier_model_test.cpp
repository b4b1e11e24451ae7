#include <algorithm>
#include <map>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "propagation/applier.h"
#include "tests/storage/every_type_table.h"

namespace diptych::propagation {
namespace {

using base::ColumnId;
using base::NumaNode;
using base::RowId;
using base::TableId;
using base::Vid;
using base::WorkerId;
using storage::test::every_type_schema;
using storage::test::RandomRows;
using storage::test::TestRow;

constexpr uint32_t kTables = 2;

void one_after_the_other(uint32_t count, const std::function<void(uint32_t)>& body) {
  for (uint32_t i = 0; i < count; ++i) body(i);
}

void side_by_side(uint32_t count, const std::function<void(uint32_t)>& body) {
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

// Random transactions of several workers, whose RowIDs are reused soon after their deletes, against
// a map of rows. Commits get VIDs in the order in which they are made here.
class History {
 public:
  History(uint64_t seed, uint32_t partitions, uint32_t workers)
      : layout_(every_type_schema()),
        rows_(layout_, seed),
        workers_(workers),
        replica_(partitions, NumaNode(0)) {
    for (uint32_t t = 0; t < kTables; ++t) {
      schemas_[t] = every_type_schema();
      schemas_[t].id = TableId(t);
      replica_.add_table(schemas_[t]);
    }
    applier_ = std::make_unique<Applier>(&replica_, NumaNode(0));
  }

  void run_batch(uint64_t transactions, size_t rows_max) {
    open_sets();
    for (uint64_t i = 0; i < transactions; ++i) {
      const Vid vid(++vid_);
      const auto worker = static_cast<uint32_t>(rows_.below(workers_));
      for (uint64_t n = 1 + rows_.below(6); n != 0; --n) change(vid, worker, rows_max);
    }
    std::vector<SealedSet> sealed;
    for (SealedSet& set : open_) {
      if (!set.updates->empty()) sealed.push_back(std::move(set));
    }
    std::shuffle(sealed.begin(), sealed.end(), rows_.random());
    queue_.push(std::move(sealed), Vid(vid_));
  }

  void apply_and_compare(const ForEach& for_each) {
    CollectedSets collected = queue_.collect();
    uint64_t records = 0;
    for (const SealedSet& set : collected.sets) records += set.updates->record_count();
    const ApplyReport report = applier_->apply(collected, for_each);
    queue_.recycle(std::move(collected.sets));
    ASSERT_EQ(report.records, records);
    ASSERT_EQ(report.snapshot, Vid(vid_));
    ASSERT_EQ(replica_.snapshot(), Vid(vid_));
    for (uint32_t t = 0; t < kTables; ++t) compare(TableId(t));
    for (uint32_t t = 0; t < kTables; ++t) {
      for (uint32_t p = 0; p < replica_.partition_count(); ++p) {
        replica_.table(TableId(t)).partition(base::PartitionId(p)).compact();
      }
    }
  }

  void compare(TableId table) {
    const std::map<uint64_t, TestRow>& model = model_[table.value];
    ASSERT_EQ(replica_.table(table).live_rows(), model.size());
    for (const auto& [id, row] : model) {
      const std::optional<base::Tid> tid = applier_->find(table, RowId(id));
      ASSERT_TRUE(tid.has_value()) << "row " << id;
      const storage::Partition& partition = replica_.table(table).partition(tid->partition);
      for (size_t c = 0; c < layout_.columns.size(); ++c) {
        ASSERT_EQ(partition.value(tid->ordinal, ColumnId(static_cast<uint16_t>(c))),
                  row.values()[c])
            << "row " << id << " column " << schemas_[0].columns[c].name;
      }
      // TIDs never change while the row lives.
      const auto [known, is_new] = tids_[table.value].try_emplace(id, *tid);
      ASSERT_TRUE(is_new || known->second == *tid) << "row " << id;
    }
  }

 private:
  void open_sets() {
    open_.clear();
    for (uint32_t w = 0; w < workers_; ++w) {
      for (uint32_t t = 0; t < kTables; ++t) {
        open_.push_back({WorkerId(w), TableId(t), queue_.take_empty()});
      }
    }
  }

  void change(Vid vid, uint32_t worker, size_t rows_max) {
    const auto t = static_cast<uint32_t>(rows_.below(kTables));
    std::map<uint64_t, TestRow>& model = model_[t];
    UpdateSet& set = *open_[worker * kTables + t].updates;
    const uint64_t dice = rows_.below(10);
    const auto known = model.lower_bound(rows_.below(rows_max));
    if (model.size() < rows_max && (known == model.end() || dice < 4)) {
      const uint64_t id = rows_.below(rows_max);
      // A RowID is reused under a later VID only.
      if (model.contains(id) || deleted_at_[t][id] == vid) return;
      const auto [row, _] = model.emplace(id, rows_.row());
      set.append_insert(vid, RowId(id), layout_, row->second.bytes());
    } else if (known == model.end()) {
      return;
    } else if (dice < 7) {
      std::vector<ColumnId> columns;
      for (uint64_t n = 1 + rows_.below(4); n != 0; --n) {
        const ColumnId column = rows_.column();
        known->second.set(column, rows_.value(column));
        columns.push_back(column);
      }
      set.append_update(vid, RowId(known->first), layout_, known->second.bytes(),
                        {layout_, columns});
    } else {
      set.append_delete(vid, RowId(known->first));
      deleted_at_[t][known->first] = vid;
      tids_[t].erase(known->first);
      model.erase(known);
    }
  }

  base::RowLayout layout_;
  RandomRows rows_;
  uint32_t workers_;
  std::array<base::TableSchema, kTables> schemas_;
  storage::Replica replica_;
  std::unique_ptr<Applier> applier_;
  UpdateQueue queue_;
  uint64_t vid_ = 0;
  std::vector<SealedSet> open_;
  std::array<std::map<uint64_t, TestRow>, kTables> model_;
  std::array<std::map<uint64_t, base::Tid>, kTables> tids_;
  std::array<std::map<uint64_t, Vid>, kTables> deleted_at_;
};

void run_history(uint32_t partitions, uint32_t workers, size_t rows_max, int steps,
                 const ForEach& for_each) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed << " partitions " << partitions);
  History history(seed, partitions, workers);
  std::mt19937_64 random(seed);
  for (int step = 0; step < steps; ++step) {
    for (uint64_t batches = random() % 4; batches != 0; --batches) {
      history.run_batch(random() % 200, rows_max);
    }
    ASSERT_NO_FATAL_FAILURE(history.apply_and_compare(for_each));
  }
}

// Few rows, many changes of each: insert, update, delete and reuse meet within one group.
TEST(ApplierModel, EqualsTheSerialHistoryWhereRowIdsAreReusedAtOnce) {
  for (int i = 0; i < 4; ++i) run_history(1, 4, 12, 60, one_after_the_other);
}

TEST(ApplierModel, EqualsTheSerialHistoryForAnyNumberOfPartitionsAndWorkers) {
  for (const uint32_t partitions : {1U, 2U, 3U, 7U}) {
    run_history(partitions, partitions, 1500, 25, one_after_the_other);
  }
}

TEST(ApplierStress, EqualsTheSerialHistoryWithPartitionsSideBySide) {
  run_history(4, 3, 800, 15, side_by_side);
}

TEST(Applier, MovesTheSnapshotWhereThereIsNothingToApply) {
  storage::Replica replica(2, NumaNode(0));
  base::TableSchema schema = every_type_schema();
  replica.add_table(schema);
  Applier applier(&replica, NumaNode(0));
  CollectedSets collected;
  collected.snapshot = Vid(9);
  EXPECT_EQ(applier.apply(collected, one_after_the_other).records, 0U);
  EXPECT_EQ(replica.snapshot(), Vid(9));
}

TEST(ApplierDeathTest, RefusesAnUpdateOfAnAbsentRow) {
  storage::Replica replica(2, NumaNode(0));
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
  EXPECT_DEATH(applier.apply(collected, one_after_the_other), "A2");
}

}  // namespace
}  // namespace diptych::propagation
