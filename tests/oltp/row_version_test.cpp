// Steps of owners of one row, one after the other.

#include "oltp/row_version.h"

#include <array>

#include <gtest/gtest.h>

namespace diptych::oltp {
namespace {

class VersionedRow : public testing::Test {
 protected:
  VersionedRow() {
    // relaxed: one thread, here and below.
    slot.word.store(live_word(base::Vid(1)), std::memory_order_relaxed);
  }

  uint64_t word() const {
    // relaxed: as above.
    return slot.word.load(std::memory_order_relaxed);
  }
  // As a transaction does it: claims the row as it is.
  void claim(Undo* undo) {
    undo->replaced = word();
    undo->before = RowSlot::without_owner(undo->replaced);
    ASSERT_TRUE(slot.claim(undo));
  }
  void write(Undo* undo, uint64_t value) {
    auto* const image = new (next_image_) BeforeImage;
    next_image_ += sizeof(BeforeImage) + 8;
    keep_image(slot, {0, 1}, image, undo);
    slot.show({0, 1}, &value);
  }
  uint64_t value() const {
    // relaxed: as above.
    return row.load(std::memory_order_relaxed);
  }

  alignas(8) RowSlot slot{};
  std::atomic<uint64_t> row{10};  // behind the slot
  Undo first{};
  Undo second{};

 private:
  alignas(8) std::array<std::byte, 8 * (sizeof(BeforeImage) + 8)> images_;
  std::byte* next_image_ = images_.data();
};

TEST_F(VersionedRow, HasItsBytesBackInWhateverOrderTheyWereWritten) {
  claim(&first);
  for (const uint64_t value : {11, 12, 13}) write(&first, value);
  EXPECT_TRUE(slot.roll_back(&first));
  EXPECT_EQ(value(), 10u);
  EXPECT_EQ(RowSlot::without_owner(word()), live_word(base::Vid(1)));
}

// V2: a reader that has met the word before the first owner wrote must not meet it again.
TEST_F(VersionedRow, GoesOnNamingWhoRolledBackBehindOneThatWroteNothing) {
  claim(&first);
  write(&first, 11);
  EXPECT_TRUE(slot.roll_back(&first));
  const uint64_t rolled_back = word();
  EXPECT_EQ(rolled_back, RowSlot::owned_word(&first));
  claim(&second);
  EXPECT_EQ(second.before, live_word(base::Vid(1)));
  EXPECT_FALSE(slot.roll_back(&second));
  EXPECT_EQ(word(), rolled_back);
}

TEST_F(VersionedRow, ForgetsWhoRolledBackUnlessAnotherHasClaimedItSince) {
  claim(&first);
  write(&first, 11);
  slot.roll_back(&first);
  claim(&second);
  write(&second, 12);
  slot.forget_owner(&first);
  EXPECT_EQ(word(), RowSlot::owned_word(&second));
  slot.roll_back(&second);
  EXPECT_EQ(value(), 10u);
  slot.forget_owner(&first);
  slot.forget_owner(&second);
  EXPECT_EQ(word(), live_word(base::Vid(1)));
}

TEST_F(VersionedRow, StaysCommittedBehindOneThatRolledBack) {
  claim(&first);
  write(&first, 11);
  slot.roll_back(&first);
  claim(&second);
  write(&second, 12);
  slot.commit(&second, live_word(base::Vid(2)));
  slot.forget_owner(&first);
  EXPECT_EQ(word(), live_word(base::Vid(2)));
  EXPECT_EQ(value(), 12u);
}

}  // namespace
}  // namespace diptych::oltp
