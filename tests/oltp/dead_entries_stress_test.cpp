// Index entries that go within a batch, while other workers read, claim and move the rows: no
// snapshot misses a row or meets one twice, and in the end each row has its entries, and no others
// are there.

#include <atomic>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/oltp/engine_fixture.h"
#include "tests/sanitizers.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;

constexpr int64_t kMovedRows = 64;
constexpr uint64_t kMovesLongest = 60'000'000'000;

// Each row has one of two names, and is in one of two branches.
std::string name_of(int64_t id, uint64_t which) {
  return (which % 2 == 0 ? "even " : "odd ") + std::to_string(id);
}

Result<void> put_account(const Bank& bank, Transaction& txn, int64_t id, uint64_t random) {
  const std::string name = name_of(id, random);
  auto row = txn.insert(bank.account, Account{id,
                                              static_cast<int32_t>(1 + random / 2 % 2),
                                              std::string_view(name),
                                              static_cast<int64_t>(random / 4 % 3),
                                              {}});
  if (!row) return row.error();
  return {};
}

Result<void> move_account(const Bank& bank, Transaction& txn, int64_t id, uint64_t random) {
  auto row = txn.get_for_update<&Account::id>(bank.account_pkey, id);
  if (!row) return row.error();
  const std::string name = name_of(id, random);
  txn.update(*row, set<&Account::name>(std::string_view(name)),
             set<&Account::branch>(static_cast<int32_t>(1 + random / 2 % 2)),
             set<&Account::balance>(static_cast<int64_t>(random / 4 % 3)));
  return {};
}

// Another row takes its place.
Result<void> replace_account(const Bank& bank, Transaction& txn, int64_t id, uint64_t random) {
  auto row = txn.get_for_update<&Account::id>(bank.account_pkey, id);
  if (!row) return row.error();
  txn.erase(*row);
  return put_account(bank, txn, id, random);
}

Result<void> expect_all_accounts(const Bank& bank, Transaction& txn) {
  std::vector<int> met(kMovedRows, 0);
  for (const int32_t branch : {1, 2}) {
    auto scanned =
        txn.scan<&Account::id>(bank.account_balance, prefix(bank.account_balance, branch), {},
                               [&](const RowHandle&, int64_t id) {
                                 ++met[static_cast<size_t>(id)];
                                 return ScanStep::kContinue;
                               });
    if (!scanned) return scanned.error();
  }
  EXPECT_EQ(met, std::vector<int>(kMovedRows, 1));
  return {};
}

Result<void> expect_one_name(const Bank& bank, Transaction& txn, int64_t id) {
  int found = 0;
  for (const uint64_t which : {0, 1}) {
    const std::string name = name_of(id, which);
    auto row = txn.get<&Account::id>(bank.account_name, std::string_view(name));
    if (!row && row.code() != ErrorCode::kNotFound) return row.error();
    if (row) ++found;
  }
  EXPECT_EQ(found, 1);
  return {};
}

Bank::Body random_body(const Bank& bank, std::mt19937_64* random) {
  const auto id = static_cast<int64_t>((*random)() % kMovedRows);
  const uint64_t where = (*random)() % 12;
  switch ((*random)() % 16) {
    case 0: return [&bank](Transaction& txn) { return expect_all_accounts(bank, txn); };
    case 1:
    case 2: return [&bank, id](Transaction& txn) { return expect_one_name(bank, txn, id); };
    case 3:
    case 4:
    case 5:
      return [&bank, id, where](Transaction& txn) { return replace_account(bank, txn, id, where); };
    case 6:
      return [&bank, id, where](Transaction& txn) -> Result<void> {
        if (auto moved = move_account(bank, txn, id, where); !moved) return moved;
        return txn.abort("it goes back");
      };
    default:
      return [&bank, id, where](Transaction& txn) { return move_account(bank, txn, id, where); };
  }
}

TEST(DeadEntriesStress, SnapshotsMissNoRowAndIndexesHaveJustTheRows) {
  constexpr size_t kCalls = diptych::test::kSanitized ? 3'000 : 20'000;
  for (const IsolationLevel level : {IsolationLevel::kSnapshot, IsolationLevel::kSerializable}) {
    for (const uint32_t workers : {2u, 4u}) {
      Bank bank(workers, 1000, kMovesLongest, level);
      std::mt19937_64 random(workers);
      for (int64_t id = 0; id < kMovedRows; ++id) {
        ASSERT_TRUE(
            bank.run([&](Transaction& txn) { return put_account(bank, txn, id, random()); }));
      }
      for (int batch = 0; batch < 3; ++batch) {
        std::vector<Bank::Body> bodies;
        for (size_t i = 0; i < kCalls; ++i) bodies.push_back(random_body(bank, &random));
        for (const Bank::Call& call : bank.run_all(bodies)) {
          ASSERT_TRUE(call.outcome() || call.outcome().code() == ErrorCode::kAborted);
        }
        bank.expect_replica_agrees();
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
}

// Of 32 candidates that nobody sees one counts, so a scan that passed all rows popped before would
// fail.
TEST(DeadEntriesStress, AQueueOfALargeBatchIsPoppedInFewOperations) {
  constexpr int32_t kQueued = diptych::test::kSanitized ? 20'000 : 60'000;
  constexpr uint64_t kOperations = kQueued / 32 / 2;
  for (const uint32_t workers : {1u, 2u}) {
    Bank bank(workers, 1'000'000, kMovesLongest, IsolationLevel::kSnapshot, kParcelGroups,
              kOperations);
    for (int32_t first = 0; first < kQueued; first += 100) {
      ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
        for (int32_t i = first; i < first + 100; ++i) {
          if (auto row = txn.insert(bank.entry, Entry{i % 2, i, {}}); !row) return row.error();
        }
        return {};
      }));
    }
    // Each worker's share has a queue of its own, so that they conflict little.
    std::vector<Bank::Body> bodies;
    for (int32_t i = 0; i < kQueued; ++i) {
      bodies.push_back([&bank, queue = i / (kQueued / 2)](Transaction& txn) -> Result<void> {
        auto popped = txn.scan(bank.entry_pkey, prefix(bank.entry_pkey, queue), {.limit = 1},
                               [&](const RowHandle& handle, const auto&) {
                                 if (auto row = txn.claim<Entry>(handle)) txn.erase(*row);
                                 return ScanStep::kContinue;
                               });
        if (!popped) return popped.error();
        return {};
      });
    }
    for (const Bank::Call& call : bank.run_all(bodies)) {
      ASSERT_TRUE(call.outcome()) << call.outcome().error().to_string();
    }
    EXPECT_EQ(bank.engine->row_count(bank.entry.table), 0u);
  }
}

}  // namespace
}  // namespace diptych::oltp::test
