// A disk that refuses: a full one that has space again, or does not, one that is slow, or
// read-only; and changes that cannot be saved.

#include <array>
#include <atomic>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "tests/dispatcher/log_fault_fixture.h"
#include "tests/sanitizers.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using storage::FileStep;
using ::testing::HasSubstr;

TEST_F(LogFault, AReplyComesAfterTheSync) {
  std::atomic<bool> may_sync{true};
  std::atomic<bool> syncing{false};
  DatabaseOptions with_gate{.path = path()};
  with_gate.faults.before_step = [&](FileStep step) {
    if (step == FileStep::kSync && !may_sync) {
      syncing = true;
      while (!may_sync) std::this_thread::yield();
    }
    return base::Result<void>();
  };
  auto bank = Bank::open(with_gate);
  bank->fill(10);
  ASSERT_TRUE(bump(bank.get()));
  may_sync = false;
  auto reply = bank->database->call(bank->bump, {.id = 3, .balance = {}});
  while (!syncing) std::this_thread::yield();
  // A call that only fails read what is not durable yet, and a query shows it.
  auto aborted = bank->database->call(bank->transfer, {.from = 3, .to = 4, .cents = 1 << 30});
  auto query = std::async(std::launch::async, [&] {
    return *bank->number("SELECT version FROM account WHERE id = 3");
  });
  EXPECT_EQ(reply.wait_for(std::chrono::milliseconds(30)), std::future_status::timeout);
  EXPECT_EQ(aborted.wait_for(std::chrono::milliseconds(0)), std::future_status::timeout);
  EXPECT_EQ(query.wait_for(std::chrono::milliseconds(0)), std::future_status::timeout);
  may_sync = true;
  EXPECT_TRUE(reply.get().ok());
  EXPECT_EQ(aborted.get().code(), ErrorCode::kAborted);
  EXPECT_EQ(query.get(), 2);
}

TEST_F(LogFault, AFullDiskRefusesCallsUntilThereIsSpace) {
  Bank::open({.path = path()})->fill(10);
  auto bank = Bank::open(options());
  ASSERT_TRUE(bump(bank.get()));
  ::testing::internal::CaptureStderr();
  steps_.refuse(FileStep::kGrow, ErrorCode::kNoSpace);
  // Until a new file is needed all is well; then a call waits, and further ones are refused.
  int64_t done = 1;
  Future<oltp::Nothing> waits;
  const auto is_full = [&] {
    return bank->database->metrics().log_refuses[static_cast<size_t>(LogRefusal::kNoSpace)];
  };
  const auto bump_until_full = [&] {
    while (true) {
      waits = bank->database->call(bank->bump, {.id = 3, .balance = {}});
      bool ended = false;
      while (!ended && !is_full()) {
        ended = waits.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready;
      }
      if (!ended) return;
      ASSERT_TRUE(waits.get().ok());
      ++done;
    }
  };
  bump_until_full();
  EXPECT_GT(done, 2);
  // Who waits sees why, before the disk is tried once more.
  const int64_t tried = steps_.taken(FileStep::kGrow);
  while (steps_.taken(FileStep::kGrow) == tried) std::this_thread::yield();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              HasSubstr("diptych: transactions wait for the log: the log's next file takes 16384 "
                        "bytes: the test's disk refuses (they go on once there is space)\n"));
  const auto refused = bump(bank.get());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), ErrorCode::kNoSpace);
  EXPECT_THAT(refused.error().message, HasSubstr("wait for the log"));
  // Queries go on, with what memory has: the call that waits, too.
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), done + 1);
  const Metrics metrics = bank->database->metrics();
  EXPECT_EQ(metrics.log_refuses, (std::array<bool, kLogRefusals>{false, true, false}));
  EXPECT_GT(metrics.log_waiting_bytes, 0u);
  EXPECT_EQ(metrics.durable_vid.value + 1, metrics.last_vid.value);
  ::testing::internal::CaptureStderr();
  steps_.refuse({}, ErrorCode::kIo);
  EXPECT_TRUE(waits.get().ok());
  const Metrics after = bank->database->metrics();
  EXPECT_EQ(after.log_refuses, (std::array<bool, kLogRefusals>{}));
  EXPECT_EQ(after.log_waiting_bytes, 0u);
  EXPECT_EQ(after.durable_vid, after.last_vid);
  EXPECT_TRUE(bump(bank.get()));
  // The next time is told, too, however soon.
  steps_.refuse(FileStep::kGrow, ErrorCode::kNoSpace);
  done += 2;
  bump_until_full();
  steps_.refuse({}, ErrorCode::kIo);
  EXPECT_TRUE(waits.get().ok());
  static_cast<void>(bank->database->discard());
  const std::string told = ::testing::internal::GetCapturedStderr();
  const size_t first = told.find("diptych: the log has space again: transactions go on\n");
  const size_t second = told.find("diptych: transactions wait for the log");
  ASSERT_NE(first, told.npos) << told;
  ASSERT_NE(second, told.npos) << told;
  EXPECT_LT(first, second);
  EXPECT_NE(told.find("the log has space again", second), told.npos) << told;
  EXPECT_EQ(bumps(), done + 1);
}

// While it lives the process opens no file.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  }
  ~NoMoreFiles() { setrlimit(RLIMIT_NOFILE, &before_); }
  NoMoreFiles(const NoMoreFiles&) = delete;
  NoMoreFiles& operator=(const NoMoreFiles&) = delete;

 private:
  rlimit before_{};
};

// Nothing is lost for want of a number for the log's next file.
TEST_F(LogFault, DescriptorsThatAreUsedUpAreWaitedFor) {
  if (diptych::test::kSanitized) GTEST_SKIP() << "a sanitizer's checks open pipes";
  Bank::open({.path = path()})->fill(10);
  auto bank = Bank::open(options());
  ASSERT_TRUE(bump(bank.get()));
  std::optional<NoMoreFiles> no_more_files(std::in_place);
  int64_t done = 1;
  Future<oltp::Nothing> waits;
  const auto is_full = [&] {
    return bank->database->metrics().log_refuses[static_cast<size_t>(LogRefusal::kNoSpace)];
  };
  for (bool ended = true; ended;) {
    waits = bank->database->call(bank->bump, {.id = 3, .balance = {}});
    ended = false;
    while (!ended && !is_full()) {
      ended = waits.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready;
    }
    if (!ended) break;
    ASSERT_TRUE(waits.get().ok());
    ASSERT_LT(++done, 100'000);
  }
  EXPECT_THAT(bump(bank.get()).error().message, HasSubstr("Too many open files"));
  no_more_files.reset();
  EXPECT_TRUE(waits.get().ok());
  EXPECT_TRUE(bump(bank.get()));
  static_cast<void>(bank->database->discard());
  EXPECT_EQ(bumps(), done + 2);
}

// Of the group that waits for space, and of the one behind it: a batch that began before.
TEST_F(LogFault, AFullDiskIsNotWaitedForBeyondACallsDeadline) {
  constexpr CallOptions kSoon{.timeout_ns = 200'000'000};
  Bank::open({.path = path()})->fill(10);
  std::atomic<bool> grows{false};  // the group waits, though nobody knows yet
  std::atomic<bool> is_full{false};
  std::atomic<bool> has_space{false};
  DatabaseOptions with{.path = path(), .slow_procedure_ns = 0};
  with.faults.before_step = [&](FileStep step) -> base::Result<void> {
    if (step != FileStep::kGrow) return {};
    grows = true;
    while (!is_full) std::this_thread::yield();
    if (has_space) return {};
    return base::Error(ErrorCode::kNoSpace, "the test's disk refuses");
  };
  auto bank = Bank::open(with);
  std::atomic<bool> looks{false};
  std::atomic<bool> may_end{false};
  const auto look = *bank->database->register_procedure<AccountArguments, TransferReply>(
      "look",
      [&](Transaction& txn, const AccountArguments& arguments) -> base::Result<TransferReply> {
        looks = true;
        while (!may_end) std::this_thread::yield();
        auto row = txn.get<&Account::version>(bank->by_id, arguments.id);
        if (!row) return row.error();
        return TransferReply{*row};
      });
  // On a machine that is slow just now its time may be over before a batch takes it.
  const auto call_until = [&](const std::atomic<bool>& reached, const auto& procedure) {
    auto called = bank->database->call(procedure, {.id = 3, .balance = {}}, kSoon);
    while (!reached) {
      if (called.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready) continue;
      called = bank->database->call(procedure, {.id = 3, .balance = {}}, kSoon);
    }
    return called;
  };
  auto first = call_until(grows, bank->bump);
  auto second = call_until(looks, look);
  auto patient = bank->database->call(bank->bump, {.id = 4, .balance = {}});
  is_full = true;
  while (!bank->database->metrics().log_refuses[static_cast<size_t>(LogRefusal::kNoSpace)]) {
    std::this_thread::yield();
  }
  may_end = true;
  for (const auto& outcome : {first.get().error(), second.get().error()}) {
    EXPECT_EQ(outcome.code, ErrorCode::kIo);
    EXPECT_THAT(outcome.message, HasSubstr("not known"));
  }
  EXPECT_EQ(patient.get().code(), ErrorCode::kNoSpace);  // no batch had taken it
  has_space = true;
  // What had run is kept, here.
  while (!bump(bank.get())) std::this_thread::yield();
  static_cast<void>(bank->database->discard());
  EXPECT_EQ(bumps(), 2);
}

// There is space for so many files of the log and no more: a checkpoint makes some.
TEST_F(LogFault, AFullDiskHasACheckpointTakenThatFreesLogFiles) {
  constexpr ptrdiff_t kFiles = 4;
  Bank::open({.path = path()})->fill(10);
  DatabaseOptions with{.path = path(), .log_file_bytes = 8 << 10};
  with.faults.before_step = [&](FileStep step) -> base::Result<void> {
    if (step != FileStep::kGrow || !is_thread_of_the_log()) return {};
    ptrdiff_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path())) {
      files += entry.path().extension() == ".dtl" ? 1 : 0;
    }
    // The file itself may be there.
    if (files <= kFiles) return {};
    return base::Error(ErrorCode::kNoSpace, "the test's disk refuses");
  };
  auto bank = Bank::open(with);
  int64_t done = 0;
  for (int i = 0; i < 100; ++i) {
    auto call = bank->database->call(bank->bump, {.id = 3, .balance = {}});
    ASSERT_EQ(call.wait_for(std::chrono::seconds(60)), std::future_status::ready);
    const auto outcome = call.get();
    done += outcome.ok() ? 1 : 0;
    ASSERT_TRUE(outcome.ok() || outcome.code() == ErrorCode::kNoSpace);
  }
  EXPECT_GE(bank->database->metrics().checkpoints, 2u);
  static_cast<void>(bank->database->discard());
  EXPECT_EQ(bumps(), done);
}

// It would make space, and asks for a file that there is no space for.
TEST_F(LogFault, ASaveEndsThoughTheLogWaitsForSpace) {
  Bank::open({.path = path()})->fill(10);
  std::atomic<bool> is_full{true};
  DatabaseOptions with{.path = path()};
  with.faults.before_step = [&](FileStep step) -> base::Result<void> {
    if (step != FileStep::kGrow || !is_full || !is_thread_of_the_log()) return {};
    return base::Error(ErrorCode::kNoSpace, "the test's disk refuses");
  };
  auto bank = Bank::open(with);
  auto waits = bank->database->call(bank->bump, {.id = 3, .balance = {}});
  while (!bank->database->metrics().log_refuses[static_cast<size_t>(LogRefusal::kNoSpace)]) {
    std::this_thread::yield();
  }
  auto saved = std::async(std::launch::async, [&] { return bank->database->save(); });
  EXPECT_EQ(saved.wait_for(std::chrono::seconds(60)), std::future_status::ready);
  is_full = false;
  EXPECT_TRUE(saved.get().ok());
  EXPECT_TRUE(waits.get().ok());
  static_cast<void>(bank->database->discard());
  EXPECT_EQ(bumps(), 1);
}

TEST_F(LogFault, WithoutSpaceForTheFileThatASaveAsksForThePresentOneGoesOn) {
  Bank::open({.path = path()})->fill(10);
  std::atomic<bool> is_full{false};
  DatabaseOptions with{.path = path()};
  with.faults.before_step = [&](FileStep step) -> base::Result<void> {
    if (step != FileStep::kGrow || !is_full || !is_thread_of_the_log()) return {};
    return base::Error(ErrorCode::kNoSpace, "the test's disk refuses");
  };
  auto bank = Bank::open(with);
  ASSERT_TRUE(bump(bank.get()));
  is_full = true;
  EXPECT_TRUE(bank->database->save().ok());
  const auto after = bump(bank.get());
  EXPECT_TRUE(after.ok()) << after.error().to_string();
  EXPECT_EQ(bank->database->metrics().log_files, 1u);
  static_cast<void>(bank->database->discard());
  EXPECT_EQ(bumps(), 2);
}

// It begins behind what is written, and not behind what waits for that.
TEST_F(LogFault, AFileIsBegunForASaveThatFailsWhileAGroupWaits) {
  Bank::open({.path = path()})->fill(10);
  std::atomic<bool> holds{false};
  std::atomic<bool> syncs{false};
  DatabaseOptions with{.path = path()};
  with.faults.before_step = [&](FileStep step) -> base::Result<void> {
    if (step == FileStep::kRename && syncs) return base::Error(ErrorCode::kIo, "refused");
    if (step != FileStep::kSync || !is_thread_of_the_log()) return {};
    syncs = syncs || holds;
    while (holds) std::this_thread::sleep_for(std::chrono::microseconds(100));
    return {};
  };
  auto bank = Bank::open(with);
  ASSERT_TRUE(bump(bank.get()));
  const uint64_t before = bank->database->metrics().last_vid.value;
  holds = true;
  auto written = bank->database->call(bank->bump, {.id = 3, .balance = {}});
  while (!syncs) std::this_thread::yield();
  auto waiting = bank->database->call(bank->bump, {.id = 3, .balance = {}});
  while (bank->database->metrics().last_vid.value < before + 2) {
    std::this_thread::yield();
  }
  auto saved = std::async(std::launch::async, [&] { return bank->database->save(); });
  // Where the save is slower, the group is written before it, and nothing is shown.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  holds = false;
  EXPECT_FALSE(saved.get().ok());
  EXPECT_TRUE(written.get().ok());
  EXPECT_TRUE(waiting.get().ok());
  static_cast<void>(bank->database->discard());
  EXPECT_EQ(bumps(), 3);
}

// A disk that takes 5 ms for a sync: what is admitted is bounded, and so is what the log keeps.
TEST_F(LogFault, ASlowDiskRefusesWhatIsTooMuch) {
  constexpr uint32_t kCalls = 64;
  Bank::open({.path = path()})->fill(10);
  DatabaseOptions with{.path = path(), .queue_requests = kCalls};
  with.faults.before_step = [](FileStep step) -> base::Result<void> {
    if (step == FileStep::kSync) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return {};
  };
  auto bank = Bank::open(with);
  std::vector<Future<oltp::Nothing>> calls;
  for (int i = 0; i < 20; ++i) {
    for (uint32_t j = 0; j < 2 * kCalls; ++j) {
      calls.push_back(
          bank->database->call(bank->bump, {.id = 3, .balance = {}}, Admission::kRefuse));
    }
    const Metrics metrics = bank->database->metrics();
    EXPECT_LE(metrics.transactions_in_flight, kCalls);
    EXPECT_LT(metrics.memory.log, size_t{256} << 10);
    EXPECT_LE(metrics.calls_waiting[static_cast<size_t>(Priority::kNormal)], kCalls);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  int64_t done = 0;
  int64_t overloaded = 0;
  for (auto& call : calls) {
    const auto outcome = call.get();
    done += outcome.ok() ? 1 : 0;
    overloaded += !outcome.ok() && outcome.code() == ErrorCode::kOverloaded ? 1 : 0;
  }
  EXPECT_GT(overloaded, 0);
  EXPECT_EQ(done + overloaded, static_cast<int64_t>(calls.size()));
  EXPECT_EQ(bank->database->metrics().calls_refused[static_cast<size_t>(ErrorCode::kOverloaded)],
            static_cast<uint64_t>(overloaded));
  EXPECT_GE(bank->database->metrics().log_write_ns.quantile(0.5), 5'000'000u);
  static_cast<void>(bank->database->discard());
  EXPECT_EQ(bumps(), done);
}

// As a device that the system has taken writing from: it is said, and nothing is touched.
TEST_F(LogFault, ADatabaseOnAReadOnlyDeviceIsNotOpenedAndStaysWhole) {
  const std::string device = path("device");
  std::filesystem::create_directory(device);
  if (::unshare(CLONE_NEWNS) != 0 ||
      ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
      ::mount("none", device.c_str(), "tmpfs", 0, "size=256m") != 0) {
    GTEST_SKIP() << "mounting takes root";
  }
  Bank::open({.path = device + "/bank"})->fill(10);
  {
    auto bank = Bank::open({.path = device + "/bank"});
    ASSERT_TRUE(bump(bank.get()));
    static_cast<void>(bank->database->discard());
  }
  ASSERT_EQ(::mount("none", device.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const auto refused = Database::open({.path = device + "/bank"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), ErrorCode::kIo);
  EXPECT_THAT(refused.error().message, HasSubstr("Read-only file system"));
  EXPECT_THAT(refused.error().message, HasSubstr(device));
  ASSERT_EQ(::mount("none", device.c_str(), nullptr, MS_REMOUNT, "size=256m"), 0);
  {
    auto bank = Bank::open({.path = device + "/bank"});
    EXPECT_EQ(*bank->number("SELECT version FROM account WHERE id = 3"), 1);
    ASSERT_TRUE(bump(bank.get()));
  }
  // Detached: the system may let go of a ring's files a little later.
  EXPECT_EQ(::umount2(device.c_str(), MNT_DETACH), 0);
}

TEST_F(LogFault, ADiskThatStaysFullIsNotWaitedForByClose) {
  Bank::open({.path = path()})->fill(10);
  {
    auto bank = Bank::open(options());
    steps_.refuse(FileStep::kGrow, ErrorCode::kNoSpace);
    auto waits = bank->database->call(bank->bump, {.id = 3, .balance = {}});
    EXPECT_EQ(waits.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
    EXPECT_FALSE(bank->database->close().ok());
    EXPECT_EQ(waits.get().code(), ErrorCode::kIo);
    steps_.refuse({}, ErrorCode::kIo);
    const auto closed = bank->database->close();
    EXPECT_TRUE(closed.ok()) << closed.error().to_string();
  }
  // Its fate was not known; it was in memory, which was saved.
  EXPECT_EQ(bumps(), 1);
}

TEST_F(LogFault, ALoadOrDdlThatCannotBeSavedStopsCallsUntilASaveSucceeds) {
  auto bank = Bank::open(options());
  bank->fill(10);
  ASSERT_TRUE(bump(bank.get()));
  steps_.refuse(FileStep::kRename, ErrorCode::kIo);
  const auto failed = bank->database->execute_ddl("CREATE TABLE t (a INT PRIMARY KEY)");
  ASSERT_EQ(failed.code(), ErrorCode::kIo);
  EXPECT_THAT(failed.error().message, HasSubstr("until save() or checkpoint() succeeds"));
  EXPECT_EQ(bump(bank.get()).code(), ErrorCode::kIo);
  EXPECT_EQ(bank->database->metrics().log_refuses,
            (std::array<bool, kLogRefusals>{false, false, true}));
  EXPECT_TRUE(bank->number("SELECT count(*) FROM t").ok());
  EXPECT_EQ(bank->database->checkpoint().code(), ErrorCode::kIo);
  steps_.refuse({}, ErrorCode::kIo);
  ASSERT_TRUE(bank->database->checkpoint().ok());
  EXPECT_TRUE(bump(bank.get()));
}

TEST_F(LogFault, DdlThatChangesNothingLeavesCallsAsTheyAreThoughNothingCanBeSaved) {
  auto bank = Bank::open(options());
  bank->fill(10);
  ASSERT_TRUE(bump(bank.get()));
  steps_.refuse(FileStep::kRename, ErrorCode::kNoSpace);
  EXPECT_EQ(bank->database->execute_ddl(kBankDdl).code(), ErrorCode::kAlreadyExists);
  EXPECT_TRUE(bump(bank.get()));
  EXPECT_TRUE(bank->database->execute_ddl("-- nothing\n").ok());
  EXPECT_TRUE(bump(bank.get()));
  steps_.refuse({}, ErrorCode::kIo);
}

TEST_F(LogFault, ALoadOrDdlThatCouldNotBeSavedIsOnceThereIsSpaceThoughNobodyAsks) {
  Bank::open({.path = path()})->fill(10);
  auto bank = Bank::open(options());
  const auto load = [&] {
    const Account row{77, {1}, 0};
    return bank->database->load(bank->accounts.table, [&, given = false]() mutable {
      if (std::exchange(given, true)) return RowBatch{};
      return RowBatch{reinterpret_cast<const std::byte*>(&row), 1};
    });
  };
  for (const bool loads : {false, true}) {
    steps_.refuse(FileStep::kRename, ErrorCode::kNoSpace);
    const ErrorCode failed =
        loads ? load().code()
              : bank->database->execute_ddl("CREATE TABLE t (a INT PRIMARY KEY)").code();
    ASSERT_EQ(failed, ErrorCode::kNoSpace);
    EXPECT_EQ(bump(bank.get()).code(), ErrorCode::kNoSpace);
    steps_.refuse({}, ErrorCode::kIo);
    for (int i = 0; !bump(bank.get()); ++i) {
      ASSERT_LT(i, 1'000) << "it is tried again once a second";
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  static_cast<void>(bank->database->discard());
  EXPECT_EQ(bumps(), 2);
}

TEST_F(LogFault, ACheckpointThatFailsKeepsTheLog) {
  Bank::open({.path = path()})->fill(10);
  for (const FileStep step : {FileStep::kWrite, FileStep::kSync, FileStep::kSyncDirectory}) {
    const int64_t before = bumps();
    auto bank = Bank::open(options());
    ASSERT_TRUE(bump(bank.get()));
    ASSERT_TRUE(bump(bank.get()));
    steps_.refuse(step, ErrorCode::kNoSpace);
    EXPECT_FALSE(bank->database->save().ok());
    steps_.refuse({}, ErrorCode::kIo);
    static_cast<void>(bank->database->discard());
    bank.reset();
    EXPECT_EQ(bumps(), before + 2);
  }
}

}  // namespace
}  // namespace diptych::dispatcher
