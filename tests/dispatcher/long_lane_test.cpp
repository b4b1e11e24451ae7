// Queries that take long leave their batch for a snapshot of their own; nobody waits for them.

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/value.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

constexpr uint64_t kLaneMs = 1'000'000;
// 27 G pairs: minutes.
constexpr const char* kMinutes =
    "SELECT count(*) FROM account a, account b, account c "
    "WHERE a.version + b.version + c.version >= 0";
// 9 M pairs: longer than kLaneMs, and one sum for each state of the table.
constexpr const char* kLanePairs =
    "SELECT sum(a.version), count(*) FROM account a, account b WHERE a.version + b.version >= 0";
constexpr const char* kLaneShort = "SELECT sum(version) FROM account";

class LongLaneConcurrent : public ::testing::Test {
 protected:
  void open(DatabaseOptions options) {
    options.partitions = 2;
    bank_ = Bank::open(options);
    bank_->fill(3000);
  }
  Database& database() { return *bank_->database; }
  RunningQuery start(const std::string& sql) {
    auto started = database().start_query(sql);
    EXPECT_TRUE(started.ok()) << started.error().to_string();
    return std::move(*started);
  }
  void bump() { EXPECT_TRUE(database().call(bank_->bump, {1, {}}).get().ok()); }
  // Waits until so many are in the lane.
  void wait_for(uint64_t running, uint64_t waiting) {
    for (int i = 0; i < 60'000; ++i) {
      const Metrics metrics = database().metrics();
      if (metrics.long_queries_running == running && metrics.long_queries_waiting == waiting) {
        return;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    FAIL() << running << " running and " << waiting << " waiting were never met";
  }

  std::unique_ptr<Bank> bank_;
};

TEST_F(LongLaneConcurrent, ALongQueryHoldsNobodyUp) {
  open({.long_query_ns = 500 * kLaneMs});  // a short one that took so long would wait for the other
  RunningQuery endless = start(kMinutes);
  wait_for(1, 0);
  for (int i = 1; i <= 20; ++i) {
    bump();
    EXPECT_EQ(*bank_->number(kLaneShort), i);
  }
  const Metrics metrics = database().metrics();
  EXPECT_EQ(metrics.long_queries_running, 1u);
  EXPECT_EQ(metrics.snapshots, 1u);
  endless.cancel();
  EXPECT_EQ(endless.get().code(), base::ErrorCode::kCancelled);
  wait_for(0, 0);
}

TEST_F(LongLaneConcurrent, ItShowsOneStateThoughTheTableChanges) {
  open({.long_query_ns = kLaneMs});
  for (int round = 0; round < 5; ++round) {
    const int64_t before = *bank_->number(kLaneShort);
    RunningQuery pairs = start(kLanePairs);
    for (int i = 0; i < 50; ++i) bump();
    const auto result = pairs.get();
    ASSERT_TRUE(result.ok()) << result.error().to_string();
    EXPECT_EQ(database().metrics().snapshots, 0u) << "it went before the answer";
    const auto row = result->rows[0];
    EXPECT_EQ(std::get<int64_t>(row[1]), 9'000'000);
    // Each account is in 3,000 pairs, whatever the state.
    const int64_t sum = std::stoll(base::to_string(row[0]));
    EXPECT_EQ(sum % 3000, 0);
    EXPECT_GE(sum / 3000, before);
    EXPECT_LE(sum / 3000, before + 50);
  }
  EXPECT_GE(database().metrics().long_queries, 1u);
  EXPECT_EQ(*bank_->number(kLaneShort), 250);
}

TEST_F(LongLaneConcurrent, SoManyRunAndTheOthersWait) {
  open({.long_query_rows = 1e9, .long_queries_max = 1});
  EXPECT_EQ(*bank_->number(kLaneShort), 0);
  EXPECT_EQ(database().metrics().long_queries, 0u);
  RunningQuery first = start(kMinutes);
  wait_for(1, 0);
  RunningQuery second = start(std::string(kMinutes) + " AND a.id >= 0");
  wait_for(1, 1);
  EXPECT_EQ(database().metrics().snapshots, 1u);
  first.cancel();
  EXPECT_EQ(first.get().code(), base::ErrorCode::kCancelled);
  wait_for(1, 0);
  RunningQuery third = start(std::string(kMinutes) + " AND b.id >= 0");
  wait_for(1, 1);
  third.cancel();  // while it waits
  EXPECT_EQ(third.get().code(), base::ErrorCode::kCancelled);
  second.cancel();
  EXPECT_EQ(second.get().code(), base::ErrorCode::kCancelled);
  wait_for(0, 0);
  EXPECT_EQ(database().metrics().long_queries, 3u);
}

TEST_F(LongLaneConcurrent, WhoIsStoppedWhileItWaitsGivesItsPlaceBackThoughTheLaneIsBusy) {
  open({.queue_queries = 3, .long_query_rows = 1e9, .long_queries_max = 1});
  RunningQuery first = start(kMinutes);
  wait_for(1, 0);
  RunningQuery second = start(std::string(kMinutes) + " AND a.id >= 0");
  RunningQuery third = start(std::string(kMinutes) + " AND b.id >= 0");
  wait_for(1, 2);
  constexpr QueryOptions kAtOnce{.admission = Admission::kRefuse};
  EXPECT_EQ(database().start_query(kLaneShort, kAtOnce).code(), base::ErrorCode::kOverloaded);
  second.cancel();
  third.cancel();
  EXPECT_EQ(second.get().code(), base::ErrorCode::kCancelled);
  EXPECT_EQ(third.get().code(), base::ErrorCode::kCancelled);
  ASSERT_NO_FATAL_FAILURE(wait_for(1, 0));
  // Their tokens come back with the answers that the dispatcher gives, a little later.
  constexpr auto kNormal = static_cast<size_t>(Priority::kNormal);
  for (int i = 0; database().metrics().queries_in_flight[kNormal] != 1; ++i) {
    ASSERT_LT(i, 60'000);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  auto brief = database().start_query(kLaneShort, kAtOnce);
  ASSERT_TRUE(brief.ok()) << brief.error().to_string();
  EXPECT_TRUE(brief->get().ok());
  EXPECT_FALSE(first.wait_for(0)) << "it still runs";
  first.cancel();
}

TEST_F(LongLaneConcurrent, ATimeoutCountsFromTheSubmission) {
  open({.long_query_ns = 5 * kLaneMs});
  auto late = database().start_query(kMinutes, {.timeout_ns = 50 * kLaneMs});
  ASSERT_TRUE(late.ok());
  EXPECT_EQ(late->get().code(), base::ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(*bank_->number(kLaneShort), 0);
}

TEST_F(LongLaneConcurrent, ClosingEndsThoseThatRunAndThoseThatWait) {
  open({.long_query_ns = 5 * kLaneMs});
  RunningQuery first = start(kMinutes);
  wait_for(1, 0);
  RunningQuery second = start(std::string(kMinutes) + " AND a.id >= 0");
  wait_for(1, 1);
  EXPECT_TRUE(database().close().ok());
  EXPECT_FALSE(first.get().ok());
  EXPECT_FALSE(second.get().ok());
}

TEST_F(LongLaneConcurrent, ExplainAnalyzeSaysThatAQueryRanThereAndWhatItCost) {
  open({.long_query_rows = 1e5});
  const std::string pairs =
      "SELECT sum(a.version) FROM account a, account b WHERE a.id < 200 AND a.version <= b.version";
  const auto text_of = [](const base::Result<QueryResult>& result) {
    EXPECT_TRUE(result.ok());
    std::string text;
    for (const auto& row : result->rows) text += base::to_string(row[0]) + "\n";
    return text;
  };
  const std::string brief = text_of(database().query(std::string("EXPLAIN ANALYZE ") + kLaneShort));
  EXPECT_NE(brief.find("queue: "), std::string::npos) << brief;
  EXPECT_EQ(brief.find("long lane: "), std::string::npos) << brief;
  const std::string there = text_of(database().query(std::string("EXPLAIN ANALYZE ") + pairs));
  EXPECT_NE(there.find(" ms until it had a snapshot; snapshots keep 0 B"), std::string::npos)
      << there;
  double bytes = 0;
  for (int round = 0; round < 20 && bytes == 0; ++round) {
    RunningQuery query = start(std::string("EXPLAIN (ANALYZE, FORMAT JSON) ") + pairs);
    for (int i = 0; i < 5; ++i) {
      bump();
      EXPECT_TRUE(bank_->number(kLaneShort).ok());  // the snapshot keeps what this applies
    }
    const std::string json = text_of(query.get());
    EXPECT_NE(json.find("\"long_lane_ms\": "), std::string::npos) << json;
    const size_t place = json.find("\"snapshot_bytes\": ");
    ASSERT_NE(place, std::string::npos) << json;
    bytes = std::stod(json.substr(place + 18));
  }
  EXPECT_GT(bytes, 0);
}

TEST_F(LongLaneConcurrent, WhoHasWaitedRunsOnAPlanOfItsSnapshotsStatistics) {
  open({.long_query_rows = 1e6, .long_queries_max = 1});
  RunningQuery first = start(kMinutes);
  wait_for(1, 0);
  RunningQuery second = start(
      "EXPLAIN ANALYZE SELECT count(*) FROM account a, account b WHERE a.version <= b.version");
  wait_for(1, 1);
  for (int32_t id = 3000; id < 3500; ++id) {
    ASSERT_TRUE(database().call(bank_->open_account, {id, {1}}).get().ok());
  }
  first.cancel();
  const auto result = second.get();
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  std::string text;
  for (const auto& row : result->rows) text += base::to_string(row[0]) + "\n";
  EXPECT_NE(text.find("(3500 rows) (actual 3500 rows"), std::string::npos) << text;
}

TEST_F(LongLaneConcurrent, OneOfSeveralStatementsLeavesTheOthersAnswersAsTheyAre) {
  open({.long_query_ns = kLaneMs});
  const std::vector<std::string> statements = {kLaneShort, kLanePairs, "SELECT 1/0", kLaneShort};
  const auto results = database().query_batch(statements);
  ASSERT_EQ(results.size(), 4u);
  EXPECT_TRUE(results[0].ok());
  ASSERT_TRUE(results[1].ok()) << results[1].error().to_string();
  EXPECT_EQ(std::get<int64_t>(results[1]->rows[0][1]), 9'000'000);
  EXPECT_FALSE(results[2].ok());
  EXPECT_TRUE(results[3].ok());
}

TEST_F(LongLaneConcurrent, StatementsOfABatchShowOneStateThoughTheLaneIsBusy) {
  open({.long_query_rows = 1e6, .long_queries_max = 1});
  RunningQuery first = start(kMinutes);
  wait_for(1, 0);
  const std::vector<std::string> statements = {kLaneShort, kLanePairs, "SELECT 1/0",
                                               "SELECT nonsense", kLaneShort};
  auto results = std::async(std::launch::async, [&] { return database().query_batch(statements); });
  wait_for(1, 1);
  bump();
  EXPECT_EQ(*bank_->number(kLaneShort), 1);
  const uint64_t completed = database().metrics().queries_completed;
  first.cancel();
  EXPECT_FALSE(first.get().ok());
  const auto answers = results.get();
  ASSERT_TRUE(answers[1].ok()) << answers[1].error().to_string();
  EXPECT_EQ(base::to_string(answers[1]->rows[0][0]), "3000");
  for (const size_t i : {0, 4}) {
    ASSERT_TRUE(answers[i].ok()) << answers[i].error().to_string();
    EXPECT_EQ(base::to_string(answers[i]->rows[0][0]), "1");
  }
  EXPECT_FALSE(answers[2].ok());
  EXPECT_FALSE(answers[3].ok());
  EXPECT_EQ(database().metrics().queries_completed, completed + 1);
  EXPECT_EQ(database().metrics().queries_failed, 3u);
}

TEST_F(LongLaneConcurrent, WhoIsStoppedBeforeItsTurnKeepsWhatHasEnded) {
  open({.long_query_rows = 1e6, .long_queries_max = 1});
  RunningQuery first = start(kMinutes);
  wait_for(1, 0);
  const std::vector<std::string> statements = {kLaneShort, kLanePairs};
  auto answers = database().query_batch(statements, {.timeout_ns = 100 * kLaneMs});
  // Where the machine has other things to do, the first one takes longer.
  for (uint64_t ms = 200; !answers[0].ok() && ms < 60'000; ms *= 2) {
    answers = database().query_batch(statements, {.timeout_ns = ms * kLaneMs});
  }
  EXPECT_TRUE(answers[0].ok());
  EXPECT_EQ(answers[1].code(), base::ErrorCode::kDeadlineExceeded);
  first.cancel();
}

TEST_F(LongLaneConcurrent, ClosingWaitsForACompletionThatRuns) {
  open({.long_query_rows = 1e6});
  std::atomic<bool> begun = false;
  std::atomic<bool> ended = false;
  auto submitted = database().submit_query(kLanePairs, [&](const base::Result<QueryResult>&) {
    begun = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ended = true;
  });
  ASSERT_TRUE(submitted.ok()) << submitted.error().to_string();
  while (!begun) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(database().close().ok());
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace diptych::dispatcher
