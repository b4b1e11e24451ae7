// What a caller's code throws costs it its call, or its load, and nothing else.

#include <new>
#include <optional>
#include <stdexcept>

#include <gmock/gmock.h>

#include "tests/failing_allocation.h"
#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;
using ::testing::HasSubstr;
using namespace std::string_view_literals;

struct Speechless : std::exception {
  const char* what() const noexcept override { return nullptr; }
};
struct Speaking : std::exception {
  const char* what() const noexcept override { return "words that no short string has room for"; }
};

TEST(Thrown, ReadingTheErrorOfWhatWasFoundAbortsTheCall) {
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers);
    ASSERT_TRUE(bank.put(1, 7, "a", 1));
    const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update(bank.account_pkey, 1);
      txn.update(*row, set<&Account::balance>(2));
      return row.error();
    });
    EXPECT_EQ(outcome.code(), ErrorCode::kAborted);
    EXPECT_THAT(outcome.error().message, HasSubstr("the error of a Result is read"));
    EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      EXPECT_EQ(txn.get(bank.account_pkey, 1)->balance, 1);
      return {};
    }));
  }
}

TEST(Thrown, AnExceptionWithoutATextAbortsTheCall) {
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers);
    const auto outcome = bank.run([](Transaction&) -> Result<void> { throw Speechless(); });
    EXPECT_EQ(outcome.code(), ErrorCode::kAborted);
    EXPECT_EQ(outcome.error().message, "procedure \"script\" threw: an exception without a text");
  }
}

TEST(Thrown, AnExceptionForWhoseTextThereIsNoMemoryAbortsTheCall) {
  if (!diptych::test::kAllocationsCanFail) GTEST_SKIP() << "a sanitizer has its own operator new";
  Bank bank;
  std::optional<diptych::test::FailingAllocation> failing;
  const auto outcome = bank.run([&](Transaction&) -> Result<void> {
    failing.emplace(1);
    throw Speaking();
  });
  EXPECT_TRUE(failing->has_failed());
  failing.reset();
  EXPECT_EQ(outcome.code(), ErrorCode::kOutOfMemory);
  EXPECT_TRUE(bank.put(1, 7, "a", 1));
}

TEST(Thrown, ALoadWhoseSourceThrowsHasPutNothing) {
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers);
    ASSERT_TRUE(bank.put(1, 7, "one", 1));
    const base::Vid before = bank.engine->last_vid();
    const Account loaded[] = {{2, 7, "two"sv, 2, "a note"sv}, {3, 7, "three"sv, 3, ""sv}};
    int batches = 0;
    const auto next = [&]() -> Result<RowBatch> {
      if (++batches == 2) throw std::runtime_error("the line is cut");
      return RowBatch{reinterpret_cast<const std::byte*>(loaded), std::size(loaded)};
    };
    EXPECT_THROW(static_cast<void>(bank.engine->load(bank.account.table, next, nullptr).ok()),
                 std::runtime_error);
    EXPECT_EQ(bank.engine->last_vid(), before);
    EXPECT_EQ(bank.engine->row_count(bank.account.table), 1U);
    bank.expect_replica_agrees();
    ASSERT_TRUE(bank.put(2, 7, "two", 20));
    bank.expect_replica_agrees();
  }
}

}  // namespace
}  // namespace diptych::oltp::test
