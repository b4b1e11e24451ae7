// What the log knows of its newest file: that it is missed where it is gone as a whole, and that
// files behind it are not the log's.

#include "dispatcher/command_log/log_begun.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dispatcher/log_inspection.h"
#include "tests/dispatcher/bank_fixture.h"
#include "tests/sanitizers.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class LogBegun : public DirectoryFixture {
 protected:
  // Leaves some log files behind.
  void crash_after(int bumps, LogMode mode = LogMode::kCommand) {
    auto bank = Bank::open({.path = path(), .log = mode, .log_file_bytes = 8 << 10});
    if (*bank->number("SELECT count(*) FROM account") == 0) bank->fill(10);
    for (int i = 0; i < bumps; ++i) {
      ASSERT_TRUE(bank->database->call(bank->bump, {.id = 3, .balance = {}}).get().ok());
    }
    static_cast<void>(bank->database->discard());
  }
  std::vector<std::string> log_files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(path())) {
      if (entry.path().extension() == ".dtl") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  int64_t version() { return *Bank::open({.path = path()})->number(kVersion); }
  void expect_missed(const std::string& file) {
    const auto opened = Database::open({.path = path()});
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.code(), ErrorCode::kCorrupt);
    EXPECT_THAT(opened.error().message, HasSubstr(file));
    EXPECT_EQ(inspect_log(path()).code(), ErrorCode::kCorrupt);
  }

  static constexpr const char* kVersion = "SELECT version FROM account WHERE id = 3";
};

TEST_F(LogBegun, TheNewestFilesAreMissedAndCanBeDoneWithout) {
  Bank::open({.path = path()});
  crash_after(60);
  const auto files = log_files();
  ASSERT_GE(files.size(), 2U);
  const std::string aside = path("aside");
  fs::rename(files.back(), aside);
  expect_missed(files.back());
  fs::rename(aside, files.back());
  EXPECT_EQ(version(), 60);  // closed by that
  EXPECT_FALSE(fs::exists(log_begun_path(path())));
  crash_after(60);
  for (const std::string& file : log_files()) fs::remove(file);
  expect_missed("log-");
  ASSERT_TRUE(fs::remove(log_begun_path(path())));
  EXPECT_EQ(version(), 60);
}

// The next file is made ready while the newest one fills, so that it lies behind the gap.
TEST_F(LogBegun, TheNewestFileIsMissedThoughAPreparedOneLiesBehindIt) {
  for (const LogMode mode : {LogMode::kCommand, LogMode::kPhysical}) {
    fs::remove_all(path());
    Bank::open({.path = path()});
    crash_after(60, mode);
    const std::string newest = log_files().back();
    const uint64_t number = **read_log_begun(path(), 0);
    ASSERT_EQ(newest, log_file_path(path(), number));
    std::ofstream(log_file_path(path(), number + 1)) << std::string(8 << 10, '\0');
    EXPECT_TRUE(inspect_log(path()).ok());
    const std::string aside = path("aside");
    fs::rename(newest, aside);
    expect_missed(newest);
    fs::rename(aside, newest);
    EXPECT_EQ(version(), 60);
  }
}

// Numbers begin anew after a save, so that files which were copied aside have higher ones.
TEST_F(LogBegun, FilesOfAnEarlierLogDoNotHideThisOne) {
  for (const LogMode mode : {LogMode::kCommand, LogMode::kPhysical}) {
    fs::remove_all(path());
    fs::remove_all(path("old"));
    Bank::open({.path = path()});
    crash_after(120, mode);
    fs::create_directory(path("old"));
    for (const std::string& file : log_files()) {
      fs::copy(file, path("old") / fs::path(file).filename());
    }
    ASSERT_EQ(version(), 120);  // and closed, so saved
    crash_after(5, mode);
    std::vector<std::string> stale;
    for (const auto& entry : fs::directory_iterator(path("old"))) {
      const fs::path beside = path() / entry.path().filename();
      if (fs::copy_file(entry.path(), beside, fs::copy_options::skip_existing)) {
        stale.push_back(beside.string());
      }
    }
    std::sort(stale.begin(), stale.end());
    ASSERT_GE(stale.size(), 1U);
    expect_missed(stale.front());
    for (const std::string& file : stale) fs::remove(file);
    EXPECT_EQ(version(), 125);
  }
}

TEST_F(LogBegun, ANewestFileOfZeroesIsDamaged) {
  Bank::open({.path = path()});
  crash_after(60);
  const std::string newest = log_files().back();
  const auto bytes = fs::file_size(newest);
  fs::resize_file(newest, 0);
  expect_missed(newest);
  fs::resize_file(newest, bytes);
  expect_missed(newest);
}

TEST_F(LogBegun, LivesThatCrashAndCheckpointsAreNotMistakenForLosses) {
  Bank::open({.path = path()});
  for (int life = 0; life < 3; ++life) {
    crash_after(25);
    auto bank = Bank::open({.path = path(), .log_file_bytes = 8 << 10});
    EXPECT_EQ(*bank->number(kVersion), (life + 1) * 25);
    ASSERT_TRUE(bank->database->checkpoint().ok());
    static_cast<void>(bank->database->discard());
  }
  EXPECT_EQ(version(), 75);
}

TEST(LogBegunRecord, SaysNothingUntilItIsWrittenAndNamesDamage) {
  const fs::path directory = fs::path(::testing::TempDir()) / "log_begun_record";
  fs::remove_all(directory);
  fs::create_directory(directory);
  const LogPlace place{directory.string(), 7};
  const std::string path = log_begun_path(place.directory);
  EXPECT_FALSE(read_log_begun(place.directory, 7)->has_value());
  std::ofstream(path).close();
  EXPECT_FALSE(read_log_begun(place.directory, 7)->has_value()) << "it was being made";
  fs::resize_file(path, kLogSectorBytes);
  EXPECT_FALSE(read_log_begun(place.directory, 7)->has_value()) << "it was being made";
  ASSERT_TRUE(write_log_begun(place, 3, {}).ok());
  ASSERT_TRUE(write_log_begun(place, 4, {}).ok());
  EXPECT_EQ(**read_log_begun(place.directory, 7), 4U);
  EXPECT_EQ(**read_log_begun(place.directory, 0), 4U);
  EXPECT_EQ(read_log_begun(place.directory, 8).code(), ErrorCode::kCorrupt);
  for (const int at : {0, 8, 16, 100, 511}) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put('!');
    file.close();
    const auto read = read_log_begun(place.directory, 7);
    ASSERT_EQ(read.code(), ErrorCode::kCorrupt) << at;
    EXPECT_THAT(read.error().message, HasSubstr(path));
    ASSERT_TRUE(write_log_begun(place, 4, {}).ok());
  }
  ASSERT_TRUE(remove_log_begun(place, {}).ok());
  ASSERT_TRUE(remove_log_begun(place, {}).ok());
  EXPECT_FALSE(fs::exists(path));
  fs::remove_all(directory);
}

// Whoever begins a file tries again where there was no space, and ends the log where a sync failed.
TEST(LogBegunRecord, ItsNameIsDurableWithItAndAFailedSyncIsNoLackOfSpace) {
  using storage::FileStep;
  const fs::path directory = fs::path(::testing::TempDir()) / "log_begun_steps";
  const LogPlace place{directory.string(), 7};
  std::vector<FileStep> steps;
  std::optional<FileStep> refused;
  const auto note = [&](FileStep step) -> base::Result<void> {
    steps.push_back(step);
    if (step == refused) return base::Error(ErrorCode::kNoSpace, "the test's disk is full");
    return {};
  };
  const auto written_anew = [&] {
    fs::remove_all(directory);
    fs::create_directory(directory);
    steps.clear();
    return write_log_begun(place, 1, note);
  };
  ASSERT_TRUE(written_anew().ok());
  EXPECT_EQ(steps, (std::vector{FileStep::kGrow, FileStep::kWrite, FileStep::kSync,
                                FileStep::kSyncDirectory}));
  steps.clear();
  ASSERT_TRUE(write_log_begun(place, 2, note).ok());
  EXPECT_EQ(steps, (std::vector{FileStep::kWrite, FileStep::kSync}));
  const std::pair<FileStep, ErrorCode> errors[] = {{FileStep::kGrow, ErrorCode::kNoSpace},
                                                   {FileStep::kWrite, ErrorCode::kNoSpace},
                                                   {FileStep::kSync, ErrorCode::kIo},
                                                   {FileStep::kSyncDirectory, ErrorCode::kIo}};
  for (const auto& [step, error] : errors) {
    refused = step;
    EXPECT_EQ(written_anew().code(), error) << static_cast<int>(step);
  }
  fs::remove_all(directory);
}

// A process that has as many files open as it may tries again, too: nothing was changed.
TEST(LogBegunRecord, IsNotMadeWhereItsDirectoryCannotBeOpenedToSyncIt) {
  if (diptych::test::kSanitized) GTEST_SKIP() << "a sanitizer's checks open pipes";
  const diptych::test::TemporaryDirectory directory;
  const LogPlace place{directory.path(), 7};
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::dup(STDERR_FILENO);
  ASSERT_GE(next, 0);
  ::close(next);
  for (const rlim_t left : {0U, 1U}) {
    rlimit limited = before;
    limited.rlim_cur = static_cast<rlim_t>(next) + left;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limited), 0);
    const base::Result<void> written = write_log_begun(place, 1, {});
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(written.code(), ErrorCode::kNoSpace) << left << ": " << written.error().to_string();
    EXPECT_FALSE(fs::exists(log_begun_path(directory.path())));
  }
  EXPECT_TRUE(write_log_begun(place, 1, {}).ok());
}

}  // namespace
}  // namespace diptych::dispatcher
