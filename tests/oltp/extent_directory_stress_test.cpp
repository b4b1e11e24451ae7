// ExtentDirectory under readers while it grows from one entry: who was told of an extent finds it,
// and its bytes, in whatever entries it meets. And with each of its two publications broken.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include "oltp/extent_directory.h"
#include "tests/mutant.h"
#include "tests/oltp/stress_yield.h"
#include "tests/relaxed_atomic.h"

namespace diptych::oltp {
namespace {

constexpr uint64_t kExtents = 300;
constexpr size_t kExtentSize = 16;

std::byte mark_of(uint64_t extent) {
  return static_cast<std::byte>(extent % 251 + 1);
}

// What is wrong with the extent, as a reader finds it; nothing: "".
template <template <class> class Atomic>
std::string look_at(const ExtentDirectory<Atomic>& directory, uint64_t extent) {
  const std::byte* const memory = directory.at(extent);
  if (memory == nullptr) return "an extent is lost";
  const bool is_filled = std::all_of(memory, memory + kExtentSize,
                                     [extent](std::byte byte) { return byte == mark_of(extent); });
  return is_filled ? "" : "an extent is shown before it is ready";
}

// Readers are told how many extents there are without an order, as the directory alone must publish
// them.
template <template <class> class Atomic>
std::string read_while_it_grows() {
  ExtentDirectory<Atomic> directory(1);
  std::vector<std::byte> memory(kExtents * kExtentSize);
  std::atomic<uint64_t> count{0};  // writer: this thread
  std::string found[3];
  std::atomic<int> reading{0};
  {
    std::vector<std::jthread> readers;
    for (std::string& wrong : found) {
      readers.emplace_back([&] {
        // relaxed: no more than that it runs, here and below.
        reading.fetch_add(1, std::memory_order_relaxed);
        for (uint64_t known = 0; known < kExtents && wrong.empty();) {
          // relaxed: the number is all that is told, as said above.
          known = count.load(std::memory_order_relaxed);
          if (known == 0) continue;
          wrong = look_at(directory, known - 1);
          if (wrong.empty()) wrong = look_at(directory, known * 7 / 11);
        }
      });
    }
    // relaxed: as above.
    while (reading.load(std::memory_order_relaxed) < 3) std::this_thread::yield();
    for (uint64_t extent = 0; extent < kExtents; ++extent) {
      std::byte* const first = memory.data() + extent * kExtentSize;
      std::fill(first, first + kExtentSize, mark_of(extent));
      directory.set(extent, first);
      // relaxed: as said above.
      count.store(extent + 1, std::memory_order_relaxed);
      let_others_in();
    }
  }
  const std::string* const wrong = std::find_if(std::begin(found), std::end(found),
                                                [](const auto& text) { return !text.empty(); });
  return wrong == std::end(found) ? "" : *wrong;
}

TEST(ExtentDirectoryStress, WhoKnowsOfAnExtentFindsIt) {
  for (int round = 0; round < 10; ++round) {
    EXPECT_EQ(read_while_it_grows<std::atomic>(), "") << "round " << round;
  }
}

TEST(ExtentDirectory, HasWhatWasSetAndLeavesGaps) {
  ExtentDirectory<> directory(4);
  EXPECT_FALSE(directory.has(0));
  std::byte memory[2];
  directory.set(2, &memory[0]);
  directory.set(100, &memory[1]);
  for (uint64_t extent = 0; extent < 200; ++extent) {
    EXPECT_EQ(directory.has(extent), extent == 2 || extent == 100) << extent;
  }
  EXPECT_EQ(directory.at(2), &memory[0]);
  EXPECT_EQ(directory.at(100), &memory[1]);
}

// Mutants.

// The entries of a grown directory are filled after it is shown, as an order less than release
// allows: they wait in a store buffer.
template <class Value>
class FillsLate : public std::atomic<Value> {
 public:
  using std::atomic<Value>::atomic;
  void store(Value value, std::memory_order order) {
    if constexpr (std::is_same_v<Value, std::byte*>) {
      if (order == std::memory_order_relaxed) {
        buffered().push_back({this, value});
        return;
      }
    }
    // release: at least as given; it is what came before that is late.
    std::atomic<Value>::store(value, std::memory_order_release);
    if constexpr (!std::is_same_v<Value, std::byte*>) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      FillsLate<std::byte*>::flush();
    }
  }

  static void flush() {
    for (const Buffered& late : buffered()) {
      // relaxed: as it was asked for.
      static_cast<std::atomic<Value>*>(late.place)->store(late.value, std::memory_order_relaxed);
    }
    buffered().clear();
  }

 private:
  struct Buffered {
    FillsLate* place;
    Value value;
  };
  static std::vector<Buffered>& buffered() {
    thread_local std::vector<Buffered> stores;
    return stores;
  }
};

TEST(ExtentDirectoryStressDeathTest, TheCheckFindsEntriesThatAreShownBeforeTheyAreFilled) {
  EXPECT_MUTANT_FOUND(50, diptych::test::fail_if_found(read_while_it_grows<FillsLate>()),
                      "found: an extent is lost");
}

#ifdef DIPTYCH_TSAN
template <class Value>
using RelaxedDirectory = std::conditional_t<std::is_same_v<Value, std::byte*>, std::atomic<Value>,
                                            diptych::test::RelaxedAtomic<Value>>;
template <class Value>
using RelaxedExtents = std::conditional_t<std::is_same_v<Value, std::byte*>,
                                          diptych::test::RelaxedAtomic<Value>, std::atomic<Value>>;

TEST(ExtentDirectoryStressDeathTest, ThreadSanitizerFindsTheMutantThatPublishesNoDirectory) {
  EXPECT_RACE_FOUND(read_while_it_grows<RelaxedDirectory>());
}

TEST(ExtentDirectoryStressDeathTest, ThreadSanitizerFindsTheMutantThatPublishesNoExtent) {
  EXPECT_RACE_FOUND(read_while_it_grows<RelaxedExtents>());
}
#endif

}  // namespace
}  // namespace diptych::oltp
