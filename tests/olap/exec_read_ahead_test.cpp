// ReadAhead beside the loads that a block file's buffer manager counts.

#include <vector>

#include <gtest/gtest.h>

#include "olap/execution/scan/read_ahead.h"
#include "tests/storage/kept_replica.h"
#include "tests/storage/partition_model.h"
#include "tests/temporary_directory.h"

namespace diptych::olap {
namespace {

using base::ColumnId;
using storage::Leaf;

// Blocks of which no column is in memory, each in two morsels.
class ReadAheadTest : public testing::Test {
 protected:
  void make_blocks(uint32_t count) {
    storage::test::PartitionModel model(schema_, &kept_.partition(), 1);
    for (uint32_t i = 0; i < count * storage::kBlockRowsMin; ++i) model.insert();
    kept_.partition().compact_all();
    ASSERT_TRUE(kept_.save().ok());
    ASSERT_TRUE(kept_.reopen().ok());
    constexpr uint32_t kHalf = storage::kBlockRowsMin / 2;
    for (size_t l = 0; l < kept_.partition().leaf_count(); ++l) {
      const Leaf& leaf = kept_.partition().leaf(l);
      morsels_.push_back({&leaf, 0, kHalf});
      morsels_.push_back({&leaf, kHalf, kHalf});
    }
    ASSERT_EQ(morsels_.size(), 2 * count);
    for (uint16_t c = 0; c < schema_.columns.size(); ++c) scan_.columns.push_back(ColumnId(c));
    ahead_.add(scan_, std::vector<bool>(columns(), true));
  }

  size_t columns() const { return schema_.columns.size(); }
  uint64_t loads() { return kept_.buffers().figures().loads; }
  void pin_all(const Leaf& leaf) {
    for (const ColumnId column : scan_.columns) EXPECT_TRUE(leaf.pin(column).ok());
  }

  const base::TableSchema schema_ = storage::test::narrow_schema();
  const diptych::test::TemporaryDirectory directory_;
  storage::test::KeptReplica kept_{directory_.path(), schema_, size_t{64} << 20};
  std::vector<ScanMorsel> morsels_;
  Operator scan_;
  ReadAhead ahead_{morsels_, true};
};

TEST_F(ReadAheadTest, AsksForAllColumnsOfTheLeafThatIsReachedAndOfThoseBehindIt) {
  ASSERT_NO_FATAL_FAILURE(make_blocks(3));
  ahead_.reach(1);  // as any worker may be the first that comes
  EXPECT_EQ(loads(), 3 * columns());
  for (size_t m = 0; m < morsels_.size(); ++m) {
    ahead_.reach(m);
    pin_all(*morsels_[m].leaf);
  }
  EXPECT_EQ(loads(), 3 * columns());
}

// As many reads as can be under way stop it within some leaf, which it then asks for again.
TEST_F(ReadAheadTest, AsksAgainForTheRestOfALeafOnceThereIsRoom) {
  ASSERT_NO_FATAL_FAILURE(make_blocks(60));
  ahead_.reach(0);
  const uint64_t asked = loads();
  ASSERT_LT(asked, 60 * columns());
  const size_t stopped = asked / columns();
  ASSERT_NE(asked % columns(), 0U);
  for (size_t l = 0; l < stopped; ++l) pin_all(*morsels_[2 * l].leaf);
  EXPECT_EQ(loads(), asked);
  ahead_.reach(2 * stopped + 1);
  const uint64_t asked_again = loads();
  EXPECT_GT(asked_again, asked);
  pin_all(*morsels_[2 * stopped].leaf);
  EXPECT_EQ(loads(), asked_again);
}

}  // namespace
}  // namespace diptych::olap
