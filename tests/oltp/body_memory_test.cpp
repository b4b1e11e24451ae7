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
  for (const uint32_t workers : {1u, 2u}) {
    for (const bool swallows : {false, true}) {
      uint64_t aborted = 0;
      for (uint64_t number = 1;; ++number) {
        SCOPED_TRACE(testing::Message() << "allocation " << number << ", workers " << workers);
        Bank bank(workers, 1000, 10'000'000'000, GetParam());
        ASSERT_TRUE(bank.put(1, 1, "one", 10, std::string(95, 'o')));
        ASSERT_TRUE(bank.put(2, 1, "two", 20, "short"));
        const TableText before = bank.rows(bank.account.table);
        bool has_failed = false;
        const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
          const diptych::test::FailingAllocation failing(number);
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

}  // namespace
}  // namespace diptych::oltp::test
