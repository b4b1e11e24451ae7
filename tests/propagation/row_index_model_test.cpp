#include <random>
#include <unordered_map>

#include <gtest/gtest.h>

#include "propagation/row_index.h"

namespace diptych::propagation {
namespace {

using base::NumaNode;
using base::RowId;

// Inserts, erases and finds of RowIDs made by `next_id`, against std::unordered_map.
template <class NextId>
void run_model(uint64_t seed, size_t steps, NextId&& next_id) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  RowIndex index((NumaNode(0)));
  std::unordered_map<uint64_t, uint32_t> model;
  std::vector<uint64_t> known;
  for (size_t i = 0; i < steps; ++i) {
    // Phases that mostly grow and phases that mostly shrink.
    const bool grows = i % (steps / 2) < steps / 3;
    const uint64_t dice = random() % 10;
    if (known.empty() || dice < (grows ? 7 : 2)) {
      const uint64_t id = next_id(random);
      if (model.contains(id)) continue;
      const auto ordinal = static_cast<uint32_t>(random() % UINT32_MAX);
      index.insert(RowId(id), ordinal);
      model.emplace(id, ordinal);
      known.push_back(id);
    } else if (dice < 9) {
      const size_t at = random() % known.size();
      const uint64_t id = std::exchange(known[at], known.back());
      known.pop_back();
      ASSERT_EQ(index.erase(RowId(id)), model.at(id));
      ASSERT_EQ(index.erase(RowId(id)), std::nullopt);
      model.erase(id);
    } else {
      const uint64_t id = next_id(random);
      const RowIndex::Entry entry = *index.entry(RowId(id));
      if (i % 64 == 0) index.trim();
      const auto found = model.find(id);
      ASSERT_EQ(index.find(RowId(id)),
                found == model.end() ? std::nullopt : std::optional(found->second));
      ASSERT_EQ(entry, found == model.end() ? 0 : found->second + 1);
    }
    ASSERT_EQ(index.size(), model.size());
  }
  for (const auto& [id, ordinal] : model) ASSERT_EQ(index.find(RowId(id)), ordinal);
}

TEST(RowIndexModel, AgreesWithAMapForRandomRowIds) {
  run_model(std::random_device()(), 30'000, [](auto& random) { return random(); });
}

TEST(RowIndexModel, AgreesWithAMapForDenseRowIdsInclusiveOfZero) {
  run_model(std::random_device()(), 300'000, [](auto& random) { return random() % 200'000; });
}

TEST(RowIndexModel, AgreesWithAMapForRowIdsThatDifferInTheUpperBitsOnly) {
  run_model(std::random_device()(), 30'000, [](auto& random) { return (random() % 50'000) << 44; });
}

TEST(RowIndex, TakesFiveBytesARowIdWhereTheyAreDense) {
  RowIndex index((NumaNode(0)));
  for (uint64_t id = 0; id < 1'000'000; ++id) index.insert(RowId(id), 1);
  EXPECT_LE(index.memory_bytes(), 1'000'000 * 5 + base::kHugePageBytes);
}

TEST(RowIndex, TakesElevenHundredBytesARowAtMost) {
  RowIndex index((NumaNode(0)));
  constexpr uint64_t kRows = 20'000;
  for (uint64_t i = 0; i < kRows; ++i) index.insert(RowId(i << 20), 1);
  EXPECT_LE(index.memory_bytes(), kRows * 1160 + base::kHugePageBytes);
}

TEST(RowIndex, UsesThePagesOfRowsThatAreGoneAgain) {
  RowIndex index((NumaNode(0)));
  size_t bytes = 0;
  // A window of RowIDs that wanders: a table from which the oldest rows are deleted.
  constexpr uint64_t kWindow = 10'000;
  for (uint64_t id = 0; id < 50 * kWindow; ++id) {
    index.insert(RowId(id), 1);
    if (id >= kWindow) {
      ASSERT_TRUE(index.erase(RowId(id - kWindow)).has_value());
    }
    if (id % 1000 == 0) index.trim();
    if (id == 2 * kWindow) bytes = index.memory_bytes();
  }
  EXPECT_EQ(index.memory_bytes(), bytes);
}

TEST(RowIndex, KeepsNoPageOfRowsThatWereLookedForAndNeverCame) {
  RowIndex index((NumaNode(0)));
  size_t bytes = 0;
  for (uint64_t run = 0; run < 10'000; ++run) {
    EXPECT_EQ(*index.entry(RowId(run * RowIndex::kPageRows)), 0u);
    if (run % 100 == 99) index.trim();
    if (run == 1000) bytes = index.memory_bytes();
  }
  EXPECT_EQ(index.memory_bytes(), bytes);
}

TEST(RowIndexDeathTest, RefusesARowIdThatIsThere) {
  RowIndex index((NumaNode(0)));
  index.insert(RowId(3), 1);
  EXPECT_DEATH(index.insert(RowId(3), 2), "R1");
}

}  // namespace
}  // namespace diptych::propagation
