#include <algorithm>
#include <map>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "propagation/applier.h"
#include "propagation/export/export_mode.h"
#include "storage/block_file.h"
#include "storage/buffer_manager.h"
#include "storage/replica_files.h"
#include "tests/storage/every_type_table.h"
#include "tests/storage/temporary_directory.h"

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
struct HistoryOptions {
  uint32_t partitions = 1;
  uint32_t workers = 1;
  size_t rows_max = 100;
  uint64_t id_step = 1;  // between RowIDs
  size_t slice_records = 2048;
  ExportMode mode = ExportMode::kColumns;
  // A directory: the replica is in its block file, with blocks as small as can be.
  std::string path = {};
  size_t memory_bytes_max = 0;
  uint64_t rows_compared = 1;  // one of so many
};

class History {
 public:
  History(uint64_t seed, const HistoryOptions& options)
      : options_(options),
        layout_(every_type_schema()),
        rows_(layout_, seed),
        workers_(options.workers) {
    for (uint32_t t = 0; t < kTables; ++t) {
      schemas_[t] = every_type_schema();
      schemas_[t].id = TableId(t);
      schemas_[t].name += std::to_string(t);
    }
    if (options.path.empty()) {
      make_replica({.partitions = options.partitions}, nullptr);
    } else {
      make_replica(kept(), std::move(*storage::BlockFile::create(options.path)));
    }
    start_applier();
  }

  // Freezes what is quiet, and brings the replica within its memory.
  void settle() {
    for (int look = 0; look < 6; ++look) {
      for (uint32_t t = 0; t < kTables; ++t) {
        for (uint32_t p = 0; p < replica_->partition_count(); ++p) {
          replica_->table(TableId(t)).partition(base::PartitionId(p)).compact();
        }
      }
    }
    ASSERT_TRUE(replica_->buffers()->trim().ok());
  }
  void save() {
    const auto saved = storage::save_replica(options_.path, replica_.get(), {});
    ASSERT_TRUE(saved.ok()) << saved.error().to_string();
    ASSERT_EQ(saved->vid, replica_->snapshot());
  }
  // As the last save left it, which nothing followed.
  void reopen() {
    applier_.reset();
    replica_.reset();
    make_replica(kept(), std::move(*storage::BlockFile::open(options_.path)));
    const auto manifest = storage::read_manifest(options_.path);
    ASSERT_TRUE(manifest.ok());
    const auto loaded = storage::load_replica(options_.path, *manifest, replica_.get());
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    ASSERT_EQ(replica_->snapshot(), Vid(vid_));
    start_applier();
    for (uint32_t t = 0; t < kTables; ++t) ASSERT_NO_FATAL_FAILURE(compare(TableId(t)));
  }
  const storage::Replica& replica() const { return *replica_; }

  // One transaction that inserts nine of ten possible rows.
  void fill() {
    open_sets();
    const Vid vid(++vid_);
    for (uint32_t t = 0; t < kTables; ++t) {
      for (uint64_t id = 0; id < options_.rows_max; ++id) {
        if (rows_.below(10) == 0) continue;
        const auto [row, _] = model_[t].emplace(id, rows_.row());
        open_[t].updates->append_insert(vid, row_id(id), layout_, row->second.bytes());
      }
    }
    push_sets();
  }

  void run_batch(uint64_t transactions) {
    open_sets();
    for (uint64_t i = 0; i < transactions; ++i) {
      const Vid vid(++vid_);
      const auto worker = static_cast<uint32_t>(rows_.below(workers_));
      for (uint64_t n = 1 + rows_.below(6); n != 0; --n) change(vid, worker);
    }
    push_sets();
  }

  void apply_and_compare(const ForEach& for_each) {
    CollectedSets collected = queue_.collect();
    uint64_t records = 0;
    for (const SealedSet& set : collected.sets) records += set.updates->record_count();
    const ApplyReport report = applier_->apply(collected, for_each);
    queue_.recycle(std::move(collected.sets));
    ASSERT_EQ(report.records, records);
    ASSERT_EQ(report.snapshot, Vid(vid_));
    ASSERT_EQ(replica_->snapshot(), Vid(vid_));
    for (uint32_t t = 0; t < kTables; ++t) compare(TableId(t));
    for (uint32_t t = 0; t < kTables; ++t) {
      for (uint32_t p = 0; p < replica_->partition_count(); ++p) {
        replica_->table(TableId(t)).partition(base::PartitionId(p)).compact();
      }
    }
  }

  void compare(TableId table) {
    const std::map<uint64_t, TestRow>& model = model_[table.value];
    ASSERT_EQ(replica_->table(table).live_rows(), model.size());
    for (const auto& [id, row] : model) {
      if (rows_.below(options_.rows_compared) != 0) continue;
      const std::optional<base::Tid> tid = applier_->find(table, row_id(id));
      ASSERT_TRUE(tid.has_value()) << "row " << id;
      const storage::Partition& partition = replica_->table(table).partition(tid->partition);
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
  storage::StorageOptions kept() const {
    return {.partitions = options_.partitions, .block_rows = storage::kBlockRowsMin};
  }
  void make_replica(const storage::StorageOptions& storage,
                    std::unique_ptr<storage::BlockFile> file) {
    replica_ = std::make_unique<storage::Replica>(storage);
    if (file != nullptr) replica_->keep_in(std::move(file), options_.memory_bytes_max);
    for (const base::TableSchema& schema : schemas_) replica_->add_table(schema);
  }
  void start_applier() {
    applier_ = std::make_unique<Applier>(replica_.get(), NumaNode(0), options_.slice_records);
  }

  RowId row_id(uint64_t id) const { return RowId(id * options_.id_step); }

  void open_sets() {
    open_.clear();
    for (uint32_t w = 0; w < workers_; ++w) {
      for (uint32_t t = 0; t < kTables; ++t) {
        open_.push_back({WorkerId(w), TableId(t), queue_.take_empty()});
      }
    }
  }

  void push_sets() {
    std::vector<SealedSet> sealed;
    for (SealedSet& set : open_) {
      if (!set.updates->empty()) sealed.push_back(std::move(set));
    }
    std::shuffle(sealed.begin(), sealed.end(), rows_.random());
    queue_.push(std::move(sealed), Vid(vid_));
  }

  void change(Vid vid, uint32_t worker) {
    const size_t rows_max = options_.rows_max;
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
      set.append_insert(vid, row_id(id), layout_, row->second.bytes());
    } else if (known == model.end()) {
      return;
    } else if (dice < 7) {
      std::vector<ColumnId> columns;
      for (uint64_t n = 1 + rows_.below(4); n != 0; --n) {
        const ColumnId column = rows_.column();
        known->second.set(column, rows_.value(column));
        columns.push_back(column);
      }
      if (options_.mode == ExportMode::kRows) {
        set.append_replace(vid, row_id(known->first), layout_, known->second.bytes());
      } else {
        set.append_update(vid, row_id(known->first), layout_, known->second.bytes(),
                          {layout_, columns});
      }
    } else {
      set.append_delete(vid, row_id(known->first));
      deleted_at_[t][known->first] = vid;
      tids_[t].erase(known->first);
      model.erase(known);
    }
  }

  HistoryOptions options_;
  base::RowLayout layout_;
  RandomRows rows_;
  uint32_t workers_;
  std::array<base::TableSchema, kTables> schemas_;
  std::unique_ptr<storage::Replica> replica_;
  std::unique_ptr<Applier> applier_;
  UpdateQueue queue_;
  uint64_t vid_ = 0;
  std::vector<SealedSet> open_;
  std::array<std::map<uint64_t, TestRow>, kTables> model_;
  std::array<std::map<uint64_t, base::Tid>, kTables> tids_;
  std::array<std::map<uint64_t, Vid>, kTables> deleted_at_;
};

void run_history(const HistoryOptions& options, int steps, const ForEach& for_each) {
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

// Few rows, many changes of each: insert, update, delete and reuse meet within one group, and
// updates collapse.
TEST(ApplierModel, EqualsTheSerialHistoryWhereRowIdsAreReusedAtOnce) {
  for (int i = 0; i < 4; ++i) run_history({.workers = 4, .rows_max = 12}, 60, one_after_the_other);
}

TEST(ApplierModel, EqualsTheSerialHistoryForAnyNumberOfPartitionsAndWorkers) {
  for (const uint32_t partitions : {1U, 2U, 3U, 7U}) {
    const HistoryOptions options{
        .partitions = partitions, .workers = partitions, .rows_max = 1500, .id_step = 97};
    run_history(options, 25, one_after_the_other);
  }
}

TEST(ApplierModel, EqualsTheSerialHistoryInSlicesOfFewRecords) {
  for (const size_t slice_records : {1U, 7U, 50U}) {
    const HistoryOptions options{.partitions = 2,
                                 .workers = 3,
                                 .rows_max = 300,
                                 .id_step = 50,
                                 .slice_records = slice_records};
    run_history(options, 15, one_after_the_other);
  }
}

TEST(ApplierModel, EqualsTheSerialHistoryOfSparseRowIds) {
  run_history({.partitions = 2, .rows_max = 400, .id_step = uint64_t{1} << 40}, 20,
              one_after_the_other);
}

TEST(ApplierModel, EqualsTheSerialHistoryOfWholeRows) {
  for (const size_t rows_max : {12U, 600U}) {
    const HistoryOptions options{.partitions = 2,
                                 .workers = 3,
                                 .rows_max = rows_max,
                                 .id_step = 100,
                                 .mode = ExportMode::kRows};
    run_history(options, 20, one_after_the_other);
  }
}

TEST(ApplierStress, EqualsTheSerialHistoryWithPartitionsAndTablesSideBySide) {
  const HistoryOptions options{
      .partitions = 4, .workers = 3, .rows_max = 800, .id_step = 97, .slice_records = 60};
  run_history(options, 15, side_by_side);
}

// All that happens to a replica between two batches of queries, under a budget that it exceeds
// many times: blocks are made, thawed, frozen, melted and emptied, leave memory, are saved and come
// back with their TIDs.
TEST(ApplierModel, EqualsTheSerialHistoryThroughEvictionSavesAndRestarts) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  storage::test::TemporaryDirectory directory;
  History history(seed, {.partitions = 2,
                         .workers = 2,
                         .rows_max = 6000,
                         .id_step = 61,
                         .path = directory.path(),
                         .memory_bytes_max = size_t{128} << 10,
                         .rows_compared = 40});
  std::mt19937_64 random(seed);
  size_t blocks = 0;
  uint64_t evictions = 0;
  history.fill();
  for (int step = 0; step < 12; ++step) {
    history.run_batch(random() % 100);
    ASSERT_NO_FATAL_FAILURE(history.apply_and_compare(one_after_the_other));
    ASSERT_NO_FATAL_FAILURE(history.settle());
    evictions = std::max(evictions, history.replica().buffers()->figures().evictions);
    const storage::Partition& partition =
        history.replica().table(TableId(0)).partition(base::PartitionId(0));
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      blocks += partition.leaf(l).form() == storage::LeafForm::kCompressed ? 1 : 0;
    }
    if (random() % 3 != 0) continue;
    ASSERT_NO_FATAL_FAILURE(history.save());
    if (random() % 2 == 0) {
      ASSERT_NO_FATAL_FAILURE(history.reopen());
    }
  }
  EXPECT_GT(blocks, 10U);
  EXPECT_GT(evictions, 100U);
}

TEST(Applier, MovesTheSnapshotWhereThereIsNothingToApply) {
  storage::Replica replica({.partitions = 2});
  base::TableSchema schema = every_type_schema();
  replica.add_table(schema);
  Applier applier(&replica, NumaNode(0));
  CollectedSets collected;
  collected.snapshot = Vid(9);
  EXPECT_EQ(applier.apply(collected, one_after_the_other).records, 0U);
  EXPECT_EQ(replica.snapshot(), Vid(9));
}

// One row, and a set to fill: what a case does to it is applied in one go.
class OneRow : public testing::Test {
 protected:
  OneRow() : schema_(every_type_schema()), layout_(schema_), rows_(layout_, 1), row_(rows_.row()) {
    replica_.add_table(schema_);
    applier_.add_tables(one_after_the_other);
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
    return applier_.apply(collected, one_after_the_other);
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
  EXPECT_DEATH(applier.apply(collected, one_after_the_other), "A2");
}

}  // namespace
}  // namespace diptych::propagation
