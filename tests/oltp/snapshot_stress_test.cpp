// What a snapshot shows while several workers move money, replace rows and change their keys; and
// what becomes of a conflict that outlives its batch.

#include <atomic>
#include <thread>
#include <vector>

#include "tests/oltp/engine_fixture.h"
#include "tests/oltp/schedule.h"

namespace diptych::oltp::test {
namespace {

using base::Result;

constexpr int64_t kAccounts = 30;
constexpr int64_t kBalance = 100;

std::string fresh_name(Transaction& txn) {
  return std::to_string(txn.random() % 1'000'000'000'000);
}

// Moves money, gives a row other keys, or replaces it by a new row with its id and money.
Result<void> change(const Bank& bank, Transaction& txn) {
  const auto id = static_cast<int64_t>(txn.random() % kAccounts);
  const std::string name = fresh_name(txn);
  auto row = txn.get_for_update(bank.account_pkey, id);
  if (!row) return row.error();
  switch (txn.random() % 3) {
    case 0: {
      txn.erase(*row);
      Account fresh = row->values;
      fresh.name = std::string_view(name);
      auto inserted = txn.insert(bank.account, fresh);
      return inserted ? Result<void>() : inserted.error();
    }
    case 1:
      txn.update(*row, set<&Account::name>(std::string_view(name)),
                 set<&Account::branch>(static_cast<int32_t>(txn.random() % 3)));
      return {};
    default: {
      auto other = txn.get_for_update<&Account::balance>(bank.account_pkey, (id + 1) % kAccounts);
      if (!other) return other.error();
      txn.update(*row, set<&Account::balance>(row->values.balance - 5));
      txn.update(*other, set<&Account::balance>(other->values + 5));
      return {};
    }
  }
}

// Every account once by its branch, by its name and by its id, with all the money each time.
Result<void> audit(const Bank& bank, Transaction& txn, std::atomic<int>* wrong) {
  int64_t by_branch = 0;
  int64_t by_name = 0;
  int64_t by_id = 0;
  std::vector<base::Varchar<16>> names;
  for (int32_t branch = 0; branch < 3; ++branch) {
    auto visited = txn.scan<&Account::balance, &Account::name>(
        bank.account_balance, prefix(bank.account_balance, branch), {},
        [&](const RowHandle&, const auto& values) {
          by_branch += std::get<0>(values);
          names.push_back(std::get<1>(values));
          return ScanStep::kContinue;
        });
    if (!visited) return visited.error();
  }
  for (const auto& name : names) {
    auto found = txn.get<&Account::balance>(bank.account_name, name);
    if (found) by_name += *found;
  }
  for (int64_t id = 0; id < kAccounts; ++id) {
    auto found = txn.get<&Account::balance>(bank.account_pkey, id);
    if (found) by_id += *found;
  }
  constexpr int64_t kSum = kAccounts * kBalance;
  const bool right =
      names.size() == kAccounts && by_branch == kSum && by_name == kSum && by_id == kSum;
  // relaxed: a count that is read after the batches.
  if (!right) wrong->fetch_add(1, std::memory_order_relaxed);
  return {};
}

TEST(SnapshotStress, EveryIndexShowsAllRowsOnceWhileTheyAreReplacedAndRenamed) {
  Bank bank(4, 1'000'000);
  for (int64_t id = 0; id < kAccounts; ++id) {
    ASSERT_TRUE(bank.put(id, static_cast<int32_t>(id % 3), "a" + std::to_string(id), kBalance));
  }
  std::atomic<int> wrong{0};
  for (int batch = 0; batch < 10; ++batch) {
    std::vector<Bank::Body> bodies;
    // So many that all workers take their dead entries back at once (Engine::State).
    for (int i = 0; i < 240; ++i) {
      bodies.push_back([&, batch, audits = i % 4 == 0](Transaction& txn) -> Result<void> {
        for (int skip = 0; skip < batch; ++skip) static_cast<void>(txn.random());
        return audits ? audit(bank, txn, &wrong) : change(bank, txn);
      });
    }
    for (const Bank::Call& call : bank.run_all(bodies)) {
      EXPECT_TRUE(call.outcome()) << call.outcome().error().to_string();
    }
    bank.expect_replica_agrees();
  }
  // relaxed: the batches are over.
  EXPECT_EQ(wrong.load(std::memory_order_relaxed), 0);
}

TEST(SnapshotStress, AConflictThatOutlivesItsBatchGoesToTheNext) {
  Bank bank(2);
  ASSERT_TRUE(bank.put(1, 0, "ann", 50));
  std::atomic<bool> claimed{false};
  std::atomic<int> losses{0};
  const Bank::Body winner = [&](Transaction& txn) -> Result<void> {
    auto row = txn.get_for_update<&Account::balance>(bank.account_pkey, int64_t{1});
    if (!row) return row.error();
    txn.update(*row, set<&Account::balance>(60));
    // release: the loser begins only now. acquire: as often as the engine tries in one batch.
    claimed.store(true, std::memory_order_release);
    while (losses.load(std::memory_order_acquire) < 4) std::this_thread::yield();
    return {};
  };
  const Bank::Body loser = [&](Transaction& txn) -> Result<void> {
    // acquire: pairs with the release above.
    while (!claimed.load(std::memory_order_acquire)) std::this_thread::yield();
    auto row = txn.get_for_update<&Account::balance>(bank.account_pkey, int64_t{1});
    if (!row) {
      // release: pairs with the acquire in winner.
      losses.fetch_add(1, std::memory_order_release);
      return row.error();
    }
    EXPECT_EQ(row->values, 60);
    txn.update(*row, set<&Account::balance>(70));
    return {};
  };
  const auto calls = bank.run_all({winner, loser});
  EXPECT_TRUE(calls[0].outcome());
  EXPECT_TRUE(calls[1].outcome());
  EXPECT_EQ(calls[1].request.conflicts, 4u);
  EXPECT_EQ(bank.engine->metrics().batches, 3u);  // the insert's, this one, and one more
  bank.expect_replica_agrees();
}

// Some give a row a new key and roll back, others give it the same key and commit: the entry that
// the first ones take back is the one that the second ones count on.
TEST(SnapshotStress, ARollbackTakesNoIndexEntryThatAnotherTransactionNeeds) {
  constexpr int64_t kRows = 4;
  Bank bank(4, 1'000'000);
  for (int64_t id = 0; id < kRows + 200; ++id) {
    ASSERT_TRUE(bank.put(id, static_cast<int32_t>(id < kRows ? 0 : 1), std::to_string(id), 0));
  }
  for (int64_t batch = 1; batch <= 40; ++batch) {
    std::vector<Bank::Body> bodies;
    for (int64_t i = 0; i < 64; ++i) {
      bodies.push_back([&, i, batch](Transaction& txn) -> Result<void> {
        const bool gives_up = i % 2 == 0;
        auto row = txn.get_for_update<&Account::balance>(bank.account_pkey, i / 2 % kRows);
        if (!row) return row.error();
        if (row->values != batch) txn.update(*row, set<&Account::balance>(batch));
        if (!gives_up) return {};
        // What is to be restored after the row: the longer, the wider the gap that there was.
        for (int64_t id = kRows + i % 8 * 25; id < kRows + i % 8 * 25 + 25; ++id) {
          auto other = txn.get_for_update<&Account::name>(bank.account_pkey, id);
          if (!other) return other.error();
          txn.update(*other, set<&Account::note>(std::string_view("given up")));
        }
        return txn.abort("given up");
      });
    }
    bank.run_all(bodies);
    int64_t found = 0;
    EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      found = 0;
      auto scanned =
          txn.scan<&Account::balance>(bank.account_balance, prefix(bank.account_balance, 0), {},
                                      [&](const RowHandle&, int64_t) {
                                        ++found;
                                        return ScanStep::kContinue;
                                      });
      if (!scanned) return scanned.error();
      return {};
    }));
    ASSERT_EQ(found, kRows) << "batch " << batch;
    bank.expect_replica_agrees();
  }
}

// Within a batch one worker gives rows other names, and another one gives the old ones back, or
// erases the rows: at its end both take away the same entries.
TEST(SnapshotStress, AnEntryThatTwoWorkersLeaveBehindIsTakenAwayOnce) {
  constexpr int64_t kRows = 4000;
  Bank bank(2);
  const auto of_all_rows = [](auto change) {
    return [change](Transaction& txn) -> Result<void> {
      for (int64_t id = 0; id < kRows; ++id) {
        if (auto done = change(txn, id); !done) return done.error();
      }
      return {};
    };
  };
  const auto insert = of_all_rows([&](Transaction& txn, int64_t id) {
    const std::string name = "a" + std::to_string(id);
    const auto branch = static_cast<int32_t>(id);
    return txn.insert(bank.account, Account{id, branch, std::string_view(name), 0, {}});
  });
  const auto rename = [&](const std::string& prefix) {
    return of_all_rows([&bank, prefix](Transaction& txn, int64_t id) -> Result<void> {
      auto row = txn.get_for_update<&Account::name>(bank.account_pkey, id);
      if (!row) return row.error();
      const std::string name = prefix + std::to_string(id);
      txn.update(*row, set<&Account::name>(std::string_view(name)));
      return {};
    });
  };
  const auto erase = of_all_rows([&](Transaction& txn, int64_t id) -> Result<void> {
    auto row = txn.get_for_update(bank.account_pkey, id);
    if (!row) return row.error();
    txn.erase(*row);
    return {};
  });
  ASSERT_TRUE(bank.run(insert));
  for (int batch = 0; batch < 5; ++batch) {
    Schedule schedule(2);
    schedule.begin(0).step(0, rename("b")).end(0).begin(1).step(1, rename("a")).end(1);
    for (const Result<void>& outcome : schedule.run(&bank)) EXPECT_TRUE(outcome);
    bank.expect_replica_agrees();
  }
  for (int batch = 0; batch < 5; ++batch) {
    Schedule schedule(2);
    schedule.begin(1).step(1, rename("b")).step(1, rename("a")).end(1);
    schedule.begin(0).step(0, erase).end(0);
    for (const Result<void>& outcome : schedule.run(&bank)) EXPECT_TRUE(outcome);
    bank.expect_replica_agrees();
    ASSERT_TRUE(bank.run(insert));
  }
}

}  // namespace
}  // namespace diptych::oltp::test
