// BwTree against std::set, with nodes of four entries, so that splits and merges are all the time,
// alone and with the code paths of several workers; invariants checked on the way.

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/split_mix.h"
#include "oltp/bw_tree.h"
#include "tests/sanitizers.h"

namespace diptych::oltp {
namespace {

template <size_t kWords>
using TinyTree = BwTree<kWords, 64>;

template <size_t kWords>
BwEntry<kWords> entry_at(uint64_t number, uint64_t row) {
  BwEntry<kWords> entry{};
  // The last word tells the keys apart, so that whole entries are compared.
  entry.words[kWords - 1] = number;
  entry.row = row;
  return entry;
}

template <size_t kWords, class Tree>
void expect_scans_agree(const Tree& tree, const std::set<std::pair<uint64_t, uint64_t>>& model,
                        uint64_t lower, uint64_t upper) {
  std::vector<std::pair<uint64_t, uint64_t>> expected(model.lower_bound({lower, 0}),
                                                      model.lower_bound({upper, 0}));
  std::vector<std::pair<uint64_t, uint64_t>> seen;
  const auto visit = [&](const BwEntry<kWords>& entry) {
    seen.emplace_back(entry.words[kWords - 1], entry.row);
    return true;
  };
  tree.scan_forward(entry_at<kWords>(lower, 0), entry_at<kWords>(upper, 0), visit);
  EXPECT_EQ(seen, expected);
  seen.clear();
  tree.scan_backward(entry_at<kWords>(lower, 0), entry_at<kWords>(upper, 0), visit);
  std::reverse(seen.begin(), seen.end());
  EXPECT_EQ(seen, expected);
}

template <size_t kWords, class Tree>
void expect_finds_agree(const Tree& tree, const std::set<std::pair<uint64_t, uint64_t>>& model,
                        uint64_t keys) {
  std::vector<typename Tree::Key> wanted;
  for (uint64_t key = 0; key < keys; ++key) {
    wanted.push_back(entry_at<kWords>(key, 0).words);
    std::set<uint64_t> rows;
    std::set<uint64_t> expected;
    tree.find(wanted.back(), [&](base::RowId row_id) { return rows.insert(row_id.value).second; });
    for (auto at = model.lower_bound({key, 0}); at != model.end() && at->first == key; ++at) {
      expected.insert(at->second);
    }
    ASSERT_EQ(rows, expected);
  }
  std::vector<uint64_t> rows(wanted.size());
  tree.find_each(wanted, rows);
  for (uint64_t key = 0; key < keys; ++key) {
    const auto at = model.lower_bound({key, 0});
    const bool there = at != model.end() && at->first == key;
    ASSERT_EQ(rows[key] != Tree::kNoRow, there);
    if (there) {
      EXPECT_TRUE(model.contains({key, rows[key]}));
    }
  }
}

// It changes nothing, and looks at what has left the tree, too.
template <size_t kWords, class Tree>
void fetch_some(const Tree& tree, uint64_t key) {
  const BwEntry<kWords> entry = entry_at<kWords>(key, 0);
  if (const void* const near = tree.prefetch_near(entry)) tree.prefetch_newest(near);
  tree.prefetch_ranges(std::array{entry, entry_at<kWords>(key / 2, 0)}, 4);
}

template <size_t kWords>
void run_bw_model(std::optional<Concurrency> always, uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", words " + std::to_string(kWords));
  const AsWorker as(base::WorkerId(seed % kWorkersMax));
  std::mt19937_64 random(seed);
  TinyTree<kWords> tree(always.value_or(Concurrency::kSingle), base::NumaNode(0));
  std::set<std::pair<uint64_t, uint64_t>> model;
  const uint64_t keys = 1 + random() % 300;
  for (int i = 0; i < 12'000; ++i) {
    const uint64_t key = random() % keys;
    const uint64_t row = random() % 3;
    fetch_some<kWords>(tree, random() % keys);
    // Grows for a while, then shrinks, so that nodes fill and empty.
    if (random() % 10 < ((i / 3000) % 2 == 0 ? 7u : 2u)) {
      EXPECT_EQ(tree.insert(entry_at<kWords>(key, row)),
                model.insert({key, row}).second ? IndexInsert::kInserted : IndexInsert::kPresent);
    } else {
      EXPECT_EQ(tree.erase(entry_at<kWords>(key, row)), model.erase({key, row}) == 1);
    }
    if (i % 200 == 0) {
      // A batch boundary: the number of workers may change.
      const Concurrency next = random() % 2 == 0 ? Concurrency::kSingle : Concurrency::kShared;
      if (!always) tree.set_concurrency(next);
      if (random() % 2 == 0) tree.reclaim();
      ASSERT_EQ(tree.check(), model.size());
      const uint64_t lower = random() % keys;
      expect_scans_agree<kWords>(tree, model, lower, lower + random() % keys);
      expect_scans_agree<kWords>(tree, model, 0, keys);
      expect_finds_agree<kWords>(tree, model, keys);
    }
    if (::testing::Test::HasFailure()) return;
  }
  while (!model.empty()) {
    const auto [key, row] = *std::next(model.begin(), static_cast<int>(random() % model.size()));
    ASSERT_TRUE(tree.erase(entry_at<kWords>(key, row)));
    model.erase({key, row});
  }
  ASSERT_EQ(tree.check(), 0u);
}

// Under a sanitizer one: 12,000 operations on 129 keys, in each of 15 ways.
constexpr uint64_t kModelSeeds = diptych::test::kSanitized ? 1 : 3;

TEST(BwTreeModel, IsASetOfEntriesUnderRandomOperations) {
  for (uint64_t seed = 1; seed <= kModelSeeds; ++seed) {
    for (const std::optional<Concurrency> always :
         {std::optional(Concurrency::kSingle), std::optional(Concurrency::kShared),
          std::optional<Concurrency>()}) {
      run_bw_model<1>(always, seed);
      run_bw_model<2>(always, seed);
      run_bw_model<4>(always, seed);
      run_bw_model<8>(always, seed);
      run_bw_model<32>(always, seed);
    }
  }
}

// Ascending runs side by side, as of districts, with the oldest of each going away.
TEST(BwTreeModel, SlidingRunsKeepTheInvariantsAndTheMemory) {
  const AsWorker as(base::WorkerId(0));
  for (const Concurrency concurrency : {Concurrency::kSingle, Concurrency::kShared}) {
    TinyTree<2> tree(concurrency, base::NumaNode(0));
    size_t bytes = 0;
    for (uint64_t i = 0; i < 20'000; ++i) {
      for (uint64_t run = 0; run < 3; ++run) {
        ASSERT_EQ(tree.insert({{run, i}, 0}), IndexInsert::kInserted);
        if (i >= 100) {
          ASSERT_TRUE(tree.erase({{run, i - 100}, 0}));
        }
      }
      if (i % 16 == 0) tree.reclaim();
      if (i % 500 == 0) {
        ASSERT_EQ(tree.check(), std::min<uint64_t>(i + 1, 100) * 3);
      }
      if (i == 1000) bytes = tree.allocated_bytes();
    }
    EXPECT_LE(tree.allocated_bytes(), bytes);  // ids and nodes come back
  }
}

// Many indexes have a few entries only: no hint spares them a way down.
TEST(BwTreeModel, ATreeOfOneLeafHasNoHints) {
  const AsWorker as(base::WorkerId(0));
  for (const Concurrency concurrency : {Concurrency::kSingle, Concurrency::kShared}) {
    BwTree<2> tree(concurrency, base::NumaNode(0));
    const size_t empty_bytes = tree.allocated_bytes();
    tree.insert({{1, 1}, 1});
    tree.insert({{1, 2}, 2});
    tree.scan_forward({{0, 0}, 0}, {{2, 0}, 0}, [](const auto&) { return true; });
    EXPECT_EQ(tree.allocated_bytes(), empty_bytes);
    for (uint64_t i = 3; i < 1000; ++i) tree.insert({{1, i}, i});
    EXPECT_EQ(tree.check(), 999U);
  }
}

TEST(BwTreeModel, AscendingInsertsLeaveFullLeavesBehind) {
  BwTree<1> tree(Concurrency::kSingle, base::NumaNode(0));
  constexpr uint64_t kEntries = 200'000;
  for (uint64_t i = 0; i < kEntries; ++i) tree.insert({{i}, 0});
  EXPECT_EQ(tree.check(), kEntries);
  EXPECT_LE(tree.allocated_bytes(), kEntries * sizeof(BwEntry<1>) * 3 / 2 + (size_t{8} << 20));
}

// A purge that leaves one entry in fifty: in any order, what is left fills its leaves again, so
// that scans and memory are in proportion to the entries.
TEST(BwTreeModel, WhatAPurgeLeavesLiesInFewPages) {
  const AsWorker as(base::WorkerId(0));
  constexpr uint64_t kEntries = 100'000;
  std::vector<uint64_t> ascending(kEntries);
  std::iota(ascending.begin(), ascending.end(), 0);
  std::vector<uint64_t> descending(ascending.rbegin(), ascending.rend());
  std::vector<uint64_t> shuffled = ascending;
  std::ranges::shuffle(shuffled, std::mt19937_64(1));
  for (const Concurrency concurrency : {Concurrency::kSingle, Concurrency::kShared}) {
    for (const auto* const order : {&ascending, &descending, &shuffled}) {
      BwTree<1> tree(concurrency, base::NumaNode(0));
      for (const uint64_t i : ascending) tree.insert({{i}, 0});
      for (size_t i = 0; i < kEntries; ++i) {
        const uint64_t key = (*order)[i];
        if (base::split_mix(key) % 50 != 0) {
          ASSERT_TRUE(tree.erase({{key}, 0}));
        }
        if (i % 1000 == 0) tree.reclaim();
      }
      tree.reclaim();
      const uint64_t left = tree.check();
      EXPECT_LE(20 * tree.pages_to_build().memory().pages_in_use(), left);
    }
  }
}

// More rows of one key than fit a leaf: found all, unique all the same.
TEST(BwTreeModel, UniquenessIsAskedOfRowsInEveryLeaf) {
  for (const Concurrency concurrency : {Concurrency::kSingle, Concurrency::kShared}) {
    TinyTree<1> tree(concurrency, base::NumaNode(0));
    for (uint64_t row = 1; row <= 40; ++row) tree.insert({{7}, row});
    for (const uint64_t taken : {uint64_t{1}, uint64_t{20}, uint64_t{40}}) {
      const auto verdict = [&](base::RowId row_id) {
        return row_id.value == taken ? KeyVerdict::kTaken : KeyVerdict::kFree;
      };
      const UniquenessCheck check(verdict);
      EXPECT_EQ(tree.insert({{7}, 0}, &check), IndexInsert::kTaken);
      EXPECT_EQ(tree.insert({{7}, 41}, &check), IndexInsert::kTaken);
      EXPECT_EQ(tree.insert({{7}, taken}, &check), IndexInsert::kPresent);
      EXPECT_EQ(tree.insert({{8}, 1}, &check), IndexInsert::kInserted);
      EXPECT_TRUE(tree.erase({{8}, 1}));
    }
    EXPECT_EQ(tree.check(), 40u);
  }
}

// Of each key some rows are there that take it, and some that do not: whichever is the newest, and
// wherever in the tree the key's other rows are.
TEST(BwTreeModel, UniquenessIsAskedOfEachOtherRowOfTheKeyAndOfNoOtherKeys) {
  const AsWorker as(base::WorkerId(0));
  for (const Concurrency concurrency : {Concurrency::kSingle, Concurrency::kShared}) {
    std::mt19937_64 random(3);
    TinyTree<2> tree(concurrency, base::NumaNode(0));
    std::set<std::pair<uint64_t, uint64_t>> model;
    const auto takes = [](uint64_t row) { return row % 3 == 0; };
    for (int i = 0; i < 20'000; ++i) {
      const uint64_t key = random() % 100;
      const uint64_t row = random() % 6;
      if (random() % 2 == 0) {
        ASSERT_EQ(tree.erase(entry_at<2>(key, row)), model.erase({key, row}) == 1);
        continue;
      }
      const auto verdict = [&](base::RowId other) {
        EXPECT_TRUE(other.value != row && model.contains({key, other.value}));
        return takes(other.value) ? KeyVerdict::kTaken : KeyVerdict::kFree;
      };
      const UniquenessCheck check(verdict);
      IndexInsert expected =
          model.contains({key, row}) ? IndexInsert::kPresent : IndexInsert::kInserted;
      for (uint64_t other = 0; other < 6; ++other) {
        if (other == row || !takes(other) || !model.contains({key, other})) continue;
        expected = IndexInsert::kTaken;
      }
      ASSERT_EQ(tree.insert(entry_at<2>(key, row), &check), expected) << i;
      if (expected == IndexInsert::kInserted) model.insert({key, row});
    }
    EXPECT_EQ(tree.check(), model.size());
  }
}

// Of nothing but ones, as BIGINT's greatest number: as great as the bound of the last leaf.
template <size_t kWords>
void expect_greatest_key_as_others(Concurrency concurrency) {
  TinyTree<kWords> tree(concurrency, base::NumaNode(0));
  typename TinyTree<kWords>::Key key;
  key.fill(~uint64_t{0});
  const auto free = [](base::RowId) { return KeyVerdict::kFree; };
  const UniquenessCheck check(free);
  std::set<uint64_t> rows;
  const auto expect_found = [&] {
    std::set<uint64_t> found;
    tree.find(key, [&](base::RowId row_id) { return found.insert(row_id.value).second; });
    EXPECT_EQ(found, rows);
    uint64_t one = 0;
    tree.find_each(std::span(&key, 1), std::span(&one, 1));
    EXPECT_TRUE(rows.empty() ? one == tree.kNoRow : rows.contains(one));
    EXPECT_EQ(tree.check(), rows.size());
  };
  expect_found();
  for (uint64_t row = 0; row < 20; ++row) {
    EXPECT_EQ(tree.insert({key, row}, row % 2 == 0 ? &check : nullptr), IndexInsert::kInserted);
    rows.insert(row);
    expect_found();
  }
  for (uint64_t row = 0; row < 20; ++row) {
    EXPECT_TRUE(tree.erase({key, row}));
    rows.erase(row);
    expect_found();
  }
}

TEST(BwTreeModel, TheGreatestKeyIsOneAsOthers) {
  const AsWorker as(base::WorkerId(0));
  for (const Concurrency concurrency : {Concurrency::kSingle, Concurrency::kShared}) {
    expect_greatest_key_as_others<1>(concurrency);
    expect_greatest_key_as_others<2>(concurrency);
  }
}

}  // namespace
}  // namespace diptych::oltp
