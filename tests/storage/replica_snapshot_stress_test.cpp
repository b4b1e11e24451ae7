// Snapshots that are read and saved by several threads while the writer goes on, in memory that
// holds little of the replica. All that a snapshot shows is of its round.

#include <atomic>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "storage/replica_snapshot.h"
#include "storage/shared_ref.h"
#include "tests/mutant.h"
#include "tests/relaxed_atomic.h"
#include "tests/storage/kept_replica.h"
#include "tests/storage/one_row.h"
#include "tests/storage/record_rows.h"
#include "tests/temporary_directory.h"

namespace diptych::storage {
namespace {

using base::ColumnId;
using diptych::test::TemporaryDirectory;
using test::KeptReplica;

base::TableSchema rounds_schema() {
  base::TableSchema schema;
  schema.name = "rounds";
  schema.columns.push_back({"id", {base::TypeKind::kInt}, base::Nullability::kNotNull});
  schema.columns.push_back({"n", {base::TypeKind::kBigInt}, base::Nullability::kNotNull});
  schema.columns.push_back(
      {"s", {base::TypeKind::kVarchar, 0, 0, 40}, base::Nullability::kNotNull});
  schema.columns.push_back(
      {"still", {base::TypeKind::kVarchar, 0, 0, 40}, base::Nullability::kNotNull});
  schema.settled = base::Settled::kOn;
  schema.indexes.push_back(
      {"rounds_pkey", {}, base::IndexKind::kHash, base::Uniqueness::kUnique, {base::ColumnId(0)}});
  return schema;
}

constexpr uint32_t kRoundRows = 6 * kBlockRowsMin + 300;
constexpr size_t kRoundBudget = 96 << 10;
constexpr int kWriterRounds = 30;
constexpr int kRoundReaders = 3;

std::string text_of(uint32_t row, int round) {
  return "a text of row " + std::to_string(row) + " in " + std::to_string(round);
}
// Never written again, so it settles.
std::string still_text_of(uint32_t row) {
  return "what stays of row number " + std::to_string(row);
}
int64_t number_of(uint32_t row, int round) {
  return int64_t{row} * 1'000'003 * (round % 5 == 0 ? 1 : 4'000'000) + round;
}

// A snapshot, and the round in which each row was written last; 0: it is no more.
struct Round {
  std::unique_ptr<ReplicaSnapshot> snapshot;
  std::vector<int> rows;
};

class Rounds {
 public:
  std::shared_ptr<Round> newest() {
    const std::lock_guard lock(mutex_);
    return newest_;
  }
  void publish(std::shared_ptr<Round> round) {
    const std::lock_guard lock(mutex_);
    newest_.swap(round);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<Round> newest_;
};

uint64_t rows_not_of_round(const Round& round) {
  const Partition& partition =
      round.snapshot->replica().table(base::TableId(0)).partition(base::PartitionId(0));
  uint64_t wrong = 0;
  uint64_t live = 0;
  for (size_t l = 0; l < partition.leaf_count(); ++l) {
    const Leaf& leaf = partition.leaf(l);
    const ColumnSummary summary = leaf.summary(ColumnId(1));
    DecodeBuffer numbers_buffer;
    DecodeBuffer texts_buffer;
    DecodeBuffer still_buffer;
    const PinnedColumn numbers = value_or_throw(leaf.pin(ColumnId(1)));
    const PinnedColumn texts = value_or_throw(leaf.pin(ColumnId(2)));
    const PinnedColumn still = value_or_throw(leaf.pin(ColumnId(3)));
    const auto* const n = numbers.view(0, leaf.row_slots(), &numbers_buffer).as<int64_t>();
    const auto* const s = texts.view(0, leaf.row_slots(), &texts_buffer).as<base::StringRef>();
    const auto* const t = still.view(0, leaf.row_slots(), &still_buffer).as<base::StringRef>();
    for (uint32_t i = 0; i < leaf.row_slots(); ++i) {
      const uint32_t row = leaf.first_ordinal() + i;
      if (leaf.lives(i) != (round.rows[row] != 0)) ++wrong;
      if (!leaf.lives(i)) continue;
      ++live;
      const bool is_right =
          n[i] == number_of(row, round.rows[row]) && s[i].view() == text_of(row, round.rows[row]) &&
          t[i].view() == still_text_of(row) && summary.min <= n[i] && n[i] <= summary.max;
      wrong += is_right ? 0 : 1;
    }
  }
  return wrong + (live == partition.live_rows() ? 0 : 1);
}

class RoundsWriter {
 public:
  explicit RoundsWriter(Partition* partition) : partition_(partition), rows_(kRoundRows, 0) {}

  void insert(uint32_t row) {
    encode(row, 1);
    const uint32_t ordinal =
        test::insert_row(*partition_, base::RowId(row), record_.row(), record_.strings_base());
    EXPECT_EQ(ordinal, row);
    rows_[row] = 1;
  }
  void round(int round) {
    for (uint32_t row = static_cast<uint32_t>(round * 7 % 13); row < kRoundRows; row += 13) {
      if (rows_[row] == 0) continue;
      encode(row, round);
      for (const uint16_t c : std::initializer_list<uint16_t>{1, 2}) {
        test::update_cell(*partition_, row, ColumnId(c), record_.cell(ColumnId(c)),
                          record_.strings_base());
      }
      rows_[row] = round;
    }
    for (uint32_t row = static_cast<uint32_t>(round); row < kRoundRows; row += 499) {
      if (rows_[row] != 0) partition_->erase(row);
      rows_[row] = 0;
    }
    // A block without rows, which the compaction after the next cut makes small.
    if (round != kWriterRounds / 2) return;
    for (uint32_t row = kBlockRowsMin; row < 2 * kBlockRowsMin; ++row) {
      if (rows_[row] != 0) partition_->erase(row);
      rows_[row] = 0;
    }
  }
  const std::vector<int>& rows() const { return rows_; }

 private:
  void encode(uint32_t row, int round) {
    record_.encode(test::TestRow(
        layout_, {int64_t{row}, number_of(row, round), text_of(row, round), still_text_of(row)}));
  }

  Partition* partition_;
  base::RowLayout layout_{rounds_schema()};
  test::RecordRow record_{layout_};
  std::vector<int> rows_;
};

TEST(ReplicaSnapshotStress, IsReadAndSavedBesideTheWriter) {
  TemporaryDirectory directory;
  KeptReplica kept(directory.path(), rounds_schema(), kRoundBudget);
  RoundsWriter writer(&kept.partition());
  for (uint32_t row = 0; row < kRoundRows; ++row) writer.insert(row);
  kept.partition().compact_all();
  ASSERT_TRUE(kept.save().ok());
  Rounds rounds;
  std::atomic<bool> stops{false};
  std::atomic<uint64_t> wrong{0};
  std::atomic<uint64_t> reads{0};
  std::vector<std::thread> readers;
  for (int t = 0; t < kRoundReaders; ++t) {
    readers.emplace_back([&, t] {
      // relaxed: a sign to end; figures are read after the join.
      while (!stops.load(std::memory_order_relaxed)) {
        const std::shared_ptr<Round> round = rounds.newest();
        if (round == nullptr) continue;
        if (t == 0) {
          EXPECT_TRUE(round->snapshot->save(directory.path(), {}).ok());
        }
        wrong.fetch_add(rows_not_of_round(*round), std::memory_order_relaxed);  // relaxed: as above
        reads.fetch_add(1, std::memory_order_relaxed);                          // relaxed: as above
      }
    });
  }
  for (int round = 2; round < kWriterRounds; ++round) {
    auto cut = std::make_shared<Round>();
    cut->snapshot = std::make_unique<ReplicaSnapshot>(&kept.replica());
    cut->rows = writer.rows();
    rounds.publish(std::move(cut));
    // Of leaves that the snapshot has: columns freeze and settle, blocks are made.
    for (int i = 0; i < 6; ++i) kept.partition().compact();
    writer.round(round);
    kept.replica().reclaim();
    ASSERT_TRUE(kept.buffers().trim().ok());
  }
  // relaxed: as above.
  while (reads.load(std::memory_order_relaxed) < 3 * kRoundReaders) std::this_thread::yield();
  stops.store(true, std::memory_order_relaxed);  // relaxed: as above
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong.load(std::memory_order_relaxed), 0U);  // relaxed: as above
  rounds.publish(nullptr);
  EXPECT_EQ(kept.replica().snapshots(), 0U);
  kept.replica().reclaim();
  EXPECT_EQ(kept.replica().snapshot_bytes(), 0U);
  EXPECT_GT(kept.buffers().figures().evictions, 100U);
  EXPECT_GT(kept.partition().figures().columns_settled, 0U);
}

// An owner that has read gives up its share; the other writes once it is alone.
template <template <class> class Atomic>
void write_once_alone() {
  for (int i = 0; i < 2'000; ++i) {
    SharedCount<Atomic> count;
    count.add();
    int value = 0;
    std::thread reader([&] {
      ::diptych::test::fail_if_found(value == 0 ? "" : "a value that was written too early");
      std::ignore = count.drop();
    });
    while (count.is_shared()) std::this_thread::yield();
    value = 1;
    reader.join();
  }
}

TEST(SharedCountStress, WhoIsAloneMayWrite) {
  write_once_alone<std::atomic>();
}

#ifdef DIPTYCH_TSAN
TEST(SharedCountStressDeathTest, ThreadSanitizerFindsTheMutantWithWeakenedOrders) {
  EXPECT_RACE_FOUND(write_once_alone<diptych::test::RelaxedAtomic>());
}
#endif

}  // namespace
}  // namespace diptych::storage
