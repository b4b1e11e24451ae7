// Which anomalies snapshot isolation admits, by interleaving two transactions step by step on two
// workers; and the same guarantees at large with more workers than cores.

#include <atomic>

#include "tests/oltp/engine_fixture.h"
#include "tests/oltp/turns.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;

constexpr uint32_t kNoRetries = 0;

Result<void> set_balance(const Bank& bank, Transaction& txn, int64_t id, int64_t balance) {
  auto row = txn.get_for_update<&Account::balance>(bank.account_pkey, id);
  if (!row) return row.error();
  txn.update(*row, set<&Account::balance>(balance));
  return {};
}

int64_t balance_of(const Bank& bank, Transaction& txn, int64_t id) {
  return *txn.get<&Account::balance>(bank.account_pkey, id);
}

class IsolationStress : public ::testing::Test {
 protected:
  IsolationStress() {
    EXPECT_TRUE(bank.put(1, 7, "ann", 50));
    EXPECT_TRUE(bank.put(2, 7, "bob", 50));
  }

  Bank bank{2, kNoRetries};
  Turns turns;
};

TEST_F(IsolationStress, NoReadIsDirty) {
  const auto calls = bank.run_all({[&](Transaction& txn) -> Result<void> {
                                     EXPECT_TRUE(set_balance(bank, txn, 1, 60));
                                     turns.pass(1);
                                     turns.await(2);
                                     return txn.abort("never mind");
                                   },
                                   [&](Transaction& txn) -> Result<void> {
                                     turns.await(1);
                                     EXPECT_EQ(balance_of(bank, txn, 1), 50);
                                     turns.pass(2);
                                     return {};
                                   }});
  EXPECT_EQ(calls[0].outcome().code(), ErrorCode::kAborted);
  EXPECT_TRUE(calls[1].outcome());
}

TEST_F(IsolationStress, ReadsRepeatAndScansMeetNoPhantoms) {
  const auto calls = bank.run_all(
      {[&](Transaction& txn) -> Result<void> {
         turns.await(1);
         EXPECT_TRUE(txn.insert(bank.account, Account{3, 7, std::string_view("cid"), 1, {}}));
         return set_balance(bank, txn, 1, 60);
       },
       [&](Transaction& txn) -> Result<void> {
         const auto rows = [&] {
           std::vector<int64_t> ids;
           auto visited =
               txn.scan<&Account::id>(bank.account_balance, prefix(bank.account_balance, 7), {},
                                      [&](const RowHandle&, int64_t id) {
                                        ids.push_back(id);
                                        return ScanStep::kContinue;
                                      });
           EXPECT_TRUE(visited);
           return ids;
         };
         EXPECT_EQ(balance_of(bank, txn, 1), 50);
         const auto before = rows();
         turns.pass(1);
         await_commit_after(bank, txn);
         EXPECT_EQ(balance_of(bank, txn, 1), 50);
         EXPECT_EQ(rows(), before);
         EXPECT_EQ(before.size(), 2u);
         return {};
       }});
  EXPECT_TRUE(calls[0].outcome());
  EXPECT_TRUE(calls[1].outcome());
}

// Who claims a row and writes nothing leaves it as new as it was.
TEST_F(IsolationStress, ReadsRepeatWhereARowWasClaimedOnlyAfterItChanged) {
  const auto calls = bank.run_all({[&](Transaction& txn) -> Result<void> {
                                     EXPECT_EQ(balance_of(bank, txn, 1), 50);
                                     turns.pass(1);
                                     turns.await(2);
                                     EXPECT_EQ(balance_of(bank, txn, 1), 50);
                                     return {};
                                   },
                                   [&](Transaction& txn) -> Result<void> {
                                     turns.await(1);
                                     return set_balance(bank, txn, 1, 60);
                                   },
                                   [](Transaction&) -> Result<void> { return {}; },
                                   [&](Transaction& txn) -> Result<void> {
                                     auto row = txn.get_for_update(bank.account_pkey, 1);
                                     return row ? Result<void>() : row.error();
                                   },
                                   [](Transaction&) -> Result<void> { return {}; },
                                   [&](Transaction&) -> Result<void> {
                                     turns.pass(2);
                                     return {};
                                   }});
  for (const auto& call : calls) EXPECT_TRUE(call.outcome());
}

TEST_F(IsolationStress, NoUpdateIsLost) {
  const auto calls = bank.run_all({[&](Transaction& txn) -> Result<void> {
                                     turns.await(1);
                                     return set_balance(bank, txn, 1, 60);
                                   },
                                   [&](Transaction& txn) -> Result<void> {
                                     const int64_t balance = balance_of(bank, txn, 1);
                                     turns.pass(1);
                                     await_commit_after(bank, txn);
                                     return set_balance(bank, txn, 1, balance + 1);
                                   }});
  EXPECT_TRUE(calls[0].outcome());
  EXPECT_EQ(calls[1].outcome().code(), ErrorCode::kConflict);
  bank.expect_replica_agrees();
}

TEST_F(IsolationStress, TheFirstToClaimWinsAndAConflictSticks) {
  const auto calls =
      bank.run_all({[&](Transaction& txn) -> Result<void> {
                      EXPECT_TRUE(set_balance(bank, txn, 1, 60));
                      turns.pass(1);
                      turns.await(2);
                      return {};
                    },
                    [&](Transaction& txn) -> Result<void> {
                      turns.await(1);
                      EXPECT_EQ(set_balance(bank, txn, 1, 70).code(), ErrorCode::kConflict);
                      EXPECT_EQ(txn.get(bank.account_pkey, 2).code(), ErrorCode::kConflict);
                      auto inserted = txn.insert(bank.entry, Entry{1, 1, {}});
                      EXPECT_EQ(inserted.code(), ErrorCode::kConflict);
                      turns.pass(2);
                      return {};  // a conflict cannot be swallowed
                    }});
  EXPECT_TRUE(calls[0].outcome());
  EXPECT_EQ(calls[1].outcome().code(), ErrorCode::kConflict);
}

// Snapshot isolation admits write skew: both read what the other writes. Serializable does not
// (hermitage_test.cpp).
TEST_F(IsolationStress, WriteSkewIsAdmitted) {
  const auto body = [&](int64_t reads, int64_t writes, int first, int second) {
    return [this, reads, writes, first, second](Transaction& txn) -> Result<void> {
      const int64_t balance = balance_of(bank, txn, reads);
      turns.await(first);
      turns.pass(first + 1);
      turns.await(second);
      return set_balance(bank, txn, writes, balance - 100);
    };
  };
  const auto calls = bank.run_all({body(1, 2, 0, 2), body(2, 1, 1, 2)});
  EXPECT_TRUE(calls[0].outcome());
  EXPECT_TRUE(calls[1].outcome());
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    EXPECT_EQ(balance_of(bank, txn, 1), -50);
    EXPECT_EQ(balance_of(bank, txn, 2), -50);
    return {};
  }));
}

TEST_F(IsolationStress, InsertsOfOneKeyConflictWhileOneIsUncommitted) {
  const auto insert = [&](Transaction& txn) {
    return txn.insert(bank.account, Account{3, 7, std::string_view("cid"), 1, {}});
  };
  const auto calls = bank.run_all({[&](Transaction& txn) -> Result<void> {
                                     EXPECT_TRUE(insert(txn));
                                     turns.pass(1);
                                     turns.await(2);
                                     return {};
                                   },
                                   [&](Transaction& txn) -> Result<void> {
                                     turns.await(1);
                                     EXPECT_EQ(insert(txn).code(), ErrorCode::kConflict);
                                     turns.pass(2);
                                     return {};
                                   }});
  EXPECT_TRUE(calls[0].outcome());
  EXPECT_EQ(calls[1].outcome().code(), ErrorCode::kConflict);
  bank.expect_replica_agrees();
}

TEST_F(IsolationStress, AnInsertOfAKeyCommittedAfterTheSnapshotConflicts) {
  const auto insert = [&](Transaction& txn) -> Result<void> {
    auto done = txn.insert(bank.account, Account{3, 7, std::string_view("cid"), 1, {}});
    if (!done) return done.error();
    return {};
  };
  const auto calls = bank.run_all({[&](Transaction& txn) -> Result<void> {
                                     turns.await(1);
                                     return insert(txn);
                                   },
                                   [&](Transaction& txn) -> Result<void> {
                                     turns.pass(1);
                                     await_commit_after(bank, txn);
                                     return insert(txn);
                                   }});
  EXPECT_TRUE(calls[0].outcome());
  EXPECT_EQ(calls[1].outcome().code(), ErrorCode::kConflict);
  EXPECT_EQ(bank.run(insert).code(), ErrorCode::kAlreadyExists);
}

TEST(RetryStress, AConflictIsRunAgainUpToTheLimit) {
  Bank bank(2, 2);
  ASSERT_TRUE(bank.put(1, 7, "ann", 50));
  std::atomic<int> runs{0};
  Turns turns;
  const auto calls = bank.run_all({[&](Transaction& txn) -> Result<void> {
                                     EXPECT_TRUE(set_balance(bank, txn, 1, 60));
                                     turns.pass(1);
                                     turns.await(4);
                                     return {};
                                   },
                                   [&](Transaction& txn) -> Result<void> {
                                     turns.await(1);
                                     auto done = set_balance(bank, txn, 1, 70);
                                     if (++runs == 3) turns.pass(4);
                                     return done;
                                   }});
  EXPECT_TRUE(calls[0].outcome());
  EXPECT_EQ(calls[1].outcome().code(), ErrorCode::kConflict);
  EXPECT_EQ(calls[1].request.conflicts, 2u);
  EXPECT_EQ(runs, 3);
}

// Four workers move money between few accounts; every snapshot shows the same sum.
TEST(TransferStress, TheSumOfAllBalancesHoldsInEverySnapshot) {
  constexpr uint64_t kAccounts = 40;
  Bank bank(4, 1'000'000);
  for (uint64_t id = 0; id < kAccounts; ++id) {
    ASSERT_TRUE(bank.put(static_cast<int64_t>(id), 7, std::to_string(id), 100, "note"));
  }
  const Bank::Body transfer = [&](Transaction& txn) -> Result<void> {
    const auto from = static_cast<int64_t>(txn.random() % kAccounts);
    const auto to = static_cast<int64_t>((from + 1 + txn.random() % (kAccounts - 1)) % kAccounts);
    auto source = txn.get_for_update<&Account::balance>(bank.account_pkey, from);
    if (!source) return source.error();
    txn.update(*source, set<&Account::balance>(source->values - 1));
    auto target = txn.get_for_update<&Account::balance>(bank.account_pkey, to);
    if (!target) return target.error();
    txn.update(*target, set<&Account::balance>(target->values + 1));
    return {};
  };
  std::atomic<int> wrong{0};
  const Bank::Body audit = [&](Transaction& txn) -> Result<void> {
    int64_t by_key = 0;
    int64_t by_scan = 0;
    for (uint64_t id = 0; id < kAccounts; ++id) {
      by_key += balance_of(bank, txn, static_cast<int64_t>(id));
    }
    auto visited =
        txn.scan<&Account::balance>(bank.account_balance, prefix(bank.account_balance, 7), {},
                                    [&](const RowHandle&, int64_t balance) {
                                      by_scan += balance;
                                      return ScanStep::kContinue;
                                    });
    const bool right = by_key == 100 * kAccounts && by_scan == by_key && *visited == kAccounts;
    if (!right) ++wrong;
    return {};
  };
  for (int batch = 0; batch < 20; ++batch) {
    std::vector<Bank::Body> bodies;
    for (int i = 0; i < 100; ++i) bodies.push_back(i % 5 == 0 ? audit : transfer);
    uint64_t committed = 0;
    const base::Vid before = bank.engine->last_vid();
    for (const auto& call : bank.run_all(bodies)) {
      EXPECT_TRUE(call.outcome());
      committed += call.commit_vid() > before ? 1 : 0;
    }
    EXPECT_EQ(bank.engine->last_vid().value, before.value + committed) << "VIDs are dense";
    bank.expect_replica_agrees();
  }
  EXPECT_EQ(wrong, 0);
}

// Random inserts, updates (of keys too) and erases by several workers: what was exported is what is
// there, at every boundary.
TEST(ExportStress, ReplayedUpdatesEqualTheTablesAtEveryBoundary) {
  for (uint64_t workers : {2, 5}) {
    Bank bank(static_cast<uint32_t>(workers), 1'000'000);
    const Bank::Body change = [&](Transaction& txn) -> Result<void> {
      for (int i = 0; i < 3; ++i) {
        const auto id = static_cast<int64_t>(txn.random() % 60);
        const std::string name = std::to_string(txn.random() % 80);
        const std::string note(txn.random() % 100, 'n');
        const auto branch = static_cast<int32_t>(txn.random() % 3);
        auto row = txn.get_for_update(bank.account_pkey, id);
        if (!row && row.code() == ErrorCode::kNotFound) {
          const Account fresh{id, branch, std::string_view(name), id, std::string_view(note)};
          auto done = txn.insert(bank.account, fresh);
          if (!done && done.code() != ErrorCode::kAlreadyExists) return done.error();
          continue;
        }
        if (!row) return row.error();
        switch (txn.random() % 4) {
          case 0: txn.erase(*row); break;
          case 1: txn.update(*row, set<&Account::name>(std::string_view(name))); break;
          case 2: txn.update(*row, set<&Account::note>(std::string_view(note))); break;
          default: txn.update(*row, set<&Account::branch>(branch));
        }
      }
      if (txn.random() % 10 == 0) return txn.abort("one in ten");
      return {};
    };
    for (int batch = 0; batch < 30; ++batch) {
      // A request's seed is its place in the batch: batches differ by what they skip.
      const Bank::Body later = [&](Transaction& txn) {
        for (int skip = 0; skip < batch; ++skip) txn.random();
        return change(txn);
      };
      static_cast<void>(bank.run_all(std::vector<Bank::Body>(60, later)));
      bank.expect_replica_agrees();
      if (::testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace diptych::oltp::test
