// BwTree: each operation is interrupted at each of its atomic steps in turn, and another worker's
// whole operations take place there. So it meets all that can happen between two of its steps, and
// always the same: what threads meet once in many hours, this meets in every run.

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "oltp/bw_tree.h"
#include "tests/oltp/interruption.h"
#include "tests/sanitizers.h"

namespace diptych::oltp {
namespace {

using InterruptedTree = BwTree<2, 96, Interrupted>;
using Rows = std::set<std::pair<uint64_t, uint64_t>>;

// All keys begin with the same word, so each worker's hints are of the leaves that it was in last.
BwEntry<2> entry_of(uint64_t key, uint64_t row) {
  return {{0, key}, row};
}

constexpr base::WorkerId kInterrupted(0);
constexpr base::WorkerId kOther(1);

struct Change {
  bool inserts;
  uint64_t key;
  uint64_t row;
};

template <class Tree>
void make(const Change& change, Tree* tree, Rows* model) {
  const std::pair<uint64_t, uint64_t> entry{change.key, change.row};
  if (change.inserts) {
    EXPECT_EQ(tree->insert(entry_of(change.key, change.row)),
              model->insert(entry).second ? IndexInsert::kInserted : IndexInsert::kPresent);
  } else {
    EXPECT_EQ(tree->erase(entry_of(change.key, change.row)), model->erase(entry) == 1);
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
  tree.scan_forward(entry_of(0, 0), BwEntry<2>::infinity(), [&](const BwEntry<2>& entry) {
    return entries.emplace(entry.words[1], entry.row).second;
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
  interruption = {steps_before, [&] {
                    const AsWorker other(kOther);
                    for (const Change& change : others) {
                      if (change.key != own.key || change.row != own.row) {
                        make(change, &tree, &model);
                      }
                    }
                  }};
  make(own, &tree, &model);
  const bool was_interrupted = end_interruption();
  EXPECT_EQ(tree.check(), model.size());
  EXPECT_EQ(entries_of(tree), model);
  return was_interrupted;
}

// Enough, in release, to meet a leaf that grows by a merge between a look at its parent and at it.
constexpr uint64_t kSeeds = diptych::test::kSanitized ? 500 : 5'000;

TEST(BwTreeInterrupted, AnyOtherChangesMayTakePlaceBetweenTwoStepsOfOne) {
  const AsWorker interrupted(kInterrupted);
  uint64_t interruptions = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (uint64_t at = 0; interrupt(seed, at); ++at) ++interruptions;
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(interruptions, 5 * kSeeds);
}

// What a reader asked for, and what it met.
struct Reading {
  std::pair<uint64_t, uint64_t> lower;  // key and row
  std::pair<uint64_t, uint64_t> upper;  // likewise, exclusive
  std::vector<std::pair<uint64_t, uint64_t>> met;
  bool is_ordered = true;

  bool covers(const std::pair<uint64_t, uint64_t>& entry) const {
    return lower <= entry && entry < upper;
  }
};
using Reader = Reading (*)(const InterruptedTree&, std::mt19937_64*);

Reading read_by_find(const InterruptedTree& tree, std::mt19937_64* random) {
  const uint64_t key = (*random)() % 24;
  Reading reading{{key, 0}, {key + 1, 0}, {}, false};
  tree.find({0, key}, [&](base::RowId row) {
    reading.met.emplace_back(key, row.value);
    return true;
  });
  return reading;
}
Reading read_by_scan(const InterruptedTree& tree, std::mt19937_64* random, bool forward) {
  const uint64_t key = (*random)() % 24;
  Reading reading{{key, 0}, {key + 1 + (*random)() % 24, 0}, {}};
  const BwEntry<2> lower = entry_of(reading.lower.first, 0);
  const BwEntry<2> upper = entry_of(reading.upper.first, 0);
  const auto take = [&](const BwEntry<2>& entry) {
    reading.met.emplace_back(entry.words[1], entry.row);
    return true;
  };
  if (forward) {
    EXPECT_TRUE(tree.scan_forward(lower, upper, take));
  } else {
    EXPECT_TRUE(tree.scan_backward(lower, upper, take));
    std::reverse(reading.met.begin(), reading.met.end());
  }
  return reading;
}
Reading read_forward(const InterruptedTree& tree, std::mt19937_64* random) {
  return read_by_scan(tree, random, true);
}
Reading read_backward(const InterruptedTree& tree, std::mt19937_64* random) {
  return read_by_scan(tree, random, false);
}

// A tree, and what takes place in it.
struct Scene {
  explicit Scene(uint64_t seed) : random(seed) {
    for (const uint64_t row : {1U, 2U, 3U}) {
      for (const Change& change : random_changes(&random, 3, row)) make(change, &tree, &model);
    }
    for (const uint64_t row : {1U, 2U, 3U}) {
      const std::vector<Change> some = random_changes(&random, random() % 3, row);
      others.insert(others.end(), some.begin(), some.end());
    }
    for (const Change& change : others) loose.emplace(change.key, change.row);
    before = model;
  }
  void interrupt_at(uint64_t steps_before) {
    interruption = {steps_before, [this] {
                      const AsWorker other(kOther);
                      for (const Change& change : others) make(change, &tree, &model);
                    }};
  }
  bool is_stable(const std::pair<uint64_t, uint64_t>& entry) const {
    return before.contains(entry) && !loose.contains(entry);
  }

  std::mt19937_64 random;
  InterruptedTree tree{Concurrency::kShared, base::NumaNode(0)};
  Rows model;
  Rows before;
  std::vector<Change> others;
  Rows loose;  // that come or go meanwhile
};

bool interrupt_reader(Reader read, uint64_t seed, uint64_t steps_before) {
  Scene scene(seed);
  scene.interrupt_at(steps_before);
  const Reading reading = read(scene.tree, &scene.random);
  const bool was_interrupted = end_interruption();
  const Rows met(reading.met.begin(), reading.met.end());
  EXPECT_EQ(met.size(), reading.met.size()) << "none comes twice";
  EXPECT_TRUE(!reading.is_ordered || std::is_sorted(reading.met.begin(), reading.met.end()));
  for (const auto& entry : scene.before) {
    EXPECT_TRUE(!reading.covers(entry) || !scene.is_stable(entry) || met.contains(entry));
  }
  for (const auto& entry : met) {
    EXPECT_TRUE(reading.covers(entry) &&
                (scene.before.contains(entry) || scene.loose.contains(entry)));
  }
  return was_interrupted;
}

bool interrupt_batch_of_finds(uint64_t seed, uint64_t steps_before) {
  Scene scene(seed);
  std::vector<std::array<uint64_t, 2>> keys;
  for (int i = 0; i < 5; ++i) keys.push_back({0, scene.random() % 24});
  std::vector<uint64_t> rows(keys.size());
  scene.interrupt_at(steps_before);
  scene.tree.find_each(keys, rows);
  const bool was_interrupted = end_interruption();
  for (size_t i = 0; i < keys.size(); ++i) {
    const uint64_t key = keys[i][1];
    if (rows[i] != InterruptedTree::kNoRow) {
      EXPECT_TRUE(scene.before.contains({key, rows[i]}) || scene.loose.contains({key, rows[i]}));
      continue;
    }
    for (const uint64_t row : {1U, 2U, 3U}) EXPECT_FALSE(scene.is_stable({key, row}));
  }
  return was_interrupted;
}

void interrupt_all(uint64_t seeds,
                   const std::function<bool(uint64_t seed, uint64_t at)>& interrupt_at) {
  const AsWorker interrupted(kInterrupted);
  uint64_t interruptions = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    for (uint64_t at = 0; interrupt_at(seed, at); ++at) ++interruptions;
    ASSERT_FALSE(::testing::Test::HasFailure()) << "seed " << seed;
  }
  EXPECT_GT(interruptions, 3 * seeds);
}

TEST(BwTreeInterrupted, AReaderMeetsWhatIsThereAllTheWhileOnce) {
  for (const Reader read : {&read_by_find, &read_forward, &read_backward}) {
    interrupt_all(kSeeds / 5,
                  [&](uint64_t seed, uint64_t at) { return interrupt_reader(read, seed, at); });
  }
}

TEST(BwTreeInterrupted, ABatchOfFindsMeetsARowOfEachKeyThatHasOneAllTheWhile) {
  interrupt_all(kSeeds / 5, interrupt_batch_of_finds);
}

// Rows of a key that are dead fill a leaf or several, and two workers want the key: the one that
// is interrupted, and another one whose whole insertion, among other changes, takes place there.
bool interrupt_unique_insert(uint64_t seed, uint64_t steps_before) {
  constexpr uint64_t kWanted = 7;
  std::mt19937_64 random(seed);
  InterruptedTree tree(Concurrency::kShared, base::NumaNode(0));
  Rows model;
  const uint64_t rows_max = 2 + random() % 40;
  const uint64_t own = random() % rows_max;
  const uint64_t others_own = (own + 1 + random() % (rows_max - 1)) % rows_max;
  std::vector<Change> dead;
  for (uint64_t row = 0; row < rows_max; ++row) {
    if (row == own || row == others_own) continue;
    make({true, kWanted, row}, &tree, &model);
    if (random() % 4 == 0) dead.push_back({false, kWanted, row});
  }
  for (const Change& change : random_changes(&random, 3, rows_max)) make(change, &tree, &model);
  const auto verdict = [&](base::RowId row) {
    const bool is_live = row.value == own || row.value == others_own;
    return is_live ? KeyVerdict::kConflict : KeyVerdict::kFree;
  };
  const UniquenessCheck check(verdict);
  const bool comes_last = random() % 2 == 0;
  IndexInsert others_outcome = IndexInsert::kConflict;
  bool has_come = false;
  const auto come = [&] {
    const AsWorker other(kOther);
    has_come = true;
    if (comes_last) {
      for (const Change& change : dead) make(change, &tree, &model);
    }
    others_outcome = tree.insert(entry_of(kWanted, others_own), &check);
    if (!comes_last) {
      for (const Change& change : dead) make(change, &tree, &model);
    }
  };
  interruption = {steps_before, come};
  const IndexInsert outcome = tree.insert(entry_of(kWanted, own), &check);
  const bool was_interrupted = end_interruption();
  EXPECT_EQ(was_interrupted, has_come);
  const bool won = outcome == IndexInsert::kInserted;
  EXPECT_EQ(won, others_outcome != IndexInsert::kInserted);
  EXPECT_EQ(won ? others_outcome : outcome, IndexInsert::kConflict);
  model.emplace(kWanted, won ? own : others_own);
  EXPECT_EQ(tree.check(), model.size());
  EXPECT_EQ(entries_of(tree), model);
  return was_interrupted;
}

TEST(BwTreeInterrupted, OfTwoThatInsertAUniqueKeyOneGetsItInHoweverManyLeavesItsRowsLie) {
  interrupt_all(kSeeds / 20, interrupt_unique_insert);
}

// Interrupted behind its loads: when a node is known, and before it is looked at.
template <class Value>
class InterruptedBehind : public Interrupted<Value> {
 public:
  using Interrupted<Value>::Interrupted;
  Value load(std::memory_order order) const {
    // seq_cst or less: as given.
    const Value value = Interrupted<Value>::load(std::memory_order(order));
    interrupt_step();
    return value;
  }
};

// A reader learns of a leaf that another worker replaces before the reader has noted it. In what
// follows the leaf's block is other leaves and no leaf, and then the reader comes back.
bool interrupt_note(uint64_t seed, uint64_t steps_before) {
  std::mt19937_64 random(seed);
  BwTree<2, 96, InterruptedBehind> tree(Concurrency::kShared, base::NumaNode(0));
  Rows model;
  const auto change_some = [&] {
    const AsWorker leader(base::WorkerId(0));
    for (const Change& change : random_changes(&random, 3, 1)) make(change, &tree, &model);
  };
  const BwEntry<2> first = entry_of(random() % 24, 0);
  const auto read = [&] {
    const AsWorker reader(base::WorkerId(1));
    Rows met;
    tree.scan_forward(first, BwEntry<2>::infinity(), [&](const BwEntry<2>& entry) {
      return met.emplace(entry.words[1], entry.row).second;
    });
    return met;
  };
  change_some();
  interruption = {steps_before, change_some};
  read();
  const bool was_interrupted = end_interruption();
  for (const Concurrency next : {Concurrency::kSingle, Concurrency::kShared}) {
    tree.set_concurrency(next);
    change_some();
  }
  EXPECT_EQ(read(), Rows(model.lower_bound({first.words[1], 0}), model.end()));
  return was_interrupted;
}

TEST(BwTreeInterrupted, ALeafThatIsReplacedBeforeItIsNotedIsNeverTrusted) {
  interrupt_all(kSeeds / 5, interrupt_note);
}

// The mutant that must be found: a reader that comes back to a leaf that it knows does not see that
// the leaf is frozen, and maybe replaced.
bool overlooks_frozen = false;

template <class Value>
class OverlooksFrozen : public Interrupted<Value> {
 public:
  using Interrupted<Value>::Interrupted;
  Value load(std::memory_order order) const {
    // seq_cst or less: as given.
    Value value = Interrupted<Value>::load(std::memory_order(order));
    if constexpr (sizeof(Value) == 8) {
      // acquire: of status.
      const bool is_status = order == std::memory_order_acquire;
      if (overlooks_frozen && is_status) value &= ~BwNodes<2, 96, OverlooksFrozen>::kFrozen;
    }
    return value;
  }
};

// A worker is interrupted in changes of rows 1. There another one changes a row 2, and a reader
// comes back to the leaf that it knows, and must meet it.
bool interrupt_known(bool mutant, uint64_t seed, uint64_t steps_before, bool* is_right) {
  std::mt19937_64 random(seed);
  BwTree<2, 96, OverlooksFrozen> tree(Concurrency::kShared, base::NumaNode(0));
  Rows model;
  for (const Change& change : random_changes(&random, 6, 1)) make(change, &tree, &model);
  const uint64_t key = random() % 24;
  const auto read = [&] {
    const AsWorker reader(base::WorkerId(1));
    bool met = false;
    tree.scan_forward(entry_of(key, 0), entry_of(key + 1, 0), [&](const BwEntry<2>& entry) {
      met |= entry.row == 2;
      return true;
    });
    return met;
  };
  read();
  interruption = {steps_before, [&] {
                    const AsWorker other(base::WorkerId(2));
                    make({true, key, 2}, &tree, &model);
                    overlooks_frozen = mutant;
                    *is_right &= read();
                    overlooks_frozen = false;
                  }};
  for (const Change& change : random_changes(&random, 1, 1)) make(change, &tree, &model);
  return end_interruption();
}

TEST(BwTreeInterrupted, WhoComesBackToAKnownLeafMeetsWhatCameMeanwhile) {
  bool is_right = true;
  interrupt_all(kSeeds / 10, [&](uint64_t seed, uint64_t at) {
    return interrupt_known(false, seed, at, &is_right);
  });
  EXPECT_TRUE(is_right);
  const AsWorker interrupted(kInterrupted);
  for (uint64_t seed = 1; is_right && seed <= kSeeds / 5; ++seed) {
    for (uint64_t at = 0; is_right && interrupt_known(true, seed, at, &is_right); ++at) {
    }
  }
  EXPECT_FALSE(is_right) << "the mutant has survived";
}

}  // namespace
}  // namespace diptych::oltp
