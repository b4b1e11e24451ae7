// Calls of procedures: typed, asynchronous; full queues; queries and their errors.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::DecimalValue;
using base::ErrorCode;
using ::testing::HasSubstr;

class Calls : public ::testing::Test {
 protected:
  void SetUp() override { bank_->fill(10); }
  Database& database() { return *bank_->database; }

  std::unique_ptr<Bank> bank_ = Bank::open({});
};

TEST_F(Calls, ACallGivesTheReplyOrTheReason) {
  auto moved = database().call(bank_->transfer, {.from = 1, .to = 2, .cents = 4'000}).get();
  ASSERT_TRUE(moved.ok()) << moved.error().to_string();
  EXPECT_EQ(moved->left_cents, 6'000);
  auto aborted = database().call(bank_->transfer, {.from = 1, .to = 2, .cents = 7'000}).get();
  ASSERT_FALSE(aborted.ok());
  EXPECT_EQ(aborted.code(), ErrorCode::kAborted);
  EXPECT_THAT(aborted.error().message, HasSubstr("too little money"));
  auto missing = database().call(bank_->transfer, {.from = 99, .to = 2, .cents = 1}).get();
  EXPECT_EQ(missing.code(), ErrorCode::kNotFound);
  EXPECT_EQ(*bank_->number("SELECT sum(balance) FROM account"), 100'000);
}

TEST_F(Calls, WhatEndsTheDatabaseIsRefusedInACompletion) {
  std::promise<std::string> said;
  const auto submitted = database().submit_query("SELECT 1", [&](const auto&) {
    const auto closed = database().close();
    const auto discarded = database().discard();
    const auto words = [](const auto& ended) { return ended ? "done" : ended.error().to_string(); };
    said.set_value(words(closed) + "\n" + words(discarded));
  });
  ASSERT_TRUE(submitted.ok()) << submitted.error().to_string();
  const std::string words = said.get_future().get();
  EXPECT_THAT(words, HasSubstr("close was called in a completion"));
  EXPECT_THAT(words, HasSubstr("discard was called in a completion"));
  EXPECT_EQ(*bank_->number("SELECT count(*) FROM account"), 10);
}

TEST_F(Calls, AProcedureIsRegisteredOnce) {
  auto again = database().register_procedure<AccountArguments, oltp::Nothing>(
      "bump", [](Transaction&, const AccountArguments&) -> base::Result<oltp::Nothing> {
        return oltp::Nothing{};
      });
  EXPECT_EQ(again.code(), ErrorCode::kAlreadyExists);
}

// The log could not say whose call it has.
TEST_F(Calls, AProcedureHasANameThatIsAText) {
  auto nameless = database().register_procedure<AccountArguments, oltp::Nothing>(
      "", [](Transaction&, const AccountArguments&) -> base::Result<oltp::Nothing> {
        return oltp::Nothing{};
      });
  EXPECT_EQ(nameless.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(nameless.error().message, HasSubstr("procedure \"\" has no name"));
  auto no_text = database().register_procedure<AccountArguments, oltp::Nothing>(
      "\xff", [](Transaction&, const AccountArguments&) -> base::Result<oltp::Nothing> {
        return oltp::Nothing{};
      });
  EXPECT_EQ(no_text.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(no_text.error().message, HasSubstr("has a name that is not valid UTF-8"));
}

TEST_F(Calls, ARequestThatDoesNotFitIsRefusedWithoutACompletion) {
  Request request;
  request.complete = [](Request*) { FAIL(); };
  request.procedure = base::ProcedureId(1'000);
  EXPECT_EQ(database().submit(&request, Admission::kWait).code(), ErrorCode::kInvalidArgument);
  request.procedure = bank_->transfer.id;
  auto unfit = database().submit(&request, Admission::kWait);
  EXPECT_EQ(unfit.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(unfit.error().message, HasSubstr("transfer"));
}

TEST_F(Calls, ARefThatWasNeverBoundCallsNothing) {
  const ProcedureRef<AccountArguments, oltp::Nothing> never;  // open_account's, the first one's
  const auto called = database().call(never, {.id = 77, .balance = {}}).get();
  EXPECT_EQ(called.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(called.error().message, HasSubstr("never bound"));
  EXPECT_EQ(*bank_->number("SELECT count(*) FROM account WHERE id = 77"), 0);
}

TEST_F(Calls, SeedsDifferAndTimeIsTheSystems) {
  struct Seen {
    base::Timestamp now;
    uint64_t random;
  };
  auto look = database().register_procedure<oltp::Nothing, Seen>(
      "look", [](Transaction& txn, const oltp::Nothing&) -> base::Result<Seen> {
        return Seen{txn.now(), txn.random()};
      });
  ASSERT_TRUE(look.ok());
  const Seen first = *database().call(*look, {}).get();
  const Seen second = *database().call(*look, {}).get();
  EXPECT_NE(first.random, second.random);
  EXPECT_GE(second.now.micros, first.now.micros);
  EXPECT_GT(first.now.micros, int64_t{1'600'000'000} * 1'000'000);
}

// Of a batch and of a statement, equal work is done once: not what cuts texts at another length.
TEST_F(Calls, TextsThatAreCutAtDifferentLengthsAreNotOneExpression) {
  const std::string one = "(id + 5)::text::varchar(1)";  // ids 0 to 9: "5" ... "9", "1" five times
  const std::string two = "(id + 5)::text::varchar(2)";
  const std::string statements[] = {
      "SELECT count(*) FROM account WHERE " + one + " = '1'",
      "SELECT count(*) FROM account WHERE " + two + " = '1'",
      "SELECT count(DISTINCT " + one + ") FROM account",
      "SELECT count(DISTINCT " + two + ") FROM account",
      "SELECT sum(length(" + one + ")) FROM account",
      "SELECT sum(length(" + one + ")) + sum(length(" + two + ")) FROM account",
      "WITH x AS (SELECT " + one + " AS t, count(*) AS c FROM account GROUP BY 1), y AS (SELECT " +
          two + " AS t, count(*) AS c FROM account GROUP BY 1) " +
          "SELECT (SELECT count(*) FROM x) * 100 + (SELECT count(*) FROM y)"};
  const auto results = database().query_batch(statements);
  const int64_t expected[] = {5, 0, 6, 10, 10, 25, 610};
  for (size_t i = 0; i < results.size(); ++i) {
    ASSERT_TRUE(results[i].ok()) << statements[i] << ": " << results[i].error().to_string();
    EXPECT_EQ(base::to_string(results[i]->rows[0][0]), std::to_string(expected[i]))
        << statements[i];
  }
}

TEST_F(Calls, SqlErrorsArePerStatement) {
  const std::string statements[] = {"SELECT count(*) FROM account", "SELECT nonsense FROM account",
                                    "SELEC 1", "SELECT max(id) FROM account"};
  auto results = database().query_batch(statements);
  ASSERT_EQ(results.size(), 4u);
  ASSERT_TRUE(results[0].ok());
  EXPECT_EQ(std::get<int64_t>(results[0]->rows[0][0]), 10);
  EXPECT_EQ(results[1].code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(results[2].code(), ErrorCode::kSyntaxError);
  ASSERT_TRUE(results[3].ok());
  EXPECT_EQ(std::get<int64_t>(results[3]->rows[0][0]), 9);
  const Metrics metrics = database().metrics();
  EXPECT_EQ(metrics.queries_completed, 2u);
  EXPECT_EQ(metrics.queries_failed, 2u);
}

TEST_F(Calls, ExplainAnswersWithThePlanAndDoesNotRunIt) {
  const auto result = database().query("EXPLAIN SELECT id + 1 FROM account WHERE id = 3");
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  ASSERT_EQ(result->columns.size(), 1u);
  EXPECT_EQ(result->columns[0].name, "QUERY PLAN");
  ASSERT_EQ(result->rows.size(), 2u);
  EXPECT_THAT(base::to_string(result->rows[0][0]), HasSubstr("project ["));
  EXPECT_THAT(base::to_string(result->rows[1][0]),
              HasSubstr("  scan account [id] where (id = 3) ("));
}

TEST_F(Calls, ASubmittedQueryAnswersOnceWithResultOrError) {
  for (const char* sql : {"SELECT count(*) FROM account", "SELECT * FROM nowhere"}) {
    std::promise<bool> answered;
    ASSERT_TRUE(
        database()
            .submit_query(
                sql, [&](base::Result<QueryResult> result) { answered.set_value(result.ok()); })
            .ok());
    EXPECT_EQ(answered.get_future().get(), std::string(sql).find("account") != std::string::npos);
  }
}

TEST_F(Calls, WhatWouldWaitForItselfInACompletionIsRefused) {
  std::promise<ErrorCode> said;
  ASSERT_TRUE(database()
                  .submit_query("SELECT 1",
                                [&](base::Result<QueryResult>) {
                                  said.set_value(database().query("SELECT 2").code());
                                })
                  .ok());
  EXPECT_EQ(said.get_future().get(), ErrorCode::kInvalidArgument);
}

TEST_F(Calls, ALoadWhoseSourceFailsOrThrowsLeavesNothing) {
  const std::vector<Account> rows = {{7'000, {1}, 0}, {7'001, {1}, 0}};
  const auto count = bank_->number("SELECT count(*) FROM account");
  const auto load = [&](const std::function<base::Result<RowBatch>()>& then) {
    bool given = false;
    auto loaded = database().load(bank_->accounts.table, [&]() -> base::Result<RowBatch> {
      if (std::exchange(given, true)) return then();
      return RowBatch{reinterpret_cast<const std::byte*>(rows.data()), rows.size()};
    });
    EXPECT_FALSE(loaded.ok());
    return loaded.error();
  };
  const base::Error failed = load([] { return base::Error(ErrorCode::kCancelled, "enough"); });
  EXPECT_EQ(failed.code, ErrorCode::kCancelled);
  EXPECT_EQ(failed.message, "enough");
  const base::Error threw =
      load([]() -> base::Result<RowBatch> { throw std::runtime_error("no line 3"); });
  EXPECT_EQ(threw.code, ErrorCode::kAborted);
  EXPECT_NE(threw.message.find("no line 3"), std::string::npos) << threw.message;
  EXPECT_EQ(load([]() -> base::Result<RowBatch> { throw 1; }).code, ErrorCode::kAborted);
  EXPECT_EQ(*bank_->number("SELECT count(*) FROM account"), *count);
  expect_equal_replicas(&database());
  // Both sides go on, and the keys are free.
  ASSERT_TRUE(database().call(bank_->open_account, {.id = 7'000, .balance = {1}}).get().ok());
  EXPECT_EQ(*bank_->number("SELECT count(*) FROM account"), *count + 1);
  expect_equal_replicas(&database());
}

TEST_F(Calls, RowCountIsTheOltpReplicas) {
  EXPECT_EQ(*database().row_count(bank_->accounts.table),
            static_cast<uint64_t>(*bank_->number("SELECT count(*) FROM account")));
  EXPECT_EQ(database().row_count(base::TableId(99)).code(), ErrorCode::kInvalidArgument);
}

// They may have the ids of the database's threads, which have ended.
TEST_F(Calls, AfterCloseThreadsThatBeginThenAreToldSoToo) {
  ASSERT_TRUE(database().close().ok());
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      EXPECT_EQ(database().query("SELECT 1").code(), ErrorCode::kClosed);
      EXPECT_EQ(database().close().code(), ErrorCode::kClosed);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(Calls, AfterCloseEverythingSaysClosed) {
  ASSERT_TRUE(database().close().ok());
  EXPECT_EQ(database().close().code(), ErrorCode::kClosed);
  EXPECT_EQ(database().call(bank_->transfer, {.from = 1, .to = 2, .cents = 1}).get().code(),
            ErrorCode::kClosed);
  EXPECT_EQ(database().query("SELECT 1").code(), ErrorCode::kClosed);
  EXPECT_EQ(database().execute_ddl("CREATE TABLE z (x INT NOT NULL, PRIMARY KEY (x))").code(),
            ErrorCode::kClosed);
  EXPECT_EQ(database().compare_replicas().code(), ErrorCode::kClosed);
  EXPECT_EQ(database().save().code(), ErrorCode::kClosed);
  EXPECT_EQ(database().row_count(bank_->accounts.table).code(), ErrorCode::kClosed);
  EXPECT_EQ(database().load(bank_->accounts.table, [] { return RowBatch{}; }).code(),
            ErrorCode::kClosed);
  EXPECT_EQ(database().metrics().transactions_in_flight, 0u);
}

// A latch that a procedure waits at, so that a test can fill the queue.
struct Latch {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  bool reached = false;

  void pass() {
    std::unique_lock lock(mutex);
    reached = true;
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
  }
  void await_reached() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return reached; });
  }
  void release() {
    const std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
};

class FullQueue : public ::testing::Test {
 protected:
  static constexpr uint32_t kLimit = 8;
  using Slow = ProcedureRef<oltp::Nothing, oltp::Nothing>;

  void SetUp() override {
    slow_ = *bank_->database->register_procedure<oltp::Nothing, oltp::Nothing>(
        "slow", [this](Transaction&, const oltp::Nothing&) -> base::Result<oltp::Nothing> {
          latch_.pass();
          return oltp::Nothing{};
        });
  }

  Latch latch_;
  std::unique_ptr<Bank> bank_ = Bank::open({.queue_requests = kLimit});
  Slow slow_;
};

TEST_F(FullQueue, RefusesAtOnceAndLosesNothing) {
  Database& database = *bank_->database;
  std::vector<Future<oltp::Nothing>> admitted;
  admitted.push_back(database.call(slow_, {}));
  latch_.await_reached();
  for (uint32_t i = 1; i < kLimit; ++i) {
    admitted.push_back(database.call(slow_, {}, Admission::kRefuse));
  }
  auto refused = database.call(slow_, {}, Admission::kRefuse).get();
  EXPECT_EQ(refused.code(), ErrorCode::kOverloaded);
  EXPECT_EQ(database.metrics().transactions_in_flight, kLimit);
  EXPECT_EQ(database.metrics().calls_refused[static_cast<size_t>(ErrorCode::kOverloaded)], 1u);
  std::thread waiter([&] { EXPECT_TRUE(database.call(slow_, {}, Admission::kWait).get().ok()); });
  latch_.release();
  for (auto& future : admitted) EXPECT_TRUE(future.get().ok());
  waiter.join();
  EXPECT_EQ(database.metrics().transactions_committed, kLimit + 1);
}

TEST_F(FullQueue, ACompletionMaySubmitAgain) {
  struct Chain {
    Request request;
    Database* database;
    oltp::Nothing argument;
    std::atomic<int> left{1'000};  // writer: the dispatcher's thread
    std::promise<void> ended;
  };
  Chain chain;
  latch_.release();
  chain.database = bank_->database.get();
  chain.request.procedure = slow_.id;
  chain.request.arguments = std::as_bytes(std::span(&chain.argument, 1));
  chain.request.context = &chain;
  chain.request.complete = [](Request* request) {
    auto* self = static_cast<Chain*>(request->context);
    // relaxed: only this thread looks at it.
    if (self->left.fetch_sub(1, std::memory_order_relaxed) == 1) {
      self->ended.set_value();
    } else if (auto again = self->database->submit(request, Admission::kWait); !again) {
      ADD_FAILURE() << again.error().to_string();
      self->ended.set_value();
    }
  };
  ASSERT_TRUE(bank_->database->submit(&chain.request, Admission::kWait).ok());
  chain.ended.get_future().get();
}

TEST_F(FullQueue, CloseEndsWhatWasAdmittedAndTurnsAwayWhoWaits) {
  Database& database = *bank_->database;
  std::vector<Future<oltp::Nothing>> admitted;
  for (uint32_t i = 0; i < kLimit; ++i) admitted.push_back(database.call(slow_, {}));
  latch_.await_reached();
  std::thread waiter([&] {
    auto outcome = database.call(slow_, {}, Admission::kWait).get();
    EXPECT_TRUE(outcome.ok() || outcome.code() == ErrorCode::kClosed);
  });
  std::thread closer([&] { EXPECT_TRUE(database.close().ok()); });
  latch_.release();
  closer.join();
  waiter.join();
  for (auto& future : admitted) EXPECT_TRUE(future.get().ok());
}

TEST(BackPressure, TransactionsWaitForTheReplicaAndGoOn) {
  auto bank = Bank::open({.apply_interval_ns = 3'600'000'000'000, .pending_update_bytes_max = 64});
  bank->fill(10);
  for (int i = 0; i < 50; ++i) {
    auto done = bank->database->call(bank->bump, {.id = i % 10, .balance = {}}).get();
    ASSERT_TRUE(done.ok()) << done.error().to_string();
  }
  EXPECT_GT(bank->database->metrics().back_pressure_waits, 0u);
  expect_equal_replicas(bank->database.get());
}

// Calls that would be one batch of half a second: the push limit ends it, and the interval has its
// updates applied, while most calls are still in flight. 40 ms are eight calls; the best of some
// rounds is within 100, however busy the machine is.
TEST(Freshness, UpdatesThatNobodyAsksForAreAppliedWithinPushLimitAndInterval) {
  auto bank = Bank::open({.placement = {.oltp_workers = 1},
                          .push_limit_ns = 20'000'000,
                          .apply_interval_ns = 20'000'000});
  bank->fill(10);
  Database& database = *bank->database;
  auto slow_bump = database.register_procedure<AccountArguments, oltp::Nothing>(
      "slow_bump",
      [index = bank->by_id](Transaction& txn,
                            const AccountArguments& arguments) -> base::Result<oltp::Nothing> {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        auto row = txn.get_for_update<&Account::version>(index, arguments.id);
        if (!row) return row.error();
        txn.update(*row, set<&Account::version>(row->values + 1));
        return oltp::Nothing{};
      });
  ASSERT_TRUE(slow_bump.ok());
  const auto wait_until_after = [&](base::Vid vid) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (database.metrics().replica_vid <= vid && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return database.metrics();
  };
  uint64_t in_flight_max = 0;
  for (int round = 0; round < 10 && in_flight_max < 80; ++round) {
    const base::Vid before = database.metrics().replica_vid;
    std::vector<Future<oltp::Nothing>> calls;
    for (int32_t i = 0; i < 100; ++i) {
      calls.push_back(database.call(*slow_bump, {.id = i % 10, .balance = {}}));
    }
    in_flight_max = std::max(in_flight_max, wait_until_after(before).transactions_in_flight);
    for (auto& call : calls) EXPECT_TRUE(call.get().ok());
    wait_until_after(base::Vid(database.metrics().last_vid.value - 1));
  }
  EXPECT_GE(in_flight_max, 80U);
  const base::Vid last = database.metrics().last_vid;
  EXPECT_EQ(wait_until_after(base::Vid(last.value - 1)).replica_vid, last);
  EXPECT_EQ(database.metrics().query_batches, 0U);
}

TEST(Freshness, BeforeTheIntervalOnlyAQueryHasUpdatesApplied) {
  auto bank = Bank::open({.apply_interval_ns = 3'600'000'000'000});
  bank->fill(10);
  ASSERT_TRUE(bank->database->call(bank->bump, {.id = 1, .balance = {}}).get().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const Metrics before = bank->database->metrics();
  EXPECT_LT(before.replica_vid, before.last_vid);
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 1);
  EXPECT_EQ(bank->database->metrics().replica_vid, before.last_vid);
}

// The last update comes before the column is quiet, and nothing after it.
TEST(Compaction, GoesOnWhereNoUpdatesCome) {
  auto bank = Bank::open({.block_rows = 1024, .partitions = 1, .apply_interval_ns = 1'000'000});
  bank->fill(2'000);
  ASSERT_TRUE(bank->database->call(bank->bump, {.id = 1, .balance = {}}).get().ok());
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 1);
  ASSERT_EQ(bank->database->metrics().memory.replica.columns_thawed, 1U);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (bank->database->metrics().memory.replica.columns_frozen == 0 &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(bank->database->metrics().memory.replica.columns_frozen, 1U);
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 1);
}

TEST(Freshness, APlanFollowsTheStatisticsOfTheSnapshotThatItRunsOn) {
  auto bank = Bank::open({.apply_interval_ns = 3'600'000'000'000});
  bank->fill(10);
  for (int32_t id = 10; id < 13; ++id) {
    ASSERT_TRUE(bank->database->call(bank->open_account, {.id = id, .balance = {}}).get().ok());
    const auto plan = bank->database->query("EXPLAIN SELECT id FROM account");
    ASSERT_TRUE(plan.ok()) << plan.error().to_string();
    EXPECT_THAT(base::to_string(plan->rows[0][0]), HasSubstr(fmt::format("({} rows)", id + 1)));
  }
}

TEST(QueryMemory, AQueryOverItsLimitFailsAloneAndTheDatabaseGoesOn) {
  auto bank = Bank::open({.query_memory_bytes_max = size_t{1} << 20});
  bank->fill(2'000);
  const std::string statements[] = {"SELECT a.id, b.id FROM account a, account b",
                                    "SELECT count(*) FROM account"};
  const auto results = bank->database->query_batch(statements);
  EXPECT_EQ(results[0].code(), ErrorCode::kOutOfMemory);
  ASSERT_TRUE(results[1].ok());
  EXPECT_EQ(std::get<int64_t>(results[1]->rows[0][0]), 2'000);
}

// Each is far below a query's own limit.
TEST(QueryMemory, OfResultsThatWaitToBeReadIsLimitedTogether) {
  constexpr int kQueries = 12;
  auto bank = Bank::open({.queries_memory_bytes_max = size_t{1} << 20});
  bank->fill(4'000);
  Database& database = *bank->database;
  std::vector<RunningQuery> waiting;
  std::vector<base::Result<QueryResult>> read;
  size_t refused = 0;
  for (int i = 0; i < kQueries; ++i) {
    auto started = database.start_query(
        fmt::format("SELECT a.id + {}, b.id FROM account a, account b WHERE b.id < 5", i));
    ASSERT_TRUE(started.ok());
    waiting.push_back(std::move(*started));
  }
  for (RunningQuery& query : waiting) {
    read.push_back(query.get());
    if (read.back().ok()) continue;
    ++refused;
    EXPECT_EQ(read.back().error().sqlstate(), "53200");
    EXPECT_NE(read.back().error().message.find("queries_memory_bytes_max"), std::string::npos);
  }
  EXPECT_GT(refused, 0U);
  EXPECT_LT(refused, static_cast<size_t>(kQueries));
  EXPECT_GT(database.metrics().queries_memory_bytes, size_t{1} << 19);
  EXPECT_FALSE(database.query("SELECT a.id, b.id FROM account a, account b WHERE b.id < 5").ok());
  EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), 4'000);
  read.clear();
  waiting.clear();
  EXPECT_EQ(database.metrics().queries_memory_bytes, 0U);
  EXPECT_TRUE(database.query("SELECT a.id, b.id FROM account a, account b WHERE b.id < 5").ok());
}

TEST(Close, CancelsTheQueryThatRunsAndTheOneBehindIt) {
  auto bank = Bank::open({});
  bank->fill(2'000);
  Database& database = *bank->database;
  std::promise<bool> cancelled[2];
  const auto submit = [&](const char* sql, std::promise<bool>* end) {
    return database.submit_query(sql, [end](base::Result<QueryResult> result) {
      end->set_value(!result && result.code() == ErrorCode::kCancelled);
    });
  };
  // Every row with every row, four times: hours.
  ASSERT_TRUE(submit("SELECT count(*) FROM account a, account b, account c, account d "
                     "WHERE a.id + b.id + c.id + d.id < 0",
                     &cancelled[0])
                  .ok());
  while (database.metrics().query_batches == 0) std::this_thread::yield();
  ASSERT_TRUE(submit("SELECT count(*) FROM account", &cancelled[1]).ok());
  EXPECT_TRUE(database.close().ok());
  EXPECT_TRUE(cancelled[0].get_future().get());
  EXPECT_TRUE(cancelled[1].get_future().get());
}

TEST(Placement, MoreWorkersThanCoresWork) {
  auto bank = Bank::open({.placement = {.oltp_workers = 5, .olap_threads = 5}});
  bank->fill(20);
  std::vector<Future<TransferReply>> calls;
  for (int i = 0; i < 500; ++i) {
    calls.push_back(
        bank->database->call(bank->transfer, {.from = i % 20, .to = (i + 7) % 20, .cents = 1}));
  }
  for (auto& call : calls) EXPECT_TRUE(call.get().ok());
  EXPECT_EQ(*bank->number("SELECT sum(balance) FROM account"), 20 * 10'000);
  expect_equal_replicas(bank->database.get());
}

TEST(Placement, BothSidesOnOneCoreWork) {
  const uint32_t core = base::Topology::detect().nodes.front().cores.front();
  auto bank = Bank::open({.placement = {.oltp_cores = {core}, .olap_cores = {core}}});
  bank->fill(20);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(bank->database->call(bank->bump, {.id = i % 20, .balance = {}}).get().ok());
    ASSERT_EQ(*bank->number("SELECT sum(version) FROM account"), i + 1);
  }
}

TEST(ExportOff, QueriesSeeOldDataAndComparingIsRefused) {
  auto bank = Bank::open({.export_updates = false});
  bank->fill(10);
  EXPECT_TRUE(bank->database->call(bank->bump, {.id = 1, .balance = {}}).get().ok());
  EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), 0);
  EXPECT_EQ(bank->database->compare_replicas().code(), ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace diptych::dispatcher
