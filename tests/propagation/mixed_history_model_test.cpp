// All that happens to a replica between two batches of queries, under a budget that it exceeds many
// times: blocks are made of pages and of a load's rows, thawed, frozen, settled, emptied, melted
// and made again, leave memory, are saved and read while updates go on, and come back.

#include <algorithm>
#include <chrono>
#include <random>
#include <set>
#include <thread>
#include <tuple>

#include <gtest/gtest.h>

#include "propagation/bulk_load.h"
#include "storage/buffer_manager.h"
#include "storage/compressed_block.h"
#include "storage/manifest.h"
#include "storage/replica_files.h"
#include "storage/replica_snapshot.h"
#include "storage/settling.h"
#include "tests/propagation/update_history.h"
#include "tests/storage/leaf_forms.h"
#include "tests/temporary_directory.h"

namespace diptych::propagation {
namespace {

using base::PartitionId;
using base::TableId;
using base::Vid;

// Of a column that is quiet, until it settles; one a look does.
constexpr uint32_t kLooksToSettle = storage::kQuietFactor * storage::CompressedBlock::kQuietLooks;

// What the mix must not lose.
struct HistoryCounts {
  uint64_t emptied_blocks = 0;
  uint64_t loaded_blocks = 0;      // of a load's rows, which were never in pages
  uint64_t taken_back_blocks = 0;  // such, of loads that failed
  uint64_t settled_thawed = 0;     // settled columns that a write has thawed
  uint64_t snapshot_reads = 0;
  uint64_t evictions = 0;
  storage::test::LeafForms forms;
};

class KeptHistory : public test::History {
 public:
  KeptHistory(uint64_t seed, const test::HistoryOptions& options, base::ForEach for_each,
              const std::string& path, size_t memory_bytes_max)
      : History(seed, options, *storage::BlockFile::create(path), memory_bytes_max),
        seed_(seed),
        for_each_(std::move(for_each)),
        path_(path) {}

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
  // Where half is deleted, the block is worn; of most, the rows that are left move.
  enum class Deleted : uint8_t { kAll, kMost, kHalf };
  void empty_blocks(Deleted deleted) {
    open_sets();
    const Vid vid(++vid_);
    for_each_partition([&](uint32_t t, storage::Partition& partition) {
      std::vector<const storage::Leaf*> blocks;
      for_each_block(partition, [&](const storage::Leaf& block) { blocks.push_back(&block); });
      if (blocks.empty()) return;
      const storage::Leaf& block = *blocks[rows_.below(blocks.size())];
      storage::DecodeBuffer buffer;
      const storage::PinnedColumn row_ids = storage::value_or_throw(block.pin_row_ids());
      const auto* const ids = row_ids.view(0, block.row_slots(), &buffer).as<uint64_t>();
      for (uint32_t i = 0; i < block.row_slots(); ++i) {
        if (!block.lives(i)) continue;
        if (deleted == Deleted::kMost && rows_.below(20) == 0) continue;
        if (deleted == Deleted::kHalf && rows_.below(2) == 0) continue;
        erase(vid, t, ids[i] / options_.id_step, &set_of(0, t));
      }
    });
    push_sets();
  }

  // A load of the rows that are not there and of new RowIDs, so many more, into each table. All
  // that was pushed is applied; a restart gets the rows as records.
  void load(size_t more) {
    options_.rows_max += more;
    for (uint32_t t = 0; t < kTables; ++t) {
      const std::vector<uint32_t> slots = slots_of(t);
      BulkLoad load(replica_.get(), applier_.get(), TableId(t), for_each_, {});
      open_sets();
      const Vid vid(++vid_);
      for (uint64_t id = 0; id < options_.rows_max; ++id) {
        if (model_[t].contains(id)) continue;
        insert(vid, t, id, &set_of(0, t));
        const LoadedRow row{row_id(id), model_[t].at(id).bytes()};
        load.take({&row, 1});
      }
      load.finish(vid);
      ASSERT_FALSE(load.failure().has_value()) << load.failure()->to_string();
      counts_.loaded_blocks += blocks_behind(t, slots);
      push_sets();
      since_cut_.push_back(queue_.collect());
    }
  }
  // A load of so many new RowIDs, which fails when all have come.
  void load_and_take_back(size_t rows) {
    for (uint32_t t = 0; t < kTables; ++t) {
      const std::vector<uint32_t> slots = slots_of(t);
      const storage::Table& table = replica_->table(TableId(t));
      std::vector<std::vector<storage::NewRow>> routed(table.partition_count());
      std::vector<RowIdRuns> loaded(table.partition_count());
      const storage::test::TestRow row = rows_.row();
      for (uint64_t id = options_.rows_max; id < options_.rows_max + rows; ++id) {
        const uint32_t p = table.partition_of(row_id(id)).value;
        routed[p].push_back({row_id(id), row.bytes(), nullptr});
        loaded[p].append(row_id(id));
      }
      for (uint32_t p = 0; p < table.partition_count(); ++p) {
        PartitionApplier& partition = applier_->partition(TableId(t), PartitionId(p));
        for (std::span<const storage::NewRow> rest = routed[p]; !rest.empty();) {
          const size_t count = std::min<size_t>(rest.size(), storage::kBlockRowsMin);
          rest = rest.subspan(partition.load(rest.first(count)));
        }
      }
      counts_.taken_back_blocks += blocks_behind(t, slots);
      for (uint32_t p = 0; p < table.partition_count(); ++p) {
        applier_->partition(TableId(t), PartitionId(p)).unload(loaded[p]);
      }
    }
  }

  void apply_and_compare() {
    const std::set<Place> settled = settled_columns(*replica_);
    CollectedSets collected = queue_.collect();
    ASSERT_NO_FATAL_FAILURE(apply(collected, for_each_));
    since_cut_.push_back(std::move(collected));
    ASSERT_NO_FATAL_FAILURE(compare());
    for (const Place& place :
         columns(*replica_, [](const auto& column) { return column.thawed; })) {
      counts_.settled_thawed += settled.contains(place) ? 1 : 0;
    }
    for_each_partition([&](uint32_t, storage::Partition& partition) {
      for_each_block(partition, [&](const storage::Leaf& block) {
        counts_.emptied_blocks += block.live_rows() == 0 ? 1 : 0;
        storage::test::count_forms(block, layout_.columns.size(), &counts_.forms);
      });
    });
  }
  // Compacts, freezes and settles what is quiet, and brings the replica within its memory.
  void settle(uint32_t looks) {
    replica_->reclaim();
    for (uint32_t look = 0; look < looks; ++look) compact();
    ASSERT_TRUE(replica_->buffers()->trim().ok());
  }

  // From now on, the snapshot is saved, and read again and again, beside all that follows.
  void begin_checkpoint() {
    ASSERT_NO_FATAL_FAILURE(compare());  // rows may have moved: where they are now
    at_cut_ = {model_, tids_};
    for (CollectedSets& collected : since_cut_) queue_.recycle(std::move(collected.sets));
    since_cut_.clear();
    snapshot_ = std::make_unique<storage::ReplicaSnapshot>(replica_.get());
    ASSERT_EQ(snapshot_->vid(), Vid(vid_));
    saving_ = std::jthread([&] {
      const auto saved = snapshot_->save(path_, {});
      EXPECT_TRUE(saved.ok()) << saved.error().to_string();
    });
    reading_ = std::jthread(
        [this, settled = settled_columns(snapshot_->replica())](const std::stop_token& ends) {
          SCOPED_TRACE(testing::Message() << "a snapshot, seed " << seed_);
          // The last time it is read when all was written that is written beside it.
          for (bool is_last = false; !is_last && !testing::Test::HasFatalFailure();) {
            is_last = ends.stop_requested();
            compare(snapshot_->replica(), at_cut_.model,
                    [&](uint32_t t, uint64_t id, const base::Tid& tid) {
                      ASSERT_EQ(at_cut_.tids[t].at(id), tid) << "row " << id;
                    });
            ASSERT_TRUE(settled_columns(snapshot_->replica()) == settled) << "forms stay, too";
            ++counts_.snapshot_reads;
            // The applier has to come first, whatever few cores there are.
            if (!is_last) std::this_thread::sleep_for(std::chrono::milliseconds(10));
          }
        });
  }
  bool is_saving() const { return snapshot_ != nullptr; }
  void end_checkpoint() {
    saving_.join();
    reading_.request_stop();
    reading_.join();
    snapshot_.reset();
  }
  // The checkpoint that ended last, and what was applied since.
  void reopen() {
    forget_replica();
    make_replica(*storage::BlockFile::open(path_));
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
      ASSERT_NO_FATAL_FAILURE(apply(collected, for_each_));
    }
    // Rows that came since may lie elsewhere now.
    tids_ = {};
    at_cut_.tids = {};
    ASSERT_NO_FATAL_FAILURE(compare());
  }

  // The next two: over all replicas so far, and while no snapshot is read.
  storage::PartitionFigures figures() {
    note_figures();
    return figures_;
  }
  const HistoryCounts& counts() const { return counts_; }

 private:
  struct State {
    std::array<Rows, kTables> model;
    std::array<Tids, kTables> tids;
  };
  // A column of a block: table, partition, first ordinal, column.
  using Place = std::tuple<uint32_t, uint32_t, uint32_t, uint16_t>;

  template <class Body>
  static void for_each_block(const storage::Partition& partition, const Body& body) {
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      const storage::Leaf& leaf = partition.leaf(l);
      if (leaf.form() == storage::LeafForm::kCompressed) body(leaf);
    }
  }
  template <class Choice>
  std::set<Place> columns(const storage::Replica& replica, const Choice& is_chosen) const {
    std::set<Place> found;
    for (uint32_t t = 0; t < kTables; ++t) {
      for (uint32_t p = 0; p < replica.partition_count(); ++p) {
        for_each_block(replica.table(TableId(t)).partition(PartitionId(p)),
                       [&](const storage::Leaf& block) {
                         for (uint16_t c = 0; c < layout_.columns.size(); ++c) {
                           if (!is_chosen(block.storage(base::ColumnId(c)))) continue;
                           found.emplace(t, p, block.first_ordinal(), c);
                         }
                       });
      }
    }
    return found;
  }
  std::set<Place> settled_columns(const storage::Replica& replica) const {
    return columns(replica, [](const storage::ColumnStorage& column) {
      return column.encoding == encoding_name(storage::encoding::Encoding::kZstd);
    });
  }
  std::vector<uint32_t> slots_of(uint32_t table) const {
    std::vector<uint32_t> slots;
    for (uint32_t p = 0; p < replica_->partition_count(); ++p) {
      slots.push_back(replica_->table(TableId(table)).partition(PartitionId(p)).row_slots());
    }
    return slots;
  }
  // Full ranges that begin behind these slots are a load's, which had a block's rows for each.
  uint64_t blocks_behind(uint32_t table, const std::vector<uint32_t>& slots) const {
    uint64_t blocks = 0;
    for (uint32_t p = 0; p < slots.size(); ++p) {
      for_each_block(
          replica_->table(TableId(table)).partition(PartitionId(p)),
          [&](const storage::Leaf& block) { blocks += block.first_ordinal() >= slots[p] ? 1 : 0; });
    }
    return blocks;
  }

  void note_figures() {
    for (uint32_t t = 0; t < kTables; ++t) figures_.add(replica_->table(TableId(t)).figures());
    counts_.evictions += replica_->buffers()->figures().evictions;
  }
  void forget_replica() {
    note_figures();
    applier_.reset();
    replica_.reset();
  }

  const uint64_t seed_;
  const base::ForEach for_each_;
  const std::string path_;
  std::vector<CollectedSets> since_cut_;
  HistoryCounts counts_;
  storage::PartitionFigures figures_;
  State at_cut_;
  std::unique_ptr<storage::ReplicaSnapshot> snapshot_;
  std::jthread saving_;
  std::jthread reading_;
};

struct Mix {
  base::TableSchema schema;
  size_t rows;  // that each load brings to a table
  int steps;    // 8, or a multiple of it
  size_t memory_bytes_max;
  base::ForEach for_each;
};

void step_on(KeptHistory* history, const Mix& mix, int step, std::mt19937_64* random) {
  if (step % 8 == 2) {
    history->empty_blocks(KeptHistory::Deleted::kAll);
  } else if (step % 8 == 3) {
    history->empty_blocks(KeptHistory::Deleted::kMost);
  } else {
    if (step % 16 == 7) {
      ASSERT_NO_FATAL_FAILURE(history->load(mix.rows));
    }
    if (step % 8 == 5) history->load_and_take_back(mix.rows);
    if (step % 8 == 6) history->empty_blocks(KeptHistory::Deleted::kHalf);
    history->run_batch(20 + (*random)() % 80);
    if (step % 4 == 0) history->fill();
  }
  ASSERT_NO_FATAL_FAILURE(history->apply_and_compare());
  if (step % 4 == 0) {
    // What was written freezes; then columns settle, in blocks that a snapshot has. No restart
    // comes before they are written.
    ASSERT_NO_FATAL_FAILURE(history->settle(kLooksToSettle / 2));
    if (history->is_saving()) history->end_checkpoint();
    ASSERT_NO_FATAL_FAILURE(history->begin_checkpoint());
    return history->settle(kLooksToSettle);
  }
  // Where most of a block was deleted, until the others have moved.
  ASSERT_NO_FATAL_FAILURE(history->settle(step % 8 == 3 ? 12 : 7));
  if (!history->is_saving()) {
    ASSERT_NO_FATAL_FAILURE(history->begin_checkpoint());
  } else if ((*random)() % 2 == 0) {
    history->end_checkpoint();
    if ((*random)() % 2 == 0) {
      ASSERT_NO_FATAL_FAILURE(history->reopen());
    }
  }
}

// Of ranges in which few rows are left, which one history in twenty has not.
constexpr const char* kRowsMoved = "rows moved";

// Adds to *forms those that columns took, and rows that moved.
void expect_serial_history(const Mix& mix, storage::test::LeafForms* forms) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  diptych::test::TemporaryDirectory directory;
  KeptHistory history(seed,
                      {.partitions = 2,
                       .workers = 2,
                       .rows_max = 0,
                       .schema = mix.schema,
                       .settled = base::Settled::kOn},
                      mix.for_each, directory.path(), mix.memory_bytes_max);
  ASSERT_NO_FATAL_FAILURE(history.load(mix.rows));
  std::mt19937_64 random(seed);
  for (int step = 0; step < mix.steps; ++step) {
    ASSERT_NO_FATAL_FAILURE(step_on(&history, mix, step, &random)) << "step " << step;
  }
  if (history.is_saving()) history.end_checkpoint();
  ASSERT_NO_FATAL_FAILURE(history.reopen());
  const storage::PartitionFigures figures = history.figures();
  const HistoryCounts& counts = history.counts();
  EXPECT_GT(figures.blocks_made, 10U);
  EXPECT_GT(figures.blocks_melted, 0U);
  // In a short mix a restart may come before there is a block to rewrite.
  if (mix.steps > 8) {
    EXPECT_GT(figures.blocks_rewritten, 0U);
  }
  EXPECT_GT(figures.columns_thawed, 0U);
  EXPECT_GT(figures.columns_frozen, 0U);
  EXPECT_GT(figures.columns_settled, 0U);
  EXPECT_GT(counts.settled_thawed, 0U);
  EXPECT_GT(counts.loaded_blocks, 2U);
  EXPECT_GT(counts.taken_back_blocks, 0U);
  EXPECT_GT(counts.emptied_blocks, 0U);
  EXPECT_GT(counts.snapshot_reads, 0U);
  EXPECT_GT(counts.evictions, 100U);
  for (const auto& [name, count] : counts.forms) (*forms)[name] += count;
  if (figures.rows_moved != 0) (*forms)[kRowsMoved] += figures.rows_moved;
}

TEST(MixedHistoryModel, EqualsTheSerialHistoryWhateverHappensToItsBlocks) {
  const std::vector<std::string_view> wanted = {"constant",
                                                "packed frame",
                                                "dictionary",
                                                "symbol text",
                                                "thawed spaced dictionary",
                                                "thawed frame",
                                                "thawed plain",
                                                "zstd",
                                                "thawed patched text",
                                                kRowsMoved};
  storage::test::LeafForms forms;
  const auto is_met = [&forms](std::string_view name) { return forms.contains(name); };
  // One history in some has not all of them.
  for (int history = 0; history < 6 && !std::ranges::all_of(wanted, is_met); ++history) {
    ASSERT_NO_FATAL_FAILURE(expect_serial_history({.schema = storage::test::every_type_schema(),
                                                   .rows = 3072,
                                                   .steps = 16,
                                                   .memory_bytes_max = size_t{128} << 10,
                                                   .for_each = base::in_turn},
                                                  &forms));
  }
  storage::test::expect_forms(forms, wanted);
}

// The same in short, of few columns: for ThreadSanitizer.
TEST(MixedHistoryStress, SnapshotsEqualTheSerialHistoryBesideAnApplierOfSeveralThreads) {
  storage::test::LeafForms forms;
  expect_serial_history({.schema = storage::test::narrow_schema(),
                         .rows = 3072,
                         .steps = 8,
                         .memory_bytes_max = size_t{32} << 10,
                         .for_each = test::side_by_side},
                        &forms);
}

}  // namespace
}  // namespace diptych::propagation
