// What follows from how much log no checkpoint has.

#include "dispatcher/command_log/uncovered_log.h"

#include <gtest/gtest.h>

namespace diptych::dispatcher {
namespace {

constexpr uint64_t kUnit = 1'000;

TEST(UncoveredLog, ChecksItsBoundsOneAfterTheOther) {
  UncoveredLog log(kUnit, 10);
  log.add(kUnit - 1);
  EXPECT_FALSE(log.take_wish());
  log.add(1);
  EXPECT_TRUE(log.take_wish());
  EXPECT_FALSE(log.take_wish()) << "once for each unit";
  log.add(kUnit / 2 - 1);
  EXPECT_FALSE(log.is_outgrown());
  log.add(1);
  EXPECT_TRUE(log.is_outgrown());
  log.add(kUnit * 5 / 2);
  EXPECT_FALSE(log.is_ahead());
  log.add(1);
  EXPECT_TRUE(log.is_ahead());
  log.add(kUnit * 4 - 1);
  EXPECT_FALSE(log.is_full());
  log.add(1);
  EXPECT_TRUE(log.is_full());
  EXPECT_EQ(log.bytes(), log.bytes_max() + 1);
}

TEST(UncoveredLog, ACheckpointCoversWhatWasThereWhenTheLastOneBegan) {
  UncoveredLog log(kUnit, 10);
  log.add(5 * kUnit);
  log.checkpoint_begins();
  EXPECT_FALSE(log.take_wish());
  log.add(2 * kUnit);
  log.checkpoint_begins();  // the one before made way
  log.add(3 * kUnit);
  log.cover_begun();
  EXPECT_EQ(log.bytes(), 3 * kUnit);
  EXPECT_TRUE(log.take_wish()) << "what came since";
  log.cover_begun();
  EXPECT_EQ(log.bytes(), 3 * kUnit) << "none has begun since";
}

TEST(UncoveredLog, ACheckpointThatHasAllCoversAll) {
  UncoveredLog log(kUnit, 10);
  log.checkpoint_begins();
  log.add(9 * kUnit);
  ASSERT_TRUE(log.is_full());
  log.cover_all();
  EXPECT_EQ(log.bytes(), 0u);
  log.add(1);
  log.cover_begun();
  EXPECT_EQ(log.bytes(), 1u) << "what was there at its begin has gone already";
}

TEST(UncoveredLog, NobodyWaitsForCheckpointsThatFail) {
  UncoveredLog log(kUnit, 10);
  log.add(9 * kUnit);
  ASSERT_TRUE(log.is_full());
  log.checkpoint_failed();
  EXPECT_FALSE(log.is_full());
  log.checkpoint_begins();
  log.add(9 * kUnit);
  EXPECT_FALSE(log.is_full());
  log.cover_begun();
  EXPECT_TRUE(log.is_full()) << "they have a checkpoint to wait for again";
}

TEST(UncoveredLog, WhereFilesAreLargerTheBoundIsCountedInFiles) {
  UncoveredLog log(kUnit, 10 * kUnit);
  log.add(40 * kUnit);
  EXPECT_TRUE(log.is_outgrown());
  EXPECT_FALSE(log.is_ahead());
  log.add(1);
  EXPECT_TRUE(log.is_ahead());
  log.add(40 * kUnit - 1);
  EXPECT_FALSE(log.is_full());
  log.add(1);
  EXPECT_TRUE(log.is_full());
}

TEST(UncoveredLog, WithoutCheckpointsByTheLogThereIsNoBound) {
  for (const uint64_t file : {uint64_t{0}, kUnit, UINT64_MAX}) {
    UncoveredLog log(0, file);
    log.set(UINT64_MAX);
    EXPECT_FALSE(log.take_wish());
    EXPECT_FALSE(log.is_outgrown());
    EXPECT_FALSE(log.is_ahead());
    EXPECT_FALSE(log.is_full());
  }
  UncoveredLog endless(UINT64_MAX, 1);
  endless.set(UINT64_MAX - 1);
  EXPECT_FALSE(endless.is_full());
}

}  // namespace
}  // namespace diptych::dispatcher
