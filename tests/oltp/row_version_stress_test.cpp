// One row under writers that commit and roll back, and readers of snapshots: each commit adds 1 to
// all of the row's words, so the version at VID v has v in each of them. And with its orders
// dropped, which ThreadSanitizer must find.

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "oltp/row_reader.h"
#include "oltp/row_version.h"
#include "tests/mutant.h"
#include "tests/oltp/stress_yield.h"
#include "tests/oltp/wrong_reads.h"
#include "tests/relaxed_atomic.h"

namespace diptych::oltp {
namespace {

constexpr uint32_t kWords = 4;

template <template <class> class Atomic>
struct OneRow {
  using Slot = BasicRowSlot<Atomic>;
  struct Write {
    BasicUndo<Atomic> undo{};
    std::array<uint64_t, (sizeof(BeforeImage) / 8 + 1) * kWords> images{};
  };

  OneRow() {
    // relaxed: the threads come later.
    slot.word.store(live_word(base::Vid(0)), std::memory_order_relaxed);
  }

  // One try; every third one is rolled back. False: somebody else was first.
  bool write(uint32_t worker, uint32_t number, Write* memory) {
    // acquire: as TransactionCore::claim_row.
    const uint64_t read_vid = last_vid.load(std::memory_order_acquire);
    const uint64_t word = slot.word.load(std::memory_order_acquire);
    const uint64_t before = Slot::without_owner(word);
    if (is_hidden(before, base::Vid(read_vid))) return false;
    BasicUndo<Atomic>* const undo = &memory->undo;
    undo->replaced = word;
    undo->before = before;
    // relaxed: as TransactionCore::claim_row.
    undo->older = slot.older.load(std::memory_order_relaxed);
    undo->worker = base::WorkerId(worker);
    if (!slot.claim(undo)) return false;
    auto* place = memory->images.data();
    for (uint32_t i = 0; i < kWords; ++i, place += sizeof(BeforeImage) / 8 + 1) {
      keep_image(slot, {i, 1}, new (place) BeforeImage, undo);
      const uint64_t value = read_vid + 1;
      slot.show({i, 1}, &value);
      if (number % 4 == 0) let_others_in();
    }
    if (number % 3 == 0) {
      slot.roll_back(undo);
      return true;
    }
    const std::lock_guard lock(commit);
    // Only the row's owner commits, so the VID is the next.
    slot.commit(undo, live_word(base::Vid(read_vid + 1)));
    // release: as Worker::commit.
    last_vid.store(read_vid + 1, std::memory_order_release);
    return true;
  }

  // The number of words that are wrong.
  uint64_t read() const {
    // acquire: as Worker::run.
    const base::Vid read_vid(last_vid.load(std::memory_order_acquire));
    std::array<uint64_t, kWords> row{};
    const bool there = read_version(slot, read_vid, row.data(), [](const auto& read_words) {
      read_words(WordSpan{0, 1});
      let_others_in();
      read_words(WordSpan{1, kWords - 1});
    });
    uint64_t wrong = there ? 0 : 1;
    for (const uint64_t word : row) wrong += word == read_vid.value ? 0 : 1;
    return wrong;
  }

  alignas(8) Slot slot{};
  std::array<Atomic<uint64_t>, kWords> words{};  // behind the slot: its row
  Atomic<uint64_t> last_vid{0};
  std::mutex commit;
};

// Two writers and two readers; the number of words that were read wrong.
template <template <class> class Atomic>
uint64_t run(uint32_t writes) {
  auto row = std::make_unique<OneRow<Atomic>>();
  static_assert(offsetof(OneRow<Atomic>, words) == sizeof(row->slot));
  std::atomic<bool> done{false};
  std::atomic<uint64_t> wrong{0};
  std::vector<std::deque<typename OneRow<Atomic>::Write>> memory(2);  // until all is over (V3)
  std::vector<std::thread> readers;
  std::vector<std::thread> writers;
  for (uint32_t worker = 0; worker < 2; ++worker) {
    writers.emplace_back([&, worker] {
      for (uint32_t i = 0; i < writes;) {
        memory[worker].emplace_back();
        if (row->write(worker, i, &memory[worker].back())) {
          ++i;
        } else {
          memory[worker].pop_back();
          let_others_in();
        }
      }
    });
    readers.emplace_back([&] { count_wrong_reads(row.get(), done, &wrong); });
  }
  for (std::thread& writer : writers) writer.join();
  // relaxed: a flag on its own.
  done.store(true, std::memory_order_relaxed);
  for (std::thread& reader : readers) reader.join();
  // relaxed: the threads are over.
  return wrong.load(std::memory_order_relaxed);
}

TEST(RowVersionStress, EverySnapshotSeesAllWordsOfItsVersion) {
  EXPECT_EQ(run<std::atomic>(20'000), 0u);
}

#ifdef DIPTYCH_TSAN
TEST(RowVersionStressDeathTest, ThreadSanitizerFindsTheMutantWithWeakenedOrders) {
  EXPECT_RACE_FOUND(run<diptych::test::RelaxedAtomic>(2'000));
}

TEST(RowVersionStressDeathTest, ThreadSanitizerFindsLoadsStoresAndSwapsWeakenedAlone) {
  EXPECT_RACE_FOUND(run<diptych::test::RelaxedLoads>(2'000));
  EXPECT_RACE_FOUND(run<diptych::test::RelaxedStores>(2'000));
  EXPECT_RACE_FOUND(run<diptych::test::RelaxedSwaps>(2'000));
}
#endif

}  // namespace
}  // namespace diptych::oltp
