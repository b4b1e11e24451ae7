// The log keeps a bound: where checkpoints are slow transactions wait for one, and never for ever.

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dispatcher/command_log/uncovered_log.h"
#include "tests/dispatcher/log_fault_fixture.h"

namespace diptych::dispatcher {
namespace {

using storage::FileStep;
using ::testing::HasSubstr;
using Milliseconds = std::chrono::milliseconds;
using Seconds = std::chrono::seconds;

class LogBound : public LogFault {
 protected:
  static constexpr uint64_t kLogBytes = 8 << 10;
  static constexpr uint64_t kBytesMax = UncoveredLog::kFull * kLogBytes;

  LogBound() { Bank::open({.path = path()})->fill(10); }
  ~LogBound() override {
    holds_checkpoints_ = false;
    holds_log_ = false;
  }

  std::unique_ptr<Bank> open_bank(size_t log_file_bytes = kLogBytes,
                                  uint64_t rate = DatabaseOptions().checkpoint_bytes_per_second) {
    DatabaseOptions with{.path = path(),
                         .log_file_bytes = log_file_bytes,
                         .checkpoint_log_bytes = kLogBytes,
                         .checkpoint_bytes_per_second = rate};
    with.faults.before_step = [this](FileStep step) -> base::Result<void> {
      const std::string thread = thread_name();
      const bool is_checkpoint = thread == "olap-checkpoint";
      if (is_checkpoint && holds_checkpoints_) checkpoint_waits_ = true;
      while (is_checkpoint && holds_checkpoints_) std::this_thread::sleep_for(Milliseconds(1));
      const bool is_log = thread == "oltp-log" && step == FileStep::kSync;
      if (is_log && holds_log_) log_waits_ = true;
      while (is_log && holds_log_) std::this_thread::sleep_for(Milliseconds(1));
      if (is_checkpoint && checkpoints_fail_) {
        return base::Error(base::ErrorCode::kIo, "the test's disk");
      }
      return {};
    };
    return Bank::open(with);
  }
  static Future<oltp::Nothing> begin_bump(Bank* bank, Milliseconds timeout = Milliseconds(0)) {
    const std::chrono::nanoseconds ns(timeout);
    return bank->database->call(bank->bump, {.id = 3, .balance = {}},
                                {.timeout_ns = static_cast<uint64_t>(ns.count())});
  }
  static bool has_ended(Future<oltp::Nothing>* call, Milliseconds within = Milliseconds(0)) {
    return call->wait_for(within) == std::future_status::ready;
  }
  // A call that waits for a checkpoint; those before it have ended.
  Future<oltp::Nothing> fill_log(Bank* bank, Milliseconds timeout = Milliseconds(0)) {
    const uint64_t waits = bank->database->metrics().checkpoint_waits;
    while (true) {
      Future<oltp::Nothing> call = begin_bump(bank, timeout);
      while (!has_ended(&call, Milliseconds(1))) {
        if (bank->database->metrics().checkpoint_waits != waits) return call;
      }
      EXPECT_TRUE(call.get().ok());
      ++bumped_;
      if (bank->database->metrics().log_uncovered_bytes > 2 * kBytesMax) break;
    }
    ADD_FAILURE() << "nothing waits";
    return begin_bump(bank);
  }
  static void await(const std::atomic<bool>& flag) {
    while (!flag) std::this_thread::yield();
  }

  std::atomic<bool> holds_checkpoints_{false};
  std::atomic<bool> checkpoint_waits_{false};  // once
  std::atomic<bool> checkpoints_fail_{false};
  std::atomic<bool> holds_log_{false};
  std::atomic<bool> log_waits_{false};  // once
  int64_t bumped_ = 0;
};

TEST_F(LogBound, WhereItIsReachedTransactionsWaitForACheckpoint) {
  ::testing::internal::CaptureStderr();
  auto bank = open_bank();
  for (int round = 0; round < 2; ++round) {
    holds_checkpoints_ = true;
    auto waits = fill_log(bank.get());
    EXPECT_FALSE(has_ended(&waits, Milliseconds(50)));
    const Metrics held = bank->database->metrics();
    EXPECT_GT(held.log_uncovered_bytes, kBytesMax);
    EXPECT_LE(held.log_uncovered_bytes, kBytesMax + kLogSectorBytes);
    EXPECT_GE(held.checkpoint_wait_ns, 50'000'000u) << "a wait that goes on counts";
    EXPECT_EQ(held.back_pressure_waits, 0u);
    EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), bumped_) << "queries go on";
    holds_checkpoints_ = false;
    EXPECT_TRUE(waits.get().ok());
    ++bumped_;
    const Metrics after = bank->database->metrics();
    EXPECT_LE(after.log_uncovered_bytes, kBytesMax);
    EXPECT_EQ(after.checkpoint_waits, held.checkpoint_waits);
    EXPECT_GE(after.checkpoint_wait_ns, held.checkpoint_wait_ns);
  }
  static_cast<void>(bank->database->discard());
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(occurrences(told, "transactions wait for a checkpoint: "), 1) << told;
  EXPECT_THAT(told, HasSubstr("of the log are in none, the limit is 64 KiB"));
  EXPECT_EQ(bumps(), bumped_);
}

TEST_F(LogBound, CallsThatWaitAreAnsweredByTheirDeadlines) {
  auto bank = open_bank();
  holds_checkpoints_ = true;
  auto of_the_batch = fill_log(bank.get(), Milliseconds(3'000));
  auto patient = begin_bump(bank.get());
  auto behind_it = begin_bump(bank.get(), Milliseconds(50));
  auto in_time = begin_bump(bank.get(), Seconds(3'600));
  for (auto* const late : {&behind_it, &of_the_batch}) {
    const bool answered = has_ended(late, Seconds(60));
    EXPECT_TRUE(answered);
    if (!answered) holds_checkpoints_ = false;
    EXPECT_EQ(late->get().code(), base::ErrorCode::kDeadlineExceeded);
  }
  const Metrics held = bank->database->metrics();
  EXPECT_EQ(held.transactions_in_flight, 2u);
  EXPECT_GE(held.checkpoint_wait_ns, 50'000'000u) << "the wait goes on";
  EXPECT_FALSE(has_ended(&patient));
  holds_checkpoints_ = false;
  EXPECT_TRUE(patient.get().ok());
  EXPECT_TRUE(in_time.get().ok());
  EXPECT_EQ(bank->database->metrics().transactions_in_flight, 0u);
  static_cast<void>(bank->database->discard());
  EXPECT_EQ(bumps(), bumped_ + 2);
}

// Its first piece is followed by a pause of hours, which has begun by then.
TEST_F(LogBound, ACheckpointThatPausesGoesOnOnceTheLogIsAhead) {
  auto bank = open_bank(kLogBytes, 1);
  const auto bump = [&] {
    ASSERT_TRUE(begin_bump(bank.get()).get().ok());
    ++bumped_;
  };
  while (bank->database->metrics().checkpoint_bytes == 0) bump();
  while (bank->database->metrics().checkpoint_ns.count() < 2) bump();
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), bumped_);
}

TEST_F(LogBound, NobodyWaitsForCheckpointsThatFail) {
  auto bank = open_bank();
  checkpoints_fail_ = true;
  while (bank->database->metrics().log_uncovered_bytes < 2 * kBytesMax) {
    auto call = begin_bump(bank.get());
    ASSERT_TRUE(has_ended(&call, Seconds(60)));
    ASSERT_TRUE(call.get().ok());
    ++bumped_;
  }
  EXPECT_GT(bank->database->metrics().checkpoints_failed, 0u);
  checkpoints_fail_ = false;
  EXPECT_TRUE(bank->database->checkpoint().ok());
  holds_checkpoints_ = true;
  auto waits = fill_log(bank.get());
  // Of which the one that they wait for is the first.
  checkpoints_fail_ = true;
  holds_checkpoints_ = false;
  EXPECT_TRUE(has_ended(&waits, Seconds(60)));
  EXPECT_TRUE(waits.get().ok());
  static_cast<void>(bank->database->discard());
}

TEST_F(LogBound, DdlAndSavesGoOnMeanwhile) {
  auto bank = open_bank();
  holds_checkpoints_ = true;
  auto waits = fill_log(bank.get());
  EXPECT_TRUE(
      bank->database->execute_ddl("CREATE TABLE added (id INT NOT NULL, PRIMARY KEY (id))").ok());
  EXPECT_FALSE(has_ended(&waits)) << "the manifest alone has got it";
  auto emptied = std::async(std::launch::async,
                            [&] { return bank->database->execute_ddl("TRUNCATE account"); });
  std::this_thread::sleep_for(Milliseconds(20));
  holds_checkpoints_ = false;
  EXPECT_TRUE(emptied.get().ok());
  ASSERT_TRUE(has_ended(&waits, Seconds(60)));
  static_cast<void>(bank->database->discard());
}

TEST_F(LogBound, CloseDoesNotWaitForACheckpoint) {
  auto bank = open_bank();
  holds_checkpoints_ = true;
  auto waits = fill_log(bank.get());
  auto closed = std::async(std::launch::async, [&] { return bank->database->close(); });
  EXPECT_TRUE(has_ended(&waits, Seconds(60)));
  holds_checkpoints_ = false;
  EXPECT_TRUE(waits.get().ok());
  EXPECT_TRUE(closed.get().ok());
  EXPECT_EQ(bumps(), bumped_ + 1);
}

TEST_F(LogBound, AnEarlierProcesssLogCounts) {
  {
    auto bank = open_bank();
    checkpoints_fail_ = true;
    while (bank->database->metrics().log_uncovered_bytes < 2 * kBytesMax) {
      ASSERT_TRUE(bump(bank.get()));
    }
    static_cast<void>(bank->database->discard());
  }
  checkpoints_fail_ = false;
  holds_checkpoints_ = true;
  auto bank = open_bank();
  ASSERT_TRUE(bank->database->recover().ok());
  auto waits = begin_bump(bank.get());
  EXPECT_FALSE(has_ended(&waits, Milliseconds(50)));
  holds_checkpoints_ = false;
  ASSERT_TRUE(has_ended(&waits, Seconds(60)));
  EXPECT_TRUE(waits.get().ok());
  EXPECT_LE(bank->database->metrics().log_uncovered_bytes, kBytesMax);
}

// Else what counts as uncovered would stay, and might be waited for without an end.
TEST_F(LogBound, WhatASaveHasBeforeTheLogDoesNotCount) {
  auto bank = open_bank();
  ASSERT_TRUE(bump(bank.get()));
  const uint64_t before = bank->database->metrics().last_vid.value;
  holds_log_ = true;
  auto written = begin_bump(bank.get());
  await(log_waits_);
  auto waiting = begin_bump(bank.get());
  while (bank->database->metrics().last_vid.value < before + 2) std::this_thread::yield();
  auto saved = std::async(std::launch::async, [&] { return bank->database->save(); });
  std::this_thread::sleep_for(Milliseconds(50));
  holds_log_ = false;
  EXPECT_TRUE(saved.get().ok());
  EXPECT_TRUE(written.get().ok());
  EXPECT_TRUE(waiting.get().ok());
  EXPECT_EQ(bank->database->metrics().log_uncovered_bytes, 0u);
  static_cast<void>(bank->database->discard());
}

TEST_F(LogBound, WhatIsWrittenWhileACheckpointThatHasItIsWrittenDoesNotCount) {
  auto bank = open_bank(64 << 10);  // of which so little is used that none is begun
  ASSERT_TRUE(bump(bank.get()));
  const uint64_t before = bank->database->metrics().last_vid.value;
  holds_log_ = true;
  holds_checkpoints_ = true;
  auto written = begin_bump(bank.get());
  await(log_waits_);
  auto waiting = begin_bump(bank.get());
  while (bank->database->metrics().last_vid.value < before + 2) std::this_thread::yield();
  auto done = std::async(std::launch::async, [&] { return bank->database->checkpoint(); });
  await(checkpoint_waits_);
  holds_log_ = false;
  EXPECT_TRUE(written.get().ok());
  EXPECT_TRUE(waiting.get().ok());
  EXPECT_GT(bank->database->metrics().log_uncovered_bytes, 0u);
  holds_checkpoints_ = false;
  EXPECT_TRUE(done.get().ok());
  EXPECT_EQ(bank->database->metrics().log_uncovered_bytes, 0u);
  static_cast<void>(bank->database->discard());
}

}  // namespace
}  // namespace diptych::dispatcher
