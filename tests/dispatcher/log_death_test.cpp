// A process that dies between any two system calls of log, checkpoint and recovery: what it
// acknowledged is there, each half of what it did not is there as a whole or not at all.

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dispatcher/command_log/log_file.h"
#include "dispatcher/command_log/log_reader.h"
#include "storage/manifest.h"
#include "tests/dispatcher/bank_fixture.h"
#include "tests/dispatcher/step_counter.h"

namespace diptych::dispatcher {
namespace {

using storage::FileStep;

constexpr int32_t kSaved = 10;      // accounts, of which the first are bumped, one by each worker
constexpr int32_t kBumped = 4;      // of these
constexpr int64_t kFoundBumps = 3;  // of each, in the log that the process finds
constexpr int32_t kLoaded = 50;

// What the process has acknowledged, in memory that outlives it.
struct Acknowledged {
  std::array<std::atomic<int64_t>, kBumped> bumps;
  std::atomic<bool> index;
  std::atomic<bool> load;
  std::atomic<bool> close;
  std::array<std::atomic<int64_t>, StepCounter::kKinds> steps;  // of a whole life
};

struct Life {
  LogMode mode;
  uint32_t workers;
  bool by_ring;
};

class LogDeath : public DirectoryFixture, public ::testing::WithParamInterface<Life> {
 protected:
  LogDeath()
      : acknowledged_(
            static_cast<Acknowledged*>(::mmap(nullptr, sizeof(Acknowledged), PROT_READ | PROT_WRITE,
                                              MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~LogDeath() override { ::munmap(acknowledged_, sizeof(Acknowledged)); }

  DatabaseOptions options(const std::string& name) const {
    DatabaseOptions options{.path = path(name), .log = GetParam().mode, .log_file_bytes = 8 << 10};
    options.placement.oltp_workers = GetParam().workers;
    return options;
  }

  // A database that was killed: with a log to replay, the end of which is torn, and with a file
  // that was made ready and never begun.
  void make_crashed() {
    Bank::open(options("base"))->fill(kSaved);
    {
      auto bank = Bank::open(options("base"));
      for (int64_t i = 0; i < kFoundBumps; ++i) bump(bank.get(), nullptr);
      static_cast<void>(bank->database->discard());
    }
    const auto found = scan_log(path("base"), storage::read_manifest(path("base"))->vid);
    ASSERT_TRUE(found.ok()) << found.error().to_string();
    ASSERT_EQ(found->transactions, static_cast<uint64_t>(kFoundBumps * kBumped));
    std::fstream file(found->files.back().path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(found->files.back().bytes));
    file << std::string(700, 'x');
    std::ofstream(log_file_path(path("base"), found->next_number)) << std::string(8 << 10, '\0');
  }

  // All accounts at once; counts those whose reply came.
  static void bump(Bank* bank, Acknowledged* acknowledged) {
    std::vector<Future<oltp::Nothing>> calls;
    for (int32_t id = 0; id < kBumped; ++id) {
      calls.push_back(bank->database->call(bank->bump, {.id = id, .balance = {}}));
    }
    for (size_t id = 0; id < calls.size(); ++id) {
      const bool done = calls[id].get().ok();
      if (done && acknowledged != nullptr) ++acknowledged->bumps[id];
    }
  }

  static base::Result<LoadReport> load(Bank* bank) {
    std::vector<Account> rows;
    for (int32_t id = kSaved; id < kSaved + kLoaded; ++id) rows.push_back({id, {1}, 0});
    return bank->database->load(bank->accounts.table, [&, given = false]() mutable {
      if (std::exchange(given, true)) return RowBatch{};
      return RowBatch{reinterpret_cast<const std::byte*>(rows.data()), rows.size()};
    });
  }

  // From recovery to close, over several log files.
  void live(int64_t die_at) {
    steps_.kill_at(die_at);
    DatabaseOptions with = options("bank");
    with.faults = {.before_step = steps_.hook(), .log_by_ring = GetParam().by_ring};
    auto bank = Bank::open(with);
    Acknowledged& done = *acknowledged_;
    for (int i = 0; i < 4; ++i) bump(bank.get(), &done);
    static_cast<void>(bank->database->checkpoint());
    bump(bank.get(), &done);
    done.index = bank->database->execute_ddl("CREATE INDEX by_version ON account (version)").ok();
    bump(bank.get(), &done);
    done.load = load(bank.get()).ok();
    bump(bank.get(), &done);
    done.close = bank->database->close().ok();
    for (size_t step = 0; step < StepCounter::kKinds; ++step) {
      done.steps[step] = steps_.taken(static_cast<FileStep>(step));
    }
  }

  // What a recovery finds. It leaves it as it was, with the torn end cut.
  void expect_whole() {
    auto bank = Bank::open(options("bank"));
    ASSERT_NE(bank, nullptr);
    const Acknowledged& done = *acknowledged_;
    for (int32_t id = 0; id < kBumped; ++id) {
      const auto version =
          bank->number("SELECT version FROM account WHERE id = " + std::to_string(id));
      ASSERT_TRUE(version.ok()) << version.error().to_string();
      const int64_t bumps = done.bumps[static_cast<size_t>(id)];
      EXPECT_GE(*version, kFoundBumps + bumps) << "account " << id;
      EXPECT_LE(*version, kFoundBumps + bumps + 1) << "account " << id;
    }
    const bool has_index = bank->database->bind_index<&Account::version>("by_version").ok();
    EXPECT_GE(has_index, done.index);
    const int64_t rows = *bank->number("SELECT count(*) FROM account");
    EXPECT_TRUE(rows == kSaved || rows == kSaved + kLoaded) << rows << " rows";
    if (done.load) {
      EXPECT_EQ(rows, kSaved + kLoaded);
    }
    expect_equal_replicas(bank->database.get());
    if (done.close) {
      EXPECT_EQ(bank->database->recover()->transactions, 0u);
    }
    static_cast<void>(bank->database->discard());
  }

  // False: the process lived to its end.
  bool dies_at(int64_t step) {
    std::filesystem::remove_all(path());
    std::filesystem::copy(path("base"), path());
    new (acknowledged_) Acknowledged();
    const pid_t child = ::fork();
    if (child == 0) {
      live(step);
      ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
  }

  Acknowledged* const acknowledged_;
  StepCounter steps_;
};

// Both logs, one worker and several, calls and the ring: each with each other.
INSTANTIATE_TEST_SUITE_P(Lives, LogDeath,
                         ::testing::Values(Life{LogMode::kCommand, 1, false},
                                           Life{LogMode::kCommand, 4, true},
                                           Life{LogMode::kPhysical, 1, true},
                                           Life{LogMode::kPhysical, 4, false}));

TEST_P(LogDeath, BetweenAnyTwoStepsLosesNothing) {
  ASSERT_NO_FATAL_FAILURE(make_crashed());
  int64_t at = 1;
  for (; dies_at(at); ++at) {
    ASSERT_NO_FATAL_FAILURE(expect_whole());
    // Once more: what the recovery itself left is whole too.
    if (at % 8 == 0) {
      ASSERT_NO_FATAL_FAILURE(expect_whole());
    }
    ASSERT_FALSE(HasFailure()) << "killed at step " << at;
  }
  ASSERT_NO_FATAL_FAILURE(expect_whole());
  EXPECT_TRUE(acknowledged_->close);
  EXPECT_GT(at, 80);
  for (size_t step = 0; step < StepCounter::kKinds; ++step) {
    // A block file that is so small gives nothing back.
    if (static_cast<FileStep>(step) == FileStep::kTruncate) continue;
    EXPECT_GT(acknowledged_->steps[step], 0) << "no life had a step " << step;
  }
  RecordProperty("deaths", std::to_string(at - 1));
}

}  // namespace
}  // namespace diptych::dispatcher
