// Numbers of keys, against a map: keys one batch after the other, keys that are known to be new,
// and all keys at once by several workers.

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "olap/execution/key/key_table.h"
#include "olap/execution/limits/query_failure.h"
#include "tests/olap/exec_table.h"

namespace diptych::olap::test {
namespace {

// Hashes are the test's own, so that keys can be made to meet.
struct KeysShape {
  const char* what;
  uint64_t rows;
  uint64_t keys;
  uint64_t (*hash)(uint64_t key);
};

uint64_t scattered(uint64_t key) {
  return key * 0x9e3779b97f4a7c15 ^ (key * 0xd6e8feb86659fd93 >> 29);
}

constexpr KeysShape kKeysShapes[] = {
    {"no keys", 0, 1, scattered},
    {"one key", 40'000, 1, scattered},
    {"different keys", 100'000, 1 << 30, scattered},
    {"keys that come several times", 100'000, 20'000, scattered},
    {"fewer rows than workers", 3, 5, scattered},
    // All fall into the last slots: of them most go on from the first slot.
    {"the last slots", 9'000, 1'000, [](uint64_t key) { return (key << 32) | 0xfffffffe; }},
    // Runs that cross from one range of slots to the next.
    {"few slots", 30'000, 3'000, [](uint64_t key) { return (key << 40) | key % 40 * 1700; }},
    {"equal tags", 20'000, 15'000, [](uint64_t key) { return key % 7000; }},
};

struct TestKeys {
  std::vector<uint64_t> keys;
  std::vector<uint64_t> hashes;
  std::vector<uint32_t> expected;  // numbers, by their first row
  std::map<uint64_t, uint32_t> model;
};

TestKeys make_keys(const KeysShape& shape, std::mt19937_64* random) {
  TestKeys made;
  for (uint64_t row = 0; row < shape.rows; ++row) {
    const uint64_t key = (*random)() % shape.keys;
    made.keys.push_back(key);
    made.hashes.push_back(shape.hash(key));
    const auto number = static_cast<uint32_t>(made.model.size());
    made.expected.push_back(made.model.try_emplace(key, number).first->second);
  }
  return made;
}

// The table has the model's keys, and no other.
void expect_model(const KeyTable& table, const TestKeys& keys, const KeysShape& shape,
                  std::mt19937_64* random) {
  ASSERT_EQ(table.size(), keys.model.size());
  for (int round = 0; round < 40; ++round) {
    std::vector<uint64_t> wanted;
    std::vector<uint64_t> hashes;
    std::vector<uint32_t> expected;
    for (uint32_t k = 0; k < kVectorRows; ++k) {
      const bool known = !keys.keys.empty() && k % 2 == 0;
      wanted.push_back(known ? keys.keys[(*random)() % keys.keys.size()]
                             : (*random)() % (shape.keys * 2));
      hashes.push_back(shape.hash(wanted.back()));
      const auto found = keys.model.find(wanted.back());
      expected.push_back(found == keys.model.end() ? KeyTable::kNoKey : found->second);
    }
    std::vector<uint32_t> numbers(kVectorRows);
    table.find(wanted.data(), hashes.data(), kVectorRows, numbers.data());
    ASSERT_EQ(numbers, expected);
  }
  for (const auto& [key, number] : keys.model) ASSERT_EQ(table.keys()[number], key);
}

GrowingArray<uint64_t> array_of(const std::vector<uint64_t>& values) {
  GrowingArray<uint64_t> array;
  for (const uint64_t value : values) array.push_back(value);
  return array;
}

TEST(KeyTableModel, AgreesWithAMapHoweverItIsFilled) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const StopFlag never{false};
  const StopSignal stop(&never);
  MemoryBudget memory{MemoryLimits{}};
  const QueryLimits limits{&memory, &stop};
  const PhysicalType types[] = {PhysicalType::kInt64};
  const KeyPacker packer(types, NullKeys::kNever);
  for (const KeysShape& shape : kKeysShapes) {
    SCOPED_TRACE(shape.what);
    const TestKeys keys = make_keys(shape, &random);
    std::vector<uint32_t> numbers(shape.rows);
    KeyTable batches(packer, limits, "keys");
    for (uint64_t first = 0; first < shape.rows; first += kVectorRows) {
      batches.find_or_insert(
          &keys.keys[first], &keys.hashes[first],
          static_cast<uint32_t>(std::min<uint64_t>(kVectorRows, shape.rows - first)),
          StringLife::kQuery, &numbers[first]);
    }
    ASSERT_EQ(numbers, keys.expected);
    expect_model(batches, keys, shape, &random);

    KeyTable copied(packer, limits, "keys");
    for (uint32_t first = 0; first < batches.size(); first += kVectorRows) {
      const uint32_t count = std::min(kVectorRows, batches.size() - first);
      copied.insert_new(batches.keys() + first, batches.hashes() + first, count, numbers.data());
      ASSERT_EQ(numbers[count - 1], first + count - 1);
    }
    expect_model(copied, keys, shape, &random);

    // What was appended has slots once a key is looked for.
    KeyTable appended(packer, limits, "keys");
    appended.append(batches.keys(), batches.hashes(), batches.size());
    if (shape.rows != 0) {
      uint32_t number = 0;
      appended.find_or_insert(keys.keys.data(), keys.hashes.data(), 1, StringLife::kQuery, &number);
      ASSERT_EQ(number, 0U);
      expect_model(appended, keys, shape, &random);
    }

    for (const uint32_t workers : {1, 2, 3, 8}) {
      SCOPED_TRACE(testing::Message() << workers << " workers");
      ExecutionArena arena(placement(workers));
      KeyTable table(packer, limits, "keys");
      std::fill(numbers.begin(), numbers.end(), 77);
      table.build(array_of(keys.keys), array_of(keys.hashes), Workers(&arena, stop),
                  numbers.data());
      ASSERT_EQ(numbers, keys.expected);
      expect_model(table, keys, shape, &random);
    }
  }
}

TEST(KeyTable, LooksAtTheSignalWhileItGrows) {
  const PhysicalType types[] = {PhysicalType::kInt64};
  const KeyPacker packer(types, NullKeys::kNever);
  StopFlag flag{false};
  const StopSignal stop(&flag);
  MemoryBudget memory{MemoryLimits{}};
  KeyTable table(packer, QueryLimits{&memory, &stop}, "keys");
  const auto insert = [&](uint64_t key) {
    const uint64_t hash = scattered(key);
    uint32_t number;
    table.find_or_insert(&key, &hash, 1, StringLife::kQuery, &number);
  };
  insert(0);
  // relaxed: one thread.
  flag.store(true, std::memory_order_relaxed);
  uint64_t key = 1;
  const auto grow = [&] {
    while (key < 1000) insert(key++);
  };
  EXPECT_THROW(grow(), QueryFailure);
  EXPECT_GT(key, 10u) << "a key that has room costs no look";
}

TEST(KeyTable, AsksForRoomBeforeItGrows) {
  const PhysicalType types[] = {PhysicalType::kInt64};
  const KeyPacker packer(types, NullKeys::kNever);
  const StopFlag never{false};
  const StopSignal stop(&never);
  MemoryBudget memory{MemoryLimits{.query_bytes_max = size_t{64} << 10}};
  MemoryCharge kept(&memory, "the table");
  KeyTable table(packer, QueryLimits{&memory, &stop}, "keys");
  size_t slot_bytes = 0;
  const auto grow = [&] {
    for (uint64_t key = 0; key < 1'000'000; ++key) {
      const uint64_t hash = scattered(key);
      uint32_t number;
      table.find_or_insert(&key, &hash, 1, StringLife::kQuery, &number);
      slot_bytes = table.memory_bytes() - table.size() * 2 * sizeof(uint64_t);
      kept.set(table.memory_bytes());
    }
  };
  EXPECT_THROW(grow(), QueryFailure);
  // 1,024 keys with their hashes lie beside them.
  EXPECT_EQ(table.size(), 1024u);
  EXPECT_EQ(slot_bytes, size_t{16} << 10);
}

}  // namespace
}  // namespace diptych::olap::test
