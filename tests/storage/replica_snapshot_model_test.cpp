// Snapshots of a partition under random writes of every kind: each reads as at its cut, the live
// partition as the model, and what is saved of a snapshot is what it shows.

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/partition_image.h"
#include "storage/replica_snapshot.h"
#include "tests/storage/kept_replica.h"
#include "tests/storage/partition_model.h"
#include "tests/temporary_directory.h"

namespace diptych::storage {
namespace {

using base::ColumnId;
using diptych::test::TemporaryDirectory;
using test::every_type_schema;
using test::KeptReplica;
using test::narrow_schema;
using test::PartitionModel;

// A snapshot, and the rows that it must have.
struct Held {
  std::unique_ptr<ReplicaSnapshot> snapshot;
  std::map<uint32_t, PartitionModel::Row> rows;
};

const Partition& partition_of(const ReplicaSnapshot& snapshot) {
  return snapshot.replica().table(base::TableId(0)).partition(base::PartitionId(0));
}

class SnapshotModel {
 public:
  SnapshotModel(const base::TableSchema& schema, size_t budget, uint64_t seed)
      : kept_(directory_.path(), schema, budget), model_(schema, &kept_.partition(), seed) {}

  void cut() {
    held_.push_back({std::make_unique<ReplicaSnapshot>(&kept_.replica()), model_.rows()});
  }
  void release_any() {
    if (held_.empty()) return;
    held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(model_.random().below(held_.size())));
    if (model_.random().below(2) == 0) kept_.replica().reclaim();
  }
  // One write of a kind that chance takes.
  void write() {
    Partition& partition = kept_.partition();
    const uint64_t dice = model_.random().below(1000);
    if (model_.rows().empty() || dice < 250) {
      model_.insert();
    } else if (dice < 800) {
      model_.update(model_.any_ordinal(), model_.random().column());
    } else if (dice < 990) {
      model_.erase(model_.any_ordinal());
    } else if (dice < 996) {
      partition.compact();
    } else if (dice < 998) {
      partition.compact_all();
    } else {
      ASSERT_TRUE(kept_.buffers().trim().ok());
    }
  }
  // Of one block most rows: it melts when the next rows come.
  void wear_out_a_block() {
    if (model_.rows().size() < 2 * kBlockRowsMin) return;
    const uint32_t first = model_.any_ordinal() / kBlockRowsMin * kBlockRowsMin;
    std::vector<uint32_t> dead;
    for (auto row = model_.rows().lower_bound(first);
         row != model_.rows().end() && row->first < first + kBlockRowsMin; ++row) {
      if (model_.random().below(8) != 0) dead.push_back(row->first);
    }
    for (const uint32_t ordinal : dead) model_.erase(ordinal);
  }
  void save_any() {
    if (held_.empty()) return;
    Held& held = held_[model_.random().below(held_.size())];
    const auto saved = held.snapshot->save(directory_.path(), {});
    ASSERT_TRUE(saved.ok()) << saved.error().to_string();
    saved_rows_ = held.rows;
  }
  // Of the rows as they are: the manifest is switched, and fails to be made durable.
  void save_and_lose_the_last_sync() {
    ReplicaSnapshot snapshot(&kept_.replica());
    saved_rows_ = model_.rows();
    const auto failed =
        snapshot.save(directory_.path(), {}, [](FileStep step) -> base::Result<void> {
          if (step != FileStep::kSyncDirectory) return {};
          return base::Error(base::ErrorCode::kIo, "the test's disk refuses");
        });
    ASSERT_FALSE(failed.ok());
  }
  void expect_agreement() {
    ASSERT_NO_FATAL_FAILURE(model_.expect_agreement());
    for (const Held& held : held_) {
      ASSERT_NO_FATAL_FAILURE(model_.expect_agreement(partition_of(*held.snapshot), held.rows));
    }
  }
  // The last save, read back, and nothing else.
  void expect_saved() {
    held_.clear();
    ASSERT_EQ(kept_.replica().snapshots(), 0U);
    const auto reopened = kept_.reopen();
    ASSERT_TRUE(reopened.ok()) << reopened.error().to_string();
    ASSERT_NO_FATAL_FAILURE(model_.expect_agreement(kept_.partition(), saved_rows_));
  }

  KeptReplica& kept() { return kept_; }
  PartitionModel& model() { return model_; }
  size_t held() const { return held_.size(); }

 private:
  TemporaryDirectory directory_;
  KeptReplica kept_;
  PartitionModel model_;
  std::vector<Held> held_;
  std::map<uint32_t, PartitionModel::Row> saved_rows_;
};

class ReplicaSnapshotModel : public ::testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Budgets, ReplicaSnapshotModel, ::testing::Values(0, 64 << 10));

TEST_P(ReplicaSnapshotModel, ReadsAsAtItsCutWhateverIsWritten) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  SnapshotModel model(every_type_schema(), GetParam(), seed);
  for (uint32_t i = 0; i < 4 * kBlockRowsMin; ++i) model.model().insert();
  model.kept().partition().compact_all();
  for (int round = 0; round < 12; ++round) {
    if (model.held() < 3) model.cut();
    for (int i = 0; i < 600; ++i) ASSERT_NO_FATAL_FAILURE(model.write());
    if (round % 3 == 0) model.wear_out_a_block();
    if (round % 2 == 0) {
      ASSERT_NO_FATAL_FAILURE(model.save_any());
    }
    ASSERT_NO_FATAL_FAILURE(model.expect_agreement()) << "round " << round;
    if (round % 4 != 0) model.release_any();
  }
  ASSERT_NO_FATAL_FAILURE(model.expect_saved());
}

// In memory alone, and with blocks of either form.
class PartitionImageModel : public ::testing::TestWithParam<BlockForm> {};
INSTANTIATE_TEST_SUITE_P(Forms, PartitionImageModel,
                         ::testing::Values(BlockForm::kCompressed, BlockForm::kPlain));

TEST_P(PartitionImageModel, KeepsItsRowsWhenPagesBecomeBlocks) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  const base::TableSchema schema = narrow_schema();
  Partition partition(schema, {.blocks = GetParam(), .block_rows = kBlockRowsMin});
  PartitionModel model(schema, &partition, seed);
  for (uint32_t i = 0; i < 2 * kBlockRowsMin; ++i) model.insert();
  for (int round = 0; round < 6; ++round) {
    const Partition image(partition.cut());
    const auto rows = model.rows();
    if (round % 2 == 1) partition.compact_all();  // of pages that the image has
    for (int i = 0; i < 200; ++i) model.update(model.any_ordinal(), model.random().column());
    for (int i = 0; i < 100; ++i) model.erase(model.any_ordinal());
    for (uint32_t i = 0; i < kBlockRowsMin; ++i) model.insert();
    if (round % 4 == 0) partition.compact_all();
    for (int i = 0; i < 200; ++i) model.update(model.any_ordinal(), model.random().column());
    ASSERT_NO_FATAL_FAILURE(model.expect_agreement()) << "round " << round;
    ASSERT_NO_FATAL_FAILURE(model.expect_agreement(image, rows)) << "round " << round;
  }
}

// No row of it lives, and yet who saves the image reads its chunks.
TEST(PartitionImage, KeepsTheChunksOfAnEmptiedBlock) {
  const base::TableSchema schema = narrow_schema();
  Partition partition(schema, {.block_rows = kBlockRowsMin});
  PartitionModel model(schema, &partition, 4);
  for (uint32_t i = 0; i < 2 * kBlockRowsMin; ++i) model.insert();
  partition.compact_all();
  for (uint32_t ordinal = 0; ordinal < kBlockRowsMin; ++ordinal) model.erase(ordinal);
  const Partition image(partition.cut());
  const ColumnStorage before = image.leaf(0).storage(ColumnId(0));
  ASSERT_GT(partition.compact(), 0U);
  EXPECT_EQ(partition.leaf(0).storage(ColumnId(0)).encoding, "constant");
  EXPECT_EQ(image.leaf(0).storage(ColumnId(0)).encoding, before.encoding);
  EXPECT_NE(before.encoding, "constant");
}

// What a snapshot costs is what is written; and all of it is given back.
TEST(ReplicaSnapshot, CostsWhatIsWrittenWhileItLives) {
  SnapshotModel model(every_type_schema(), 0, 5);
  Replica& replica = model.kept().replica();
  for (uint32_t i = 0; i < 4 * kBlockRowsMin + 100; ++i) model.model().insert();
  model.kept().partition().compact_all();
  model.cut();
  EXPECT_EQ(replica.snapshots(), 1U);
  EXPECT_EQ(replica.snapshot_bytes(), 0U);
  model.model().update(5, ColumnId(0));
  const size_t column = replica.snapshot_bytes();
  EXPECT_GT(column, 0U);
  model.model().update(6, ColumnId(0));
  EXPECT_EQ(replica.snapshot_bytes(), column);
  model.model().update(6, ColumnId(1));
  EXPECT_GT(replica.snapshot_bytes(), column);
  const size_t columns = replica.snapshot_bytes();
  model.model().update(4 * kBlockRowsMin + 5, ColumnId(0));  // on a page
  EXPECT_GT(replica.snapshot_bytes(), columns);
  model.release_any();
  replica.reclaim();
  EXPECT_EQ(replica.snapshots(), 0U);
  EXPECT_EQ(replica.snapshot_bytes(), 0U);
}

// The table is a new one. Snapshots go on to show the old one, can be saved, and give it back when
// the last of them has gone.
TEST(ReplicaSnapshot, ShowsATableThatIsClearedAsItWas) {
  for (const size_t budget : {size_t{0}, size_t{64} << 10}) {
    SCOPED_TRACE(budget);
    const TemporaryDirectory directory;
    KeptReplica kept(directory.path(), every_type_schema(), budget);
    Replica& replica = kept.replica();
    for (int round = 0; round < 4; ++round) {
      PartitionModel model(every_type_schema(), &kept.partition(), 8);
      for (uint32_t i = 0; i < 3 * kBlockRowsMin + 100; ++i) model.insert();
      kept.partition().compact_all();
      ASSERT_TRUE(kept.save().ok());
      model.update(5, ColumnId(0));
      auto first = std::make_unique<ReplicaSnapshot>(&replica);
      auto second = std::make_unique<ReplicaSnapshot>(&replica);
      replica.clear_table(base::TableId(0));
      EXPECT_EQ(kept.partition().live_rows(), 0U);
      EXPECT_GT(replica.snapshot_bytes(), 0U);
      first.reset();
      replica.reclaim();
      EXPECT_GT(replica.snapshot_bytes(), 0U);
      PartitionModel next(every_type_schema(), &kept.partition(), 9);
      for (uint32_t i = 0; i < kBlockRowsMin; ++i) next.insert();
      ASSERT_NO_FATAL_FAILURE(model.expect_agreement(partition_of(*second), model.rows()));
      ASSERT_NO_FATAL_FAILURE(next.expect_agreement());
      ASSERT_TRUE(second->save(directory.path(), {}).ok());
      second.reset();
      replica.reclaim();
      EXPECT_EQ(replica.snapshot_bytes(), 0U);
      ASSERT_NO_FATAL_FAILURE(next.expect_agreement());
      replica.clear_table(base::TableId(0));  // while no snapshot lives
      EXPECT_EQ(replica.snapshot_bytes(), 0U);
    }
    ASSERT_TRUE(kept.save().ok());
    ASSERT_TRUE(kept.save().ok());  // what the one before has given up is free
    const BlockFile& file = kept.buffers().file();
    EXPECT_EQ(file.bytes() - file.free_bytes(), kFilePageBytes) << "but for its header";
  }
}

// Cuts by the hundred, of rows that are all written between two of them: memory stays where it is.
TEST(ReplicaSnapshot, LeavesMemoryFlatHoweverManyAreCut) {
  SnapshotModel model(every_type_schema(), 0, 6);
  Replica& replica = model.kept().replica();
  for (uint32_t i = 0; i < kBlockRowsMin + 200; ++i) model.model().insert();
  size_t settled = 0;
  for (int round = 0; round < 60; ++round) {
    model.cut();
    for (int i = 0; i < 400; ++i) {
      model.model().update(model.model().any_ordinal(), model.model().random().column());
    }
    model.release_any();
    replica.reclaim();
    if (round == 20) settled = model.kept().partition().memory_bytes();
  }
  EXPECT_EQ(replica.snapshot_bytes(), 0U);
  EXPECT_LE(model.kept().partition().memory_bytes(), settled + settled / 10);
  ASSERT_NO_FATAL_FAILURE(model.expect_agreement());
}

// A save that ends half way loses nothing: the old state is there, and the next save is whole.
TEST(ReplicaSnapshot, CanBeSavedAgainAfterASaveThatWasEnded) {
  SnapshotModel model(every_type_schema(), 0, 7);
  for (uint32_t i = 0; i < 2 * kBlockRowsMin + 100; ++i) model.model().insert();
  model.kept().partition().compact_all();
  model.cut();
  ASSERT_NO_FATAL_FAILURE(model.save_any());
  for (int i = 0; i < 300; ++i) {
    model.model().update(model.model().any_ordinal(), model.model().random().column());
  }
  const std::string directory = model.kept().directory();
  for (int chunks = 0; chunks < 20; ++chunks) {
    ReplicaSnapshot snapshot(&model.kept().replica());
    int left = chunks;
    const auto ended = snapshot.save(directory, {}, {}, [&](size_t) -> base::Result<void> {
      if (left-- != 0) return {};
      return base::Error(base::ErrorCode::kCancelled, "enough");
    });
    ASSERT_FALSE(ended.ok());
    ASSERT_EQ(ended.code(), base::ErrorCode::kCancelled);
    ASSERT_EQ(read_manifest(directory)->generation, 1U);
    model.model().update(model.model().any_ordinal(), model.model().random().column());
  }
  model.release_any();
  model.cut();
  ASSERT_NO_FATAL_FAILURE(model.save_any());
  ASSERT_NO_FATAL_FAILURE(model.expect_saved());
}

// A restart may find the state whose save has failed: what that names is not written again.
TEST(ReplicaSnapshot, IsKeptInTheFileThoughItsSaveFailedAfterTheSwitch) {
  SnapshotModel model(every_type_schema(), 64 << 10, 8);
  for (uint32_t i = 0; i < 4 * kBlockRowsMin; ++i) model.model().insert();
  model.kept().partition().compact_all();
  model.cut();
  ASSERT_NO_FATAL_FAILURE(model.save_any());
  model.release_any();
  const auto write = [&] {
    for (int i = 0; i < 300; ++i) {
      model.model().update(model.model().any_ordinal(), model.model().random().column());
    }
    model.kept().replica().reclaim();
    ASSERT_TRUE(model.kept().buffers().trim().ok());
  };
  ASSERT_NO_FATAL_FAILURE(write());
  ASSERT_NO_FATAL_FAILURE(model.save_and_lose_the_last_sync());
  ASSERT_EQ(read_manifest(model.kept().directory())->generation, 2U);
  for (int round = 0; round < 8; ++round) {
    ASSERT_NO_FATAL_FAILURE(write());
  }
  ASSERT_NO_FATAL_FAILURE(model.expect_saved());
}

}  // namespace
}  // namespace diptych::storage
