// Scans by several threads, of a replica many times larger than its memory, between phases of
// writing. What is read is what was written, and nothing is evicted under a pin.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "storage/replica_files.h"
#include "storage/replica_snapshot.h"
#include "tests/storage/kept_replica.h"
#include "tests/storage/long_file.h"
#include "tests/storage/one_row.h"
#include "tests/storage/record_rows.h"
#include "tests/temporary_directory.h"

namespace diptych::storage {
namespace {

using base::ColumnId;
using diptych::test::TemporaryDirectory;
using test::KeptReplica;
using test::LongFile;

base::TableSchema numbers_schema() {
  base::TableSchema schema;
  schema.name = "numbers";
  for (const char* name : {"a", "b", "c"}) {
    schema.columns.push_back({name, {base::TypeKind::kBigInt}, base::Nullability::kNotNull});
  }
  schema.indexes.push_back(
      {"numbers_pkey", {}, base::IndexKind::kHash, base::Uniqueness::kUnique, {base::ColumnId(0)}});
  return schema;
}

constexpr uint32_t kRows = 48 * kBlockRowsMin;
constexpr size_t kBudget = 128 << 10;  // of 1.1 MB
constexpr int kThreads = 4;
constexpr int kRounds = 6;

// The value of a row's column after a round: of b and c, a function of both.
int64_t value_of(uint32_t row, uint16_t column, int round) {
  return column == 0 ? row : int64_t{row} * 7919 % 1'000'003 * (column + round);
}

class NumbersRecord {
 public:
  const std::byte* of(uint32_t row, int round) {
    for (uint16_t c = 0; c < 3; ++c) {
      const int64_t value = value_of(row, c, round);
      std::memcpy(bytes_.data() + layout_.columns[c].offset, &value, sizeof value);
    }
    return bytes_.data();
  }
  const std::byte* strings_base() const { return bytes_.data(); }
  const std::byte* cell(uint16_t column) const {
    return bytes_.data() + layout_.columns[column].offset;
  }

 private:
  base::RowLayout layout_{numbers_schema()};
  std::vector<std::byte> bytes_ = std::vector<std::byte>(layout_.bytes);
};

// One thread's scan of all leaves, from one of its own on; the rows that are wrong.
uint64_t wrong_rows(const Partition& partition, size_t first, const std::vector<int>& rounds) {
  uint64_t wrong = 0;
  for (size_t i = 0; i < partition.leaf_count(); ++i) {
    const Leaf& leaf = partition.leaf((first + i) % partition.leaf_count());
    for (size_t ahead = 1; ahead < 4; ++ahead) {
      const Leaf& next = partition.leaf((first + i + ahead) % partition.leaf_count());
      for (uint16_t c = 0; c < 3; ++c) std::ignore = next.read_ahead(ColumnId(c));
    }
    for (uint16_t c = 0; c < 3; ++c) {
      DecodeBuffer buffer;
      const PinnedColumn column = value_or_throw(leaf.pin(ColumnId(c)));
      const auto* const values = column.view(0, leaf.row_slots(), &buffer).as<int64_t>();
      for (uint32_t row = 0; row < leaf.row_slots(); ++row) {
        const uint32_t ordinal = leaf.first_ordinal() + row;
        wrong += values[row] != value_of(ordinal, c, rounds[ordinal]) ? 1 : 0;
      }
    }
  }
  return wrong;
}

TEST(BufferManagerStress, ScansSeeWhatWasWrittenThoughLittleOfItFitsInMemory) {
  TemporaryDirectory directory;
  KeptReplica kept(directory.path(), numbers_schema(), kBudget);
  Partition& partition = kept.partition();
  NumbersRecord record;
  for (uint32_t row = 0; row < kRows; ++row) {
    ASSERT_EQ(
        test::insert_row(partition, base::RowId(row), record.of(row, 0), record.strings_base()),
        row);
  }
  partition.compact_all();
  ASSERT_TRUE(kept.buffers().trim().ok());
  std::vector<int> rounds(kRows, 0);
  for (int round = 1; round <= kRounds; ++round) {
    // Between batches: every so many rows, some of which do not fit their chunk's form.
    for (uint32_t row = static_cast<uint32_t>(round); row < kRows; row += 97) {
      record.of(row, round);
      rounds[row] = round;
      for (uint16_t c = 1; c < 3; ++c) {
        test::update_cell(partition, row, ColumnId(c), record.cell(c), record.strings_base());
      }
    }
    for (int i = 0; i < 8; ++i) partition.compact();
    ASSERT_TRUE(kept.buffers().trim().ok());
    if (round == kRounds / 2) {
      ASSERT_TRUE(kept.save().ok());
    }
    // A batch.
    std::atomic<uint64_t> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        // relaxed: read after the join.
        wrong.fetch_add(wrong_rows(partition, static_cast<size_t>(t) * 11, rounds),
                        std::memory_order_relaxed);
      });
    }
    for (std::thread& thread : threads) thread.join();
    // relaxed: the threads were joined.
    ASSERT_EQ(wrong.load(std::memory_order_relaxed), 0U) << "round " << round;
  }
  const BufferFigures figures = kept.buffers().figures();
  EXPECT_GT(figures.evictions, 1000U);
  EXPECT_GT(figures.writes, 40U);
  ASSERT_TRUE(kept.buffers().trim().ok());
  EXPECT_LE(kept.buffers().figures().memory_bytes, kBudget);
}

TEST(BufferManagerStress, ScansReadOnWhileASaveMovesWhatTheyRead) {
  TemporaryDirectory directory;
  LongFile::create(directory.path());
  KeptReplica kept(directory.path(), numbers_schema(), kBudget);
  BlockFile& file = kept.buffers().file();
  LongFile hole(&file);
  Partition& partition = kept.partition();
  NumbersRecord record;
  for (uint32_t row = 0; row < kRows; ++row) {
    test::insert_row(partition, base::RowId(row), record.of(row, 0), record.strings_base());
  }
  partition.compact_all();
  ASSERT_TRUE(kept.save().ok());
  hole.come_free();
  ASSERT_TRUE(kept.save().ok());
  ASSERT_EQ(file.bytes(), 3 * kExtentBytes);
  ASSERT_TRUE(kept.buffers().trim().ok());
  const std::vector<int> rounds(kRows, 0);
  std::atomic<bool> stops{false};
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      do {
        // relaxed: read after the join.
        wrong.fetch_add(wrong_rows(partition, static_cast<size_t>(t) * 11, rounds),
                        std::memory_order_relaxed);
      } while (!stops.load(std::memory_order_relaxed));  // relaxed: a sign to end
    });
  }
  EXPECT_TRUE(kept.save().ok());
  stops.store(true, std::memory_order_relaxed);  // relaxed: as above
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(std::memory_order_relaxed), 0U);  // relaxed: the threads were joined
  EXPECT_EQ(file.bytes(), kExtentBytes);
  EXPECT_EQ(wrong_rows(partition, 0, rounds), 0U) << "of chunks that come from where they are now";
}

// A load ends, and the chunk is evicted and read ahead anew, before a second thread that waited for
// the load runs again: nobody but that thread waits for the new one. Each round ends with threads
// that nobody wakes later.
TEST(BufferManagerStress, WhoWaitsForALoadIsNotLeftWithALaterOneThatNobodyWaitsFor) {
  TemporaryDirectory directory;
  constexpr size_t kBudgetOfSome = 60 << 10;  // pages for 11 chunks
  constexpr size_t kChunks = 16;
  KeptReplica kept(directory.path(), numbers_schema(), kBudgetOfSome);
  Partition& partition = kept.partition();
  NumbersRecord record;
  for (uint32_t row = 0; row < kRows; ++row) {
    test::insert_row(partition, base::RowId(row), record.of(row, 0), record.strings_base());
  }
  partition.compact_all();
  ASSERT_TRUE(kept.buffers().trim().ok());
  for (int round = 0; round < 120; ++round) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 2 * kThreads; ++t) {
      threads.emplace_back([&] {
        for (size_t i = 0; i < 60; ++i) {
          const PinnedColumn column = value_or_throw(partition.leaf(i % kChunks).pin(ColumnId(1)));
          std::ignore = partition.leaf((i + 1) % kChunks).read_ahead(ColumnId(1));
          std::ignore = partition.leaf((i + 2) % kChunks).read_ahead(ColumnId(1));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_GT(kept.buffers().figures().evictions, 1000U);
}

// Holds up the file's next write, and says so, until it is let go.
class HeldWrite {
 public:
  BeforeFileStep step() {
    return [this](FileStep step) -> base::Result<void> {
      std::unique_lock lock(mutex_);
      if (step != FileStep::kWrite || !holds_) return {};
      is_held_ = true;
      changed_.notify_all();
      changed_.wait(lock, [&] { return !holds_; });
      return {};
    };
  }
  void hold() { set(true); }
  void let_go() { set(false); }
  bool await(std::chrono::seconds time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [&] { return is_held_; });
  }

 private:
  void set(bool holds) {
    const std::lock_guard lock(mutex_);
    holds_ = holds;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool holds_ = false;
  bool is_held_ = false;
};

// A replica with rows in blocks, whose writes to the disk can be held.
struct HeldReplica {
  HeldReplica() {
    replica.keep_in(*BlockFile::create(directory.path(), held.step()), kBudget);
    replica.add_table(schema);
    for (uint32_t row = 0; row < kRows; ++row) {
      test::insert_row(partition(), base::RowId(row), record.of(row, 0), record.strings_base());
    }
    partition().compact_all();
  }
  Partition& partition() { return replica.table(base::TableId(0)).partition(base::PartitionId(0)); }

  TemporaryDirectory directory;
  HeldWrite held;
  const base::TableSchema schema = numbers_schema();
  Replica replica{StorageOptions{.block_rows = kBlockRowsMin}};
  NumbersRecord record;
};

TEST(BufferManagerStress, ATrimThatWaitsForTheDiskKeepsNoReaderOfASnapshotWaiting) {
  HeldReplica setup;
  HeldWrite& held = setup.held;
  Replica& replica = setup.replica;
  Partition& partition = setup.partition();
  NumbersRecord& record = setup.record;
  ASSERT_TRUE(replica.buffers()->trim().ok());
  auto snapshot = std::make_unique<ReplicaSnapshot>(&replica);
  // Chunks that only the snapshot has: it goes while the last of them are written.
  for (uint32_t row = 0; row < kRows; row += 7) {
    record.of(row, 1);
    test::update_cell(partition, row, ColumnId(1), record.cell(1), record.strings_base());
  }
  held.hold();
  std::thread trim([&] { EXPECT_TRUE(replica.buffers()->trim().ok()); });
  ASSERT_TRUE(held.await(std::chrono::seconds(60))) << "nothing was to be written";
  const std::vector<int> before(kRows, 0);
  auto wrong = std::async(std::launch::async, [&] {
    return wrong_rows(snapshot->replica().table(base::TableId(0)).partition(base::PartitionId(0)),
                      0, before);
  });
  const bool was_read = wrong.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
  held.let_go();
  EXPECT_TRUE(was_read);
  EXPECT_EQ(wrong.get(), 0U);
  snapshot.reset();
  trim.join();
  EXPECT_EQ(wrong_rows(partition, 0, before), kRows / 7) << "all but row 0, which is 0";
}

// M4: the only chunks that are changed are the snapshot's alone, and it goes while one is written.
TEST(BufferManagerStress, AChunkThatATrimWritesDoesNotGoMeanwhile) {
  HeldReplica setup;
  HeldWrite& held = setup.held;
  Replica& replica = setup.replica;
  Partition& partition = setup.partition();
  NumbersRecord& record = setup.record;
  auto snapshot = std::make_unique<ReplicaSnapshot>(&replica);
  std::vector<int> rounds(kRows, 0);
  for (uint32_t row = 0; row < kRows; row += kBlockRowsMin) {
    record.of(row, 1);
    rounds[row] = 1;
    for (uint16_t c = 0; c < 3; ++c) {
      test::update_cell(partition, row, ColumnId(c), record.cell(c), record.strings_base());
    }
  }
  ASSERT_TRUE(save_replica(setup.directory.path(), &replica, {}).ok());
  held.hold();
  std::thread trim([&] { EXPECT_TRUE(replica.buffers()->trim().ok()); });
  ASSERT_TRUE(held.await(std::chrono::seconds(60))) << "nothing was to be written";
  auto gone = std::async(std::launch::async, [&] { snapshot.reset(); });
  EXPECT_EQ(gone.wait_for(std::chrono::milliseconds(100)), std::future_status::timeout);
  held.let_go();
  gone.get();
  trim.join();
  EXPECT_EQ(wrong_rows(partition, 0, rounds), 0U);
}

}  // namespace
}  // namespace diptych::storage
