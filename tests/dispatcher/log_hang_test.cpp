// A disk that hangs: nothing of the log ends, and what has a limit of time is answered by then.

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dispatcher/command_log/log_watch.h"
#include "tests/dispatcher/log_fault_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using storage::FileStep;
using ::testing::HasSubstr;
using ::testing::Not;
using Milliseconds = std::chrono::milliseconds;

struct NoteArguments {
  int32_t id = 0;
  base::Text text;
};
BOOST_DESCRIBE_STRUCT(NoteArguments, (), (id, text))

class LogHang : public LogFault {
 protected:
  LogHang() { Bank::open({.path = path()})->fill(10); }
  ~LogHang() override { hangs_ = false; }

  DatabaseOptions hanging() {
    DatabaseOptions with{.path = path(), .log_file_bytes = 16 << 10};
    with.faults.before_step = [this](FileStep step) -> base::Result<void> {
      if (step != FileStep::kSync || thread_name() != "oltp-log") return {};
      while (hangs_) {
        has_begun_ = true;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
      return {};
    };
    return with;
  }
  static Future<oltp::Nothing> call(Bank* bank, Milliseconds timeout) {
    const std::chrono::nanoseconds ns(timeout);
    return bank->database->call(bank->bump, {.id = 3, .balance = {}},
                                {.timeout_ns = static_cast<uint64_t>(ns.count())});
  }
  // Of a call that is answered though the disk hangs. One that is not ends the hang.
  base::Result<oltp::Nothing> answer_of(Future<oltp::Nothing>* called) {
    const bool answered = called->wait_for(std::chrono::seconds(30)) == std::future_status::ready;
    EXPECT_TRUE(answered);
    if (!answered) hangs_ = false;
    return called->get();
  }
  void await_hang() const {
    while (!has_begun_) std::this_thread::yield();
  }
  static void await_run(Bank* bank, uint64_t vid) {
    while (bank->database->metrics().last_vid.value < vid) std::this_thread::yield();
  }

  std::atomic<bool> hangs_{false};
  std::atomic<bool> has_begun_{false};
};

TEST_F(LogHang, CallsAreAnsweredByTheirDeadlinesAndOnce) {
  auto bank = Bank::open(hanging());
  ASSERT_TRUE(bump(bank.get()));
  const uint64_t vid = bank->database->metrics().last_vid.value;
  ::testing::internal::CaptureStderr();
  hangs_ = true;
  auto patient = bank->database->call(bank->bump, {.id = 3, .balance = {}});
  await_hang();
  // Of the group that hangs there is one that waits, and of the group behind it there are three.
  auto second = call(bank.get(), Milliseconds(2'000));
  auto third = call(bank.get(), Milliseconds(2'000));
  auto aborted = bank->database->call(bank->transfer, {.from = 3, .to = 4, .cents = 1 << 30},
                                      {.timeout_ns = 2'000'000'000});
  await_run(bank.get(), vid + 3);
  for (auto* const late : {&second, &third}) {
    const auto outcome = answer_of(late);
    ASSERT_EQ(outcome.code(), ErrorCode::kIo);
    EXPECT_THAT(outcome.error().message, HasSubstr("not known"));
    EXPECT_THAT(outcome.error().message, Not(HasSubstr("space")));
  }
  ASSERT_EQ(aborted.wait_for(Milliseconds(30'000)), std::future_status::ready);
  EXPECT_EQ(aborted.get().code(), ErrorCode::kAborted);
  // A call that comes now, too.
  auto fourth = call(bank.get(), Milliseconds(1'000));
  EXPECT_EQ(answer_of(&fourth).code(), ErrorCode::kIo);
  EXPECT_EQ(patient.wait_for(Milliseconds(0)), std::future_status::timeout);
  const Metrics metrics = bank->database->metrics();
  EXPECT_GE(metrics.log_writing_ns, LogWatch::kHangNs);
  EXPECT_EQ(metrics.log_refuses, (std::array<bool, kLogRefusals>{}));
  EXPECT_EQ(metrics.transactions_in_flight, 1u);
  hangs_ = false;
  EXPECT_TRUE(patient.get().ok());
  EXPECT_TRUE(bump(bank.get()));
  EXPECT_EQ(bank->database->metrics().transactions_in_flight, 0u);
  static_cast<void>(bank->database->discard());
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(occurrences(told, "transactions wait for the log: the disk of " + path()), 1) << told;
  EXPECT_EQ(occurrences(told, "transactions go on"), 1) << told;
  EXPECT_EQ(bumps(), 6);
}

// Which the log's thread, in the hanging group itself, could not answer.
TEST_F(LogHang, TheGroupThatHangsIsAnsweredToo) {
  auto bank = Bank::open(hanging());
  ASSERT_TRUE(bump(bank.get()));
  hangs_ = true;
  // On a machine that is slow just now its time may be over before a batch takes it.
  auto called = call(bank.get(), Milliseconds(500));
  while (!has_begun_) {
    if (called.wait_for(Milliseconds(1)) != std::future_status::ready) continue;
    called = call(bank.get(), Milliseconds(500));
  }
  EXPECT_EQ(answer_of(&called).code(), ErrorCode::kIo);
  hangs_ = false;
  EXPECT_TRUE(bump(bank.get()));
  static_cast<void>(bank->database->discard());
  EXPECT_EQ(bumps(), 3);
}

// A sync that is slow, and does not hang, is waited for beyond a deadline: its calls are kept.
TEST_F(LogHang, AShortWaitLeavesCallsAsTheyAre) {
  auto bank = Bank::open(hanging());
  ASSERT_TRUE(bump(bank.get()));
  ::testing::internal::CaptureStderr();
  hangs_ = true;
  const auto begin = std::chrono::steady_clock::now();
  auto called = call(bank.get(), Milliseconds(100));
  std::this_thread::sleep_for(Milliseconds(300));
  hangs_ = false;
  const auto outcome = called.get();
  const auto took = std::chrono::steady_clock::now() - begin;
  static_cast<void>(bank->database->discard());
  const std::string told = ::testing::internal::GetCapturedStderr();
  if (took > Milliseconds(900)) GTEST_SKIP() << "the machine is too slow just now";
  if (!outcome.ok()) {
    EXPECT_EQ(outcome.code(), ErrorCode::kDeadlineExceeded) << "no batch has taken it";
  }
  EXPECT_THAT(told, Not(HasSubstr("transactions wait")));
}

// The log's thread waits for the disk without a group of its own.
TEST_F(LogHang, AFileThatIsBegunForACheckpointHoldsUpNoDeadline) {
  auto bank = Bank::open(hanging());
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(bump(bank.get()));  // half of a file
  std::future<base::Result<void>> saved;
  hangs_ = true;
  while (!has_begun_) {
    // Where the next file is not ready yet, it is not begun.
    if (saved.valid() && saved.wait_for(Milliseconds(1)) != std::future_status::ready) continue;
    saved = std::async(std::launch::async, [&] { return bank->database->checkpoint(); });
  }
  auto called = call(bank.get(), Milliseconds(1'000));
  EXPECT_EQ(answer_of(&called).code(), ErrorCode::kIo);
  hangs_ = false;
  EXPECT_TRUE(saved.get().ok());
  static_cast<void>(bank->database->discard());
}

// Its group has as much as it may have, so that no further batch begins.
TEST_F(LogHang, CallsThatNoBatchHasTakenAreAnsweredByTheirDeadlines) {
  auto bank = Bank::open(hanging());
  const auto note = bank->database->register_procedure<NoteArguments, oltp::Nothing>(
      "note",
      [index = bank->by_id](Transaction& txn,
                            const NoteArguments& arguments) -> base::Result<oltp::Nothing> {
        auto row = txn.get_for_update<&Account::version>(index, arguments.id);
        if (!row) return row.error();
        txn.update(*row, set<&Account::version>(row->values + 1));
        return oltp::Nothing{};
      });
  ASSERT_TRUE(note.ok());
  const std::string text(1 << 20, 't');
  const NoteArguments arguments{3, std::string_view(text)};
  hangs_ = true;
  std::vector<Future<oltp::Nothing>> noted;
  noted.push_back(bank->database->call(*note, arguments));
  await_hang();
  for (int i = 0; i < 10; ++i) noted.push_back(bank->database->call(*note, arguments));
  while (bank->database->metrics().log_waiting_bytes < 9 << 20) std::this_thread::yield();
  auto first = call(bank.get(), Milliseconds(100));
  auto second = call(bank.get(), Milliseconds(100));
  EXPECT_EQ(answer_of(&first).code(), ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(answer_of(&second).code(), ErrorCode::kDeadlineExceeded);
  hangs_ = false;
  for (auto& each : noted) EXPECT_TRUE(each.get().ok());
  static_cast<void>(bank->database->discard());
}

// It shows what is not durable, and so it waits; but not for longer than its caller does.
TEST_F(LogHang, AQueryIsAnsweredByItsDeadlineAndWhenItIsCancelled) {
  auto bank = Bank::open(hanging());
  ASSERT_TRUE(bump(bank.get()));
  hangs_ = true;
  auto written = bank->database->call(bank->bump, {.id = 3, .balance = {}});
  await_hang();
  auto patient = std::async(std::launch::async, [&] {
    return *bank->number("SELECT version FROM account WHERE id = 3");
  });
  EXPECT_EQ(patient.wait_for(Milliseconds(100)), std::future_status::timeout);
  // Behind one that waits.
  EXPECT_EQ(bank->database->query("SELECT 1", QueryOptions{.timeout_ns = 200'000'000}).code(),
            ErrorCode::kDeadlineExceeded);
  auto cancelled = bank->database->start_query("SELECT version FROM account");
  ASSERT_TRUE(cancelled.ok());
  cancelled->cancel();
  EXPECT_EQ(cancelled->get().code(), ErrorCode::kCancelled);
  EXPECT_EQ(patient.wait_for(Milliseconds(0)), std::future_status::timeout);
  hangs_ = false;
  EXPECT_EQ(patient.get(), 2);
  EXPECT_TRUE(written.get().ok());
  static_cast<void>(bank->database->discard());
}

}  // namespace
}  // namespace diptych::dispatcher
