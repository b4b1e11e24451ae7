// Refs and handles of another database, and what goes too deep: the transaction fails, with words
// that name the procedure, and no memory is touched that is not the row's.

#include <functional>
#include <limits>

#include <gmock/gmock.h>

#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;
using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::string_view_literals;

// The same ids in its database as an account's, and more bytes than an account has.
struct Ledger {
  int64_t id;
  base::Varchar<64> first;
  base::Varchar<64> second;
  base::Varchar<64> third;
  int64_t total;
};
BOOST_DESCRIBE_STRUCT(Ledger, (), (id, first, second, third, total))

struct Price {
  int64_t id;
  base::Decimal<8, 2> amount;
};
BOOST_DESCRIBE_STRUCT(Price, (), (id, amount))

base::Catalog ledger_catalog() {
  using base::IndexKind;
  using base::Uniqueness;
  base::Catalog catalog;
  base::TableSchema ledger = schema_of<Ledger>("ledger");
  ledger.indexes = {index("ledger_pkey", IndexKind::kHash, Uniqueness::kUnique, {0}),
                    index("ledger_first", IndexKind::kHash, Uniqueness::kUnique, {1}),
                    index("ledger_total", IndexKind::kOrdered, Uniqueness::kNonUnique, {4})};
  EXPECT_TRUE(catalog.add_table(std::move(ledger)));
  return catalog;
}

TEST(ForeignRef, OfAnIndexIsRefusedInEveryUse) {
  const base::Catalog other = ledger_catalog();
  const auto by_id = *bind_index<&Ledger::id>(other, "ledger_pkey");
  const auto by_first = *bind_index<&Ledger::first>(other, "ledger_first");
  const auto by_total = *bind_index<&Ledger::total>(other, "ledger_total");
  const auto go_on = [](const RowHandle&, const Ledger&) { return ScanStep::kContinue; };
  const std::function<void(Transaction&)> uses[] = {
      [&](Transaction& txn) { EXPECT_FALSE(txn.get(by_id, 2).ok()); },
      [&](Transaction& txn) { EXPECT_FALSE(txn.find(by_id, 2).ok()); },
      [&](Transaction& txn) { EXPECT_FALSE(txn.get(by_first, "b"sv).ok()); },
      [&](Transaction& txn) {
        auto row = txn.get_for_update<&Ledger::total>(by_id, 2);
        EXPECT_FALSE(row.ok());
        if (row) txn.update(*row, set<&Ledger::total>(-1));
      },
      [&](Transaction& txn) { EXPECT_FALSE(txn.scan(by_id, prefix(by_id, 2), {}, go_on).ok()); },
      [&](Transaction& txn) { EXPECT_FALSE(txn.scan(by_total, KeyRange{}, {}, go_on).ok()); }};
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers);
    for (const int64_t id : {1, 2, 3}) {
      ASSERT_TRUE(bank.put(id, 7, std::string(1, static_cast<char>('`' + id)), id));
    }
    const TableText before = bank.rows(bank.account.table);
    for (const auto& use : uses) {
      const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
        use(txn);
        return {};
      });
      ASSERT_EQ(outcome.code(), ErrorCode::kInvalidArgument);
      EXPECT_THAT(outcome.error().message,
                  AllOf(HasSubstr("procedure \"script\", table \"account\""),
                        HasSubstr("is the IndexRef another database's?")));
    }
    // A plan may name what it likes.
    EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      AccessPlan plan = txn.make_plan();
      plan.row(by_id, 2);
      plan.row(by_first, "b"sv);
      plan.range(by_total, 5, 2);
      plan.end(by_total, 2);
      plan.fetch_rows();
      return {};
    }));
    EXPECT_EQ(bank.rows(bank.account.table), before);
    bank.expect_replica_agrees();
  }
}

TEST(ForeignHandle, OfAnotherEngineIsRefused) {
  for (const uint32_t workers : {1U, 2U}) {
    Bank one(workers);
    Bank two(workers);
    ASSERT_TRUE(one.put(1, 7, "a", 1));
    ASSERT_TRUE(two.put(1, 7, "b", 1));
    RowHandle kept{};
    ASSERT_TRUE(one.run([&](Transaction& txn) -> Result<void> {
      kept = txn.find(one.account_pkey, 1)->handle;
      return {};
    }));
    const auto outcome = two.run([&](Transaction& txn) -> Result<void> {
      auto row = txn.claim<Account>(kept);
      if (!row) return row.error();
      txn.update(*row, set<&Account::balance>(99));
      return {};
    });
    EXPECT_EQ(outcome.code(), ErrorCode::kInvalidArgument);
    ASSERT_TRUE(one.run([&](Transaction& txn) -> Result<void> {
      EXPECT_EQ(txn.get(one.account_pkey, 1)->balance, 1);
      return {};
    }));
  }
}

TEST(MadeUpClaim, IsRefusedThoughItsNewValueDoesNotFitEither) {
  Bank bank;
  for (const int64_t units : {int64_t{1}, std::numeric_limits<int64_t>::max()}) {
    const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
      txn.update(Claimed<Price, Price>{}, set<&Price::amount>({units}));
      return {};
    });
    EXPECT_EQ(outcome.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(outcome.error().message, HasSubstr("a row handle is used in the transaction"));
  }
}

TEST(NestedScans, BeyondTheLimitFailTheTransaction) {
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers);
    ASSERT_TRUE(bank.put(1, 7, "a", 1));
    uint32_t deepest = 0;
    const std::function<void(Transaction&, uint32_t)> nest = [&](Transaction& txn, uint32_t more) {
      if (more == 0) return;
      auto done = txn.scan(bank.account_branch, prefix(bank.account_branch, 7), {},
                           [&](const RowHandle&, const Account&) {
                             ++deepest;
                             nest(txn, more - 1);
                             return ScanStep::kContinue;
                           });
      static_cast<void>(done.ok());
    };
    const auto outcome_of_depth = [&](uint32_t depth) {
      deepest = 0;
      return bank.run([&](Transaction& txn) -> Result<void> {
        nest(txn, depth);
        return {};
      });
    };
    EXPECT_TRUE(outcome_of_depth(128));
    EXPECT_EQ(deepest, 128U);
    const auto outcome = outcome_of_depth(300);
    EXPECT_EQ(deepest, 128U);
    EXPECT_EQ(outcome.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(outcome.error().message,
                HasSubstr("procedure \"script\" has more than 128 scans open within each other"));
  }
}

// Each look at the head passes those that went before it.
TEST(OperationsOfAScan, AreOfRowsThatAreThere) {
  constexpr int32_t kRows = 200;
  constexpr uint64_t kOperations = 3'000;
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers, 1000, 10'000'000'000, IsolationLevel::kSnapshot, kParcelGroups, kOperations);
    ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      for (int32_t i = 0; i < kRows; ++i) EXPECT_TRUE(txn.insert(bank.entry, Entry{1, i, {}}));
      return {};
    }));
    const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
      for (int32_t i = 0; i < kRows; ++i) {
        const auto pop = [&](const RowHandle& handle, const Entry& entry) {
          EXPECT_EQ(entry.number, i);
          txn.erase(*txn.claim<Entry>(handle));
          return ScanStep::kStop;
        };
        auto popped = txn.scan(bank.entry_pkey, prefix(bank.entry_pkey, 1), {.limit = 1}, pop);
        if (!popped) return popped.error();
      }
      return {};
    });
    EXPECT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(bank.rows(bank.entry.table).size(), 0U);
    bank.expect_replica_agrees();
  }
}

}  // namespace
}  // namespace diptych::oltp::test
