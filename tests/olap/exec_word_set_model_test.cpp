// Sets of keys of one and two words against std::set: keys that come again, the key of zeros, keys
// that differ in one bit, through every growth, read before and after they are dense; and keys that
// workers add by ranges.

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "olap/execution/key/word_set.h"
#include "tests/olap/exec_table.h"

namespace diptych::olap::test {
namespace {

using Key = std::array<uint64_t, 2>;

// What a query may take, where nothing stops it.
struct Unlimited {
  const StopFlag flag{false};
  const StopSignal stop{&flag};
  MemoryBudget memory{MemoryLimits{}};
  const QueryLimits query{&memory, &stop};
};

struct SetShape {
  const char* what;
  uint64_t rows;
  Key (*key)(uint64_t random);
};

constexpr SetShape kSetShapes[] = {
    {"no keys", 0, [](uint64_t) { return Key{}; }},
    {"zeros", 3'000, [](uint64_t) { return Key{}; }},
    {"few keys, zeros among them", 20'000,
     [](uint64_t r) {
       return Key{r % 7, r / 7 % 3};
     }},
    {"many keys", 200'000,
     [](uint64_t r) {
       return Key{r, r * 31};
     }},
    {"keys that come again", 200'000,
     [](uint64_t r) {
       return Key{r % 50'000, 1};
     }},
    {"one bit", 5'000,
     [](uint64_t r) {
       return Key{uint64_t{1} << r % 64, 0};
     }},
    {"the second word alone", 5'000,
     [](uint64_t r) {
       return Key{0, r % 900};
     }},
    {"the upper half alone", 50'000,
     [](uint64_t r) {
       return Key{r << 32, 0};
     }},
};

std::set<Key> all_of(const WordSet& set, uint32_t words, uint64_t* read) {
  std::set<Key> keys;
  std::vector<uint64_t> some(size_t{kVectorRows} * words);
  uint64_t place = 0;
  *read = 0;
  while (const uint32_t count = set.read(&place, set.places(), some.data())) {
    for (uint32_t i = 0; i < count; ++i) {
      keys.insert({some[i * words], words == 2 ? some[i * words + 1] : 0});
    }
    *read += count;
  }
  EXPECT_EQ(set.read(&place, set.places(), some.data()), 0U) << "the end stays the end";
  return keys;
}

// Adds the keys to both, and compares which of them are new.
void expect_added(WordSet* set, const std::vector<uint64_t>& keys, uint32_t words,
                  std::set<Key>* model) {
  std::vector<uint16_t> expected;
  for (size_t k = 0; k < keys.size() / words; ++k) {
    const Key key{keys[k * words], words == 2 ? keys[k * words + 1] : 0};
    if (model->insert(key).second) expected.push_back(static_cast<uint16_t>(k));
  }
  std::vector<uint16_t> added(kVectorRows);
  added.resize(set->add(keys.data(), static_cast<uint32_t>(keys.size() / words), added.data()));
  ASSERT_EQ(added, expected);
}

class WordSetModel : public ::testing::TestWithParam<uint32_t> {};

TEST_P(WordSetModel, HasTheKeysOnce) {
  const uint32_t words = GetParam();
  std::mt19937_64 random(words);
  Unlimited unlimited;
  for (const SetShape& shape : kSetShapes) {
    SCOPED_TRACE(shape.what);
    WordSet set(words, unlimited.query);
    std::set<Key> model;
    std::vector<uint64_t> batch;
    for (uint64_t row = 0; row < shape.rows;) {
      batch.clear();
      for (uint64_t n = 1 + random() % kVectorRows; n != 0 && row < shape.rows; --n, ++row) {
        Key key = shape.key(random());
        if (words == 1) key[1] = 0;
        batch.insert(batch.end(), key.begin(), key.begin() + words);
      }
      expect_added(&set, batch, words, &model);
      ASSERT_EQ(set.size(), model.size());
    }
    uint64_t read = 0;
    EXPECT_EQ(all_of(set, words, &read), model);
    EXPECT_EQ(read, model.size());
    set.make_dense();
    EXPECT_EQ(all_of(set, words, &read), model);
    EXPECT_EQ(read, model.size());
    std::set<Key> numbered;
    for (uint32_t n = 0; n < set.size(); ++n) {
      numbered.insert({set.key(n)[0], words == 2 ? set.key(n)[1] : 0});
    }
    EXPECT_EQ(numbered, model);
  }
}

// A set's keys in the order of its slots into another, as when workers' values are merged: it takes
// minutes where each is searched for behind those that came before.
TEST_P(WordSetModel, TakesAnotherSetsKeys) {
  constexpr uint64_t kKeys = 1'000'000;
  const uint32_t words = GetParam();
  Unlimited unlimited;
  uint16_t added[kVectorRows];
  const auto fill = [&](uint64_t first, uint64_t end, WordSet* set) {
    for (uint64_t key = first; key < end; ++key) {
      const uint64_t both[] = {key, key};
      set->add(both, 1, added);
    }
  };
  WordSet from(words, unlimited.query);
  fill(0, kKeys, &from);
  for (const uint64_t there : {uint64_t{0}, uint64_t{1'000}, kKeys / 2, kKeys * 5 / 4, kKeys * 2}) {
    SCOPED_TRACE(there);
    WordSet to(words, unlimited.query);
    fill(kKeys / 2, kKeys / 2 + there, &to);
    to.expect(from.size());
    std::vector<uint64_t> keys(size_t{kVectorRows} * words);
    uint64_t place = 0;
    while (const uint32_t count = from.read(&place, from.places(), keys.data())) {
      to.add(keys.data(), count, added);
    }
    EXPECT_EQ(to.size(), std::max(kKeys, kKeys / 2 + there));
  }
}

struct ListsShape {
  const char* what;
  uint64_t there;  // keys
  uint64_t lists;
  uint64_t keys;  // of each list
};

constexpr ListsShape kListsShapes[] = {
    {"an empty set", 0, 2, 50'000},
    {"a small one", 1'000, 3, 40'000},
    {"a large one that grows", 400'000, 2, 300'000},
    {"a large one with room", 300'000, 2, 10'000},
    {"no keys", 5'000, 2, 0},
};

// Keys of lists that overlap each other and the set, zeros among them; each new key is told once.
TEST_P(WordSetModel, TakesListsOfKeysByRanges) {
  const uint32_t words = GetParam();
  Unlimited unlimited;
  uint16_t added[kVectorRows];
  for (const uint32_t ranges : {2U, 7U, WordSet::kParts}) {
    ExecutionArena arena(placement(std::min(ranges, 4U)));
    for (const ListsShape& shape : kListsShapes) {
      SCOPED_TRACE(testing::Message() << shape.what << ", " << ranges << " ranges");
      WordSet set(words, unlimited.query);
      for (uint64_t key = 0; key < shape.there; ++key) {
        const uint64_t both[] = {key + 1, key};
        set.add(both, 1, added);
      }
      std::vector<WordSet::KeyLists> lists;
      uint64_t end = shape.there;
      for (uint64_t i = 0; i < shape.lists; ++i) {
        lists.emplace_back(words, ranges);
        for (uint64_t key = 0; key < shape.keys; ++key) {
          // Half of the list before, or of the set.
          const uint64_t number = key == 0 ? 0 : shape.there + i * shape.keys / 2 + key;
          const uint64_t both[] = {number, number == 0 ? 0 : number - 1};
          lists.back().add(both, 1);
          end = std::max(end, number);
        }
      }
      std::vector<std::set<Key>> told(ranges);
      set.add_lists(lists, ranges, Workers(&arena, unlimited.stop),
                    [&](uint32_t range, const uint64_t* keys, const uint16_t* of, uint32_t count) {
                      for (uint32_t i = 0; i < count; ++i) {
                        const uint64_t* const key = keys + size_t{of[i]} * words;
                        told[range].insert({key[0], words == 2 ? key[1] : 0});
                      }
                    });
      uint64_t told_count = 0;
      for (const std::set<Key>& of_range : told) told_count += of_range.size();
      const uint64_t zeros = shape.keys == 0 ? 0 : 1;
      EXPECT_EQ(told_count, end - shape.there + zeros);
      EXPECT_EQ(set.size(), end + zeros);
      uint64_t read = 0;
      EXPECT_EQ(all_of(set, words, &read).size(), end + zeros);
      EXPECT_EQ(read, set.size());
      const uint64_t known[] = {std::max<uint64_t>(end, 1), std::max<uint64_t>(end, 1) - 1};
      EXPECT_EQ(set.add(known, 1, added), 0U) << "a set in parts finds its keys";
    }
  }
}

// Both arrays are there while keys are moved.
TEST_P(WordSetModel, AsksForRoomBeforeItGrows) {
  const uint32_t words = GetParam();
  const StopFlag flag{false};
  const StopSignal stop(&flag);
  MemoryBudget memory{MemoryLimits{.query_bytes_max = size_t{64} << 10}};
  MemoryCharge kept(&memory, "the set");
  WordSet set(words, QueryLimits{&memory, &stop});
  size_t bytes = 0;
  uint16_t added[kVectorRows];
  const auto fill = [&] {
    for (uint64_t key = 1; key < 1'000'000; ++key) {
      const uint64_t both[] = {key, key};
      set.add(both, 1, added);
      kept.set(set.memory_bytes());
      bytes = set.memory_bytes();
    }
  };
  EXPECT_THROW(fill(), QueryFailure);
  EXPECT_EQ(bytes, size_t{32} << 10) << "the next array would be of 64 KiB";
}

INSTANTIATE_TEST_SUITE_P(Words, WordSetModel, ::testing::Values(1U, 2U));

}  // namespace
}  // namespace diptych::olap::test
