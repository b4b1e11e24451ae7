#include <random>
#include <set>

#include <gtest/gtest.h>

#include "storage/free_slots.h"

namespace diptych::storage {
namespace {

TEST(FreeSlotsModel, TakesTheLowestOrAChosenOneOfWhatWasFreed) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  FreeSlots slots;
  std::set<uint32_t> model;
  for (int i = 0; i < 200'000; ++i) {
    // Mostly low ordinals, a few of the highest.
    const auto ordinal =
        static_cast<uint32_t>(random() % 100 == 0 ? random() % (1U << 28) : random() % 50'000);
    if (random() % 2 == 0 && model.insert(ordinal).second) slots.add(ordinal);
    if (random() % 2 == 0 && !model.empty()) {
      ASSERT_EQ(slots.take_lowest(), *model.begin());
      model.erase(model.begin());
    }
    const auto wanted = static_cast<uint32_t>(random() % 60'000);
    if (random() % 4 == 0) {
      ASSERT_EQ(slots.take(wanted), model.erase(wanted) == 1);
    }
    ASSERT_EQ(slots.size(), model.size());
    ASSERT_EQ(slots.empty(), model.empty());
  }
}

TEST(FreeSlotsDeathTest, RefusesASlotThatIsFree) {
  FreeSlots slots;
  slots.add(77);
  EXPECT_DEATH(slots.add(77), "freed once");
}

}  // namespace
}  // namespace diptych::storage
