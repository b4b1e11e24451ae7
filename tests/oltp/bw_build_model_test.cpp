// BwBuild against std::set: trees of tiny nodes that are made of random runs, and then changed.

#include <algorithm>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "oltp/bw_build.h"
#include "oltp/bw_tree.h"

namespace diptych::oltp {
namespace {

using BuiltTree = BwTree<2, 64>;
using BuiltEntry = BuiltTree::Entry;
using Built = BwBuild<BuiltTree::Pages>;
using RowPair = std::pair<uint64_t, uint64_t>;

BuiltEntry built_entry(uint64_t key, uint64_t row) {
  return {{key / 8, key % 8}, row};
}

// Returns two rows that have the same key, if some have.
std::optional<RowPair> build(BuiltTree* tree, const std::vector<std::vector<BuiltEntry>>& runs,
                             uint32_t stretches) {
  auto& pages = tree->pages_to_build();
  pages.memory().set_concurrency(Concurrency::kShared);
  std::vector<Built::Run> sorted(runs.begin(), runs.end());
  std::vector<Built::Stretch> parts(stretches);
  auto cut = Built::cut(sorted, stretches);
  for (uint32_t i = 0; i < stretches; ++i) parts[i].merge(&pages, std::move(cut[i]));
  auto same = Built::link(&pages, &parts);
  pages.memory().set_concurrency(Concurrency::kSingle);
  return same;
}

void expect_entries(const BuiltTree& tree, const std::set<RowPair>& model) {
  EXPECT_EQ(tree.check(), model.size());
  std::vector<RowPair> expected(model.begin(), model.end());
  std::vector<RowPair> seen;
  const auto visit = [&](const BuiltEntry& entry) {
    seen.emplace_back(entry.words[0] * 8 + entry.words[1], entry.row);
    return true;
  };
  tree.scan_forward(BuiltEntry{}, BuiltEntry::infinity(), visit);
  EXPECT_EQ(seen, expected);
  seen.clear();
  tree.scan_backward(BuiltEntry{}, BuiltEntry::infinity(), visit);
  std::reverse(seen.begin(), seen.end());
  EXPECT_EQ(seen, expected);
}

// Rows of equal keys where there are fewer keys than rows; runs that overlap much, little, not.
void run_build_model(uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const uint64_t rows = random() % 8 == 0 ? random() % 3 : random() % 600;
  const uint64_t keys = 1 + random() % (random() % 2 == 0 ? 20 : 2000);
  const size_t run_count = 1 + random() % 9;
  const bool ascends = random() % 2 == 0;
  std::vector<std::vector<BuiltEntry>> runs(run_count);
  std::set<RowPair> model;
  std::set<uint64_t> keys_seen;
  bool same_key = false;
  for (uint64_t row = 0; row < rows; ++row) {
    const uint64_t key = ascends ? row * keys / rows : random() % keys;
    model.insert({key, row});
    same_key = !keys_seen.insert(key).second || same_key;
    runs[ascends ? row / 16 % run_count : random() % run_count].push_back(built_entry(key, row));
  }
  for (auto& run : runs) std::sort(run.begin(), run.end());
  BuiltTree tree(Concurrency::kSingle, base::NumaNode(0));
  const auto same = build(&tree, runs, 1 + static_cast<uint32_t>(random() % 4));
  EXPECT_EQ(same.has_value(), same_key);
  if (same) {
    const auto key_of = [&](uint64_t row) {
      return std::find_if(model.begin(), model.end(),
                          [&](const RowPair& pair) { return pair.second == row; })
          ->first;
    };
    EXPECT_NE(same->first, same->second);
    EXPECT_EQ(key_of(same->first), key_of(same->second));
  }
  ASSERT_NO_FATAL_FAILURE(expect_entries(tree, model));
  for (int i = 0; i < 600; ++i) {
    if (i % 200 == 0) tree.set_concurrency(i == 200 ? Concurrency::kShared : Concurrency::kSingle);
    const RowPair pair{random() % keys, random() % (rows + 5)};
    const BuiltEntry entry = built_entry(pair.first, pair.second);
    if (random() % 2 == 0) {
      EXPECT_EQ(tree.insert(entry) == IndexInsert::kInserted, model.insert(pair).second);
    } else {
      EXPECT_EQ(tree.erase(entry), model.erase(pair) != 0);
    }
  }
  tree.set_concurrency(Concurrency::kSingle);
  expect_entries(tree, model);
}

TEST(BwBuildModel, ATreeOfRunsHasTheirEntriesInOrderAndTakesChanges) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    ASSERT_NO_FATAL_FAILURE(run_build_model(seed));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(BwBuildDeathTest, ATreeWithEntriesIsNotReplaced) {
  BuiltTree tree(Concurrency::kSingle, base::NumaNode(0));
  tree.insert(built_entry(1, 1));
  EXPECT_DEATH(build(&tree, {{built_entry(2, 2)}}, 1), "the tree is empty");
}

}  // namespace
}  // namespace diptych::oltp
