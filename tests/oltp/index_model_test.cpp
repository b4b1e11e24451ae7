// Both kinds of index against std::multimap, under random operations, and under threads. Their
// insides have tests of their own (bw_tree_model_test.cpp).

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "oltp/index.h"
#include "tests/sanitizers.h"

namespace diptych::oltp {
namespace {

using base::RowId;

using Model = std::multimap<std::string, uint64_t>;

// Keys of one index are prefix-free: those of one length, or ended like strings.
std::string random_key(std::mt19937_64* random, size_t bytes_max, uint64_t keys) {
  std::string key;
  const uint64_t number = (*random)() % keys;
  if (bytes_max > 16) key = std::string(number % (bytes_max - 12), 'a');
  base::Key encoded;
  encoded.append(std::string_view(key));
  if (bytes_max > 16) return std::string(encoded.bytes()) + std::to_string(10000000 + number);
  // Of two words the first tells only groups of keys apart.
  const uint64_t words[] = {__builtin_bswap64(number % 7),
                            __builtin_bswap64(number * 0x9e3779b97f4a7c15)};
  const std::string bytes(reinterpret_cast<const char*>(words), sizeof words);
  return bytes.substr(16 - std::min<size_t>(bytes_max, 16));
}

std::vector<uint64_t> found_in(const Index& index, const std::string& key) {
  std::vector<uint64_t> rows;
  const auto visit = [&](RowId row_id) {
    rows.push_back(row_id.value);
    return true;
  };
  index.find(key, CandidateVisitor(visit));
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<uint64_t> found_in(const Model& model, const std::string& key) {
  std::vector<uint64_t> rows;
  const auto [first, last] = model.equal_range(key);
  for (auto at = first; at != last; ++at) rows.push_back(at->second);
  std::sort(rows.begin(), rows.end());
  return rows;
}

// In the order of a scan: rows of one key ascend.
std::vector<Model::const_iterator> range_of(const Model& model, const std::string& lower,
                                            const std::string& upper) {
  std::vector<Model::const_iterator> entries;
  const auto end = upper.empty() ? model.end() : model.lower_bound(upper);
  for (auto at = model.lower_bound(lower); at != end;) {
    const auto of_key = std::ssize(entries);
    do {
      entries.push_back(at++);
    } while (at != end && at->first == entries.back()->first);
    std::sort(entries.begin() + of_key, entries.end(),
              [](const auto& a, const auto& b) { return a->second < b->second; });
  }
  return entries;
}

void expect_ranges_agree(const Index& index, const Model& model, const std::string& lower,
                         const std::string& upper) {
  const auto expected = range_of(model, lower, upper);
  for (const Direction direction : {Direction::kForward, Direction::kBackward}) {
    const bool forward = direction == Direction::kForward;
    std::vector<uint64_t> rows;
    IndexCursor cursor(lower, upper, direction);
    for (index.next_group(&cursor); cursor.count != 0; index.next_group(&cursor)) {
      for (size_t i = 0; i < cursor.count; ++i) {
        const size_t at = forward ? rows.size() : expected.size() - 1 - rows.size();
        ASSERT_LT(at, expected.size());
        EXPECT_TRUE(cursor.has_key(i, expected[at]->first));
        rows.push_back(cursor.rows[i].value);
      }
    }
    if (!forward) std::reverse(rows.begin(), rows.end());
    ASSERT_EQ(rows.size(), expected.size());
    for (size_t i = 0; i < rows.size(); ++i) ASSERT_EQ(rows[i], expected[i]->second);
  }
}

// Of a scan that begins among the entries of its bound.
void expect_begin_rows_agree(const Index& index, const Model& model, const std::string& key) {
  const auto entries = range_of(model, "", "");
  const auto is_less = [&](const auto& entry, uint64_t row) {
    return entry->first < key || (entry->first == key && entry->second < row);
  };
  for (uint64_t row = 0; row < 5; ++row) {
    const auto begin =
        std::ranges::find_if_not(entries, [&](const auto& entry) { return is_less(entry, row); });
    IndexCursor ascending(key, "", Direction::kForward, 1);
    ascending.begin_row = row;
    index.next_group(&ascending);
    ASSERT_EQ(ascending.count, begin == entries.end() ? 0u : 1u);
    if (ascending.count != 0) {
      EXPECT_EQ(ascending.rows[0].value, (*begin)->second);
    }
    IndexCursor descending("", key, Direction::kBackward, 1);
    descending.begin_row = row;
    index.next_group(&descending);
    ASSERT_EQ(descending.count, begin == entries.begin() ? 0u : 1u);
    if (descending.count != 0) {
      EXPECT_EQ(descending.rows[0].value, (*std::prev(begin))->second);
    }
  }
}

enum class Kind { kHash, kOrdered };

constexpr int kModelOperations = diptych::test::kSanitized ? 10'000 : 20'000;

void run_against_model(Kind kind, size_t key_bytes, Concurrency concurrency, uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed) + ", keys of " + std::to_string(key_bytes));
  std::mt19937_64 random(seed);
  const auto index = kind == Kind::kHash
                         ? make_hash_index(concurrency, base::NumaNode(0))
                         : make_ordered_index(key_bytes, concurrency, base::NumaNode(0));
  Model model;
  const uint64_t keys = 1 + random() % 3000;
  for (int i = 0; i < kModelOperations; ++i) {
    const std::string key = random_key(&random, key_bytes, keys);
    const uint64_t row = random() % 4;
    const auto [first, last] = model.equal_range(key);
    const auto same =
        std::find_if(first, last, [&](const auto& entry) { return entry.second == row; });
    // Grows for a while, then shrinks, so that nodes fill and empty.
    const bool grows = (i / 5000) % 2 == 0;
    const uint64_t dice = random() % 10;
    if (dice < (grows ? 7u : 2u)) {
      const IndexInsert inserted = index->insert(key, RowId(row), nullptr);
      EXPECT_EQ(inserted, same == last ? IndexInsert::kInserted : IndexInsert::kPresent);
      if (same == last) model.emplace(key, row);
    } else if (dice < 9) {
      EXPECT_EQ(index->erase(key, RowId(row)), same != last);
      if (same != last) model.erase(same);
    } else {
      EXPECT_EQ(found_in(*index, key), found_in(model, key));
    }
    if (i % 1000 == 0) index->reclaim();
    if (i % 1000 == 500) {
      EXPECT_EQ(index->check(), model.size());
    }
    if (kind == Kind::kOrdered && i % 500 == 0) {
      std::string lower = random_key(&random, key_bytes, keys);
      std::string upper = random_key(&random, key_bytes, keys);
      if (upper < lower) std::swap(lower, upper);
      expect_ranges_agree(*index, model, lower, upper);
      expect_ranges_agree(*index, model, "", "");
      expect_begin_rows_agree(*index, model, lower);
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_EQ(index->entry_count(), model.size());
  EXPECT_EQ(index->check(), model.size());
  for (const auto& [key, row] : model) EXPECT_TRUE(index->erase(key, RowId(row)));
  EXPECT_EQ(index->entry_count(), 0u);
}

TEST(IndexModel, AHashIndexIsAMultimap) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    run_against_model(Kind::kHash, 8, Concurrency::kSingle, seed);
    run_against_model(Kind::kHash, 100, Concurrency::kSingle, seed);
  }
}

TEST(IndexModel, AnOrderedIndexIsAMultimap) {
  for (const size_t key_bytes : {8, 16, 32, 64, 90, 98, 112, 130, 176, 208, 250, 256}) {
    run_against_model(Kind::kOrdered, key_bytes, Concurrency::kSingle, key_bytes);
    run_against_model(Kind::kOrdered, key_bytes, Concurrency::kShared, key_bytes + 1);
  }
}

TEST(IndexMemory, EntriesAreLittleWiderThanTheLongestKey) {
  constexpr uint64_t kRows = 200'000;
  // Of a VARCHAR(48) and a VARCHAR(64).
  for (const auto& [key_bytes, row_bytes_max] : {std::pair{98, 350}, std::pair{130, 440}}) {
    const auto index =
        make_ordered_index(static_cast<size_t>(key_bytes), Concurrency::kSingle, base::NumaNode(0));
    std::mt19937_64 random(1);
    for (uint64_t row = 0; row < kRows; ++row) {
      index->insert(random_key(&random, 8, UINT64_MAX), RowId(row), nullptr);
    }
    EXPECT_LE(index->memory_bytes() / kRows, static_cast<size_t>(row_bytes_max)) << key_bytes;
  }
}

TEST(IndexModel, UniquenessIsAskedOfEveryOtherRowBeforeAnEntryCountsAsPresent) {
  for (const Kind kind : {Kind::kHash, Kind::kOrdered}) {
    const auto index = kind == Kind::kHash
                           ? make_hash_index(Concurrency::kSingle, base::NumaNode(0))
                           : make_ordered_index(8, Concurrency::kSingle, base::NumaNode(0));
    for (const uint64_t row : {2, 1, 3}) {
      EXPECT_EQ(index->insert("key", RowId(row), nullptr), IndexInsert::kInserted);
    }
    for (const KeyVerdict verdict : {KeyVerdict::kTaken, KeyVerdict::kConflict}) {
      const auto third = [&](RowId row_id) {
        return row_id.value == 3 ? verdict : KeyVerdict::kFree;
      };
      const UniquenessCheck check(third);
      const IndexInsert expected =
          verdict == KeyVerdict::kTaken ? IndexInsert::kTaken : IndexInsert::kConflict;
      EXPECT_EQ(index->insert("key", RowId(1), &check), expected);
      EXPECT_EQ(index->insert("key", RowId(4), &check), expected);
      EXPECT_EQ(index->insert("key", RowId(3), &check), IndexInsert::kPresent);
    }
  }
}

// Each thread owns the keys of its residue; all of them read everything.
void run_threads(Index* index, bool ordered) {
  constexpr uint64_t kThreads = 4;
  constexpr uint64_t kKeys = 400;
  const auto key_of = [](uint64_t number) {
    const uint64_t big_endian = __builtin_bswap64(number);
    return std::string(reinterpret_cast<const char*>(&big_endian), 8);
  };
  const auto work = [&](uint64_t thread) {
    std::mt19937_64 random(thread);
    std::set<uint64_t> mine;
    for (int i = 0; i < 3000; ++i) {
      const uint64_t number = random() % kKeys * kThreads + thread;
      const std::string key = key_of(number);
      if (random() % 2 == 0) {
        const bool fresh = mine.insert(number).second;
        EXPECT_EQ(index->insert(key, RowId(number), nullptr),
                  fresh ? IndexInsert::kInserted : IndexInsert::kPresent);
      } else {
        EXPECT_EQ(index->erase(key, RowId(number)), mine.erase(number) == 1);
      }
      const uint64_t asked = random() % kKeys * kThreads + thread;
      EXPECT_EQ(found_in(*index, key_of(asked)).size(), mine.count(asked));
      if (!ordered || i % 100 != 0) continue;
      // A scan under changes: ascending, none twice, all of one's own.
      std::vector<uint64_t> seen;
      IndexCursor cursor("", "", Direction::kForward);
      for (index->next_group(&cursor); cursor.count != 0; index->next_group(&cursor)) {
        for (size_t c = 0; c < cursor.count; ++c) seen.push_back(cursor.rows[c].value);
      }
      EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
      EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
      EXPECT_TRUE(std::includes(seen.begin(), seen.end(), mine.begin(), mine.end()));
    }
    for (const uint64_t number : mine) EXPECT_TRUE(index->erase(key_of(number), RowId(number)));
  };
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(index->entry_count(), 0u);
}

TEST(IndexStress, AHashIndexServesSeveralThreads) {
  run_threads(make_hash_index(Concurrency::kShared, base::NumaNode(0)).get(), false);
}

TEST(IndexStress, AnOrderedIndexServesSeveralThreads) {
  run_threads(make_ordered_index(8, Concurrency::kShared, base::NumaNode(0)).get(), true);
}

}  // namespace
}  // namespace diptych::oltp
