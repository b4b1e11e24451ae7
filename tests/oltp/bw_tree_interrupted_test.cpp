// BwTree: each operation is interrupted at each of its atomic steps in turn, and another worker's
// whole operations take place there. So it meets all that can happen between two of its steps, and
// always the same: what threads meet once in many hours, this meets in every run.

#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "oltp/bw_tree.h"
#include "tests/oltp/stepped_atomic.h"
#include "tests/sanitizers.h"

namespace diptych::oltp {
namespace {

// What happens at a step of the one thread.
struct Interruption {
  uint64_t steps_before = ~uint64_t{0};
  std::function<void()> take_place;
};
Interruption interruption;

void step() {
  if (interruption.steps_before-- != 0) return;
  const Interruption now = std::exchange(interruption, {});
  now.take_place();
}

template <class Value>
using Interrupted = SteppedAtomic<Value, step>;
using InterruptedTree = BwTree<1, 64, Interrupted>;
using Rows = std::set<std::pair<uint64_t, uint64_t>>;

struct Change {
  bool inserts;
  uint64_t key;
  uint64_t row;
};

void make(const Change& change, InterruptedTree* tree, Rows* model) {
  const std::pair<uint64_t, uint64_t> entry{change.key, change.row};
  if (change.inserts) {
    EXPECT_EQ(tree->insert({{change.key}, change.row}),
              model->insert(entry).second ? IndexInsert::kInserted : IndexInsert::kPresent);
  } else {
    EXPECT_EQ(tree->erase({{change.key}, change.row}), model->erase(entry) == 1);
  }
}

// In runs, so that nodes fill and empty.
std::vector<Change> random_changes(std::mt19937_64* random, uint64_t runs, uint64_t row) {
  constexpr uint64_t kKeys = 24;
  std::vector<Change> changes;
  for (uint64_t run = 0; run < runs; ++run) {
    const bool inserts = (*random)() % 2 == 0;
    const uint64_t first = (*random)() % kKeys;
    const uint64_t count = 1 + (*random)() % 8;
    for (uint64_t i = 0; i < count; ++i) changes.push_back({inserts, (first + i) % kKeys, row});
  }
  return changes;
}

std::set<std::pair<uint64_t, uint64_t>> entries_of(const InterruptedTree& tree) {
  Rows entries;
  tree.scan_forward({{0}, 0}, BwEntry<1>::infinity(), [&](const BwEntry<1>& entry) {
    return entries.emplace(entry.words[0], entry.row).second;
  });
  return entries;
}

// False: the change has fewer steps.
bool interrupt(uint64_t seed, uint64_t steps_before) {
  std::mt19937_64 random(seed);
  InterruptedTree tree(Concurrency::kShared, base::NumaNode(0));
  Rows model;
  for (const Change& change : random_changes(&random, 6, 1)) make(change, &tree, &model);
  const std::vector<Change> others = random_changes(&random, 1 + random() % 4, 1);
  const Change own{random() % 4 != 0, random() % 24, random() % 2 + 1};
  interruption.steps_before = steps_before;
  interruption.take_place = [&] {
    for (const Change& change : others) {
      if (change.key != own.key || change.row != own.row) make(change, &tree, &model);
    }
  };
  make(own, &tree, &model);
  const bool was_interrupted = !interruption.take_place;
  interruption = {};
  EXPECT_EQ(tree.check(), model.size());
  EXPECT_EQ(entries_of(tree), model);
  return was_interrupted;
}

// Enough, in release, to meet a leaf that grows by a merge between a look at its parent and at it.
constexpr uint64_t kSeeds = diptych::test::kSanitized ? 500 : 5'000;

TEST(BwTreeInterrupted, AnyOtherChangesMayTakePlaceBetweenTwoStepsOfOne) {
  uint64_t interruptions = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (uint64_t at = 0; interrupt(seed, at); ++at) ++interruptions;
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(interruptions, 5 * kSeeds);
}

}  // namespace
}  // namespace diptych::oltp
