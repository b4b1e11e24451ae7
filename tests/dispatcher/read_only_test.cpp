// Read-only media: a database on them can be looked at, checked and backed up; a backup restored.

#include <filesystem>
#include <functional>
#include <string>

#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dispatcher/backup.h"
#include "dispatcher/database_inspection.h"
#include "dispatcher/log_inspection.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
namespace fs = std::filesystem;

base::Result<void> go_on(double) {
  return {};
}

class ReadOnly : public DirectoryFixture {
 protected:
  enum class Ended : uint8_t { kAsExpected, kWrongly, kNoMounts };

  // Runs the body in a process of its own, which sees the directory on a read-only file system.
  Ended with_read_only(const std::string& directory, const std::function<bool()>& body) {
    const pid_t child = ::fork();
    if (child == 0) {
      const char* const at = directory.c_str();
      const bool mounted = ::unshare(CLONE_NEWNS) == 0 &&
                           ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                           ::mount(at, at, nullptr, MS_BIND, nullptr) == 0 &&
                           ::mount(at, at, nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY, nullptr) == 0;
      const bool is_read_only = mounted && ::access(at, W_OK) != 0;
      ::_exit(!is_read_only ? 2 : body() ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFEXITED(status)) return Ended::kWrongly;
    return WEXITSTATUS(status) == 2   ? Ended::kNoMounts
           : WEXITSTATUS(status) == 0 ? Ended::kAsExpected
                                      : Ended::kWrongly;
  }
  // 10 accounts that are saved, and 5 bumps in the log.
  void make_crashed() {
    Bank::open({.path = path()})->fill(10);
    auto bank = Bank::open({.path = path()});
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(bank->database->call(bank->bump, {.id = 3, .balance = {}}).get().ok());
    }
    static_cast<void>(bank->database->discard());
  }
  static bool succeeds(const char* what, const auto& result) {
    if (result.ok()) return true;
    ADD_FAILURE() << what << ": " << result.error().to_string();
    return false;
  }
  bool looks_whole(const std::string& directory) {
    const auto inspection = inspect_database(directory, Verify::kYes, [](double) {});
    const auto log = inspect_log(directory);
    return succeeds("inspect", inspection) && inspection->damaged.empty() && succeeds("log", log) &&
           log->transactions == 5;
  }
};

TEST_F(ReadOnly, DatabasesAreInspectedAndBackedUpAndBackupsAreRestored) {
  for (const bool has_lock : {true, false}) {
    SCOPED_TRACE(has_lock ? "with a lock's file" : "without");
    for (const std::string& each : {path(), path("backup"), path("restored")}) fs::remove_all(each);
    make_crashed();
    if (!has_lock) fs::remove(path() + "/lock");
    const Ended backed_up = with_read_only(path(), [&] {
      return looks_whole(path()) && Database::open({.path = path()}).code() == ErrorCode::kIo &&
             succeeds("backup", backup_database(path(), path("backup"), go_on));
    });
    if (backed_up == Ended::kNoMounts) GTEST_SKIP() << "no mounts of one's own";
    ASSERT_EQ(backed_up, Ended::kAsExpected);
    ASSERT_EQ(with_read_only(path("backup"),
                             [&] {
                               return looks_whole(path("backup")) &&
                                      succeeds("restore",
                                               restore_database(path("backup"), path("restored"),
                                                                std::nullopt, go_on));
                             }),
              Ended::kAsExpected);
    EXPECT_EQ(
        *Bank::open({.path = path("restored")})->number("SELECT version FROM account WHERE id = 3"),
        5);
  }
}

// The other one sees it as writable.
TEST_F(ReadOnly, ADatabaseThatAnotherProcessHasOpenIsInUse) {
  make_crashed();
  const auto bank = Bank::open({.path = path()});
  const Ended ended = with_read_only(path(), [&] {
    return inspect_database(path(), Verify::kNo, [](double) {}).code() == ErrorCode::kInUse &&
           inspect_log(path()).code() == ErrorCode::kInUse;
  });
  if (ended == Ended::kNoMounts) GTEST_SKIP() << "no mounts of one's own";
  EXPECT_EQ(ended, Ended::kAsExpected);
}

}  // namespace
}  // namespace diptych::dispatcher
