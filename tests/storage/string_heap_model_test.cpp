#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/string_heap.h"

namespace diptych::storage {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

enum class Order { kAscending, kRandom };

// A heap, and strings in it.
class Texts {
 public:
  explicit Texts(size_t count) : refs_(count), order_(count) {
    std::iota(order_.begin(), order_.end(), size_t{0});
  }

  void replace_all(size_t bytes_min, size_t bytes_max, Order order) {
    if (order == Order::kRandom) std::shuffle(order_.begin(), order_.end(), random_);
    std::uniform_int_distribution<size_t> size(bytes_min, bytes_max);
    for (const size_t i : order_) heap_.assign(&refs_[i], std::string(size(random_), 'x'));
  }
  void release_all() {
    for (base::StringRef& ref : refs_) heap_.release(&ref);
  }
  // As compactions without a write in between do.
  void rest() {
    for (int i = 0; i < 5 && pages_.wants_look(); ++i) pages_.look();
    EXPECT_FALSE(pages_.wants_look());
  }

  size_t text_bytes() const {
    size_t bytes = 0;
    for (const base::StringRef& ref : refs_) bytes += ref.size();
    return bytes;
  }
  StringPages& pages() { return pages_; }
  StringHeap& heap() { return heap_; }

 private:
  StringPages pages_{base::NumaNode(0)};
  StringHeap heap_{&pages_};
  std::vector<base::StringRef> refs_;
  std::vector<size_t> order_;
  std::mt19937_64 random_{1};
};

TEST(StringHeapModel, KeepsEveryStringWhileOthersGrowShrinkAndGo) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  StringPages pages{base::NumaNode(0)};
  StringHeap heap(&pages);
  std::vector<base::StringRef> refs(300);
  std::vector<std::string> model(refs.size());
  for (int i = 0; i < 50'000; ++i) {
    const size_t at = random() % refs.size();
    if (random() % 5 == 0) {
      heap.release(&refs[at]);
      model[at].clear();
    } else {
      // All lengths, short ones most often, now and then one with pages of its own.
      const size_t length_max =
          i % 500 == 0 ? 3 * StringHeap::kPageBytes : size_t{1} << (random() % 12);
      model[at].assign(random() % (length_max + 1), static_cast<char>('a' + random() % 26));
      heap.assign(&refs[at], model[at]);
    }
    if (i % 100 != 0) continue;
    for (size_t r = 0; r < refs.size(); ++r) ASSERT_EQ(refs[r].view(), model[r]);
  }
}

// Some of the free pages go each time that most strings have another size.
TEST(StringHeapModel, KeepsEveryStringWhilePagesChangeTheirClassesAndHeaps) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  StringPages pages{base::NumaNode(0)};
  std::vector<std::unique_ptr<StringHeap>> heaps;
  for (int i = 0; i < 2; ++i) heaps.push_back(std::make_unique<StringHeap>(&pages));
  std::vector<base::StringRef> refs(6000);
  std::vector<std::string> model(refs.size());
  for (int phase = 0; phase < 40; ++phase) {
    const size_t length_max = size_t{16} << (random() % 10);
    for (size_t i = 0; i < refs.size(); ++i) {
      const size_t at = random() % 2 == 0 ? i : random() % refs.size();
      model[at].assign(random() % (length_max + 1), static_cast<char>('a' + random() % 26));
      heaps[at % 2]->assign(&refs[at], model[at]);
      if (random() % 1000 == 0) pages.look();
    }
    for (size_t r = 0; r < refs.size(); ++r) ASSERT_EQ(refs[r].view(), model[r]);
  }
}

TEST(StringHeap, StaysFlatWhenStringsOfTheSameSizesReplaceEachOther) {
  std::mt19937_64 random(1);
  StringPages pages{base::NumaNode(0)};
  StringHeap heap(&pages);
  std::vector<base::StringRef> refs(1000);
  for (base::StringRef& ref : refs) heap.assign(&ref, std::string(100, 'x'));
  const size_t before = heap.memory_bytes();
  for (int i = 0; i < 100'000; ++i) {
    base::StringRef& ref = refs[random() % refs.size()];
    if (i % 2 == 0) heap.release(&ref);
    heap.assign(&ref, std::string(97 + random() % 30, 'y'));
  }
  EXPECT_EQ(heap.memory_bytes(), before);
}

TEST(StringHeap, MemoryOfOneSizeServesTheOthers) {
  for (const Order order : {Order::kAscending, Order::kRandom}) {
    Texts texts(20'000);
    for (const size_t bytes : {40, 100, 300, 1000, 3000, 1000, 100, 40}) {
      SCOPED_TRACE(testing::Message() << bytes << " bytes, order " << static_cast<int>(order));
      texts.replace_all(bytes, bytes, order);
      texts.rest();
      EXPECT_LE(texts.heap().memory_bytes(), texts.text_bytes() * 3 / 2 + kMiB);
      EXPECT_LE(texts.pages().pool().memory_bytes(), texts.text_bytes() * 2 + 4 * kMiB);
    }
  }
}

// Each other string keeps its size, and would keep the page of its neighbours.
TEST(StringHeap, StringsThatStayDoNotKeepThePagesOfOthers) {
  StringPages pages{base::NumaNode(0)};
  StringHeap heap(&pages);
  std::vector<base::StringRef> stay(20'000);
  std::vector<base::StringRef> go(stay.size());
  for (size_t i = 0; i < stay.size(); ++i) {
    heap.assign(&stay[i], std::string(20, 's'));
    heap.assign(&go[i], std::string(1000, 'g'));
  }
  for (base::StringRef& ref : go) heap.release(&ref);
  EXPECT_LE(heap.memory_bytes(), stay.size() * 32 + 2 * kMiB);
}

TEST(StringHeap, WhatOneHeapGivesUpServesAnother) {
  Texts texts(20'000);
  texts.replace_all(1000, 1000, Order::kAscending);
  texts.release_all();
  const size_t before = texts.pages().pool().memory_bytes();
  StringHeap other(&texts.pages());
  for (size_t bytes = 0; bytes < kMiB; bytes += 100) other.store(std::string(100, 'x'));
  EXPECT_EQ(texts.pages().pool().memory_bytes(), before);
}

// Rows that go and come, within a batch or from one to the next, do not pay for new memory.
TEST(StringHeap, WhatIsTakenAgainStaysAndWhatIsNotGoes) {
  Texts texts(20'000);
  texts.replace_all(1000, 1000, Order::kAscending);
  const size_t before = texts.pages().pool().memory_bytes();
  for (int i = 0; i < 5; ++i) {
    texts.release_all();
    texts.pages().look();
    EXPECT_EQ(texts.pages().pool().memory_bytes(), before);
    texts.replace_all(1000, 1000, Order::kAscending);
    texts.pages().look();
    EXPECT_EQ(texts.pages().pool().memory_bytes(), before);
  }
  texts.release_all();
  texts.rest();
  EXPECT_LE(texts.pages().pool().memory_bytes(), 4 * kMiB);
}

TEST(StringHeap, FewStringsOfManySizesShareAPage) {
  StringPages pages{base::NumaNode(0)};
  StringHeap heap(&pages);
  for (size_t bytes = 13; bytes < 4000; bytes += bytes / 2) heap.store(std::string(bytes, 'x'));
  EXPECT_EQ(heap.memory_bytes(), StringHeap::kPageBytes);
}

TEST(StringHeap, NoSizeOfLongStringsWastesAThird) {
  for (size_t bytes = 4096; bytes < 200'000; bytes += bytes / 7) {
    Texts texts(2 * kMiB / bytes);
    texts.replace_all(bytes, bytes, Order::kAscending);
    const size_t taken = texts.heap().memory_bytes();
    EXPECT_LE(taken, texts.text_bytes() * 3 / 2 + 2 * StringHeap::kPageBytes) << bytes;
    if (bytes <= 16 * 1024) continue;
    EXPECT_LE(taken, texts.text_bytes() * 5 / 4) << bytes;
  }
}

TEST(StringHeap, LeavesItsPagesToTheNextOne) {
  StringPages pages{base::NumaNode(0)};
  PagePool& pool = pages.pool();
  size_t most = 0;
  for (int range = 0; range < 5; ++range) {
    StringHeap heap(&pages);
    std::vector<base::StringRef> refs(20'000);
    for (size_t i = 0; i < refs.size(); ++i)
      heap.assign(&refs[i], std::to_string(i) + "_0123456789");
    for (size_t i = 0; i < refs.size(); ++i) {
      ASSERT_EQ(refs[i].view(), std::to_string(i) + "_0123456789");
    }
    if (range == 0) most = pool.memory_bytes();
    EXPECT_GE(most, heap.memory_bytes());
    EXPECT_EQ(pool.memory_bytes(), most);
  }
  pool.release();
  EXPECT_EQ(pool.memory_bytes(), 0U);
  const std::byte* const page = pool.take_zeroed();
  EXPECT_EQ(std::count(page, page + pool.page_bytes(), std::byte{0}), pool.page_bytes());
}

}  // namespace
}  // namespace diptych::storage
