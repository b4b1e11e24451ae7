#include <algorithm>
#include <atomic>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/describe.hpp>
#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

constexpr int32_t kBalanceCents = 10'000;

enum class Failure : uint8_t { kNone, kSourceFails, kSourceThrows, kTakenKey };

// Gives the rows in batches of random sizes, and ends as `failure` says once `rows` were given.
class Source {
 public:
  Source(std::vector<Account> rows, Failure failure, uint64_t seed)
      : rows_(std::move(rows)), failure_(failure), random_(seed) {}

  base::Result<RowBatch> next() {
    if (given_ == rows_.size()) {
      if (failure_ == Failure::kSourceFails) return base::Error(base::ErrorCode::kCancelled, "no");
      if (failure_ == Failure::kSourceThrows) throw std::runtime_error("no");
      return RowBatch{};
    }
    const size_t most = random_() % 4 == 0 ? 30'000 : 300;
    const size_t count = std::min<size_t>(1 + random_() % most, rows_.size() - given_);
    // What was given before is anybody's: the database keeps no pointer to it.
    batch_.assign(rows_.begin() + static_cast<std::ptrdiff_t>(given_),
                  rows_.begin() + static_cast<std::ptrdiff_t>(given_ + count));
    given_ += count;
    return RowBatch{reinterpret_cast<const std::byte*>(batch_.data()), count};
  }

 private:
  std::vector<Account> rows_;
  std::vector<Account> batch_;
  Failure failure_;
  std::mt19937_64 random_;
  size_t given_ = 0;
};

class LoadModel : public ::testing::TestWithParam<uint32_t> {
 protected:
  LoadModel()
      : bank_(Bank::open({.placement = {.olap_threads = GetParam()}, .partitions = 3})),
        seed_(std::random_device()()),
        random_(seed_) {}

  std::vector<Account> fresh_rows(size_t count) {
    std::vector<Account> rows;
    for (size_t i = 0; i < count; ++i) rows.push_back({next_id_++, {kBalanceCents}, 0});
    std::shuffle(rows.begin(), rows.end(), random_);
    return rows;
  }

  void load(size_t count, Failure failure) {
    std::vector<Account> rows = fresh_rows(count);
    uint64_t taken_row = 0;
    if (failure == Failure::kTakenKey) {
      taken_row = 1 + random_() % rows.size();
      rows[taken_row - 1].id = *ids_.begin();
    }
    Source source(rows, failure, random_());
    const auto loaded = bank_->database->load(bank_->accounts.table, [&] { return source.next(); });
    switch (failure) {
      case Failure::kNone:
        ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
        ASSERT_EQ(loaded->rows, count);
        for (const Account& row : rows) ids_.insert(row.id);
        break;
      case Failure::kSourceFails: ASSERT_EQ(loaded.code(), base::ErrorCode::kCancelled); break;
      case Failure::kSourceThrows: ASSERT_EQ(loaded.code(), base::ErrorCode::kAborted); break;
      case Failure::kTakenKey:
        ASSERT_EQ(loaded.code(), base::ErrorCode::kAlreadyExists);
        const std::string text = "row " + std::to_string(taken_row);
        ASSERT_NE(loaded.error().message.find(text), std::string::npos) << loaded.error().message;
    }
  }

  // Transfers between random accounts, and new accounts.
  void run_transactions(int count) {
    std::vector<int32_t> ids(ids_.begin(), ids_.end());
    const auto any = [&] { return random_() % ids.size(); };
    std::vector<std::future<base::Result<TransferReply>>> transfers;
    for (int i = 0; i < count; ++i) {
      const size_t from = any();
      const size_t to = (from + 1 + any() % (ids.size() - 1)) % ids.size();  // another one
      transfers.push_back(
          bank_->database->call(bank_->transfer, {.from = ids[from], .to = ids[to], .cents = 1}));
      if (i % 8 != 0) continue;
      const AccountArguments opened{next_id_, {kBalanceCents}};
      ASSERT_TRUE(bank_->database->call(bank_->open_account, opened).get().ok());
      ids_.insert(next_id_++);
    }
    for (auto& transfer : transfers) ASSERT_TRUE(transfer.get().ok());
  }

  void compare() {
    SCOPED_TRACE("seed " + std::to_string(seed_));
    const auto rows = static_cast<int64_t>(ids_.size());
    ASSERT_EQ(*bank_->database->row_count(bank_->accounts.table), ids_.size());
    ASSERT_EQ(*bank_->number("SELECT count(*) FROM account"), rows);
    ASSERT_EQ(*bank_->number("SELECT sum(balance) FROM account"), rows * kBalanceCents);
    ASSERT_NO_FATAL_FAILURE(expect_equal_replicas(bank_->database.get()));
  }

  std::unique_ptr<Bank> bank_;
  uint64_t seed_;
  std::mt19937_64 random_;
  std::set<int32_t> ids_;
  int32_t next_id_ = 0;
};

TEST_P(LoadModel, ReplicasAgreeThroughLoadsThatSucceedOrFailAtAnyRow) {
  ASSERT_NO_FATAL_FAILURE(load(100, Failure::kNone));
  for (int round = 0; round < 8; ++round) {
    const auto failure = static_cast<Failure>(round % 4);
    const size_t most = random_() % 2 == 0 ? 500 : 250'000;
    ASSERT_NO_FATAL_FAILURE(load(1 + random_() % most, failure));
    ASSERT_NO_FATAL_FAILURE(compare());
    ASSERT_NO_FATAL_FAILURE(run_transactions(200));
    ASSERT_NO_FATAL_FAILURE(compare());
  }
}

TEST_P(LoadModel, AFailedLoadLeavesNoMemoryBehind) {
  ASSERT_NO_FATAL_FAILURE(load(100, Failure::kNone));
  const size_t before = bank_->database->metrics().olap_memory_bytes;
  ASSERT_NO_FATAL_FAILURE(load(800'000, Failure::kSourceFails));
  ASSERT_NO_FATAL_FAILURE(compare());
  ASSERT_NO_FATAL_FAILURE(load(100, Failure::kNone));  // brings the figures up to date
  // A range of pages in each partition, of about 40 bytes a row.
  EXPECT_LE(bank_->database->metrics().olap_memory_bytes, before + size_t{3} * 65536 * 64);
}

TEST_P(LoadModel, TheRowsOfALoadAreNoUpdatesThatWait) {
  const size_t empty = bank_->database->metrics().oltp_memory_bytes;
  ASSERT_NO_FATAL_FAILURE(load(400'000, Failure::kNone));
  const Metrics metrics = bank_->database->metrics();
  EXPECT_EQ(metrics.pending_update_bytes, 0U);
  EXPECT_EQ(metrics.updates_applied, 0U);
  EXPECT_EQ(metrics.replica_vid, metrics.last_vid);
  // Slots of 32 bytes, index entries of 18: no record of a row stayed anywhere.
  EXPECT_LE(metrics.oltp_memory_bytes, empty + size_t{400'000} * 64);
  compare();
}

INSTANTIATE_TEST_SUITE_P(OlapThreads, LoadModel, ::testing::Values(1U, 3U));

TEST(LoadConcurrent, CallersOfLoadQueryAndCallTakeTurns) {
  auto bank = Bank::open({.placement = {.olap_threads = 2}, .partitions = 2});
  constexpr int32_t kRows = 60'000;
  constexpr int32_t kLoads = 3;
  std::atomic<int32_t> loading{2};
  const auto load_all = [&](int32_t loader) {
    for (int32_t i = 0; i < kLoads; ++i) {
      std::vector<Account> rows;
      for (int32_t row = 0; row < kRows; ++row) {
        rows.push_back({(loader * kLoads + i) * kRows + row, {1}, 0});
      }
      Source source(std::move(rows), Failure::kNone, static_cast<uint64_t>(loader));
      ASSERT_TRUE(bank->database->load(bank->accounts.table, [&] { return source.next(); }).ok());
    }
    // relaxed: it only ends the loops.
    loading.fetch_sub(1, std::memory_order_relaxed);
  };
  std::vector<std::thread> threads;
  for (int32_t loader = 0; loader < 2; ++loader) threads.emplace_back(load_all, loader);
  threads.emplace_back([&] {
    // relaxed: it only ends the loop.
    while (loading.load(std::memory_order_relaxed) != 0) {
      const auto count = bank->number("SELECT count(*) FROM account");
      ASSERT_TRUE(count.ok());
      ASSERT_EQ(*count % kRows, 0);
    }
  });
  threads.emplace_back([&] {
    // relaxed: it only ends the loop.
    for (int32_t i = 0; loading.load(std::memory_order_relaxed) != 0; ++i) {
      const auto done = bank->database->call(bank->bump, {.id = i % kRows, .balance = {}}).get();
      ASSERT_TRUE(done.ok() || done.code() == base::ErrorCode::kNotFound);
    }
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), 2 * kLoads * kRows);
  expect_equal_replicas(bank->database.get());
}

TEST(Load, ASourceThatCallsTheDatabaseIsRefusedAndCallsAnotherOne) {
  const auto bank = Bank::open({});
  const auto other = Bank::open({});
  other->fill(3);
  Database& database = *bank->database;
  std::vector<std::string> answers;
  const auto note = [&](const auto& result) {
    answers.push_back(result.ok() ? "done" : result.error().to_string());
  };
  const Account row{.id = 7, .balance = {}, .version = 3};
  bool given = false;
  const auto loaded = database.load(bank->accounts.table, [&]() -> base::Result<RowBatch> {
    if (std::exchange(given, true)) return RowBatch{};
    note(database.query("SELECT 1"));
    note(database.row_count(bank->accounts.table));
    note(database.call(bank->bump, {.id = 1, .balance = {}}).get());
    note(database.load(bank->accounts.table, [] { return RowBatch{}; }));
    note(database.close());
    EXPECT_EQ(*other->number("SELECT count(*) FROM account"), row.version);
    return RowBatch{reinterpret_cast<const std::byte*>(&row), 1};
  });
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  ASSERT_EQ(answers.size(), 5U);
  for (const std::string& answer : answers) {
    EXPECT_NE(answer.find("in the source of a load's rows"), std::string::npos) << answer;
  }
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 3);
}

// The replica is to have seen the deletes before: it finds rows by their ids.
TEST(Load, RowsMayTakeTheIdsOfThoseWhoseDeletesWaitToBeApplied) {
  constexpr int32_t kRows = 500;
  const auto bank = Bank::open({.apply_interval_ns = 3'600'000'000'000});
  Database& database = *bank->database;
  const auto erase = *database.register_procedure<AccountArguments, oltp::Nothing>(
      "erase",
      [by_id = bank->by_id](Transaction& txn,
                            const AccountArguments& arguments) -> base::Result<oltp::Nothing> {
        auto row = txn.get_for_update<&Account::id>(by_id, arguments.id);
        if (!row) return row.error();
        txn.erase(*row);
        return oltp::Nothing{};
      });
  for (int32_t round = 0; round < 3; ++round) {
    std::vector<Account> rows;
    for (int32_t id = 0; id < kRows; ++id) rows.push_back({id, {round}, round});
    Source source(std::move(rows), Failure::kNone, 1);
    const auto loaded = database.load(bank->accounts.table, [&] { return source.next(); });
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    EXPECT_EQ(
        *bank->number("SELECT count(*) FROM account WHERE version = " + std::to_string(round)),
        kRows);
    expect_equal_replicas(&database);
    for (int32_t id = 0; id < kRows; ++id) {
      ASSERT_TRUE(database.call(erase, {.id = id, .balance = {}}).get().ok());
    }
  }
}

struct Unlike {
  int32_t id;
  int64_t balance;
};
BOOST_DESCRIBE_STRUCT(Unlike, (), (id, balance))

template <class Rows>
concept CanBeLoaded = requires(Database& database, const TableRef<Account>& table,
                               const Rows& rows) { database.load(table, rows); };
static_assert(CanBeLoaded<std::vector<Account>> && CanBeLoaded<Account[2]>);
static_assert(!CanBeLoaded<std::vector<Unlike>> && !CanBeLoaded<Unlike[2]>);

TEST(Load, RowsThatAreThereNeedNoSource) {
  const auto bank = Bank::open({});
  Database& database = *bank->database;
  const Account rows[] = {{1, {kBalanceCents}, 1}, {2, {kBalanceCents}, 2}};
  EXPECT_EQ(database.load(bank->accounts, rows)->rows, 2U);
  EXPECT_EQ(database.load(bank->accounts, std::vector<Account>())->rows, 0U);
  const std::vector<Account> taken = {{3, {kBalanceCents}, 4}, rows[0]};
  EXPECT_EQ(database.load(bank->accounts, taken).code(), base::ErrorCode::kAlreadyExists);
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 3);
  expect_equal_replicas(&database);
}

TEST(Load, ARefOfAnotherDatabaseOrOfNoneIsRefused) {
  const auto bank = Bank::open({});
  const TableRef<Unlike> elsewhere{bank->accounts.table};
  const Unlike row{1, 2};
  const auto loaded = bank->database->load(elsewhere, std::span(&row, 1));
  EXPECT_EQ(loaded.code(), base::ErrorCode::kInvalidArgument);
  EXPECT_EQ(bank->database->load(TableRef<Unlike>(), std::span(&row, 1)).code(),
            base::ErrorCode::kInvalidArgument);
  EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), 0);
}

}  // namespace
}  // namespace diptych::dispatcher
