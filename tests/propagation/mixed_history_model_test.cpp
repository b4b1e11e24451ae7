// All that happens to a replica between two batches of queries, under a budget that it exceeds many
// times: blocks are made, thawed, frozen, emptied, melted and made again, leave memory, are saved
// while updates go on, and come back.

#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "storage/buffer_manager.h"
#include "storage/manifest.h"
#include "storage/replica_files.h"
#include "storage/replica_snapshot.h"
#include "tests/propagation/update_history.h"
#include "tests/storage/temporary_directory.h"

namespace diptych::propagation {
namespace {

using base::TableId;
using base::Vid;

class KeptHistory : public test::History {
 public:
  KeptHistory(uint64_t seed, const test::HistoryOptions& options, const std::string& path,
              size_t memory_bytes_max)
      : History(seed, options, std::move(*storage::BlockFile::create(path)), memory_bytes_max),
        path_(path) {}
  ~KeptHistory() {
    if (saving_.joinable()) saving_.join();
  }

  // One transaction that inserts nine of ten rows that are not there.
  void fill() {
    open_sets();
    const Vid vid(++vid_);
    for (uint32_t t = 0; t < kTables; ++t) {
      for (uint64_t id = 0; id < options_.rows_max; ++id) {
        if (!model_[t].contains(id) && rows_.below(10) != 0) insert(vid, t, id, &set_of(0, t));
      }
    }
    push_sets();
  }
  // One transaction that deletes rows of a block of each partition. All that was pushed is applied.
  enum class Deleted : uint8_t { kAll, kMost };
  void empty_blocks(Deleted deleted) {
    open_sets();
    const Vid vid(++vid_);
    for_each_partition([&](uint32_t t, storage::Partition& partition) {
      std::vector<const storage::Leaf*> blocks;
      for (size_t l = 0; l < partition.leaf_count(); ++l) {
        const storage::Leaf& leaf = partition.leaf(l);
        if (leaf.form() == storage::LeafForm::kCompressed) blocks.push_back(&leaf);
      }
      if (blocks.empty()) return;
      const storage::Leaf& block = *blocks[rows_.below(blocks.size())];
      storage::DecodeBuffer buffer;
      const storage::PinnedColumn row_ids = storage::value_or_throw(block.pin_row_ids());
      const auto* const ids = row_ids.view(0, block.row_slots(), &buffer).as<uint64_t>();
      for (uint32_t i = 0; i < block.row_slots(); ++i) {
        if (!block.lives(i)) continue;
        if (deleted == Deleted::kMost && rows_.below(20) == 0) continue;
        erase(vid, t, ids[i] / options_.id_step, &set_of(0, t));
      }
    });
    push_sets();
  }

  void apply_and_compare() {
    CollectedSets collected = queue_.collect();
    ASSERT_NO_FATAL_FAILURE(apply(collected, test::one_after_the_other));
    since_cut_.push_back(std::move(collected));
    ASSERT_NO_FATAL_FAILURE(compare());
    for_each_partition([&](uint32_t, storage::Partition& partition) {
      for (size_t l = 0; l < partition.leaf_count(); ++l) {
        const storage::Leaf& leaf = partition.leaf(l);
        const bool is_block = leaf.form() == storage::LeafForm::kCompressed;
        emptied_blocks_ += is_block && leaf.live_rows() == 0 ? 1 : 0;
      }
    });
  }
  // Compacts, freezes what is quiet, and brings the replica within its memory.
  void settle() {
    replica_->reclaim();
    for (int look = 0; look < 7; ++look) compact();
    ASSERT_TRUE(replica_->buffers()->trim().ok());
  }

  // From now on, beside all that follows.
  void begin_checkpoint() {
    at_cut_ = {model_, tids_};
    for (CollectedSets& collected : since_cut_) queue_.recycle(std::move(collected.sets));
    since_cut_.clear();
    snapshot_ = std::make_unique<storage::ReplicaSnapshot>(replica_.get());
    saving_ = std::thread([&] {
      const auto saved = snapshot_->save(path_, {});
      EXPECT_TRUE(saved.ok()) << saved.error().to_string();
    });
  }
  bool is_saving() const { return snapshot_ != nullptr; }
  void end_checkpoint() {
    saving_.join();
    snapshot_.reset();
  }
  // The checkpoint that ended last, and what was applied since.
  void reopen() {
    forget_replica();
    make_replica(std::move(*storage::BlockFile::open(path_)));
    const auto manifest = storage::read_manifest(path_);
    ASSERT_TRUE(manifest.ok()) << manifest.error().to_string();
    const auto loaded = storage::load_replica(path_, *manifest, replica_.get());
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    start_applier();
    std::swap(model_, at_cut_.model);
    std::swap(tids_, at_cut_.tids);
    ASSERT_NO_FATAL_FAILURE(compare());
    std::swap(model_, at_cut_.model);
    for (const CollectedSets& collected : since_cut_) {
      ASSERT_NO_FATAL_FAILURE(apply(collected, test::one_after_the_other));
    }
    // Rows that came since may lie elsewhere now.
    tids_ = {};
    at_cut_.tids = {};
    ASSERT_NO_FATAL_FAILURE(compare());
  }

  uint64_t emptied_blocks() const { return emptied_blocks_; }
  // Over all replicas so far.
  storage::PartitionFigures figures() {
    note_figures();
    return figures_;
  }
  uint64_t evictions() const { return evictions_; }

 private:
  struct State {
    std::array<Rows, kTables> model;
    std::array<Tids, kTables> tids;
  };

  void note_figures() {
    for (uint32_t t = 0; t < kTables; ++t) figures_.add(replica_->table(TableId(t)).figures());
    evictions_ += replica_->buffers()->figures().evictions;
  }
  void forget_replica() {
    note_figures();
    applier_.reset();
    replica_.reset();
  }

  const std::string path_;
  std::vector<CollectedSets> since_cut_;
  State at_cut_;
  std::unique_ptr<storage::ReplicaSnapshot> snapshot_;
  std::thread saving_;
  uint64_t emptied_blocks_ = 0;
  uint64_t evictions_ = 0;
  storage::PartitionFigures figures_;
};

TEST(MixedHistoryModel, EqualsTheSerialHistoryWhateverHappensToItsBlocks) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  storage::test::TemporaryDirectory directory;
  KeptHistory history(seed, {.partitions = 2, .workers = 2, .rows_max = 6000}, directory.path(),
                      size_t{128} << 10);
  std::mt19937_64 random(seed);
  constexpr int kSteps = 16;
  for (int step = 0; step < kSteps; ++step) {
    if (step % 8 == 2) {
      history.empty_blocks(KeptHistory::Deleted::kAll);
    } else {
      if (step % 8 == 6) history.empty_blocks(KeptHistory::Deleted::kMost);
      history.run_batch(random() % 100);
      if (step % 4 == 0) history.fill();
    }
    ASSERT_NO_FATAL_FAILURE(history.apply_and_compare());
    ASSERT_NO_FATAL_FAILURE(history.settle());
    if (!history.is_saving()) {
      history.begin_checkpoint();
    } else if (random() % 2 == 0) {
      history.end_checkpoint();
      if (random() % 2 == 0) {
        ASSERT_NO_FATAL_FAILURE(history.reopen());
      }
    }
  }
  if (history.is_saving()) history.end_checkpoint();
  ASSERT_NO_FATAL_FAILURE(history.reopen());
  const storage::PartitionFigures figures = history.figures();
  EXPECT_GT(figures.blocks_made, 10U);
  EXPECT_GT(figures.blocks_melted, 0U);
  EXPECT_GT(figures.blocks_rewritten, 0U);
  EXPECT_GT(figures.columns_thawed, 0U);
  EXPECT_GT(figures.columns_frozen, 0U);
  EXPECT_GT(history.emptied_blocks(), 0U);
  EXPECT_GT(history.evictions(), 100U);
}

}  // namespace
}  // namespace diptych::propagation
