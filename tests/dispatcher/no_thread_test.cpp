// A system that gives no more threads, as a limit of processes or a container's of pids has it.

#include <cstdio>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizers.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;

// Of a user without other processes: the limit counts threads, and root's are never refused.
constexpr uid_t kNobodyElse = 61'234;

bool limit_threads(uint32_t threads) {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NPROC, &limit) != 0) return false;
  limit.rlim_cur = threads;
  return ::setrlimit(RLIMIT_NPROC, &limit) == 0;
}

class NoThread : public DirectoryFixture {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "takes another user's identity";
    if (base::kSanitized) GTEST_SKIP() << "sanitizers need threads of their own";
    std::filesystem::permissions(directory_, std::filesystem::perms::all);
    const int limited = with_threads(1, [this] {
      if (::access(directory_.c_str(), R_OK | W_OK | X_OK) != 0) return kWrong;
      try {
        std::thread([] {}).join();
      } catch (const std::system_error&) {
        return kDone;
      }
      return kWrong;
    });
    if (limited != kDone) GTEST_SKIP() << "another user has no limit of threads, or no way here";
  }
  enum End : int { kDone, kRefused, kWrong };
  // In a process of that user, which may have so many threads.
  static int with_threads(uint32_t threads, const std::function<End()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
      const bool ready = ::setuid(kNobodyElse) == 0 && limit_threads(threads);
      const End end = ready ? body() : kWrong;
      std::fflush(stdout);
      ::_exit(HasFailure() ? kWrong : end);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : kWrong;
  }
  DatabaseOptions options() {
    DatabaseOptions options{.path = path(), .long_query_ns = 1'000'000'000, .long_queries_max = 2};
    options.placement.oltp_workers = 3;
    options.placement.olap_threads = 2;
    return options;
  }
};

// Whichever thread it is that cannot be started: of a new database, and of one that has rows.
TEST_F(NoThread, ADatabaseOpensOrSaysSoAndLeavesNothing) {
  for (const bool has_rows : {false, true}) {
    const auto open_and_use = [&] {
      auto database = Database::open(options());
      if (!database) {
        EXPECT_EQ(database.code(), ErrorCode::kOutOfMemory);
        EXPECT_THAT(database.error().message, HasSubstr("thread"));
        EXPECT_EQ(std::filesystem::exists(path()), has_rows);
        return kRefused;
      }
      Bank bank;
      bank.database = std::move(*database);
      if (!has_rows) {
        EXPECT_TRUE(bank.database->execute_ddl(kBankDdl).ok());
        bank.bind();
        bank.fill(20'000);
      }
      EXPECT_EQ(*bank.number("SELECT count(*) FROM account"), 20'000);
      EXPECT_TRUE(bank.database->close().ok());
      return kDone;
    };
    uint32_t threads = 1;
    int end = kRefused;
    for (; end == kRefused; ++threads) end = with_threads(threads, open_and_use);
    EXPECT_EQ(end, kDone) << threads;
    EXPECT_GT(threads, 8u);  // that there were some to be refused
  }
}

TEST_F(NoThread, WhatIsOpenGoesOnWithoutFurtherOnes) {
  const int end = with_threads(1000, [&] {
    auto with = options();
    with.log_file_bytes = 16 << 10;  // a thread makes the next file ready
    auto bank = Bank::open(with);
    if (bank == nullptr || !limit_threads(1)) return kWrong;
    bank->fill(20'000);  // a thread takes the rows into the replica
    for (int32_t i = 0; i < 40; ++i) {
      auto done = bank->database->call(bank->bump, {.id = i, .balance = {}}).get();
      EXPECT_TRUE(done.ok()) << done.error().to_string();
    }
    // Deadlines and cancels have a thread, too.
    auto query = bank->database->start_query("SELECT sum(version) FROM account",
                                             {.timeout_ns = 60'000'000'000});
    EXPECT_TRUE(query.ok() && query->get().ok());
    expect_equal_replicas(bank->database.get());
    EXPECT_TRUE(bank->database->close().ok());
    return kDone;
  });
  EXPECT_EQ(end, kDone);
}

}  // namespace
}  // namespace diptych::dispatcher
