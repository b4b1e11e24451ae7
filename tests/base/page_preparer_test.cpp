#include "base/page_preparer.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/thread.h"

namespace diptych::base {
namespace {

size_t resident_pages(const Region& region) {
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(region.size() / page_bytes);
  EXPECT_EQ(mincore(region.data(), region.size(), pages.data()), 0);
  return static_cast<size_t>(std::count_if(pages.begin(), pages.end(),
                                           [](unsigned char page) { return (page & 1) != 0; }));
}

TEST(PagePreparer, MakesEveryPageAndLeavesWhatWasWritten) {
  const Region region(5 * kHugePageBytes, NumaNode(0));
  region.data()[7] = std::byte(42);
  PagePreparer preparer({});
  preparer.prepare({region.data(), region.size()});
  const size_t pages = region.size() / static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (int wait = 0; wait < 2000 && resident_pages(region) < pages; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(resident_pages(region), pages);
  EXPECT_EQ(region.data()[7], std::byte(42));
  EXPECT_EQ(region.data()[region.size() - 1], std::byte(0));
}

TEST(PagePreparer, ItsTimeIsTheTransactionSides) {
  const uint64_t before_ns = named_threads_cpu_ns("oltp");
  const Region region(5 * kHugePageBytes, NumaNode(0));
  PagePreparer preparer({});
  preparer.prepare({region.data(), region.size()});
  const size_t pages = region.size() / static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (int wait = 0; wait < 2000 && resident_pages(region) < pages; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_GT(named_threads_cpu_ns("oltp"), before_ns);
}

TEST(RegionSupply, HasTheFirstPagesOfTheNextRegionMadeBeforeItIsTaken) {
  constexpr size_t kBytes = 8 * kHugePageBytes;
  const auto page_bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  PagePreparer preparer({});
  RegionSupply supply({NumaNode(0), &preparer});
  const Region first = supply.take(kBytes, true);
  // Nobody touches it, and without another one to follow no more of it is made.
  const Region second = supply.take(kBytes, false);
  const size_t pages = PagePreparer::kAheadBytes / page_bytes;
  for (int wait = 0; wait < 2000 && resident_pages(second) < pages; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(resident_pages(first), kBytes / page_bytes);  // it was handed over before
  EXPECT_EQ(resident_pages(second), pages);
  const Region third = supply.take(kBytes, false);
  EXPECT_EQ(resident_pages(third), 0U);
}

TEST(PagePreparer, MemoryThatGoesAwayAndTooMuchOfItDoNoHarm) {
  PagePreparer preparer({});
  for (size_t i = 0; i < 4 * PagePreparer::kWaitingMax; ++i) {
    const Region region(2 * kHugePageBytes, NumaNode(0));
    preparer.prepare({region.data(), region.size()});
  }
}

TEST(PagePreparer, MakesNothingThatComesInAPause) {
  const Region in_pause(2 * kHugePageBytes, NumaNode(0));
  const Region after(2 * kHugePageBytes, NumaNode(0));
  PagePreparer preparer({});
  {
    const PagePreparer::Pause pause(&preparer);
    const PagePreparer::Pause second(&preparer);
    preparer.prepare({in_pause.data(), in_pause.size()});
  }
  preparer.prepare({after.data(), after.size()});
  const size_t pages = after.size() / static_cast<size_t>(sysconf(_SC_PAGESIZE));
  for (int wait = 0; wait < 2000 && resident_pages(after) < pages; ++wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(resident_pages(after), pages);
  EXPECT_EQ(resident_pages(in_pause), 0U) << "it would have come first";
  const PagePreparer::Pause of_none(nullptr);
}

}  // namespace
}  // namespace diptych::base
