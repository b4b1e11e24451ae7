#include <atomic>
#include <random>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "storage/chunk_reader.h"
#include "tests/storage/random_chunk.h"
#include "tests/temporary_directory.h"

namespace diptych::storage {
namespace {

using base::ErrorCode;
using base::Result;
using test::random_chunk;
using test::same_bytes;
using testing::HasSubstr;

struct WrittenChunk {
  uint64_t seed;
  ChunkAddress address;

  bool holds(const ChunkMemory& memory) const {
    return same_bytes(memory.bytes(), random_chunk(seed, address.bytes));
  }
};

// A file of chunks, and what they should read as.
class ChunkReaderTest : public testing::TestWithParam<ReadWay> {
 protected:
  void SetUp() override {
    auto file = BlockFile::create(directory_.path());
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    file_ = std::move(*file);
  }

  WrittenChunk write(uint64_t seed, size_t bytes) {
    const Result<ChunkAddress> address = file_->write(random_chunk(seed, bytes));
    EXPECT_TRUE(address.ok()) << address.error().to_string();
    return {seed, *address};
  }
  std::vector<WrittenChunk> write_many(size_t count, size_t bytes_max) {
    std::mt19937_64 random(count);
    std::vector<WrittenChunk> chunks;
    for (size_t i = 0; i < count; ++i) chunks.push_back(write(i, 1 + random() % bytes_max));
    return chunks;
  }
  void damage(uint64_t byte) {
    std::fstream bytes(file_->path(), std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(static_cast<std::streamoff>(byte));
    bytes.put('\x5a');
    bytes.put('\x5b');
  }

  diptych::test::TemporaryDirectory directory_;
  std::unique_ptr<BlockFile> file_;
};

std::string way_name(const testing::TestParamInfo<ReadWay>& info) {
  switch (info.param) {
    case ReadWay::kRegisteredRing: return "Registered";
    case ReadWay::kRing: return "Ring";
    case ReadWay::kBlocking: break;
  }
  return "Blocking";
}

INSTANTIATE_TEST_SUITE_P(EveryWay, ChunkReaderTest,
                         testing::Values(ReadWay::kRegisteredRing, ReadWay::kRing,
                                         ReadWay::kBlocking),
                         way_name);

TEST_P(ChunkReaderTest, ReadsChunksOfEverySizeIntoArenaAndHeap) {
  std::vector<WrittenChunk> chunks;
  for (const size_t bytes : {1, 4095, 4096, 4097, 262'144, 20'000'000, 1'000'001}) {
    chunks.push_back(write(bytes, bytes));
  }
  for (const size_t arena_bytes : {size_t{0}, size_t{300'000}, size_t{48} << 20}) {
    ChunkArena arena(arena_bytes, base::NumaNode(0));
    ChunkReader reader(file_.get(), &arena, 1, GetParam());
    if (arena_bytes == 0) {
      EXPECT_NE(reader.way(), ReadWay::kRegisteredRing);
    }
    std::vector<ChunkRead> reads(chunks.size());
    for (size_t i = 0; i < chunks.size(); ++i) {
      reads[i].address = chunks[i].address;
      reader.start(&reads[i]);
    }
    size_t in_arena = 0;
    for (size_t i = 0; i < chunks.size(); ++i) {
      const Result<void> read = reader.wait(&reads[i]);
      ASSERT_TRUE(read.ok()) << read.error().to_string();
      EXPECT_TRUE(reader.done(reads[i]));
      EXPECT_TRUE(chunks[i].holds(reads[i].memory));
      in_arena += reads[i].memory.in_arena();
    }
    EXPECT_EQ(in_arena, arena_bytes == 0 ? 0 : arena_bytes < (1 << 20) ? 5 : 7);
  }
}

TEST_P(ChunkReaderTest, ReadsIntoMemoryThatTheReadBrings) {
  const WrittenChunk chunk = write(1, 100'000);
  ChunkArena arena(1 << 20, base::NumaNode(0));
  ChunkArena other_arena(1 << 20, base::NumaNode(0));
  ChunkReader reader(file_.get(), &arena, 4, GetParam());
  ChunkRead read;
  read.address = chunk.address;
  for (ChunkArena* const place : {&arena, &other_arena}) {
    read.memory = *place->take(chunk.address.bytes);
    const std::byte* const bytes = read.memory.bytes().data();
    reader.start(&read);
    ASSERT_TRUE(reader.wait(&read).ok());
    EXPECT_EQ(read.memory.bytes().data(), bytes);
    EXPECT_TRUE(chunk.holds(read.memory));
  }
}

TEST_P(ChunkReaderTest, NamesPathAndByteOfDamageAndReadsTheOthers) {
  const std::vector<WrittenChunk> chunks = write_many(20, 200'000);
  ASSERT_TRUE(file_->sync().ok());
  damage(chunks[7].address.offset() + chunks[7].address.bytes / 2);
  ChunkArena arena(1 << 20, base::NumaNode(0));
  ChunkReader reader(file_.get(), &arena, 8, GetParam());
  std::vector<ChunkRead> reads(chunks.size());
  for (size_t i = 0; i < chunks.size(); ++i) {
    reads[i].address = chunks[i].address;
    reader.start(&reads[i]);
  }
  for (size_t i = 0; i < chunks.size(); ++i) {
    const Result<void> read = reader.wait(&reads[i]);
    ASSERT_EQ(read.ok(), i != 7);
    if (i != 7) continue;
    EXPECT_EQ(read.code(), ErrorCode::kCorrupt);
    EXPECT_THAT(read.error().message, HasSubstr(file_->path()));
    EXPECT_THAT(read.error().message,
                HasSubstr("at byte " + std::to_string(chunks[7].address.offset())));
    EXPECT_EQ(reader.wait(&reads[i]).error().message, read.error().message) << "and again";
  }
}

TEST_P(ChunkReaderTest, NamesWhereAFileEndsThatIsTooShort) {
  const WrittenChunk whole = write(1, 10'000);
  const WrittenChunk cut = write(2, 3'000'000);
  ASSERT_TRUE(file_->sync().ok());
  const uint64_t end = cut.address.offset() + 1'000'001;
  ASSERT_EQ(truncate(file_->path().c_str(), static_cast<off_t>(end)), 0);
  ChunkArena arena(8 << 20, base::NumaNode(0));
  ChunkReader reader(file_.get(), &arena, 8, GetParam());
  ChunkRead reads[2];
  reads[0].address = cut.address;
  reads[1].address = whole.address;
  for (ChunkRead& read : reads) reader.start(&read);
  const Result<void> short_read = reader.wait(&reads[0]);
  ASSERT_FALSE(short_read.ok());
  EXPECT_EQ(short_read.code(), ErrorCode::kCorrupt);
  EXPECT_THAT(short_read.error().message, HasSubstr("ends at byte " + std::to_string(end)));
  EXPECT_TRUE(reader.wait(&reads[1]).ok());
}

TEST_P(ChunkReaderTest, WaitsAtItsEndForWhatIsInFlight) {
  const std::vector<WrittenChunk> chunks = write_many(40, 300'000);
  ASSERT_TRUE(file_->sync().ok());
  ChunkArena arena(16 << 20, base::NumaNode(0));
  for (int round = 0; round < 5; ++round) {
    std::vector<ChunkRead> reads(chunks.size());
    {
      ChunkReader reader(file_.get(), &arena, 8, GetParam());
      for (size_t i = 0; i < chunks.size(); ++i) {
        reads[i].address = chunks[i].address;
        reader.start(&reads[i]);
      }
    }
    // A late read would show in what the next round finds in the same memory, and to the arena.
    for (ChunkRead& read : reads) read.memory = ChunkMemory();
    std::optional<ChunkMemory> all = arena.take(8 << 20);
    ASSERT_TRUE(all.has_value());
    std::fill(all->bytes().begin(), all->bytes().end(), std::byte{7});
    usleep(2'000);
    EXPECT_TRUE(std::all_of(all->bytes().begin(), all->bytes().end(),
                            [](std::byte byte) { return byte == std::byte{7}; }));
  }
}

// Threads start many reads, more than go at a time, and wait for them in another order.
TEST_P(ChunkReaderTest, StressGivesEachOfManyThreadsItsOwnBytes) {
  const std::vector<WrittenChunk> chunks = write_many(60, 100'000);
  ASSERT_TRUE(file_->sync().ok());
  for (const uint32_t depth : {1U, 3U, 32U}) {
    ChunkArena arena(2 << 20, base::NumaNode(0));
    ChunkReader reader(file_.get(), &arena, depth, GetParam());
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        std::mt19937_64 random(t);
        for (int round = 0; round < 6; ++round) {
          std::vector<ChunkRead> reads(1 + random() % 30);
          std::vector<size_t> of(reads.size());
          for (size_t i = 0; i < reads.size(); ++i) {
            of[i] = random() % chunks.size();
            reads[i].address = chunks[of[i]].address;
            reader.start(&reads[i]);
          }
          for (size_t k = 0; k < reads.size(); ++k) {
            const size_t i = random() % 2 == 0 ? reads.size() - 1 - k : k;
            wrong += !reader.wait(&reads[i]) || !chunks[of[i]].holds(reads[i].memory);
          }
          for (ChunkRead& read : reads) wrong += !reader.wait(&read);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_EQ(arena.free_bytes(), arena.memory().size());
  }
}

TEST_P(ChunkReaderTest, StressManyThreadsWaitForTheSameRead) {
  const std::vector<WrittenChunk> chunks = write_many(30, 100'000);
  ASSERT_TRUE(file_->sync().ok());
  damage(chunks[11].address.offset());
  ChunkArena arena(1 << 20, base::NumaNode(0));
  ChunkReader reader(file_.get(), &arena, 4, GetParam());
  for (int round = 0; round < 5; ++round) {
    std::vector<ChunkRead> reads(chunks.size());
    for (size_t i = 0; i < reads.size(); ++i) {
      reads[i].address = chunks[i].address;
      reader.start(&reads[i]);
    }
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (size_t k = 0; k < reads.size(); ++k) {
          const size_t i = t % 2 == 0 ? k : reads.size() - 1 - k;
          const bool right = static_cast<bool>(reader.wait(&reads[i]));
          wrong += right != (i != 11) || (right && !chunks[i].holds(reads[i].memory));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0);
  }
}

// One thread waits for the last of many reads, so it reaps for long; another for one in the middle.
TEST_P(ChunkReaderTest, StressLetsGoWhoseReadIsDoneThoughAnotherWaitsOn) {
  const std::vector<WrittenChunk> chunks = write_many(100, 300'000);
  ASSERT_TRUE(file_->sync().ok());
  ChunkArena arena(32 << 20, base::NumaNode(0));
  ChunkReader reader(file_.get(), &arena, 1, GetParam());
  if (reader.way() == ReadWay::kBlocking) GTEST_SKIP() << "each reads its own";
  bool let_go = false;
  // Where the one thread or the other did not run for a while, a round shows nothing.
  for (int round = 0; round < 100 && !let_go; ++round) {
    std::vector<ChunkRead> reads(chunks.size());
    for (size_t i = 0; i < reads.size(); ++i) {
      reads[i].address = chunks[i].address;
      reader.start(&reads[i]);
    }
    std::thread last([&] { EXPECT_TRUE(reader.wait(&reads.back()).ok()); });
    ChunkRead& middle = reads[reads.size() / 2];
    while (!reader.done(reads[1])) usleep(50);  // from here on the other one reaps
    const bool had_to_wait = !reader.done(middle);
    ASSERT_TRUE(reader.wait(&middle).ok());
    let_go = had_to_wait && !reader.done(reads.back());
    last.join();
  }
  EXPECT_TRUE(let_go);
}

// The thread that submitted a read may have ended before it is read.
TEST_P(ChunkReaderTest, StressReadsWhatEndedThreadsHaveStarted) {
  const std::vector<WrittenChunk> chunks = write_many(60, 300'000);
  ASSERT_TRUE(file_->sync().ok());
  ChunkArena arena(4 << 20, base::NumaNode(0));
  ChunkReader reader(file_.get(), &arena, 16, GetParam());
  for (int round = 0; round < 3; ++round) {
    std::vector<ChunkRead> reads(chunks.size());
    for (size_t i = 0; i < chunks.size(); i += 4) {
      std::thread([&, i] {
        for (size_t k = i; k < i + 4; ++k) {
          reads[k].address = chunks[k].address;
          reader.start(&reads[k]);
        }
      }).join();
    }
    for (size_t i = 0; i < chunks.size(); ++i) {
      const Result<void> read = reader.wait(&reads[i]);
      ASSERT_TRUE(read.ok()) << read.error().to_string();
      ASSERT_TRUE(chunks[i].holds(reads[i].memory));
    }
  }
}

TEST_P(ChunkReaderTest, MakesProgressOnlyInItsOwnCallsAndTellsSo) {
  const std::vector<WrittenChunk> chunks = write_many(10, 100'000);
  ASSERT_TRUE(file_->sync().ok());
  ChunkArena arena(4 << 20, base::NumaNode(0));
  ChunkReader reader(file_.get(), &arena, 1, GetParam());
  std::vector<ChunkRead> reads(chunks.size());
  for (size_t i = 0; i < chunks.size(); ++i) {
    reads[i].address = chunks[i].address;
    reader.start(&reads[i]);
  }
  ASSERT_TRUE(reader.wait(&reads.back()).ok());
  for (size_t i = 0; i < chunks.size(); ++i) {
    EXPECT_TRUE(reader.done(reads[i])) << "they are read in the order that they were started in";
    ASSERT_TRUE(reader.wait(&reads[i]).ok());
    EXPECT_TRUE(chunks[i].holds(reads[i].memory));
  }
}

}  // namespace
}  // namespace diptych::storage
