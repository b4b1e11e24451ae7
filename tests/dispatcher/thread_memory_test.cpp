// Memory that runs out at any allocation of the engine's own threads while they do one job: it
// fails alone, or has succeeded, and the next one succeeds.

#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/dispatcher/bank_fixture.h"
#include "tests/failing_allocation.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;

class OutOfMemoryOfThreads : public DirectoryFixture {
 protected:
  static constexpr int kRight = 16;   // what a child exits with; less: it was wrong
  static constexpr int kFailed = 1;   // and an allocation has failed
  static constexpr int kRefused = 2;  // and the job with it
  using Job = std::function<base::Result<void>(Bank*)>;

  // The job in a process of its own, with each allocation of the thread failing in turn.
  enum class Death : uint8_t { kNever, kMayBe };  // of the process
  void ask_for_each(const char* thread, const DatabaseOptions& options, const Job& job,
                    Death death = Death::kNever) {
    if (!test::kAllocationsCanFail) GTEST_SKIP() << "a sanitizer has its own operator new";
    uint64_t refused = 0;
    for (uint64_t number = 1;; number += death == Death::kNever ? 1 : 1 + number / 12) {
      SCOPED_TRACE(testing::Message() << thread << ", allocation " << number);
      ASSERT_LT(number, 2'000U);
      DatabaseOptions own = options;
      if (!own.path.empty()) own.path = path(thread + std::to_string(number));
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) ::_exit(ask(thread, number, own, job));
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      if (death == Death::kMayBe && !WIFEXITED(status)) continue;
      ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
      const int code = WEXITSTATUS(status);
      ASSERT_GE(code, kRight) << "it is wrong: " << code;
      if ((code & kFailed) == 0) break;
      refused += (code & kRefused) != 0 ? 1 : 0;
    }
    EXPECT_GT(refused, 5U);
  }

  static int ask(const char* thread, uint64_t number, const DatabaseOptions& options,
                 const Job& job) {
    const auto bank = Bank::open(options);
    bank->fill(50);
    const auto bump = [&] { return bank->database->call(bank->bump, {.id = 1, .balance = {}}); };
    // The thread has what it keeps, and the replica has all: applying would lose it.
    if (!bump().get() || !job(bank.get()) || !bump().get()) return 1;
    if (!bank->number("SELECT sum(version) FROM account")) return 2;
    bool failed = false;
    base::Result<void> done;
    {
      const test::FailingAllocationOfThreads failing(thread, number);
      done = job(bank.get());
      failed = failing.has_failed();
    }
    if (!done && done.code() != ErrorCode::kOutOfMemory) return 3;
    if (!done && !failed) return 4;
    if (!bump().get() || !job(bank.get())) return 5;
    const auto sum = bank->number("SELECT sum(version) FROM account");
    if (!sum || *sum != 3) return 6;
    if (bank->database->compare_replicas()->differences != 0) return 7;
    if (!bank->database->close()) return 8;
    return kRight + (failed ? kFailed : 0) + (done ? 0 : kRefused);
  }

  static base::Result<void> query(Bank* bank) {
    auto answered = bank->database->query(
        "SELECT version, count(*) FROM account WHERE id > 5 GROUP BY version ORDER BY 1");
    if (!answered) return answered.error();
    return {};
  }
  static base::Result<void> checkpoint(Bank* bank) { return bank->database->checkpoint(); }
};

TEST_F(OutOfMemoryOfThreads, AQueryFailsAlone) {
  ask_for_each("olap-dispatcher", {}, query);
}

TEST_F(OutOfMemoryOfThreads, ABatchOfQueriesFailsAlone) {
  ask_for_each("olap-dispatcher", {}, [](Bank* bank) -> base::Result<void> {
    const std::string statements[] = {"SELECT count(*) FROM account",
                                      "SELECT max(version) FROM account WHERE id > 5"};
    for (auto& answered : bank->database->query_batch(statements)) {
      if (!answered) return answered.error();
    }
    return {};
  });
}

TEST_F(OutOfMemoryOfThreads, ALongQueryFailsAlone) {
  ask_for_each("olap-dispatcher", {.long_query_rows = 1}, query);
  ask_for_each("olap-long", {.long_query_rows = 1}, query);
}

TEST_F(OutOfMemoryOfThreads, ACheckpointFailsAlone) {
  ask_for_each("olap-dispatcher", {.path = path()}, checkpoint);
  // The destructor of what the manifest is read with takes memory.
  ask_for_each("olap-checkpoint", {.path = path()}, checkpoint, Death::kMayBe);
}

}  // namespace
}  // namespace diptych::dispatcher
