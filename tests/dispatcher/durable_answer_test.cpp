// Queries show what the log has: their snapshots may be ahead of it, their answers are not.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

constexpr uint64_t kWhileNotDurableNs = 30'000'000;
constexpr uint64_t kSoonEnoughNs = 20'000'000'000;
// 27 G pairs: minutes. The two differ, so that they do not run as one.
constexpr const char* kUnending =
    "SELECT count(*) FROM account a, account b, account c "
    "WHERE a.version + b.version + c.version >= -1";
constexpr const char* kUnendingBeside =
    "SELECT count(*) FROM account a, account b, account c "
    "WHERE a.version + b.version + c.version >= -2";
constexpr const char* kVersionShown = "SELECT version FROM account WHERE id = 3";

// A bank whose log's disk can be held at its next sync.
class DurableAnswerConcurrent : public DirectoryFixture {
 protected:
  DurableAnswerConcurrent() {
    DatabaseOptions with{.path = path(), .partitions = 2};
    with.faults.before_step = [this](storage::FileStep step) -> base::Result<void> {
      if (step != storage::FileStep::kSync) return {};
      syncs_ = syncs_ || holds_;
      while (holds_) std::this_thread::sleep_for(std::chrono::microseconds(100));
      return {};
    };
    bank_ = Bank::open(with);
    bank_->fill(3000);
  }
  ~DurableAnswerConcurrent() override { holds_ = false; }

  Database& database() { return *bank_->database; }
  RunningQuery start(const std::string& sql) {
    auto started = database().start_query(sql);
    EXPECT_TRUE(started.ok()) << started.error().to_string();
    return std::move(*started);
  }
  // A call that has run, and of which the log has nothing yet.
  Future<oltp::Nothing> bump_held() {
    holds_ = true;
    auto call = database().call(bank_->bump, {.id = 3, .balance = {}});
    while (!syncs_) std::this_thread::yield();
    return call;
  }
  void wait_for_result(uint64_t completed) {
    while (database().metrics().queries_completed < completed) std::this_thread::yield();
  }

  std::atomic<bool> holds_{false};
  std::atomic<bool> syncs_{false};
  std::unique_ptr<Bank> bank_;
};

TEST_F(DurableAnswerConcurrent, AQueryIsAnsweredOnceTheLogHasWhatItSaw) {
  auto call = bump_held();
  RunningQuery query = start(kVersionShown);
  wait_for_result(1);
  EXPECT_FALSE(query.wait_for(kWhileNotDurableNs));
  holds_ = false;
  EXPECT_EQ(std::get<int64_t>(query.get()->rows[0][0]), 1);
  EXPECT_TRUE(call.get().ok());
}

// The others of a batch are waited for, then, and not only the log.
TEST_F(DurableAnswerConcurrent, OneThatEndsBeforeItsBatchWaitsForTheLogToo) {
  const uint64_t batches = database().metrics().query_batches;
  RunningQuery holding = start(kUnending);
  while (database().metrics().query_batches == batches) std::this_thread::yield();
  RunningQuery beside = start(kUnendingBeside);
  RunningQuery query = start(kVersionShown);
  auto call = bump_held();
  holding.cancel();
  wait_for_result(1);
  EXPECT_FALSE(query.wait_for(kWhileNotDurableNs));
  holds_ = false;
  EXPECT_TRUE(call.get().ok());
  beside.cancel();
  EXPECT_TRUE(query.wait_for(kSoonEnoughNs));
  EXPECT_EQ(std::get<int64_t>(query.get()->rows[0][0]), 1);
}

// It is answered at once, so without rows that a power failure could take away.
TEST_F(DurableAnswerConcurrent, OneThatIsStoppedMeanwhileShowsNothing) {
  auto call = bump_held();
  RunningQuery query = start(kVersionShown);
  wait_for_result(1);
  query.cancel();
  EXPECT_TRUE(query.wait_for(kSoonEnoughNs));
  const auto stopped = query.get();
  EXPECT_EQ(stopped.ok() ? base::ErrorCode::kClosed : stopped.code(), base::ErrorCode::kCancelled);
  holds_ = false;
  EXPECT_TRUE(call.get().ok());
}

}  // namespace
}  // namespace diptych::dispatcher
