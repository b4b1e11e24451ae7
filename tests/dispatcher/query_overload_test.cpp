// Overload of queries: limits by priority and client, turns, deadlines, and their end with the
// database.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dispatcher/client.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;

constexpr uint64_t kQueueMs = 1'000'000;
constexpr const char* kQueueShort = "SELECT count(*) FROM account";
// 27 G pairs: minutes.
constexpr const char* kQueueEndless =
    "SELECT count(*) FROM account a, account b, account c "
    "WHERE a.version + b.version + c.version >= 0";

class QueryOverload : public ::testing::Test {
 protected:
  void open(DatabaseOptions options) {
    options.partitions = 2;
    bank_ = Bank::open(options);
    bank_->fill(3000);
  }
  Database& database() { return *bank_->database; }

  // A batch runs, with a query of this priority; what is submitted from here on is queued.
  void hold(Priority priority = Priority::kNormal) {
    const uint64_t batches = database().metrics().query_batches;
    auto started = database().start_query(kQueueEndless, {.priority = priority});
    ASSERT_TRUE(started.ok()) << started.error().to_string();
    held_ = std::make_unique<RunningQuery>(std::move(*started));
    while (database().metrics().query_batches == batches) std::this_thread::yield();
  }
  void let_go() {
    held_->cancel();
    EXPECT_EQ(held_->get().code(), ErrorCode::kCancelled);
  }
  // Its name is noted when it is answered.
  template <class Submitter>
  base::Result<QueryHandle> note(Submitter* submitter, const std::string& name,
                                 const QueryOptions& options = {.admission = Admission::kRefuse}) {
    return submitter->submit_query(
        kQueueShort,
        [this, name](base::Result<QueryResult> result) {
          const std::lock_guard lock(mutex_);
          answered_.push_back(result ? name : "failed");
        },
        options);
  }
  // Until so many are answered.
  std::vector<std::string> wait_for(size_t answers) {
    for (int i = 0; i < 60'000; ++i) {
      {
        const std::lock_guard lock(mutex_);
        if (answered_.size() >= answers) return answered_;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << answers << " answers never came";
    return {};
  }
  static size_t place_of(const std::vector<std::string>& names, const std::string& name) {
    return static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  }

  std::mutex mutex_;
  std::vector<std::string> answered_;  // guarded by mutex_
  std::unique_ptr<RunningQuery> held_;
  std::unique_ptr<Bank> bank_;  // goes first: until then queries are answered
};

TEST_F(QueryOverload, EachPriorityHasALimitOfItsOwn) {
  open({.queue_queries = 3});
  hold();  // one of the normal ones
  size_t admitted = 0;
  for (const auto& [priority, room] :
       {std::pair(Priority::kHigh, 3), std::pair(Priority::kNormal, 2), {Priority::kLow, 3}}) {
    const QueryOptions options{.admission = Admission::kRefuse, .priority = priority};
    for (int i = 0; i < room; ++i) EXPECT_TRUE(note(&database(), "one", options).ok());
    EXPECT_EQ(note(&database(), "one", options).code(), ErrorCode::kOverloaded);
    admitted += static_cast<size_t>(room);
  }
  const Metrics metrics = database().metrics();
  EXPECT_EQ(metrics.queries_in_flight, (std::array<uint64_t, kPriorities>{3, 3, 3}));
  EXPECT_EQ(metrics.queries_waiting, (std::array<uint64_t, kPriorities>{3, 2, 3}));
  EXPECT_EQ(metrics.queries_refused[static_cast<size_t>(ErrorCode::kOverloaded)], 3u);
  let_go();
  wait_for(admitted);
  EXPECT_EQ(*bank_->number(kQueueShort), 3000) << "there is room again";
}

TEST_F(QueryOverload, WhatABatchDoesNotTakeWaitsByPriorityAndNobodyStarves) {
  open({.batch_queries_max = 7});
  hold();
  for (int i = 0; i < 60; ++i) {
    for (const auto& [priority, name] : {std::pair(Priority::kLow, "low"),
                                         std::pair(Priority::kNormal, "normal"),
                                         {Priority::kHigh, "high"}}) {
      ASSERT_TRUE(
          note(&database(), name, {.admission = Admission::kRefuse, .priority = priority}).ok());
    }
  }
  let_go();
  const auto answered = wait_for(180);
  std::map<std::string, size_t> of_first;
  for (size_t i = 0; i < 70; ++i) ++of_first[answered[i]];
  // 5, 1 and 1 of 7.
  EXPECT_EQ(of_first["high"], 50u);
  EXPECT_EQ(of_first["normal"], 10u);
  EXPECT_EQ(of_first["low"], 10u);
  EXPECT_EQ(answered.front(), "high") << "they go first";
  EXPECT_EQ(database().metrics().batch_queries.max(), 7u);
}

TEST_F(QueryOverload, OfConcurrentClientsOneWithHundredsHoldsUpNobodyElse) {
  open({.client_queries = 300, .batch_queries_max = 8});
  auto greedy = *Client::connect(&database());
  auto modest = *Client::connect(&database());
  hold();
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(note(greedy.get(), "greedy").ok());
  EXPECT_EQ(note(greedy.get(), "greedy").code(), ErrorCode::kOverloaded);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(note(modest.get(), "modest").ok());
  ASSERT_TRUE(note(&database(), "anyone").ok());
  let_go();
  const auto answered = wait_for(304);
  EXPECT_LT(place_of(answered, "anyone"), 3u) << "each of three has a turn";
  size_t of_modest = 0;
  for (size_t i = 0; i < 8; ++i) of_modest += answered[i] == "modest";
  EXPECT_EQ(of_modest, 3u) << "it is done with the first batch";
  EXPECT_EQ(static_cast<size_t>(std::count(answered.begin(), answered.end(), "greedy")), 300u);
}

TEST_F(QueryOverload, AQueryWhoseDeadlinePassesInTheQueueIsInNoBatch) {
  open({});
  hold();
  const QueryOptions soon{.timeout_ns = 10 * kQueueMs, .admission = Admission::kRefuse};
  auto late = database().start_query(kQueueShort, soon);
  auto cancelled = database().start_query("SELECT no_such_column FROM account");
  auto patient = database().start_query(kQueueShort, {.timeout_ns = UINT64_MAX});
  ASSERT_TRUE(late.ok() && cancelled.ok() && patient.ok());
  cancelled->cancel();
  const auto failure = late->get();
  EXPECT_EQ(failure.error().to_string(), "deadline exceeded: the query's time was over");
  let_go();
  EXPECT_TRUE(patient->get().ok());
  EXPECT_EQ(cancelled->get().code(), ErrorCode::kCancelled) << "it is not compiled either";
  const Metrics metrics = database().metrics();
  EXPECT_EQ(metrics.batch_queries.sum(), 2u) << "the one that held, and the patient one";
  EXPECT_EQ(metrics.queries_failed_by[static_cast<size_t>(ErrorCode::kCancelled)], 2u);
  EXPECT_EQ(metrics.queries_failed_by[static_cast<size_t>(ErrorCode::kDeadlineExceeded)], 1u);
  EXPECT_EQ(metrics.queries_in_flight, (std::array<uint64_t, kPriorities>{}));
}

TEST_F(QueryOverload, WhoWaitsToBeAdmittedIsToldWhy) {
  open({.client_queries = 1});
  auto client = *Client::connect(&database(), {.priority = Priority::kLow});
  hold();
  ASSERT_TRUE(note(client.get(), "first").ok());
  const auto late = client->query(kQueueShort, {.timeout_ns = 10 * kQueueMs});
  EXPECT_EQ(late.error().to_string(),
            "deadline exceeded: the query's time was over before it was admitted");
  const Metrics metrics = database().metrics();
  EXPECT_EQ(metrics.queries_in_flight, (std::array<uint64_t, kPriorities>{0, 1, 1}));
  std::thread waiting([&] { EXPECT_TRUE(client->query(kQueueShort).ok()); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  let_go();
  waiting.join();
}

TEST_F(QueryOverload, ExplainAnalyzeSaysHowLongAQueryWasQueued) {
  open({});
  hold();
  auto explained =
      database().start_query(std::string("EXPLAIN (ANALYZE, FORMAT JSON) ") + kQueueShort);
  ASSERT_TRUE(explained.ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  let_go();
  const auto lines = explained->get();
  ASSERT_TRUE(lines.ok()) << lines.error().to_string();
  double queue_ms = -1;
  for (const auto& row : lines->rows) {
    const std::string line = base::to_string(row[0]);
    EXPECT_EQ(line.find("long_lane_ms"), std::string::npos);
    const size_t place = line.find("\"queue_ms\": ");
    if (place != std::string::npos) queue_ms = std::stod(line.substr(place + 12));
  }
  EXPECT_GE(queue_ms, 30);
  EXPECT_LT(queue_ms, 60'000);
}

TEST_F(QueryOverload, QueriesOfAClientThatHasGoneEndAndOnlyThenIsItsPlaceFree) {
  open({.clients_max = 1});
  auto client = *Client::connect(&database());
  EXPECT_TRUE(client->query("SELECT $1 + 1", {.parameters = {int64_t{1}}}).ok());
  hold();
  auto queued = client->start_query(kQueueShort);
  ASSERT_TRUE(queued.ok());
  client.reset();
  EXPECT_EQ(Client::connect(&database()).code(), ErrorCode::kOverloaded);
  EXPECT_EQ(database().metrics().clients, 0u) << "what it had for calls was given back";
  let_go();
  EXPECT_TRUE(queued->get().ok());
  EXPECT_TRUE(Client::connect(&database()).ok());
}

TEST_F(QueryOverload, ClosingAnswersAllThatWaitInManyBatches) {
  open({.batch_queries_max = 2});
  auto client = *Client::connect(&database(), {.priority = Priority::kHigh});
  hold();
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(note(&database(), "anyone").ok());
    ASSERT_TRUE(note(client.get(), "client", {.timeout_ns = UINT64_MAX}).ok());
  }
  ASSERT_TRUE(database().close().ok());
  EXPECT_EQ(wait_for(40), std::vector<std::string>(40, "failed"));
  EXPECT_EQ(client->query(kQueueShort).code(), ErrorCode::kClosed);
  EXPECT_EQ(database().query(kQueueShort).code(), ErrorCode::kClosed);
}

TEST_F(QueryOverload, OptionsThatLeaveNoRoomAreRefused) {
  EXPECT_EQ(Database::open({.client_queries = 0}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Database::open({.batch_queries_max = 0}).code(), ErrorCode::kInvalidArgument);
}

// Clients that come and go, deadlines, cancels, the long lane; the database is closed meanwhile.
TEST(QueryOverloadStress, EveryQueryIsAnsweredOnceHoweverItEnds) {
  auto bank = Bank::open({.partitions = 2,
                          .queue_queries = 8,
                          .client_queries = 4,
                          .batch_queries_max = 3,
                          .long_query_ns = 200'000});
  bank->fill(200);
  std::atomic<int> admitted{0};
  std::atomic<int> answered{0};
  std::atomic<int> succeeded{0};
  std::atomic<int> submitting{4};
  const auto done = [&](base::Result<QueryResult> result) {
    // relaxed, all three: read when all threads have ended.
    answered.fetch_add(1, std::memory_order_relaxed);
    if (result) succeeded.fetch_add(1, std::memory_order_relaxed);
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int round = 0; round < 12; ++round) {
        auto client = Client::connect(bank->database.get(),
                                      {.priority = static_cast<Priority>(t % kPriorities)});
        if (!client) {
          EXPECT_EQ(client.code(), ErrorCode::kClosed);
          break;
        }
        for (int i = 0; i < 12; ++i) {
          QueryOptions options;
          options.priority = static_cast<Priority>(random() % kPriorities);
          if (random() % 3 == 0) options.timeout_ns = (random() % 4 + 1) * kQueueMs;
          if (random() % 4 == 0) options.admission = Admission::kRefuse;
          const char* const text = random() % 4 == 0
                                       ? "SELECT count(*) FROM account a, account b, account c"
                                       : kQueueShort;
          auto submitted = random() % 2 == 0 ? (*client)->submit_query(text, done, options)
                                             : bank->database->submit_query(text, done, options);
          if (!submitted) {
            EXPECT_TRUE(submitted.code() == ErrorCode::kOverloaded ||
                        submitted.code() == ErrorCode::kDeadlineExceeded ||
                        submitted.code() == ErrorCode::kClosed);
            continue;
          }
          // relaxed: as above.
          admitted.fetch_add(1, std::memory_order_relaxed);
          if (random() % 5 == 0) submitted->cancel();
        }
      }
      // relaxed: see the closer.
      submitting.fetch_sub(1, std::memory_order_relaxed);
    });
  }
  std::thread closer([&] {
    // relaxed, both: as above; which moment it is does not matter.
    while (succeeded.load(std::memory_order_relaxed) < 60 &&
           submitting.load(std::memory_order_relaxed) != 0) {
      std::this_thread::yield();
    }
    EXPECT_TRUE(bank->database->close().ok());
  });
  for (std::thread& thread : threads) thread.join();
  closer.join();
  // relaxed: all threads that counted have been joined.
  EXPECT_EQ(answered.load(std::memory_order_relaxed), admitted.load(std::memory_order_relaxed));
}

}  // namespace
}  // namespace diptych::dispatcher
