#include "storage/manifest.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/replica_saver.h"
#include "tests/storage/saved_replica.h"

namespace diptych::storage {
namespace {

using base::ErrorCode;
using base::Result;
using base::Vid;
using test::read_bytes;
using test::SavedReplica;
using test::TemporaryDirectory;
using test::write_bytes;

void expect_loads(const std::string& directory, const SavedReplica& expected, Vid vid) {
  const Result<Manifest> manifest = read_manifest(directory);
  ASSERT_TRUE(manifest.ok()) << manifest.error().to_string();
  ASSERT_EQ(manifest->vid, vid);
  ASSERT_EQ(manifest->ddl, expected.ddl());
  SavedReplica target(3);
  const Result<void> loaded = load_replica(directory, *manifest, &target.replica());
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  ASSERT_EQ(target.replica().snapshot(), vid);
  ASSERT_EQ(target.rows(), expected.rows());
}

TEST(Manifest, NamesTheStateThatWasSavedLast) {
  TemporaryDirectory directory;
  EXPECT_EQ(read_manifest(directory.path()).code(), ErrorCode::kNotFound);
  SavedReplica source(2);
  for (uint64_t round = 1; round <= 3; ++round) {
    source.fill(round, 500, Vid(round * 10));
    const Result<Manifest> saved = save_replica(directory.path(), source.replica(), source.ddl());
    ASSERT_TRUE(saved.ok()) << saved.error().to_string();
    EXPECT_EQ(saved->generation, round);
    ASSERT_NO_FATAL_FAILURE(expect_loads(directory.path(), source, Vid(round * 10)));
    // Nothing of older generations stays.
    const std::string number = std::to_string(round);
    EXPECT_EQ(directory.names(),
              (std::vector<std::string>{"%4Fdd%2F%4Eame-" + number + ".dtf", "manifest.json",
                                        "plain-" + number + ".dtf"}));
  }
}

TEST(Manifest, ReportsEveryDamagedByteAsCorruptOrReadsTheSame) {
  TemporaryDirectory directory;
  SavedReplica source(1);
  source.fill(1, 5, Vid(7));
  ASSERT_TRUE(save_replica(directory.path(), source.replica(), source.ddl()).ok());
  const std::string path = directory.path() + "/manifest.json";
  const std::string intact = read_bytes(path);
  const std::string meaning = *manifest_to_text(*read_manifest(directory.path()));
  ASSERT_EQ(meaning, intact);
  size_t unchanged = 0;
  const auto expect_corrupt_or_same = [&](const std::string& bytes, size_t at) {
    write_bytes(path, bytes);
    const Result<Manifest> read = read_manifest(directory.path());
    if (read.ok()) {
      ASSERT_EQ(*manifest_to_text(*read), meaning) << "byte " << at;
      ++unchanged;
    } else {
      ASSERT_EQ(read.code(), ErrorCode::kCorrupt) << read.error().to_string();
    }
  };
  for (size_t at = 0; at < intact.size(); ++at) {
    for (const int mask : {0x01, 0x20, 0xff}) {
      std::string damaged = intact;
      damaged[at] = static_cast<char>(damaged[at] ^ mask);
      expect_corrupt_or_same(damaged, at);
    }
    expect_corrupt_or_same(intact.substr(0, at), at);
  }
  EXPECT_LT(unchanged, intact.size());  // damaged or cut blanks between the fields only
}

TEST(Manifest, IsCorruptWhereATableFileIsMissingOrAnothers) {
  TemporaryDirectory directory;
  SavedReplica source(1);
  source.fill(1, 5, Vid(7));
  ASSERT_TRUE(save_replica(directory.path(), source.replica(), source.ddl()).ok());
  const std::string old = read_bytes(directory.path() + "/plain-1.dtf");
  source.fill(2, 5, Vid(8));
  ASSERT_TRUE(save_replica(directory.path(), source.replica(), source.ddl()).ok());
  const Manifest manifest = *read_manifest(directory.path());
  write_bytes(directory.path() + "/plain-2.dtf", old);
  SavedReplica target(1);
  Result<void> loaded = load_replica(directory.path(), manifest, &target.replica());
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kCorrupt);
  std::filesystem::remove(directory.path() + "/plain-2.dtf");
  SavedReplica other(1);
  loaded = load_replica(directory.path(), manifest, &other.replica());
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(loaded.error().message.find("plain-2.dtf"), std::string::npos);
}

TEST(Manifest, RefusesDdlThatIsNotUtf8AndKeepsTheOldState) {
  TemporaryDirectory directory;
  SavedReplica source(1);
  ASSERT_TRUE(save_replica(directory.path(), source.replica(), source.ddl()).ok());
  const Result<Manifest> saved = save_replica(directory.path(), source.replica(), {"\xff\xfe"});
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.code(), ErrorCode::kInvalidArgument);
  expect_loads(directory.path(), source, Vid(0));
}

// The saves of two states, the second stopped before its step k: by an error, or by a kill.
enum class Stop { kError, kKill };

void expect_a_whole_state_when_stopped(Stop stop) {
  for (int step = 0;; ++step) {
    TemporaryDirectory directory;
    SavedReplica before(2);
    before.fill(1, 200, Vid(10));
    ASSERT_TRUE(save_replica(directory.path(), before.replica(), before.ddl()).ok());
    SavedReplica after(2);
    after.fill(2, 200, Vid(20));
    int reached = 0;
    bool switched = false;
    const auto before_step = [&](SaveStep at) -> Result<void> {
      switched = at > SaveStep::kSwitch;
      if (reached++ != step) return {};
      if (stop == Stop::kKill) _exit(switched ? 1 : 0);
      return base::Error(ErrorCode::kIo, "stopped");
    };
    const auto save = [&] {
      return ReplicaSaver(directory.path(), after.replica(), before_step).save(after.ddl());
    };
    if (stop == Stop::kKill) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) _exit(save().ok() ? 2 : 3);
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFEXITED(status));
      ASSERT_NE(WEXITSTATUS(status), 3);
      switched = WEXITSTATUS(status) != 0;
      if (WEXITSTATUS(status) == 2) return;
    } else {
      const Result<Manifest> saved = save();
      if (reached <= step) return;
      // What is left to do after the switch is only clearing up.
      if (!switched) {
        ASSERT_FALSE(saved.ok());
        ASSERT_EQ(directory.names().size(), 3U) << "partial files stay after step " << step;
      }
    }
    if (switched) {
      ASSERT_NO_FATAL_FAILURE(expect_loads(directory.path(), after, Vid(20)));
    } else {
      ASSERT_NO_FATAL_FAILURE(expect_loads(directory.path(), before, Vid(10)));
    }
    // The next save clears away what the stopped one left.
    ASSERT_TRUE(save_replica(directory.path(), after.replica(), after.ddl()).ok());
    ASSERT_EQ(directory.names().size(), 3U);
    ASSERT_NO_FATAL_FAILURE(expect_loads(directory.path(), after, Vid(20)));
  }
}

TEST(SaveReplica, LeavesAWholeStateWhenAnyStepFails) {
  expect_a_whole_state_when_stopped(Stop::kError);
}

TEST(SaveReplica, LeavesAWholeStateWhenKilledBeforeAnyStep) {
  expect_a_whole_state_when_stopped(Stop::kKill);
}

TEST(SaveReplica, SaysNoSpaceAndKeepsTheOldStateWhereFilesMayNotGrow) {
  TemporaryDirectory directory;
  SavedReplica before(1);
  before.fill(1, 50, Vid(10));
  ASSERT_TRUE(save_replica(directory.path(), before.replica(), before.ddl()).ok());
  SavedReplica after(1);
  after.fill(2, 2000, Vid(20));
  rlimit unlimited;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{100 * 1024, unlimited.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  const Result<Manifest> saved = save_replica(directory.path(), after.replica(), after.ddl());
  setrlimit(RLIMIT_FSIZE, &unlimited);
  signal(SIGXFSZ, old_handler);
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.code(), ErrorCode::kNoSpace) << saved.error().to_string();
  EXPECT_NE(saved.error().message.find(directory.path()), std::string::npos);
  EXPECT_EQ(directory.names().size(), 3U);
  expect_loads(directory.path(), before, Vid(10));
}

TEST(SaveReplica, SaysNoSpaceAndKeepsTheOldStateOnAFullDisk) {
  TemporaryDirectory mount_point;
  if (mount("tmpfs", mount_point.path().c_str(), "tmpfs", 0, "size=256k") != 0) {
    GTEST_SKIP() << "mounting a small tmpfs needs root";
  }
  SavedReplica before(1);
  before.fill(1, 50, Vid(10));
  const Result<Manifest> first = save_replica(mount_point.path(), before.replica(), before.ddl());
  SavedReplica after(1);
  after.fill(2, 2000, Vid(20));
  const Result<Manifest> saved = save_replica(mount_point.path(), after.replica(), after.ddl());
  EXPECT_TRUE(first.ok());
  EXPECT_FALSE(saved.ok());
  if (!saved.ok()) {
    EXPECT_EQ(saved.code(), ErrorCode::kNoSpace) << saved.error().to_string();
  }
  EXPECT_EQ(mount_point.names().size(), 3U);
  expect_loads(mount_point.path(), before, Vid(10));
  EXPECT_EQ(umount(mount_point.path().c_str()), 0);
}

TEST(SaveReplica, NamesADirectoryThatCannotBeRead) {
  SavedReplica source(1);
  const auto saved = save_replica("/nonexistent/db", source.replica(), source.ddl());
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.error().to_string(),
            "not found: cannot read /nonexistent/db: No such file or directory");
}

TEST(DirectoryLock, IsHeldByOneAtATime) {
  TemporaryDirectory directory;
  {
    Result<DirectoryLock> lock = DirectoryLock::acquire(directory.path());
    ASSERT_TRUE(lock.ok());
    DirectoryLock moved = std::move(*lock);
    const Result<DirectoryLock> second = DirectoryLock::acquire(directory.path());
    ASSERT_FALSE(second.ok());
    EXPECT_EQ(second.code(), ErrorCode::kInUse);
  }
  EXPECT_TRUE(DirectoryLock::acquire(directory.path()).ok());
  const Result<DirectoryLock> missing = DirectoryLock::acquire("/nonexistent");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace diptych::storage
