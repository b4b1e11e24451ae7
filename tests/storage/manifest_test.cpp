#include "storage/manifest.h"

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "storage/buffer_manager.h"
#include "storage/replica_files.h"
#include "tests/failing_allocation.h"
#include "tests/sanitizers.h"
#include "tests/storage/long_file.h"
#include "tests/storage/saved_replica.h"
#include "tests/temporary_directory.h"

namespace diptych::storage {
namespace {

using base::ErrorCode;
using base::Result;
using base::Vid;
using diptych::test::read_bytes;
using diptych::test::TemporaryDirectory;
using diptych::test::write_bytes;
using test::LongFile;
using test::SavedReplica;

uint64_t live_rows(const SavedReplica& source) {
  return source.replica().table(base::TableId(0)).live_rows();
}

void expect_loads(const std::string& directory, const SavedReplica& expected, Vid vid) {
  const Result<Manifest> manifest = read_manifest(directory);
  ASSERT_TRUE(manifest.ok()) << manifest.error().to_string();
  ASSERT_EQ(manifest->vid, vid);
  ASSERT_EQ(manifest->ddl, expected.ddl());
  SavedReplica target(directory, manifest->partitions, SavedReplica::File::kOpen);
  const Result<void> loaded = load_replica(directory, *manifest, &target.replica());
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  ASSERT_EQ(target.replica().snapshot(), vid);
  // The rows can be read before they are in pages again.
  ASSERT_EQ(live_rows(target), live_rows(expected));
  for (const uint32_t table : {0, 1}) ASSERT_EQ(target.row_ids(table), expected.row_ids(table));
  target.finish_restore();
  ASSERT_EQ(live_rows(target), live_rows(expected));
  ASSERT_EQ(target.rows(), expected.rows());
}

const std::vector<std::string> kFiles = {"blocks.dtb", "manifest.json"};

TEST(Manifest, NamesTheStateThatWasSavedLast) {
  TemporaryDirectory directory;
  EXPECT_EQ(read_manifest(directory.path()).code(), ErrorCode::kNotFound);
  SavedReplica source(directory.path(), 2);
  for (uint64_t round = 1; round <= 3; ++round) {
    source.fill(round, 2500, Vid(round * 10));
    const Result<Manifest> saved = source.save();
    ASSERT_TRUE(saved.ok()) << saved.error().to_string();
    EXPECT_EQ(saved->generation, round);
    ASSERT_NO_FATAL_FAILURE(expect_loads(directory.path(), source, Vid(round * 10)));
    EXPECT_EQ(directory.names(), kFiles);
  }
}

TEST(Manifest, HasAnIdOfItsOwnFromTheFirstSaveOnWhichAnOlderOneLacks) {
  TemporaryDirectory directory;
  TemporaryDirectory another;
  SavedReplica source(directory.path(), 1);
  const uint64_t id = source.save()->id;
  EXPECT_NE(id, 0U);
  source.fill(1, 10, Vid(1));
  EXPECT_EQ(source.save()->id, id);
  Manifest manifest = *read_manifest(directory.path());
  EXPECT_EQ(manifest.id, id);
  SavedReplica other(another.path(), 1);
  EXPECT_NE(other.save()->id, id);
  manifest.id = 0;
  EXPECT_EQ(manifest_to_text(manifest)->find("\"id\""), std::string::npos);
  ASSERT_TRUE(write_manifest(directory.path(), manifest).ok());
  EXPECT_EQ(read_manifest(directory.path())->id, 0U);
  EXPECT_EQ(source.save()->id, 0U);
}

// Saved again and again, a replica whose size stays the same needs no more space.
TEST(SaveReplica, UsesTheSpaceOfOlderStatesAgain) {
  TemporaryDirectory directory;
  SavedReplica source(directory.path(), 1);
  source.fill(1, 4000, Vid(1));
  ASSERT_TRUE(source.save().ok());
  const BlockFile& file = source.replica().buffers()->file();
  const uint64_t used = file.bytes() - file.free_bytes();
  for (uint64_t round = 2; round < 6; ++round) {
    source.update_all(round, Vid(round));
    ASSERT_TRUE(source.save().ok());
    EXPECT_EQ(file.held_bytes(), 0U);
    EXPECT_LT(file.bytes() - file.free_bytes(), 2 * used);
  }
  // Each save has leaf directories of its own, and those before them go.
  const uint64_t used_then = file.bytes() - file.free_bytes();
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(source.save().ok());
    EXPECT_EQ(file.bytes() - file.free_bytes(), used_then);
  }
  expect_loads(directory.path(), source, Vid(5));
}

TEST(Manifest, ReportsEveryDamagedByteAsCorruptOrReadsTheSame) {
  TemporaryDirectory directory;
  SavedReplica source(directory.path(), 1);
  source.fill(1, 5, Vid(7));
  ASSERT_TRUE(source.save().ok());
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

TEST(Manifest, IsCorruptWhereTheBlockFileIsMissingOrAnOlderOne) {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/blocks.dtb";
  SavedReplica source(directory.path(), 1);
  source.fill(1, 5, Vid(7));
  ASSERT_TRUE(source.save().ok());
  const std::string old = read_bytes(path);
  source.fill(2, 2500, Vid(8));
  ASSERT_TRUE(source.save().ok());
  write_bytes(path, old);
  const Manifest manifest = *read_manifest(directory.path());
  SavedReplica target(directory.path(), 1, SavedReplica::File::kOpen);
  const Result<void> loaded = load_replica(directory.path(), manifest, &target.replica());
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::kCorrupt);
  EXPECT_NE(loaded.error().message.find("blocks.dtb"), std::string::npos);
  std::filesystem::remove(path);
  const auto opened = BlockFile::open(directory.path());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.code(), ErrorCode::kCorrupt);
  EXPECT_EQ(opened.error().message, path + ": is missing; restore the directory from a backup");
}

TEST(Manifest, RefusesDdlThatIsNotUtf8AndKeepsTheOldState) {
  TemporaryDirectory directory;
  SavedReplica source(directory.path(), 1);
  ASSERT_TRUE(source.save().ok());
  const Result<Manifest> saved = save_replica(directory.path(), &source.replica(), {"\xff\xfe"});
  ASSERT_FALSE(saved.ok());
  EXPECT_EQ(saved.code(), ErrorCode::kInvalidArgument);
  expect_loads(directory.path(), source, Vid(0));
}

// Each save gets a write further than the one before; then the file has what it has without them.
TEST(SaveReplica, LosesNoSpaceToSavesThatFail) {
  int writes_left = INT_MAX;
  const auto before_step = [&](FileStep at) -> Result<void> {
    if (at != FileStep::kWrite || writes_left-- > 0) return {};
    return base::Error(ErrorCode::kIo, "stopped");
  };
  TemporaryDirectory directory;
  TemporaryDirectory undisturbed;
  SavedReplica source(directory.path(), 1, SavedReplica::File::kCreate, before_step);
  SavedReplica other(undisturbed.path(), 1);
  for (SavedReplica* const replica : {&source, &other}) {
    replica->fill(1, kBlockRowsMin + 100, Vid(10));
    ASSERT_TRUE(replica->save().ok());
    replica->update_all(2, Vid(20));
  }
  ASSERT_TRUE(other.save().ok());
  int failed = -1;
  Result<Manifest> saved = ErrorCode::kIo;
  for (int writes = 0; !saved.ok(); ++writes, ++failed) {
    writes_left = writes;
    saved = source.save();
  }
  EXPECT_GT(failed, 3);
  const auto used_bytes = [](const SavedReplica& replica) {
    const BlockFile& file = replica.replica().buffers()->file();
    EXPECT_EQ(file.held_bytes(), 0U);
    return file.bytes() - file.free_bytes();
  };
  EXPECT_EQ(used_bytes(source), used_bytes(other));
}

TEST(SaveReplica, WritesNothingOfWhatIsAsItWas) {
  TemporaryDirectory directory;
  int writes = 0;
  const auto count_writes = [&](FileStep at) -> Result<void> {
    writes += at == FileStep::kWrite ? 1 : 0;
    return {};
  };
  SavedReplica source(directory.path(), 1, SavedReplica::File::kCreate, count_writes);
  source.fill(1, kBlockRowsMin + 100, Vid(10));
  ASSERT_TRUE(source.save().ok());
  EXPECT_GT(writes, 0);
  writes = 0;
  ASSERT_TRUE(source.save().ok());
  EXPECT_EQ(writes, 0);
}

TEST(SaveReplica, IsNotLoadedByAManifestOfOtherTables) {
  TemporaryDirectory directory;
  SavedReplica source(directory.path(), 1);
  source.fill(1, 100, Vid(10));
  const Manifest saved = *source.save();
  const auto code_of = [&](const auto& change) {
    Manifest changed = saved;
    change(&changed.tables);
    SavedReplica target(directory.path(), 1, SavedReplica::File::kOpen);
    const Result<void> loaded = load_replica(directory.path(), changed, &target.replica());
    return loaded.ok() ? std::nullopt : std::optional(loaded.code());
  };
  EXPECT_EQ(code_of([](auto*) {}), std::nullopt);
  EXPECT_EQ(code_of([](auto* tables) { ++tables->front().rows; }), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of([](auto* tables) { tables->front().name = "other"; }), ErrorCode::kCorrupt);
  EXPECT_EQ(code_of([](auto* tables) { tables->pop_back(); }), ErrorCode::kCorrupt);
  const auto one_directory_for_both = [](auto* tables) {
    tables->back().directory = tables->front().directory;
  };
  EXPECT_EQ(code_of(one_directory_for_both), ErrorCode::kCorrupt);
}

// After a failed sync the file takes nothing more: what the kernel dropped cannot be known.
bool failed_for_good(const SavedReplica& source) {
  return !source.replica().buffers()->file().sync().ok();
}

// The saves of two states, the second stopped before its step k: by an error, or by a kill. It
// writes every row anew, or some, and moves the others' chunks (LongFile).
enum class Stop { kError, kKill };
enum class Second { kWritesAll, kMoves };

void expect_a_whole_state_when_stopped(Stop stop, Second second) {
  const bool moves = second == Second::kMoves;
  // Every step in the release build, but for those that move one chunk like the other.
  for (int step = 0;; step += (diptych::test::kSanitized ? 4 : 1) * (moves ? 5 : 1)) {
    TemporaryDirectory directory;
    int reached = 0;
    bool armed = false;
    bool switched = false;
    const auto before_step = [&](FileStep at) -> Result<void> {
      if (!armed || reached++ != step) {
        switched |= armed && at == FileStep::kRename;
        return {};
      }
      if (stop == Stop::kKill) _exit(switched ? 1 : 0);
      return base::Error(ErrorCode::kIo, "stopped");
    };
    if (moves) LongFile::create(directory.path());
    SavedReplica source(directory.path(), 1,
                        moves ? SavedReplica::File::kOpen : SavedReplica::File::kCreate,
                        before_step);
    std::optional<LongFile> hole;
    if (moves) hole.emplace(&source.replica().buffers()->file());
    // A quarter goes again: what is left is a block and pages, or pages.
    source.fill(1, moves ? 2 * kBlockRowsMin - 500 : kBlockRowsMin + 100, Vid(10));
    ASSERT_TRUE(source.save(before_step).ok());
    const auto old_rows = source.rows();
    if (moves) {
      hole->come_free();
      ASSERT_TRUE(source.save().ok());
      source.fill(3, 1, Vid(20));
    } else {
      source.update_all(2, Vid(20));
    }
    armed = true;
    if (stop == Stop::kKill) {
      const pid_t child = fork();
      ASSERT_GE(child, 0);
      if (child == 0) _exit(source.save(before_step).ok() ? 2 : 3);
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      ASSERT_TRUE(WIFEXITED(status));
      ASSERT_NE(WEXITSTATUS(status), 3);
      if (WEXITSTATUS(status) == 2) return;  // there is no such step
      switched = WEXITSTATUS(status) == 1;
    } else {
      const Result<Manifest> saved = source.save(before_step);
      if (reached <= step) return;
      ASSERT_TRUE(switched || !saved.ok());
    }
    armed = false;
    const Manifest manifest = *read_manifest(directory.path());
    ASSERT_EQ(manifest.vid, Vid(switched ? 20 : 10)) << "step " << step;
    {
      SavedReplica found(directory.path(), 1, SavedReplica::File::kOpen);
      const Result<void> loaded = load_replica(directory.path(), manifest, &found.replica());
      ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
      found.finish_restore();
      ASSERT_TRUE(found.rows() == (switched ? source.rows() : old_rows)) << "step " << step;
    }
    if (stop == Stop::kError && !failed_for_good(source)) {
      ASSERT_TRUE(source.save().ok()) << "step " << step;
      ASSERT_NO_FATAL_FAILURE(expect_loads(directory.path(), source, Vid(20)));
    }
  }
}

TEST(SaveReplica, LeavesAWholeStateWhenAnyStepFails) {
  expect_a_whole_state_when_stopped(Stop::kError, Second::kWritesAll);
  expect_a_whole_state_when_stopped(Stop::kError, Second::kMoves);
}

TEST(SaveReplica, LeavesAWholeStateWhenKilledBeforeAnyStep) {
  expect_a_whole_state_when_stopped(Stop::kKill, Second::kWritesAll);
  expect_a_whole_state_when_stopped(Stop::kKill, Second::kMoves);
}

// Where memory runs out at any allocation of a save, the file has the old state, and the next save
// the new one.
TEST(SaveReplica, LeavesAWholeStateWhenMemoryRunsOut) {
  if (!diptych::test::kAllocationsCanFail) GTEST_SKIP() << "a sanitizer has its own operator new";
  TemporaryDirectory directory;
  SavedReplica source(directory.path(), 1);
  source.fill(1, kBlockRowsMin + 100, Vid(10));
  ASSERT_TRUE(source.save().ok());
  uint64_t failures = 0;
  for (uint64_t number = 1;; number += 1 + number / 8) {
    SCOPED_TRACE(testing::Message() << "allocation " << number);
    const Vid before = read_manifest(directory.path())->vid;
    const Vid vid(before.value + 10);
    source.update_all(number, vid);
    bool saved = false;
    bool failed = false;
    {
      const diptych::test::FailingAllocation failing(number);
      try {
        const Result<Manifest> done = source.save();
        saved = done.ok();
        ASSERT_TRUE(saved || done.code() == ErrorCode::kOutOfMemory) << done.error().to_string();
      } catch (const std::bad_alloc&) {
      }
      failed = failing.has_failed();
    }
    if (!failed) break;
    ++failures;
    ASSERT_EQ(read_manifest(directory.path())->vid, saved ? vid : before);
    ASSERT_TRUE(source.save().ok());
    ASSERT_NO_FATAL_FAILURE(expect_loads(directory.path(), source, vid));
  }
  EXPECT_GT(failures, 50U);
}

// The manifest is JSON; what nests without end is none of ours.
TEST(Manifest, ThatNestsDeepIsCorrupt) {
  TemporaryDirectory directory;
  const std::string deep(300'000, '[');
  write_bytes(directory.path() + "/manifest.json",
              R"({"checksum":"x","y":)" + deep + std::string(deep.size(), ']') + "}");
  EXPECT_EQ(read_manifest(directory.path()).code(), ErrorCode::kCorrupt);
}

TEST(Manifest, GrowsByNoMoreThanAStatementTakesAtMost) {
  const std::string texts[] = {"",
                               "a",
                               std::string(1000, '"'),
                               std::string(1000, '\\'),
                               std::string(1000, '\n'),
                               std::string(1000, '\x01'),
                               std::string(1000, '\x1f'),
                               std::string(1000, '\x7f')};
  for (const std::string& text : texts) {
    Manifest manifest;
    manifest.ddl = {"before"};
    const size_t before = manifest_to_text(manifest)->size();
    manifest.ddl.push_back(text);
    EXPECT_LE(manifest_to_text(manifest)->size() - before, manifest_bytes_at_most(text, ""));
    ManifestTable table{text, UINT64_MAX, {}};
    table.directory.page = table.directory.bytes = UINT32_MAX;
    manifest.tables.push_back(table);
    if (text.empty()) continue;
    EXPECT_LE(manifest_to_text(manifest)->size() - before, manifest_bytes_at_most(text, text));
  }
}

TEST(Manifest, QuotesANameOnOneLine) {
  Manifest manifest;
  manifest.partitions = 1;
  manifest.block_rows = kBlockRowsMin;
  manifest.tables.push_back({.name = "two\nlines"});
  const Result<Manifest> empty = manifest_from_text("the file", *manifest_to_text(manifest));
  ASSERT_TRUE(empty.ok()) << empty.error().to_string();
  EXPECT_EQ(empty->tables[0].name, manifest.tables[0].name);
  EXPECT_FALSE(empty->tables[0].directory.is_set());
  manifest.tables[0].directory.page = 1;
  const Result<Manifest> read = manifest_from_text("the file", *manifest_to_text(manifest));
  ASSERT_EQ(read.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(read.error().message,
              testing::HasSubstr("table \"two\\x0alines\" has no place in the block file"));
}

uint64_t live_rows_saved(const std::string& directory) {
  const Result<Manifest> manifest = read_manifest(directory);
  SavedReplica found(directory, 1, SavedReplica::File::kOpen);
  const Result<void> loaded = load_replica(directory, *manifest, &found.replica());
  EXPECT_TRUE(loaded.ok()) << loaded.error().to_string();
  return live_rows(found);
}

TEST(SaveReplica, SaysNoSpaceAndKeepsTheOldStateOnAFullDisk) {
  TemporaryDirectory mount_point;
  if (mount("tmpfs", mount_point.path().c_str(), "tmpfs", 0, "size=17m") != 0) {
    GTEST_SKIP() << "mounting a small tmpfs needs root";
  }
  {
    SavedReplica source(mount_point.path(), 1);
    source.fill(1, 50, Vid(10));
    ASSERT_TRUE(source.save().ok());
    const uint64_t old_rows = live_rows(source);
    source.fill(2, 100'000, Vid(20));
    const Result<Manifest> saved = source.save();
    ASSERT_FALSE(saved.ok());
    EXPECT_EQ(saved.code(), ErrorCode::kNoSpace) << saved.error().to_string();
    EXPECT_NE(saved.error().message.find(mount_point.path()), std::string::npos);
    EXPECT_EQ(mount_point.names(), kFiles);
    EXPECT_EQ(live_rows_saved(mount_point.path()), old_rows);
    // Nothing is lost: with room it is saved.
    ASSERT_EQ(mount("tmpfs", mount_point.path().c_str(), "tmpfs", MS_REMOUNT, "size=256m"), 0);
    ASSERT_TRUE(source.save().ok());
    EXPECT_EQ(live_rows_saved(mount_point.path()), live_rows(source));
  }
  // Lazily: a ring lets its file go a little after its end.
  EXPECT_EQ(umount2(mount_point.path().c_str(), MNT_DETACH), 0) << std::strerror(errno);
}

TEST(Manifest, OneThatCouldNotBeReadIsNotWritten) {
  TemporaryDirectory directory;
  Manifest manifest{.partitions = 1, .block_rows = kBlockRowsMin};
  uint64_t bytes_at_most = kManifestFieldBytes;
  for (int i = 0; i < 3; ++i) {
    const std::string name = "t" + std::to_string(i) + std::string(1'000, '"');
    manifest.ddl.emplace_back("CREATE TABLE \x1f\n\\ " + name);
    manifest.tables.push_back(
        {name, UINT64_MAX, {.page = UINT32_MAX, .bytes = UINT32_MAX, .checksum = UINT64_MAX}});
    bytes_at_most += manifest_bytes_at_most(manifest.ddl.back(), name);
  }
  EXPECT_LE(manifest_to_text(manifest)->size(), bytes_at_most);
  ASSERT_TRUE(write_manifest(directory.path(), manifest).ok());
  Manifest larger = manifest;
  larger.ddl.emplace_back(kManifestBytesMax, 'x');
  const Result<void> refused = write_manifest(directory.path(), larger);
  EXPECT_EQ(refused.code(), ErrorCode::kUnsupported);
  EXPECT_EQ(read_manifest(directory.path())->ddl, manifest.ddl);
}

TEST(DirectoryLock, WithoutWriteAccessSaysWhatItIsFor) {
  if (::geteuid() != 0) GTEST_SKIP() << "takes another user's identity";
  TemporaryDirectory directory;
  constexpr uid_t kNobodyElse = 65'534;
  ASSERT_EQ(::chmod(directory.path().c_str(), 0755), 0);
  ASSERT_EQ(::seteuid(kNobodyElse), 0);
  const Result<DirectoryLock> refused = DirectoryLock::acquire(directory.path());
  ASSERT_EQ(::seteuid(0), 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("it is locked, so that one process has it at a time"),
            std::string::npos)
      << refused.error().message;
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

// As a creation that fails removes it, while it holds it.
TEST(DirectoryLock, IsHeldByOneAtATimeThoughItsFileIsRemoved) {
  const TemporaryDirectory directory;
  std::atomic<int> holders{0};
  std::atomic<int> most{0};
  std::atomic<int> held{0};
  const auto take_turns = [&] {
    for (int i = 0; i < 20'000; ++i) {
      const Result<DirectoryLock> lock = DirectoryLock::acquire(directory.path());
      if (!lock.ok()) {
        EXPECT_EQ(lock.code(), ErrorCode::kInUse);
        continue;
      }
      const int now = ++holders;
      ++held;
      if (now > most) most = now;
      std::this_thread::yield();
      --holders;
      ::unlink((directory.path() + "/lock").c_str());
    }
  };
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(take_turns);
  threads.clear();
  EXPECT_GT(held, 0);
  EXPECT_EQ(most, 1);
}

TEST(DirectoryLock, TellsWhetherItsDirectoryIsWhereItWas) {
  const TemporaryDirectory parent;
  const std::string place = parent.path() + "/db";
  const std::string elsewhere = parent.path() + "/moved";
  ASSERT_EQ(::mkdir(place.c_str(), 0700), 0);
  const Result<DirectoryLock> lock = DirectoryLock::acquire(place);
  ASSERT_TRUE(lock.ok());
  const DirectoryIdentity identity = lock->identity();
  EXPECT_TRUE(identity.check().ok());
  ASSERT_EQ(std::rename(place.c_str(), elsewhere.c_str()), 0);
  EXPECT_EQ(identity.check().code(), ErrorCode::kIo) << "nothing is there";
  ASSERT_EQ(::mkdir(place.c_str(), 0700), 0);
  {
    const Result<DirectoryLock> another = DirectoryLock::acquire(place);
    EXPECT_TRUE(another->identity().check().ok());
    const Result<void> checked = identity.check();
    ASSERT_EQ(checked.code(), ErrorCode::kIo) << "another is there";
    EXPECT_THAT(checked.error().message, ::testing::HasSubstr("moved or replaced"));
    EXPECT_THAT(checked.error().message, ::testing::HasSubstr(place));
  }
  std::filesystem::remove_all(place);
  ASSERT_EQ(std::rename(elsewhere.c_str(), place.c_str()), 0);
  EXPECT_TRUE(identity.check().ok()) << "it is back";
  EXPECT_TRUE(DirectoryIdentity().check().ok());
}

}  // namespace
}  // namespace diptych::storage
