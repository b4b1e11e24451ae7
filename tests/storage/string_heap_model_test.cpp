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
  StringHeap heap((base::NumaNode(0)));
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
  StringHeap heap((base::NumaNode(0)));
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

}  // namespace
}  // namespace diptych::storage
