#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "storage/string_heap.h"

namespace diptych::storage {
namespace {

TEST(StringHeapModel, KeepsEveryStringWhileOthersGrowShrinkAndGo) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  PagePool pages(StringHeap::kCarvedBytesMax, base::NumaNode(0));
  StringHeap heap(&pages, base::NumaNode(0));
  std::vector<base::StringRef> refs(300);
  std::vector<std::string> model(refs.size());
  for (int i = 0; i < 50'000; ++i) {
    const size_t at = random() % refs.size();
    if (random() % 5 == 0) {
      heap.release(&refs[at]);
      model[at].clear();
    } else {
      // All lengths, short ones most often, now and then one with a region of its own.
      const size_t length_max =
          i % 500 == 0 ? 3 * StringHeap::kCarvedBytesMax : size_t{1} << (random() % 12);
      model[at].assign(random() % (length_max + 1), static_cast<char>('a' + random() % 26));
      heap.assign(&refs[at], model[at]);
    }
    if (i % 100 != 0) continue;
    for (size_t r = 0; r < refs.size(); ++r) ASSERT_EQ(refs[r].view(), model[r]);
  }
}

TEST(StringHeap, StaysFlatWhenStringsOfTheSameSizesReplaceEachOther) {
  std::mt19937_64 random(1);
  PagePool pages(StringHeap::kCarvedBytesMax, base::NumaNode(0));
  StringHeap heap(&pages, base::NumaNode(0));
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

TEST(StringHeap, LeavesItsPagesToTheNextOne) {
  PagePool pages(StringHeap::kCarvedBytesMax, base::NumaNode(0));
  size_t most = 0;
  for (int range = 0; range < 5; ++range) {
    StringHeap heap(&pages, base::NumaNode(0));
    std::vector<base::StringRef> refs(20'000);
    for (size_t i = 0; i < refs.size(); ++i)
      heap.assign(&refs[i], std::to_string(i) + "_0123456789");
    for (size_t i = 0; i < refs.size(); ++i) {
      ASSERT_EQ(refs[i].view(), std::to_string(i) + "_0123456789");
    }
    if (range == 0) most = pages.memory_bytes();
    EXPECT_GE(most, heap.memory_bytes());
    EXPECT_EQ(pages.memory_bytes(), most);
  }
  pages.release();
  EXPECT_EQ(pages.memory_bytes(), 0U);
  const std::byte* const page = pages.take_zeroed();
  EXPECT_EQ(std::count(page, page + pages.page_bytes(), std::byte{0}), pages.page_bytes());
}

}  // namespace
}  // namespace diptych::storage
