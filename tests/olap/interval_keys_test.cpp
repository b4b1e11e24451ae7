// Intervals as keys of groups and joins: those of one length are one key, and stay what they were.

#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "olap/execution/key/key_table.h"
#include "tests/olap/exec_table.h"

namespace diptych::olap {
namespace {

constexpr base::Interval kMonth{1, 0, 0};
constexpr base::Interval kThirtyDays{0, 30, 0};
constexpr base::Interval kThirtyOneDays{0, 31, 0};

// The numbers of the keys (interval, int), each with its values as they were packed.
struct Numbered {
  std::vector<uint32_t> numbers;
  std::vector<base::Interval> kept;
};

Numbered numbered(const std::vector<base::Interval>& intervals, const std::vector<int32_t>& others,
                  uint64_t null_slot = UINT64_MAX) {
  const PhysicalType types[] = {PhysicalType::kInt32, PhysicalType::kInterval};
  const KeyPacker packer(types, NullKeys::kEqual);
  const StopFlag never{false};
  const StopSignal stop(&never);
  MemoryBudget memory{MemoryLimits{}};
  KeyTable table(packer, QueryLimits{&memory, &stop}, "keys");
  VectorBuffer first(PhysicalType::kInt32);
  VectorBuffer second(PhysicalType::kInterval);
  for (size_t i = 0; i < intervals.size(); ++i) {
    first.values<int32_t>()[i] = others[i];
    second.values<base::Interval>()[i] = intervals[i];
  }
  if (null_slot != UINT64_MAX) set_bit(second.nulls(), null_slot);
  Selection all;
  select_all(static_cast<uint32_t>(intervals.size()), &all);
  const Vector columns[] = {first.view(), second.view_with_nulls()};
  std::vector<uint64_t> keys(intervals.size() * packer.words());
  std::vector<uint64_t> hashes(intervals.size());
  packer.pack(columns, all, keys.data(), hashes.data());
  Numbered result;
  result.numbers.resize(intervals.size());
  table.find_or_insert(keys.data(), hashes.data(), all.count, StringLife::kQuery,
                       result.numbers.data());
  VectorBuffer unpacked(PhysicalType::kInterval);
  const Vector kept = packer.unpack(1, table.keys(), 0, table.size(), &unpacked);
  result.kept.assign(kept.as<base::Interval>(), kept.as<base::Interval>() + table.size());
  return result;
}

TEST(IntervalKeys, OfOneLengthAreOneKeyThatStaysAsItCame) {
  const Numbered result = numbered({kMonth, kThirtyDays, kThirtyOneDays, kMonth}, {7, 7, 7, 8});
  EXPECT_EQ(result.numbers, (std::vector<uint32_t>{0, 0, 1, 2}));
  EXPECT_EQ(result.kept, (std::vector<base::Interval>{kMonth, kThirtyOneDays, kMonth}));
}

TEST(IntervalKeys, NullIsNoInterval) {
  const Numbered result = numbered({base::Interval{}, base::Interval{}, kMonth}, {1, 1, 1}, 1);
  EXPECT_EQ(result.numbers, (std::vector<uint32_t>{0, 1, 2}));
}

TEST(IntervalKeys, RandomOnesAreNumberedAsTheirLengths) {
  const uint64_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::vector<base::Interval> intervals;
  for (uint32_t i = 0; i < kVectorRows; ++i) {
    const auto months = static_cast<int32_t>(random() % 5) - 2;
    const auto days = static_cast<int32_t>(random() % 121) - 60;
    const int64_t micros = (static_cast<int64_t>(random() % 7) - 3) * base::kMicrosPerDay;
    intervals.push_back({months, days, micros});
  }
  const Numbered result = numbered(intervals, std::vector<int32_t>(kVectorRows, 5));
  std::map<int64_t, uint32_t> expected;
  for (uint32_t i = 0; i < kVectorRows; ++i) {
    const auto length = static_cast<int64_t>(intervals[i].normalized());
    const auto next = static_cast<uint32_t>(expected.size());
    EXPECT_EQ(result.numbers[i], expected.try_emplace(length, next).first->second);
  }
  EXPECT_LT(expected.size(), kVectorRows);
}

}  // namespace
}  // namespace diptych::olap
