// Procedures that hold everybody up: reported by name, while they run and afterwards; stopped at a
// limit of operations.

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using testing::AllOf;
using testing::HasSubstr;

// Until `done` says so, at most ten seconds.
template <class Done>
bool wait_until(const Done& done) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// What one thread says and others wait for.
class Signal {
 public:
  // release, acquire: what was done before it is seen behind it.
  void give() { is_given_.store(true, std::memory_order_release); }
  bool is_given() const { return is_given_.load(std::memory_order_acquire); }
  bool wait() const {
    return wait_until([&] { return is_given(); });
  }

 private:
  std::atomic<bool> is_given_{false};
};

size_t count_of(const std::string& text, const std::string& piece) {
  size_t count = 0;
  for (size_t at = text.find(piece); at != std::string::npos; at = text.find(piece, at + 1)) {
    ++count;
  }
  return count;
}

TEST(SlowProcedures, OneThatStillRunsIsReportedByName) {
  const auto bank = Bank::open({.slow_procedure_ns = 20'000'000});
  Database& database = *bank->database;
  Signal go_on;
  const auto stuck = *database.register_procedure<Nothing, Nothing>(
      "stuck", [&](Transaction&, const Nothing&) -> base::Result<Nothing> {
        go_on.wait();
        return Nothing{};
      });
  testing::internal::CaptureStderr();
  auto reply = database.call(stuck, {});
  const bool named = wait_until([&] { return database.metrics().slowest_procedure == "stuck"; });
  EXPECT_EQ(database.metrics().slow_transactions, 0u);
  go_on.give();
  EXPECT_TRUE(reply.get().ok());
  const Metrics metrics = database.metrics();
  EXPECT_TRUE(database.call(stuck, {}).get().ok());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(named);
  EXPECT_THAT(said, HasSubstr("diptych: procedure \"stuck\" has run for "));
  EXPECT_THAT(said, HasSubstr(" and goes on; "));
  EXPECT_EQ(count_of(said, "\"stuck\""), 1u);
  EXPECT_EQ(metrics.slow_transactions, 1u);
  EXPECT_GE(metrics.slowest_procedure_ns, 20'000'000u);
}

TEST(SlowProcedures, EachIsReportedOnceAndCountedEachTime) {
  const auto bank = Bank::open({.slow_procedure_ns = 5'000'000});
  Database& database = *bank->database;
  std::chrono::nanoseconds pause = std::chrono::milliseconds(6);
  const auto sleeper = [&](const std::string& name) {
    return *database.register_procedure<Nothing, Nothing>(
        name, [&pause](Transaction&, const Nothing&) -> base::Result<Nothing> {
          std::this_thread::sleep_for(pause);
          return Nothing{};
        });
  };
  const auto slow = sleeper("slow");
  const auto slower = sleeper("slower");
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(database.call(slow, {}).get().ok());
  // However long the machine took for those.
  const uint64_t slowest_ns = database.metrics().slowest_procedure_ns;
  pause = std::chrono::nanoseconds(slowest_ns + 30'000'000);
  EXPECT_TRUE(database.call(slower, {}).get().ok());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(count_of(said, "procedure \"slow\""), 1u);
  EXPECT_EQ(count_of(said, "procedure \"slower\""), 1u);
  const Metrics metrics = database.metrics();
  EXPECT_GE(metrics.slow_transactions, 4u);
  EXPECT_EQ(metrics.slowest_procedure, "slower");
  EXPECT_GE(metrics.slowest_procedure_ns, slowest_ns + 30'000'000);
}

TEST(SlowProcedures, ALimitBelowAMillisecondIsNotSaidToBeNone) {
  const auto bank = Bank::open({.slow_procedure_ns = 1'000});
  const auto sleeper = *bank->database->register_procedure<Nothing, Nothing>(
      "sleeper", [](Transaction&, const Nothing&) -> base::Result<Nothing> {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return Nothing{};
      });
  testing::internal::CaptureStderr();
  EXPECT_TRUE(bank->database->call(sleeper, {}).get().ok());
  EXPECT_TRUE(bank->database->close().ok());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("the limit of slow_procedure_ns is 0.001 ms (said once"));
}

TEST(SlowProcedures, WithoutALimitNobodyWatches) {
  const auto bank = Bank::open({.slow_procedure_ns = 0});
  EXPECT_TRUE(bank->database->call(bank->open_account, {.id = 1, .balance = {1}}).get().ok());
  EXPECT_EQ(bank->database->metrics().slow_transactions, 0u);
  EXPECT_EQ(bank->database->metrics().slowest_procedure, "");
}

TEST(OperationLimit, IsTheDatabasesAndNamesTheProcedure) {
  const auto bank = Bank::open({.operations_max = 50});
  bank->fill(100);
  const auto audit = *bank->database->register_procedure<Nothing, Nothing>(
      "audit", [by_id = bank->by_id](Transaction& txn, const Nothing&) -> base::Result<Nothing> {
        for (int32_t id = 0; id < 100; ++id) {
          if (auto row = txn.get(by_id, id); !row) return row.error();
        }
        return Nothing{};
      });
  const auto outcome = bank->database->call(audit, {}).get();
  EXPECT_EQ(outcome.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(outcome.error().message, AllOf(HasSubstr("\"audit\""), HasSubstr("50 operations")));
  EXPECT_TRUE(bank->database->call(bank->transfer, {.from = 1, .to = 2, .cents = 5}).get().ok());
  EXPECT_EQ(Database::open({.operations_max = 0}).code(), ErrorCode::kInvalidArgument);
}

// A batch of two calls by two workers: the first holds a row until the second has lost against it
// as often as it may.
TEST(ConflictLimit, IsTheDatabasesAndNamesTheProcedure) {
  for (const uint32_t limit : {0U, 2U}) {
    // However slowly the batch is run: its calls are repeated within it.
    DatabaseOptions options{.push_limit_ns = 60'000'000'000, .conflicts_max = limit};
    options.placement.oltp_workers = 2;
    const auto bank = Bank::open(options);
    bank->fill(1);
    Signal is_held;
    std::atomic<uint32_t> losses = 0;
    const auto holder = *bank->database->register_procedure<Nothing, Nothing>(
        "holder", [&](Transaction& txn, const Nothing&) -> base::Result<Nothing> {
          auto row = txn.get_for_update<&Account::version>(bank->by_id, 0);
          if (!row) return row.error();
          is_held.give();
          wait_until([&] { return losses > limit; });
          txn.update(*row, set<&Account::version>(row->values + 1));
          return Nothing{};
        });
    const auto unlucky = *bank->database->register_procedure<Nothing, Nothing>(
        "unlucky", [&](Transaction& txn, const Nothing&) -> base::Result<Nothing> {
          is_held.wait();
          auto row = txn.get_for_update<&Account::version>(bank->by_id, 0);
          if (row) return Nothing{};
          ++losses;
          return row.error();
        });
    Signal in_gate;
    Signal both_queued;
    const auto gate = *bank->database->register_procedure<Nothing, Nothing>(
        "gate", [&](Transaction&, const Nothing&) -> base::Result<Nothing> {
          in_gate.give();
          both_queued.wait();
          return Nothing{};
        });
    auto gated = bank->database->call(gate, {});
    EXPECT_TRUE(in_gate.wait());
    auto held = bank->database->call(holder, {});
    auto tried = bank->database->call(unlucky, {});
    both_queued.give();
    EXPECT_TRUE(gated.get().ok());
    EXPECT_TRUE(held.get().ok());
    const auto outcome = tried.get();
    ASSERT_EQ(outcome.code(), ErrorCode::kConflict);
    EXPECT_THAT(outcome.error().message, HasSubstr("\"unlucky\" lost against others"));
    EXPECT_EQ(losses, limit + 1);
  }
}

}  // namespace
}  // namespace diptych::dispatcher
