#include <algorithm>
#include <deque>
#include <map>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "propagation/bulk_load.h"
#include "tests/storage/every_type_table.h"
#include "tests/storage/partition_model.h"

namespace diptych::propagation {
namespace {

using base::ColumnId;
using base::NumaNode;
using base::PartitionId;
using base::RowId;
using base::TableId;
using base::Vid;
using storage::kBlockRowsDefault;
using storage::test::narrow_schema;
using storage::test::RandomRows;
using storage::test::TestRow;

constexpr TableId kTable{0};

void in_threads(uint32_t count, const std::function<void(uint32_t)>& body) {
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

struct Shape {
  uint32_t partitions = 2;
  storage::BlockForm blocks = storage::BlockForm::kCompressed;
};

// Loads, deletes and loads taken back, of rows that stay where they are, beside a map of them.
class Loads {
 public:
  Loads(uint64_t seed, const Shape& shape)
      : schema_(narrow_schema()),
        layout_(schema_),
        random_(layout_, seed),
        replica_({.partitions = shape.partitions, .blocks = shape.blocks}) {
    schema_.id = kTable;
    replica_.add_table(schema_);
    applier_ = std::make_unique<Applier>(&replica_, NumaNode(0));
    for (int i = 0; i < 1'000; ++i) sources_.push_back(random_.row());
  }

  enum class End : uint8_t { kFinished, kDiscarded };

  // Rows get the RowIDs that deletes freed first, and those of the next slots then.
  void load(size_t rows, End end) {
    BulkLoad load(&replica_, applier_.get(), kTable, in_threads, {});
    RowIdRuns loaded;
    std::vector<LoadedRow> batch;
    for (size_t i = 0; i < rows; ++i) {
      const RowId row_id = take_row_id();
      const TestRow& source = sources_[random_.below(sources_.size())];
      batch.push_back({row_id, source.bytes()});
      loaded.append(row_id);
      expected_.emplace(row_id.value, &source);
      if (random_.below(2'000) != 0) continue;
      load.take(batch);
      batch.clear();
    }
    if (end == End::kDiscarded) {
      load.discard(loaded);  // what is in the batch was never given
      loaded.for_each([&](RowId row_id) {
        expected_.erase(row_id.value);
        free_.push_back(row_id.value);
      });
      return;
    }
    load.take(batch);
    load.finish(Vid(++vid_));
    ASSERT_EQ(replica_.snapshot(), Vid(vid_));
  }

  // By update records, as transactions do it.
  void erase(size_t rows) {
    auto updates = queue_.take_empty();
    ++vid_;
    for (; rows != 0 && !expected_.empty(); --rows) {
      auto at = expected_.lower_bound(random_.below(next_row_id_));
      if (at == expected_.end()) at = expected_.begin();
      updates->append_delete(Vid(vid_), RowId(at->first));
      free_.push_back(at->first);
      expected_.erase(at);
    }
    std::vector<SealedSet> sealed;
    if (!updates->empty()) sealed.push_back({base::WorkerId(0), kTable, std::move(updates)});
    queue_.push(std::move(sealed), Vid(vid_));
    CollectedSets collected = queue_.collect();
    applier_->apply(collected, in_threads);
    queue_.recycle(std::move(collected.sets));
  }

  void compare() {
    const storage::Table& table = replica_.table(kTable);
    ASSERT_EQ(table.live_rows(), expected_.size());
    for (uint32_t p = 0; p < table.partition_count(); ++p) {
      const storage::Partition& partition = table.partition(PartitionId(p));
      for (size_t l = 0; l < partition.leaf_count(); ++l) {
        ASSERT_NO_FATAL_FAILURE(compare(PartitionId(p), partition.leaf(l)));
      }
    }
  }
  size_t leaves() const {
    size_t leaves = 0;
    for (uint32_t p = 0; p < replica_.partition_count(); ++p) {
      leaves += replica_.table(kTable).partition(PartitionId(p)).leaf_count();
    }
    return leaves;
  }
  uint32_t ordinals_end_max() const {
    uint32_t end = 0;
    for (uint32_t p = 0; p < replica_.partition_count(); ++p) {
      const storage::Partition& partition = replica_.table(kTable).partition(PartitionId(p));
      if (partition.leaf_count() == 0) continue;
      const storage::Leaf& last = partition.leaf(partition.leaf_count() - 1);
      end = std::max(end, last.first_ordinal() + last.row_slots());
    }
    return end;
  }
  // Of full ranges, those that are not one leaf.
  size_t full_ranges_of_pages() const {
    size_t pages = 0;
    for (uint32_t p = 0; p < replica_.partition_count(); ++p) {
      const storage::Partition& partition = replica_.table(kTable).partition(PartitionId(p));
      uint32_t ordinals = 0;
      for (size_t l = 0; l < partition.leaf_count(); ++l) ordinals += slots(partition, l);
      for (size_t l = 0; l < partition.leaf_count(); ++l) {
        const bool in_full_range =
            partition.leaf(l).first_ordinal() / kBlockRowsDefault < ordinals / kBlockRowsDefault;
        if (in_full_range && slots(partition, l) != kBlockRowsDefault) ++pages;
      }
    }
    return pages;
  }
  size_t rows() const { return expected_.size(); }
  RandomRows& random() { return random_; }
  size_t memory_bytes() const {
    return replica_.table(kTable).memory_bytes() + applier_->memory_bytes();
  }

 private:
  static uint32_t slots(const storage::Partition& partition, size_t leaf) {
    return partition.leaf(leaf).row_slots();
  }
  RowId take_row_id() {
    if (free_.empty()) return RowId(next_row_id_++);
    const uint64_t id = free_.front();
    free_.pop_front();
    return RowId(id);
  }

  // Every live row is expected with its values, where the index says.
  void compare(PartitionId partition, const storage::Leaf& leaf) const {
    storage::DecodeBuffer buffers[3];
    const auto view = [&](const storage::PinnedColumn& column, storage::DecodeBuffer* buffer) {
      return column.view(0, leaf.row_slots(), buffer);
    };
    const auto pins = std::array{storage::value_or_throw(leaf.pin(ColumnId(0))),
                                 storage::value_or_throw(leaf.pin(ColumnId(2))),
                                 storage::value_or_throw(leaf.pin_row_ids())};
    const storage::ColumnView numbers = view(pins[0], &buffers[0]);
    const storage::ColumnView texts = view(pins[1], &buffers[1]);
    const auto* const row_ids = view(pins[2], &buffers[2]).as<RowId>();
    for (uint32_t i = 0; i < leaf.row_slots(); ++i) {
      if (!leaf.lives(i)) continue;
      const RowId row_id = row_ids[i];
      const auto found = expected_.find(row_id.value);
      ASSERT_TRUE(found != expected_.end()) << "row " << row_id.value;
      const std::optional<base::Tid> tid = applier_->find(kTable, row_id);
      ASSERT_TRUE(tid.has_value()) << "row " << row_id.value;
      ASSERT_EQ(tid->partition, partition);
      ASSERT_EQ(tid->ordinal, leaf.first_ordinal() + i);
      const std::vector<base::Value>& values = found->second->values();
      ASSERT_EQ(base::Value(int64_t{numbers.as<int32_t>()[i]}), values[0]);
      const bool is_null = std::holds_alternative<std::monostate>(values[2]);
      ASSERT_EQ(texts.is_null(i), is_null);
      if (!is_null) {
        ASSERT_EQ(texts.as<base::StringRef>()[i].view(), std::get<std::string>(values[2]));
      }
    }
  }

  base::TableSchema schema_;
  base::RowLayout layout_;
  RandomRows random_;
  storage::Replica replica_;
  std::unique_ptr<Applier> applier_;
  UpdateQueue queue_;
  std::deque<TestRow> sources_;
  std::map<uint64_t, const TestRow*> expected_;
  std::deque<uint64_t> free_;  // RowIDs
  uint64_t next_row_id_ = 0;
  uint64_t vid_ = 0;
};

class BulkLoadStress : public ::testing::TestWithParam<Shape> {};

TEST_P(BulkLoadStress, AgreesWithAMapThroughLoadsDeletesAndLoadsTakenBack) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Loads loads(seed, GetParam());
  using End = Loads::End;
  for (int round = 0; round < 6; ++round) {
    const size_t rows = loads.random().below(3) == 0 ? 20 : 200'000;
    const End end = round % 3 == 1 ? End::kDiscarded : End::kFinished;
    loads.load(1 + loads.random().below(rows), end);
    ASSERT_NO_FATAL_FAILURE(loads.compare());
    loads.erase(loads.random().below(loads.rows() + 1));
    ASSERT_NO_FATAL_FAILURE(loads.compare());
  }
}

TEST_P(BulkLoadStress, LeavesBlocksOfAllFullRanges) {
  Loads loads(1, GetParam());
  loads.load(3 * GetParam().partitions * kBlockRowsDefault + 1'000, Loads::End::kFinished);
  EXPECT_GE(loads.leaves(), 2 * GetParam().partitions);
  EXPECT_EQ(loads.full_ranges_of_pages(), 0U);
  loads.compare();
}

TEST_P(BulkLoadStress, TakesNoMemoryForALoadThatIsTakenBack) {
  Loads loads(2, GetParam());
  loads.load(100, Loads::End::kFinished);
  const size_t before = loads.memory_bytes();
  loads.load(3 * GetParam().partitions * kBlockRowsDefault, Loads::End::kDiscarded);
  // The first range of a partition stays where it has one of the 100 rows, no other one.
  EXPECT_LE(loads.ordinals_end_max(), kBlockRowsDefault);
  EXPECT_LE(loads.memory_bytes(), before + GetParam().partitions * kBlockRowsDefault * size_t{96});
  loads.compare();
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, BulkLoadStress,
    ::testing::Values(Shape{}, Shape{.partitions = 1}, Shape{.partitions = 3},
                      Shape{.partitions = 2, .blocks = storage::BlockForm::kPlain}),
    [](const auto& shape) {
      return std::to_string(shape.param.partitions) + "Partitions" +
             (shape.param.blocks == storage::BlockForm::kPlain ? "OfPlainBlocks" : "");
    });

}  // namespace
}  // namespace diptych::propagation
