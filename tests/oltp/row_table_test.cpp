// RowTable: which slots are free once rows were put back under their ids, however far apart.

#include "oltp/row_table.h"

#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>

#include "tests/failing_allocation.h"

namespace diptych::oltp::test {
namespace {

using diptych::test::FailingAllocation;
using diptych::test::kAllocationsCanFail;

constexpr size_t kRowBytes = 24;

class Rows : public RowTable {
 public:
  Rows() : RowTable(kRowBytes, 1, base::MemoryPlace(base::NumaNode(0))) {}
  void put_back(std::initializer_list<uint64_t> ids) {
    for (const uint64_t id : ids) {
      cover_one(base::RowId(id));
      slot(base::RowId(id)).set_words(1, live_word(base::Vid(1)));
    }
  }
};

std::vector<uint64_t> allocate(RowTable* table, size_t count) {
  SlotAllocator allocator;
  std::vector<uint64_t> ids;
  for (size_t i = 0; i < count; ++i) {
    ids.push_back(allocator.allocate(table, true)->value);
    // A slot that does not exist is met here.
    table->slot(base::RowId(ids.back())).set_words(1, live_word(base::Vid(2)));
  }
  return ids;
}

TEST(RowTable, DeadSlotsAreTakenInTheirOrderAndThenFreshOnes) {
  Rows table;
  table.put_back({0, 2, 3, 5000, 5002});
  table.free_dead_slots(5);
  std::vector<uint64_t> expected = {1};
  for (uint64_t id = 4; id < 5000; ++id) expected.push_back(id);
  for (const uint64_t id : {5001, 5003, 5004}) expected.push_back(id);
  EXPECT_EQ(allocate(&table, expected.size()), expected);
}

TEST(RowTable, ATableThatMayNotGrowGivesOutTheSlotsThatHaveMemory) {
  Rows table;
  const uint64_t far = uint64_t{1} << 32;
  table.put_back({1, far});
  table.free_dead_slots(2);
  SlotAllocator allocator;
  EXPECT_EQ(allocator.allocate(&table, false)->value, 0U);
  uint64_t taken = 1;
  while (const auto id = allocator.allocate(&table, false)) {
    ASSERT_TRUE(table.slot(*id).word.load() == 0) << id->value;  // it exists
    ASSERT_LT(++taken, 4'000'000U) << "slots of an extent are fewer";
  }
  EXPECT_GT(taken, 1000U);
  const size_t bytes = table.allocated_bytes();
  EXPECT_TRUE(allocator.allocate(&table, true).has_value());
  EXPECT_GE(table.allocated_bytes(), bytes);
}

TEST(RowTable, SlotsThatAreFreedAgainAreThoseThatAreDeadThen) {
  Rows table;
  table.put_back({9});
  table.free_dead_slots(1);
  EXPECT_EQ(allocate(&table, 3), (std::vector<uint64_t>{0, 1, 2}));
  table.free_dead_slots(4);
  EXPECT_EQ(allocate(&table, 7), (std::vector<uint64_t>{3, 4, 5, 6, 7, 8, 10}));
}

// As a damaged log has them: no memory has room for a list of all slots between two such rows.
TEST(RowTable, FreeSlotsBetweenRowsThatLieFarApartTakeTwoAllocations) {
  Rows table;
  table.put_back({0, 100, RowTable::kSlotsMax - 1});
  {
    const FailingAllocation fails(kAllocationsCanFail ? 3 : 0, FailingAllocation::Lasts::kOn);
    ASSERT_NO_THROW(table.free_dead_slots(3));
  }
  EXPECT_LE(table.allocated_bytes(), size_t{100} << 20) << "and no memory of their own";
  const std::vector<uint64_t> ids = allocate(&table, 1'000'000);
  for (size_t i = 0; i < ids.size(); ++i) ASSERT_EQ(ids[i], i + (i < 99 ? 1 : 2));
}

}  // namespace
}  // namespace diptych::oltp::test
