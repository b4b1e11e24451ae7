// Memory that runs out while a budget is kept: chunks stay in memory, and the next trim gets on.

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "tests/failing_allocation.h"
#include "tests/storage/kept_replica.h"
#include "tests/storage/one_row.h"
#include "tests/temporary_directory.h"

namespace diptych::storage {
namespace {

using ::diptych::test::FailingAllocation;
using test::KeptReplica;

constexpr size_t kBudget = 64 << 10;
constexpr uint32_t kRows = 48 * kBlockRowsMin;

base::TableSchema one_number() {
  base::TableSchema schema;
  schema.name = "numbers";
  schema.columns.push_back({"a", {base::TypeKind::kBigInt}, base::Nullability::kNotNull});
  schema.indexes.push_back(
      {"numbers_pkey", {}, base::IndexKind::kHash, base::Uniqueness::kUnique, {base::ColumnId(0)}});
  return schema;
}

// More than the budget, all of it changed.
void fill(Partition* partition) {
  const base::RowLayout layout{one_number()};
  std::vector<std::byte> record(layout.bytes);
  for (uint32_t row = 0; row < kRows; ++row) {
    const int64_t value = int64_t{row} * 7919 % 1'000'003;
    std::memcpy(record.data() + layout.columns[0].offset, &value, sizeof value);
    test::insert_row(*partition, base::RowId(row), record.data(), record.data());
  }
  partition->compact_all();
}

TEST(TrimMemory, WhatIsRefusedKeepsChunksInMemoryUntilTheNextTrim) {
  if (!::diptych::test::kAllocationsCanFail) GTEST_SKIP() << "a sanitizer has its own operator new";
  for (const auto lasts : {FailingAllocation::Lasts::kOnce, FailingAllocation::Lasts::kOn}) {
    uint64_t refused = 0;
    for (uint64_t number = 1;; ++number) {
      SCOPED_TRACE(testing::Message() << "allocation " << number);
      const diptych::test::TemporaryDirectory directory;
      KeptReplica kept(directory.path(), one_number(), kBudget);
      fill(&kept.partition());
      const size_t before = kept.buffers().figures().memory_bytes;
      ASSERT_GT(before, kBudget);
      bool failed = false;
      {
        const FailingAllocation failing(number, lasts);
        const auto trimmed = kept.buffers().trim();
        failed = failing.has_failed();
        if (!trimmed.ok()) {
          EXPECT_EQ(trimmed.code(), base::ErrorCode::kOutOfMemory);
          ++refused;
        }
      }
      ASSERT_TRUE(kept.buffers().trim().ok());
      EXPECT_LE(kept.buffers().figures().memory_bytes, kBudget);
      if (!failed) break;
    }
    EXPECT_GT(refused, 0U);
  }
}

}  // namespace
}  // namespace diptych::storage
