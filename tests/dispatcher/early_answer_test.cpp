// Queries are answered when they end, whatever else of their batch still runs.

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
// 27 G pairs: minutes. The two differ, so that they do not run as one.
constexpr const char* kHolding =
    "SELECT count(*) FROM account a, account b, account c "
    "WHERE a.version + b.version + c.version >= 0";
constexpr const char* kMinutesBeside =
    "SELECT count(*) FROM account a, account b, account c "
    "WHERE a.version + b.version + c.version >= 1";

class EarlyAnswerConcurrent : public ::testing::Test {
 protected:
  EarlyAnswerConcurrent() { bank_->fill(3000); }

  Database& database() { return *bank_->database; }
  RunningQuery start(const std::string& sql) {
    auto started = database().start_query(sql);
    EXPECT_TRUE(started.ok()) << started.error().to_string();
    return std::move(*started);
  }
  // What is started while it runs is one batch, once it is cancelled.
  RunningQuery hold() {
    const uint64_t batches = database().metrics().query_batches;
    RunningQuery query = start(kHolding);
    while (database().metrics().query_batches == batches) std::this_thread::yield();
    return query;
  }
  uint64_t in_flight() {
    return database().metrics().queries_in_flight[static_cast<size_t>(Priority::kNormal)];
  }
  void expect_one_batch_more(uint64_t than) {
    EXPECT_EQ(database().metrics().query_batches, than + 1);
  }

  std::unique_ptr<Bank> bank_ = Bank::open({.partitions = 2});
};

TEST_F(EarlyAnswerConcurrent, WhoAsksForLittleDoesNotWaitForTheLongestOfItsBatch) {
  RunningQuery holding = hold();
  const uint64_t batches = database().metrics().query_batches;
  RunningQuery endless = start(kMinutesBeside);
  std::vector<RunningQuery> small;
  small.push_back(start("SELECT 1"));
  small.push_back(start("SELECT count(*) FROM account WHERE id < 10"));
  small.push_back(start("SELECT count(*) FROM account WHERE id < 20"));  // with the one before
  small.push_back(start("SELECT id FROM account ORDER BY id LIMIT 3"));
  small.push_back(start("SELECT no_such_column FROM account"));
  holding.cancel();
  for (RunningQuery& query : small) ASSERT_TRUE(query.wait_for(20 * kSecond));
  EXPECT_FALSE(endless.wait_for(0)) << "it still runs";
  EXPECT_EQ(std::get<int64_t>(small[0].get()->rows[0][0]), 1);
  EXPECT_EQ(std::get<int64_t>(small[1].get()->rows[0][0]), 10);
  EXPECT_EQ(std::get<int64_t>(small[2].get()->rows[0][0]), 20);
  EXPECT_EQ(small[3].get()->rows.size(), 3u);
  EXPECT_EQ(small[4].get().error().sqlstate(), "42703");
  expect_one_batch_more(batches);
  EXPECT_EQ(in_flight(), 1u);
  endless.cancel();
  EXPECT_EQ(endless.get().code(), base::ErrorCode::kCancelled);
}

TEST_F(EarlyAnswerConcurrent, ACompletionMaySubmitIntoTheNextBatch) {
  RunningQuery holding = hold();
  RunningQuery endless = start(kMinutesBeside);
  std::promise<void> ended;
  std::promise<int64_t> counted;
  auto submitted = database().submit_query("SELECT 2", [&](base::Result<QueryResult> result) {
    EXPECT_TRUE(result.ok());
    EXPECT_EQ(database().query("SELECT 1").code(), base::ErrorCode::kInvalidArgument)
        << "it would wait on a thread that answers others";
    auto next = database().submit_query(
        "SELECT count(*) FROM account", [&](base::Result<QueryResult> count) {
          counted.set_value(count.ok() ? std::get<int64_t>(count->rows[0][0]) : -1);
        });
    EXPECT_TRUE(next.ok());
    ended.set_value();
  });
  ASSERT_TRUE(submitted.ok());
  holding.cancel();
  ASSERT_EQ(ended.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_FALSE(endless.wait_for(0)) << "it still runs";
  std::future<int64_t> count = counted.get_future();
  EXPECT_EQ(count.wait_for(std::chrono::seconds(0)), std::future_status::timeout)
      << "its batch has not begun";
  endless.cancel();
  EXPECT_EQ(count.get(), 3000);
}

// One statement of a job has a result as soon as the other, and not before.
TEST_F(EarlyAnswerConcurrent, AJobIsAnsweredWithItsLastStatement) {
  RunningQuery holding = hold();
  RunningQuery endless = start(kMinutesBeside);
  const std::vector<std::string> statements = {"SELECT 1", "SELECT count(*) FROM account",
                                               "SELECT no_such_column FROM account"};
  auto batch = std::async(std::launch::async, [&] { return database().query_batch(statements); });
  while (in_flight() != 3) std::this_thread::yield();
  holding.cancel();
  ASSERT_EQ(batch.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_FALSE(endless.wait_for(0)) << "it still runs";
  const auto results = batch.get();
  EXPECT_TRUE(results[0].ok());
  EXPECT_EQ(std::get<int64_t>(results[1]->rows[0][0]), 3000);
  EXPECT_EQ(results[2].error().sqlstate(), "42703");
  endless.cancel();
}

// The completion goes on the thread that answers, which has it last: the batch has ended.
TEST_F(EarlyAnswerConcurrent, WhatACompletionHasMayCancelQueriesAsItGoes) {
  RunningQuery holding = hold();
  const uint64_t batches = database().metrics().query_batches;
  std::promise<void> may_go_on;
  ASSERT_TRUE(
      database()
          .submit_query("SELECT 1", [goes_on = may_go_on.get_future().share()](
                                        const base::Result<QueryResult>&) { goes_on.wait(); })
          .ok());
  struct Session {
    RunningQuery query;
    ~Session() { query.cancel(); }
  };
  const auto submit = [&](const std::shared_ptr<Session>& session) {
    return database().submit_query("SELECT count(*) FROM account",
                                   [session](const base::Result<QueryResult>&) {});
  };
  ASSERT_TRUE(submit(std::make_shared<Session>(start("SELECT 2"))).ok());
  holding.cancel();
  while (database().metrics().query_batches == batches) std::this_thread::yield();
  RunningQuery next = start("SELECT 3");
  while (database().metrics().query_batches < batches + 2) std::this_thread::yield();
  may_go_on.set_value();
  EXPECT_TRUE(next.wait_for(20 * kSecond));
}

TEST_F(EarlyAnswerConcurrent, NoneIsLostThoughTheDatabaseIsClosedBeside) {
  constexpr int kQueries = 200;
  std::atomic<int> answers{0};
  for (int i = 0; i < kQueries; ++i) {
    const std::string text =
        i % 3 == 0
            ? "SELECT count(*) FROM account a, account b WHERE a.id + b.id > " + std::to_string(i)
            : "SELECT count(*) FROM account WHERE id < " + std::to_string(i);
    auto submitted = database().submit_query(text, [&answers](base::Result<QueryResult>) {
      // relaxed: counted when the database is closed.
      answers.fetch_add(1, std::memory_order_relaxed);
    });
    ASSERT_TRUE(submitted.ok()) << submitted.error().to_string();
  }
  ASSERT_TRUE(database().close().ok());
  // relaxed: close() has joined the threads that counted.
  EXPECT_EQ(answers.load(std::memory_order_relaxed), kQueries);
}

}  // namespace
}  // namespace diptych::dispatcher
