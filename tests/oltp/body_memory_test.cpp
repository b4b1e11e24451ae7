// Memory that runs out at any allocation of a procedure's body: the call is aborted, and rows,
// indexes and exports are as without it, also where the body makes nothing of it.

#include <new>

#include "tests/failing_allocation.h"
#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::Result;
using namespace std::string_view_literals;

class BodyMemory : public testing::TestWithParam<IsolationLevel> {};

INSTANTIATE_TEST_SUITE_P(Levels, BodyMemory,
                         testing::Values(IsolationLevel::kSnapshot, IsolationLevel::kSerializable),
                         [](const auto& test) {
                           return test.param == IsolationLevel::kSnapshot ? "Snapshot"
                                                                          : "Serializable";
                         });

// Strings of the heap, keys that move, rows that come and go, in all orders.
Result<void> change_everything(Bank& bank, Transaction& txn, int64_t id) {
  const std::string note(90, 'n');
  const std::string name = std::to_string(id);
  auto added =
      txn.insert(bank.account, Account{id, 7, std::string_view(name), id, std::string_view(note)});
  if (!added) return added.error();
  auto own = txn.claim<Account>(*added);
  if (!own) return own.error();
  txn.update(*own, set<&Account::branch>(8), set<&Account::note>("moved"sv));
  auto refused = txn.insert(bank.account, Account{id + 2, 7, "three"sv, id,
                                                  std::string_view(note)});  // the name is taken
  if (refused || refused.code() != base::ErrorCode::kAlreadyExists) {
    return base::Error(base::ErrorCode::kAborted, "an insert was not refused as it was to be");
  }
  auto passing = txn.insert(bank.account, Account{id + 1, 7, "passes"sv, id, "by"sv});
  if (!passing) return passing.error();
  auto passing_row = txn.claim<Account>(*passing);
  if (!passing_row) return passing_row.error();
  txn.erase(*passing_row);
  auto present = txn.get_for_update(bank.account_pkey, int64_t{1});
  if (!present) return present.error();
  txn.update(*present, set<&Account::balance>(id),
             set<&Account::name>(std::string_view(name + "x")),
             set<&Account::note>(std::string_view(note)));
  auto gone = txn.get_for_update(bank.account_pkey, int64_t{2});
  if (!gone) return gone.error();
  txn.erase(*gone);
  auto again = txn.insert(bank.account, Account{2, 7, "two"sv, id, std::string_view(note)});
  if (!again) return again.error();
  return {};
}

TEST_P(BodyMemory, ThatRunsOutAbortsTheCallAndNothingElse) {
  if (!diptych::test::kAllocationsCanFail) GTEST_SKIP() << "a sanitizer has its own operator new";
  using Lasts = diptych::test::FailingAllocation::Lasts;
  for (const uint32_t workers : {1u, 2u}) {
    for (const auto& [swallows, lasts] :
         {std::pair(false, Lasts::kOnce), {true, Lasts::kOnce}, {true, Lasts::kOn}}) {
      uint64_t aborted = 0;
      for (uint64_t number = 1;; ++number) {
        SCOPED_TRACE(testing::Message() << "allocation " << number << ", workers " << workers);
        Bank bank(workers, 1000, 10'000'000'000, GetParam());
        ASSERT_TRUE(bank.put(1, 1, "one", 10, std::string(95, 'o')));
        ASSERT_TRUE(bank.put(2, 1, "two", 20, "short"));
        ASSERT_TRUE(bank.put(3, 1, "three", 30, "stays"));
        const TableText before = bank.rows(bank.account.table);
        bool has_failed = false;
        const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
          const diptych::test::FailingAllocation failing(number, lasts);
          try {
            auto done = change_everything(bank, txn, 100);
            has_failed = failing.has_failed();
            return done;
          } catch (const std::bad_alloc&) {
            has_failed = true;
            if (!swallows) throw;
            return {};
          }
        });
        if (!has_failed) {
          ASSERT_TRUE(outcome) << outcome.error().to_string();
          break;
        }
        if (!outcome) {
          ++aborted;
          ASSERT_EQ(bank.rows(bank.account.table), before);
        }
        bank.expect_replica_agrees();
        // What the call has left behind, if anything, shows in the next ones.
        ASSERT_TRUE(bank.run([&](Transaction& txn) { return change_everything(bank, txn, 200); }));
        ASSERT_TRUE(bank.run([&](Transaction& txn) { return change_everything(bank, txn, 300); }));
        bank.expect_replica_agrees();
        if (HasFailure()) return;
      }
      EXPECT_GT(aborted, 5U);
    }
  }
}

// As CREATE INDEX does: what is refused is not there, and its number is the next one's.
TEST(IndexMemory, ThatRunsOutLeavesNoIndex) {
  if (!diptych::test::kAllocationsCanFail) GTEST_SKIP() << "a sanitizer has its own operator new";
  using Lasts = diptych::test::FailingAllocation::Lasts;
  for (const Lasts lasts : {Lasts::kOnce, Lasts::kOn}) {
    for (uint64_t number = 1;; ++number) {
      SCOPED_TRACE(testing::Message() << "allocation " << number);
      Bank bank;
      for (int64_t id = 0; id < 20; ++id)
        ASSERT_TRUE(bank.put(id, 7, std::to_string(id), 100 - id));
      const auto add = [&](std::string name, uint16_t column) {
        return *bank.catalog.add_index(bank.account.table,
                                       index(std::move(name), base::IndexKind::kOrdered,
                                             base::Uniqueness::kNonUnique, {column}));
      };
      const base::IndexId by_money = add("by_money", 3);
      bool is_added = false;
      {
        const diptych::test::FailingAllocation failing(number, lasts);
        try {
          is_added = bank.engine->add_index(bank.account.table, by_money).ok();
        } catch (const std::bad_alloc&) {
          is_added = false;
        }
      }
      if (is_added) break;
      bank.catalog.remove_last_index(bank.account.table);
      const base::IndexId by_branch = add("by_branch", 1);
      ASSERT_EQ(by_branch, by_money);
      ASSERT_TRUE(bank.engine->add_index(bank.account.table, by_branch));
      bank.engine->check_indexes();
      ASSERT_TRUE(bank.put(30, 7, "thirty", 1));
      bank.engine->check_indexes();
      ASSERT_LT(number, 10'000U);
    }
  }
}

}  // namespace
}  // namespace diptych::oltp::test
