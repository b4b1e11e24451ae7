// One row of two column groups under writers of either or both that commit and roll back, and
// readers of snapshots: each commit adds 1 to all words of its groups, and a history says how often
// each group was written as of each VID. And with orders weakened, which ThreadSanitizer must find.

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

constexpr uint32_t kRowGroups = 2;
constexpr uint32_t kWordsOfGroup = 2;

// Which groups a write takes.
enum class Taken : uint32_t { kFirst = 1, kSecond = 2, kBoth = 3 };
enum class Ending : uint8_t { kCommit, kRollBack };

template <template <class> class Atomic>
struct GroupedRow {
  using Slot = BasicRowSlot<Atomic>;
  using Version = BasicRowVersion<Atomic>;
  static constexpr size_t kImageWords = sizeof(BeforeImage) / 8 + 1;
  struct Write {
    std::array<BasicUndo<Atomic>, kRowGroups> undos{};
    std::array<uint64_t, kImageWords * kRowGroups * kWordsOfGroup> images{};
  };

  explicit GroupedRow(size_t commits_max) : history(commits_max + 1) {
    slot.set_words(kRowGroups, live_word(base::Vid(0)));
  }

  static bool takes(Taken taken, uint32_t group) {
    return (static_cast<uint32_t>(taken) >> group & 1) != 0;
  }

  // As TransactionCore::claim_group.
  bool claim(uint32_t group, base::WorkerId worker, base::Vid read_vid, Write* write) {
    Version& version = slot.group(group);
    // acquire: as TransactionCore::claim_group.
    const uint64_t word = version.word.load(std::memory_order_acquire);
    if (Version::is_changed(word, read_vid)) return false;
    BasicUndo<Atomic>& undo = write->undos[group];
    undo.replaced = word;
    undo.before = Version::without_owner(word);
    // relaxed: as TransactionCore::claim_group.
    undo.older = version.older.load(std::memory_order_relaxed);
    undo.worker = worker;
    undo.group = static_cast<uint8_t>(group);
    return version.claim(&undo);
  }

  void add_one(uint32_t group, Write* write) {
    for (uint32_t i = kWordsOfGroup * group; i < kWordsOfGroup * (group + 1); ++i) {
      auto* const image = new (write->images.data() + kImageWords * i) BeforeImage;
      keep_image(slot, {i, 1}, image, &write->undos[group]);
      // relaxed: the owner alone writes it.
      const uint64_t value = slot.row_words()[i].load(std::memory_order_relaxed) + 1;
      let_others_in();
      slot.show({i, 1}, &value);
    }
  }

  // One try. False: somebody else was first at one of the groups.
  bool write(Taken taken, Ending ending, base::WorkerId worker, Write* memory) {
    // acquire: as Worker::run.
    const base::Vid read_vid(last_vid.load(std::memory_order_acquire));
    uint32_t claimed = 0;
    for (uint32_t group = 0; group < kRowGroups; ++group) {
      if (!takes(taken, group)) continue;
      if (!claim(group, worker, read_vid, memory)) {
        for (uint32_t other = 0; other < group; ++other) {
          if ((claimed >> other & 1) != 0) slot.roll_back(&memory->undos[other]);
        }
        return false;
      }
      claimed |= uint32_t{1} << group;
    }
    for (uint32_t group = 0; group < kRowGroups; ++group) {
      if (takes(taken, group)) add_one(group, memory);
    }
    if (ending == Ending::kRollBack) {
      for (uint32_t group = 0; group < kRowGroups; ++group) {
        if (takes(taken, group)) slot.roll_back(&memory->undos[group]);
      }
      return true;
    }
    commit(taken, memory);
    return true;
  }

  void commit(Taken taken, Write* memory) {
    const std::lock_guard lock(commit_mutex);
    // relaxed: written only under the mutex.
    const uint64_t vid = last_vid.load(std::memory_order_relaxed) + 1;
    for (uint32_t group = 0; group < kRowGroups; ++group) {
      // relaxed: published by last_vid, where anything is.
      const uint64_t before = history[vid - 1][group].load(std::memory_order_relaxed);
      // relaxed: as above.
      history[vid][group].store(before + (takes(taken, group) ? 1 : 0), std::memory_order_relaxed);
      if (takes(taken, group)) {
        slot.group(group).commit(&memory->undos[group], live_word(base::Vid(vid)));
      }
    }
    // release: as Worker::commit.
    last_vid.store(vid, std::memory_order_release);
  }

  // The number of words that are wrong.
  uint64_t read() const {
    // acquire: as Worker::run.
    const base::Vid read_vid(last_vid.load(std::memory_order_acquire));
    uint64_t wrong = 0;
    for (uint32_t group = 0; group < kRowGroups; ++group) {
      // relaxed: as in commit.
      const uint64_t expected = history[read_vid.value][group].load(std::memory_order_relaxed);
      for (const uint64_t word : read_group(group, group, read_vid)) {
        wrong += word == expected ? 0 : 1;
      }
    }
    return wrong;
  }

  // The group's words, by the version of `by_group`.
  std::array<uint64_t, kWordsOfGroup> read_group(uint32_t group, uint32_t by_group,
                                                 base::Vid read_vid) const {
    std::array<uint64_t, kRowGroups * kWordsOfGroup> row{};
    const auto copy = [&](const auto& read_words) {
      for (uint32_t i = 0; i < kWordsOfGroup; ++i) {
        read_words(WordSpan{kWordsOfGroup * group + i, 1});
        let_others_in();
      }
    };
    EXPECT_TRUE(read_version(slot, read_vid, row.data(), copy, by_group));
    std::array<uint64_t, kWordsOfGroup> found{};
    std::copy_n(row.begin() + kWordsOfGroup * group, kWordsOfGroup, found.begin());
    return found;
  }

  std::array<Version, kRowGroups - 1> front{};
  Slot slot{};
  std::array<Atomic<uint64_t>, kRowGroups * kWordsOfGroup> words{};  // behind the slot: its row
  Atomic<uint64_t> last_vid{0};
  std::mutex commit_mutex;
  // By VID: how often each group was written. Writer: who commits.
  std::vector<std::array<std::atomic<uint64_t>, kRowGroups>> history;
};

// Three writers, of either group and of both, and two readers; the words that were read wrong.
template <template <class> class Atomic>
uint64_t run_grouped(uint32_t writes) {
  constexpr Taken kTaken[] = {Taken::kFirst, Taken::kSecond, Taken::kBoth};
  using Row = GroupedRow<Atomic>;
  auto row = std::make_unique<Row>(size_t{writes} * std::size(kTaken));
  static_assert(offsetof(Row, slot) == offsetof(Row, front) + sizeof(Row::front));
  static_assert(offsetof(Row, words) == offsetof(Row, slot) + sizeof(Row::slot));
  std::atomic<bool> done{false};
  std::atomic<uint64_t> wrong{0};
  std::vector<std::deque<typename Row::Write>> memory(std::size(kTaken));  // until all is over (V3)
  std::vector<std::thread> readers;
  std::vector<std::thread> writers;
  for (uint32_t worker = 0; worker < std::size(kTaken); ++worker) {
    writers.emplace_back([&, worker] {
      for (uint32_t i = 0; i < writes;) {
        memory[worker].emplace_back();
        const Ending ending = i % 3 == 0 ? Ending::kRollBack : Ending::kCommit;
        const bool written =
            row->write(kTaken[worker], ending, base::WorkerId(worker), &memory[worker].back());
        i += written ? 1 : 0;
        // A claim that was given back has shown its Undo: its memory stays.
        if (!written) let_others_in();
      }
    });
  }
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] { count_wrong_reads(row.get(), done, &wrong); });
  }
  for (std::thread& writer : writers) writer.join();
  // relaxed: a flag on its own.
  done.store(true, std::memory_order_relaxed);
  for (std::thread& reader : readers) reader.join();
  // relaxed: the threads are over.
  return wrong.load(std::memory_order_relaxed) + row->read();
}

TEST(RowGroupStress, EverySnapshotSeesAllWordsOfEachGroupsVersion) {
  EXPECT_EQ(run_grouped<std::atomic>(1'000), 0u);
}

// Why a reader goes by each group's own word.
TEST(RowGroup, AnotherGroupsWordTellsNothingOfAGroup) {
  GroupedRow<std::atomic> row(1);
  GroupedRow<std::atomic>::Write memory;
  ASSERT_TRUE(row.write(Taken::kSecond, Ending::kCommit, base::WorkerId(0), &memory));
  EXPECT_EQ(row.read_group(1, 1, base::Vid(0)), (std::array<uint64_t, kWordsOfGroup>{0, 0}));
  EXPECT_EQ(row.read_group(1, 0, base::Vid(0)), (std::array<uint64_t, kWordsOfGroup>{1, 1}))
      << "by group 0's word it looks as if nothing had changed";
  EXPECT_EQ(row.read_group(1, 1, base::Vid(1)), (std::array<uint64_t, kWordsOfGroup>{1, 1}));
}

#ifdef DIPTYCH_TSAN
// One order weakened: a claim does not publish its Undo.
template <class Value>
struct RelaxedClaim : std::atomic<Value> {
  using std::atomic<Value>::atomic;
  bool compare_exchange_strong(Value& expected, Value wanted, std::memory_order,
                               std::memory_order) {
    // relaxed: the weakened order that must be found.
    return std::atomic<Value>::compare_exchange_strong(expected, wanted, std::memory_order_relaxed);
  }
};

TEST(RowGroupStressDeathTest, ThreadSanitizerFindsTheMutantsWithWeakenedOrders) {
  EXPECT_RACE_FOUND(run_grouped<RelaxedClaim>(1'000));
  EXPECT_RACE_FOUND(run_grouped<diptych::test::RelaxedAtomic>(1'000));
}
#endif

}  // namespace
}  // namespace diptych::oltp
