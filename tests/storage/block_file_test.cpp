#include "storage/block_file.h"

#include <csignal>
#include <functional>
#include <map>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "storage/file.h"
#include "tests/storage/random_chunk.h"
#include "tests/temporary_directory.h"

namespace diptych::storage {
namespace {

using base::ErrorCode;
using base::Result;
using diptych::test::read_bytes;
using diptych::test::TemporaryDirectory;
using diptych::test::write_bytes;
using test::random_chunk;
using test::same_bytes;
using testing::HasSubstr;

using Bytes = std::vector<std::byte>;

std::unique_ptr<BlockFile> created(const TemporaryDirectory& directory,
                                   BeforeFileStep before_step = {}) {
  auto file = BlockFile::create(directory.path(), std::move(before_step));
  EXPECT_TRUE(file.ok()) << file.error().to_string();
  return std::move(*file);
}

ChunkAddress written(BlockFile* file, const Bytes& chunk) {
  const Result<ChunkAddress> address = file->write(chunk);
  EXPECT_TRUE(address.ok()) << address.error().to_string();
  return *address;
}

void expect_reads(const BlockFile& file, const ChunkAddress& address, const Bytes& chunk) {
  const Result<ChunkMemory> read = file.read(address);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  ASSERT_TRUE(same_bytes(read->bytes(), chunk));
}

std::string blocks_path(const TemporaryDirectory& directory) {
  return directory.path() + "/blocks.dtb";
}

// Opening a pipe waits for its other end.
TEST(BlockFile, APipeInItsPlaceIsRefusedAndNotWaitedFor) {
  TemporaryDirectory directory;
  const std::string path = blocks_path(directory);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(BlockFile::open_to_read(directory.path()).code(), ErrorCode::kIo);
  EXPECT_EQ(BlockFile::open(directory.path()).code(), ErrorCode::kIo);
  const auto read = InputFile::open(path);
  ASSERT_EQ(read.code(), ErrorCode::kIo);
  EXPECT_THAT(read.error().message, HasSubstr(path));
  EXPECT_EQ(OutputFile::create(path).code(), ErrorCode::kIo);
}

TEST(BlockFile, ReadsChunksOfEverySizeAgainAlsoAfterReopening) {
  TemporaryDirectory directory;
  std::map<uint32_t, ChunkAddress> addresses;
  {
    const auto file = created(directory);
    for (const uint32_t bytes : {1U, 4095U, 4096U, 4097U, 300'000U, 20'000'000U}) {
      const ChunkAddress address = written(file.get(), random_chunk(bytes, bytes));
      EXPECT_TRUE(address.is_set());
      EXPECT_EQ(address.bytes, bytes);
      addresses[bytes] = address;
      ASSERT_NO_FATAL_FAILURE(expect_reads(*file, address, random_chunk(bytes, bytes)));
    }
    ASSERT_TRUE(file->sync().ok());
    ASSERT_TRUE(file->commit().ok());
    EXPECT_EQ(file->bytes() % kExtentBytes, 0U);
  }
  for (const ReadCache cache : {ReadCache::kBypass, ReadCache::kUse}) {
    const auto file = BlockFile::open(directory.path(), {}, cache);
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    if (cache == ReadCache::kUse) {
      EXPECT_FALSE((*file)->reads_directly());
    }
    ChunkArena arena(1 << 20, base::NumaNode(0));
    for (const auto& [bytes, address] : addresses) {
      ASSERT_TRUE((*file)->adopt(address).ok());
      const Result<ChunkMemory> read = (*file)->read(address, &arena);
      ASSERT_TRUE(read.ok()) << read.error().to_string();
      EXPECT_TRUE(same_bytes(read->bytes(), random_chunk(bytes, bytes)));
      EXPECT_EQ(read->in_arena(), bytes < (1 << 20));
    }
  }
}

TEST(BlockFile, LeavesNothingOfOldChunksBehindTheEndOfNewOnes) {
  TemporaryDirectory directory;
  const auto file = created(directory);
  file->release(written(file.get(), Bytes(2 * kFilePageBytes, std::byte{0xff})));
  const ChunkAddress address = written(file.get(), Bytes(kFilePageBytes + 1, std::byte{1}));
  ASSERT_TRUE(file->sync().ok());
  const std::string bytes = read_bytes(blocks_path(directory));
  EXPECT_EQ(bytes.substr(address.offset() + address.bytes, kFilePageBytes - 1),
            std::string(kFilePageBytes - 1, '\0'));
}

TEST(BlockFile, ReadsOnFromWhereverAReadWasCutShort) {
  TemporaryDirectory directory;
  const auto file = created(directory);
  const Bytes chunk = random_chunk(1, 50'000);
  const ChunkAddress address = written(file.get(), chunk);
  for (const size_t had : {0, 1, 4096, 5000, 49'152, 49'999, 50'000, 53'248}) {
    ChunkMemory memory = ChunkMemory::on_heap(address.bytes);
    std::copy_n(chunk.begin(), std::min(had, chunk.size()), memory.bytes().begin());
    ASSERT_TRUE(file->read_rest(address, had, memory.pages()).ok());
    ASSERT_TRUE(same_bytes(memory.bytes(), chunk)) << had;
  }
}

TEST(BlockFile, NamesPathAndByteOfADamagedChunk) {
  TemporaryDirectory directory;
  const auto file = created(directory);
  written(file.get(), random_chunk(1, 10'000));
  const ChunkAddress address = written(file.get(), random_chunk(2, 5'000));
  ASSERT_TRUE(file->sync().ok());
  const std::string intact = read_bytes(blocks_path(directory));
  for (const uint64_t at : {uint64_t{0}, uint64_t{2'500}, uint64_t{4'999}}) {
    std::string damaged = intact;
    damaged[address.offset() + at] ^= 1;
    write_bytes(blocks_path(directory), damaged);
    const Result<ChunkMemory> read = file->read(address);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().to_string(),
              "corrupt: " + blocks_path(directory) +
                  ": the chunk of 5000 bytes at byte 16384 has a wrong checksum; restore the "
                  "directory from a backup");
  }
}

TEST(BlockFile, NamesWhereAFileEndsThatIsTooShort) {
  TemporaryDirectory directory;
  const auto file = created(directory);
  const Bytes chunk = random_chunk(1, 10'000);
  const ChunkAddress address = written(file.get(), chunk);
  ASSERT_EQ(address.offset(), 4096U);
  ASSERT_TRUE(file->sync().ok());
  for (const off_t end : {4096 + 9'999, 4096 + 9'000, 4096 + 8192, 4096 + 1, 4096, 0}) {
    ASSERT_EQ(truncate(blocks_path(directory).c_str(), end), 0);
    const Result<ChunkMemory> read = file->read(address);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.code(), ErrorCode::kCorrupt);
    if (end >= 4096) {
      EXPECT_THAT(read.error().message, HasSubstr("ends at byte " + std::to_string(end) + ","));
    }
    EXPECT_THAT(read.error().message, HasSubstr(blocks_path(directory)));
    EXPECT_THAT(read.error().message, HasSubstr("chunk of 10000 bytes at byte 4096"));
  }
}

TEST(BlockFile, SaysWhatIsWrongWithItsHeader) {
  TemporaryDirectory directory;
  EXPECT_EQ(BlockFile::open(directory.path()).code(), ErrorCode::kCorrupt);
  created(directory);
  const std::string intact = read_bytes(blocks_path(directory));
  ASSERT_EQ(intact.size(), kFilePageBytes) << "an empty file has only its header";
  ASSERT_TRUE(BlockFile::open(directory.path()).ok());
  for (size_t at = 0; at < intact.size(); at = at < 32 ? at + 1 : at + 127) {
    std::string damaged = intact;
    damaged[at] ^= 0x10;
    write_bytes(blocks_path(directory), damaged);
    const auto opened = BlockFile::open(directory.path());
    ASSERT_FALSE(opened.ok()) << at;
    ASSERT_EQ(opened.code(), ErrorCode::kCorrupt) << opened.error().to_string();
    ASSERT_THAT(opened.error().message, HasSubstr(blocks_path(directory) + ": "));
  }
  write_bytes(blocks_path(directory), intact.substr(0, 4095));
  EXPECT_THAT(BlockFile::open(directory.path()).error().message, HasSubstr("ends at byte 4095"));
  std::string newer = intact;
  newer[8] = 2;
  const uint64_t checksum = XXH3_64bits(newer.data(), 4088);
  std::memcpy(newer.data() + 4088, &checksum, sizeof(checksum));
  write_bytes(blocks_path(directory), newer);
  const auto opened = BlockFile::open(directory.path());
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.code(), ErrorCode::kUnsupported);
  EXPECT_THAT(opened.error().message, HasSubstr("version 2"));
}

TEST(BlockFile, AdoptsOnlyWhatLiesApartAndInTheFile) {
  TemporaryDirectory directory;
  ChunkAddress first;
  ChunkAddress second;
  {
    const auto file = created(directory);
    first = written(file.get(), random_chunk(1, 10'000));
    second = written(file.get(), random_chunk(2, 10'000));
  }
  const auto file = *BlockFile::open(directory.path());
  ASSERT_TRUE(file->adopt(first).ok());
  ASSERT_TRUE(file->adopt(second).ok());
  EXPECT_EQ(file->free_bytes(), kExtentBytes - 7 * kFilePageBytes);
  const auto expect_refused = [&](const ChunkAddress& address, const std::string& why) {
    const Result<void> adopted = file->adopt(address);
    ASSERT_FALSE(adopted.ok());
    EXPECT_EQ(adopted.code(), ErrorCode::kCorrupt);
    EXPECT_THAT(adopted.error().message, HasSubstr(blocks_path(directory) + ": "));
    EXPECT_THAT(adopted.error().message, HasSubstr(why));
  };
  expect_refused({second.page + 2, 100, 0},
                 "the chunk of 100 bytes at byte 24576 that is named "
                 "overlaps one named before");
  expect_refused({kExtentPages - 1, 4097, 0},
                 "ends at byte 16777216, before the end of the chunk "
                 "of 4097 bytes at byte 16773120");
  expect_refused({0, 4097, 0}, "at byte 0");
  expect_refused({100, 0, 0}, "chunk of 0 bytes");
  expect_refused({~0U, ~0U, 0}, "ends at byte");
}

// Chunks by name, as a manifest names them: what a restart must find.
using State = std::map<uint64_t, ChunkAddress>;

void expect_whole(const TemporaryDirectory& directory, const State& state) {
  const auto file = BlockFile::open(directory.path());
  ASSERT_TRUE(file.ok()) << file.error().to_string();
  for (const auto& [seed, address] : state) {
    const Result<void> adopted = (*file)->adopt(address);
    ASSERT_TRUE(adopted.ok()) << adopted.error().to_string();
    ASSERT_NO_FATAL_FAILURE(expect_reads(**file, address, random_chunk(seed, address.bytes)));
  }
}

// Replaces some chunks of the state by new ones, as a save does; what it releases is written over
// as soon as may be.
class Saver {
 public:
  Saver(BlockFile* file, uint64_t seed) : file_(file), random_(seed) {}

  // The state is the new one from the moment that the manifest is switched.
  Result<void> save(State* durable, FileStep switch_fails) {
    for (int i = 0; i < 12; ++i) {
      const uint64_t seed = random_();
      const size_t bytes = 1 + random_() % (random_() % 32 == 0 ? 9'000'000 : 100'000);
      const Result<ChunkAddress> address = file_->write(random_chunk(seed, bytes));
      if (!address) return address.error();
      current_[seed] = *address;
      if (current_.size() > 30) {
        file_->release(current_.begin()->second);
        current_.erase(current_.begin());
      }
    }
    if (Result<void> synced = file_->sync(); !synced) return synced;
    file_->begin_commit();
    if (switch_fails == FileStep::kRename) return ErrorCode::kIo;
    *durable = current_;
    // The rename was done, though it is not known to be durable.
    if (switch_fails == FileStep::kSyncDirectory) return ErrorCode::kIo;
    return file_->commit();
  }

 private:
  BlockFile* file_;
  std::mt19937_64 random_;
  State current_;
};

TEST(BlockFileModel, KeepsTheLastStateWholeWhicheverStepFails) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  TemporaryDirectory directory;
  State durable;
  size_t steps_to_failure = ~size_t{0};
  size_t failures = 0;
  const auto file = created(directory, [&](FileStep step) -> Result<void> {
    // A failed sync is for good: it has its own test.
    if (steps_to_failure-- != 0 || step == FileStep::kSync) return {};
    ++failures;
    return base::Error(ErrorCode::kIo, "as the test wants");
  });
  Saver saver(file.get(), random());
  for (int round = 0; round < 30; ++round) {
    steps_to_failure = random() % 30;
    const FileStep switch_fails = std::array{FileStep::kRename, FileStep::kSyncDirectory,
                                             FileStep::kWrite, FileStep::kWrite}[random() % 4];
    (void)saver.save(&durable, switch_fails);
    ASSERT_NO_FATAL_FAILURE(expect_whole(directory, durable)) << "round " << round;
  }
  EXPECT_GT(failures, 2U);
  EXPECT_LT(file->bytes(), 10 * kExtentBytes) << "space is used again";
}

TEST(BlockFile, LosesNoSpaceToAStepThatFails) {
  TemporaryDirectory directory;
  std::optional<FileStep> refused;
  const auto file = created(directory, [&](FileStep step) -> Result<void> {
    if (refused == step) return base::Error(ErrorCode::kIo, "as the test wants");
    return {};
  });
  const Bytes chunk = random_chunk(1, 100'000);
  refused = FileStep::kGrow;
  EXPECT_EQ(file->write(chunk).error().message, "as the test wants");
  EXPECT_EQ(file->bytes(), kFilePageBytes);
  refused = std::nullopt;
  const ChunkAddress address = written(file.get(), chunk);
  const uint64_t free_bytes = file->free_bytes();
  refused = FileStep::kWrite;
  EXPECT_EQ(file->write(chunk).error().message, "as the test wants");
  EXPECT_EQ(file->free_bytes(), free_bytes);
  refused = std::nullopt;
  EXPECT_EQ(written(file.get(), chunk).page, address.page + address.pages());
}

TEST(BlockFile, GivesSpaceBackWithTheCommitThatNeedsItNoMore) {
  TemporaryDirectory directory;
  bool refuse = false;
  const auto file = created(directory, [&](FileStep step) -> Result<void> {
    if (refuse && step == FileStep::kTruncate)
      return base::Error(ErrorCode::kIo, "as the test wants");
    return {};
  });
  const ChunkAddress large = written(file.get(), random_chunk(1, 3 * kExtentBytes));
  ASSERT_TRUE(file->sync().ok());
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(file->bytes(), 4 * kExtentBytes);
  file->release(large);
  EXPECT_EQ(file->held_bytes(), 3 * kExtentBytes);
  {
    const BlockFile::Hold hold(file.get());
    ASSERT_TRUE(file->commit().ok());
    EXPECT_EQ(file->held_bytes(), 3 * kExtentBytes) << "somebody reads what was durable";
    EXPECT_EQ(file->bytes(), 4 * kExtentBytes);
  }
  refuse = true;
  EXPECT_EQ(file->commit().code(), ErrorCode::kIo);
  EXPECT_EQ(file->held_bytes(), 0U) << "committed nevertheless";
  refuse = false;
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(file->bytes(), kFilePageBytes);
  EXPECT_EQ(std::filesystem::file_size(blocks_path(directory)), kFilePageBytes);
  const Bytes chunk = random_chunk(2, 5);
  expect_reads(*file, written(file.get(), chunk), chunk);
}

TEST(BlockFile, FailsForGoodOnceASyncFailed) {
  TemporaryDirectory directory;
  bool refuse = false;
  const auto file = created(directory, [&](FileStep step) -> Result<void> {
    if (refuse && step == FileStep::kSync) return base::Error(ErrorCode::kIo, "the disk is ill");
    return {};
  });
  const ChunkAddress address = written(file.get(), random_chunk(1, 100));
  ASSERT_TRUE(file->sync().ok());
  ASSERT_TRUE(file->commit().ok());
  file->release(address);
  refuse = true;
  EXPECT_FALSE(file->sync().ok());
  refuse = false;
  EXPECT_EQ(file->sync().error().message, "the disk is ill");
  EXPECT_EQ(file->commit().error().message, "the disk is ill");
  EXPECT_EQ(file->held_bytes(), kFilePageBytes) << "the last state is the one before the sync";
}

void expect_no_space_is_lost(BlockFile* file, const std::function<void()>& more_space) {
  const Bytes chunk = random_chunk(1, 3'000'000);
  std::vector<ChunkAddress> addresses;
  Result<ChunkAddress> refused = ErrorCode::kIo;
  for (int i = 0; i < 100; ++i) {
    refused = file->write(chunk);
    if (!refused) break;
    addresses.push_back(*refused);
  }
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), ErrorCode::kNoSpace) << refused.error().to_string();
  EXPECT_THAT(refused.error().message, HasSubstr(file->path()));
  ASSERT_GE(addresses.size(), 5U);
  const uint64_t free_bytes = file->free_bytes();
  const uint64_t bytes = file->bytes();
  EXPECT_FALSE(file->write(chunk).ok());
  EXPECT_EQ(file->free_bytes(), free_bytes);
  EXPECT_EQ(file->bytes(), bytes);
  EXPECT_EQ(std::filesystem::file_size(file->path()), bytes);
  ASSERT_TRUE(file->sync().ok()) << "what was written has its space";
  for (const ChunkAddress& address : addresses) {
    ASSERT_NO_FATAL_FAILURE(expect_reads(*file, address, chunk));
  }
  file->release(addresses[2]);
  EXPECT_EQ(file->write(chunk)->page, addresses[2].page) << "freed space is used";
  more_space();
  EXPECT_TRUE(file->write(chunk).ok());
}

TEST(BlockFile, LosesNothingWhereFilesMayNotGrow) {
  TemporaryDirectory directory;
  const auto file = created(directory);
  rlimit unlimited;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const auto old_handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit tight{2 * kExtentBytes + 5'000'000, unlimited.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &tight), 0);
  expect_no_space_is_lost(file.get(), [&] { setrlimit(RLIMIT_FSIZE, &unlimited); });
  setrlimit(RLIMIT_FSIZE, &unlimited);
  signal(SIGXFSZ, old_handler);
}

TEST(BlockFile, LosesNothingOnAFullDisk) {
  TemporaryDirectory mount_point;
  const char* const path = mount_point.path().c_str();
  if (mount("tmpfs", path, "tmpfs", 0, "size=40m") != 0) {
    GTEST_SKIP() << "mounting a small tmpfs needs root";
  }
  expect_no_space_is_lost(created(mount_point).get(), [&] {
    EXPECT_EQ(mount("tmpfs", path, "tmpfs", MS_REMOUNT, "size=80m"), 0);
  });
  EXPECT_EQ(umount(path), 0);
}

TEST(BlockFileStress, ManyThreadsWriteReadAndReleaseApart) {
  TemporaryDirectory directory;
  const auto file = created(directory);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      std::map<uint64_t, ChunkAddress> chunks;
      for (uint64_t i = 0; i < 100; ++i) {
        const uint64_t seed = random();
        const Result<ChunkAddress> address =
            file->write(random_chunk(seed, 1 + random() % 100'000));
        if (!address) {
          ++wrong;
          continue;
        }
        chunks[seed] = *address;
        if (i % 2 == 1) {
          const auto [name, old] = *chunks.begin();
          const Result<ChunkMemory> read = file->read(old);
          wrong += !read || !same_bytes(read->bytes(), random_chunk(name, old.bytes));
          file->release(old);
          chunks.erase(chunks.begin());
        }
        if (i % 32 == t) wrong += !file->sync() || !file->commit();
      }
      for (const auto& [name, address] : chunks) {
        const Result<ChunkMemory> read = file->read(address);
        wrong += !read || !same_bytes(read->bytes(), random_chunk(name, address.bytes));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace diptych::storage
