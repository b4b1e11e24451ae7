// AddressReserve against a plain set of intervals.

#include <algorithm>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "base/address_reserve.h"
#include "base/arena.h"

namespace diptych::base {
namespace {

constexpr size_t kRangeBytes = 64 * kHugePageBytes;

bool is_zero(const std::byte* data, size_t bytes) {
  return std::all_of(data, data + bytes, [](std::byte b) { return b == std::byte{0}; });
}

// What is taken is zero, aligned, and nobody else's.
void run_model(Pages pages, uint64_t seed) {
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  AddressReserve reserve(NumaNode(0), pages, kRangeBytes);
  const size_t page = page_bytes(pages);
  const size_t touched = std::min<size_t>(page, 4096);
  std::map<std::byte*, size_t> taken;
  for (int step = 0; step < 2000; ++step) {
    if (taken.size() < 8 || (taken.size() < 40 && random() % 2 == 0)) {
      const size_t bytes = (1 + random() % 5) * page;
      std::byte* const data = reserve.take(bytes);
      ASSERT_NE(data, nullptr);
      ASSERT_EQ(reinterpret_cast<uintptr_t>(data) % page, 0u);
      const auto [at, is_new] = taken.emplace(data, bytes);
      ASSERT_TRUE(is_new);
      if (at != taken.begin()) {
        ASSERT_LE(std::prev(at)->first + std::prev(at)->second, data);
      }
      if (std::next(at) != taken.end()) {
        ASSERT_LE(data + bytes, std::next(at)->first);
      }
      const auto ends = {data, data + bytes - touched};
      for (const std::byte* const end : ends) {
        ASSERT_TRUE(is_zero(end, touched)) << "the pages of who had it before are gone";
      }
      for (std::byte* const end : ends) std::fill_n(end, touched, std::byte{0xab});
    } else {
      const auto gone =
          std::next(taken.begin(), static_cast<std::ptrdiff_t>(random() % taken.size()));
      reserve.give_back(gone->first, gone->second);
      taken.erase(gone);
    }
  }
  // Neighbours have grown together again: a whole range can be had, without a further one.
  std::byte* const lowest = taken.begin()->first;
  for (const auto& [data, bytes] : taken) reserve.give_back(data, bytes);
  std::byte* const whole = reserve.take(kRangeBytes);
  EXPECT_LE(whole, lowest);
  EXPECT_LT(lowest, whole + kRangeBytes);
  reserve.give_back(whole, kRangeBytes);
}

TEST(AddressReserveModel, SmallPages) {
  for (uint64_t seed = 1; seed <= 5; ++seed) run_model(Pages::kSmall, seed);
}

TEST(AddressReserveModel, HugePages) {
  for (uint64_t seed = 1; seed <= 2; ++seed) run_model(Pages::kHuge, seed);
}

size_t resident_pages(std::byte* data, size_t bytes) {
  std::vector<unsigned char> pages(bytes / page_bytes(Pages::kSmall));
  EXPECT_EQ(mincore(data, bytes, pages.data()), 0);
  return static_cast<size_t>(
      std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; }));
}

// As the thread that makes pages may do.
TEST(AddressReserve, WhatIsTouchedAfterItWasGivenBackCanBeReleased) {
  AddressReserve reserve(NumaNode(0), Pages::kSmall, kRangeBytes);
  const size_t page = page_bytes(Pages::kSmall);
  std::byte* const data = reserve.take(8 * page);
  std::byte* const next = reserve.take(2 * page);
  ASSERT_EQ(next, data + 8 * page);
  reserve.give_back(data, 8 * page);
  std::byte* const again = reserve.take(3 * page);
  ASSERT_EQ(again, data);
  std::fill_n(data, 10 * page, std::byte{1});
  reserve.release_free(data, 10 * page);
  EXPECT_EQ(resident_pages(data, 3 * page), 3u);
  EXPECT_EQ(resident_pages(data + 3 * page, 5 * page), 0u) << "nobody has these";
  EXPECT_EQ(resident_pages(next, 2 * page), 2u);
}

TEST(AddressReserve, MoreThanARangeGetsOneOfItsOwn) {
  AddressReserve reserve(NumaNode(0), Pages::kHuge, kHugePageBytes);
  std::byte* const data = reserve.take(5 * kHugePageBytes);
  ASSERT_NE(data, nullptr);
  data[5 * kHugePageBytes - 1] = std::byte{1};
  reserve.give_back(data, 5 * kHugePageBytes);
}

TEST(AddressReserve, WithoutAddressesThereIsNothing) {
  AddressReserve reserve(NumaNode(0), Pages::kHuge, kHugePageBytes);
  // More than any process has.
  EXPECT_EQ(reserve.take(size_t{1} << 48), nullptr);
  EXPECT_NE(reserve.take(kHugePageBytes), nullptr) << "and less can still be had";
}

TEST(AddressReserveDeathTest, WhatIsGivenBackTwiceIsFoundOut) {
  AddressReserve reserve(NumaNode(0), Pages::kSmall, kRangeBytes);
  std::byte* const data = reserve.take(4096);
  std::byte* const next = reserve.take(4096);
  reserve.give_back(data, 4096);
  EXPECT_DEATH(reserve.give_back(data, 4096), "given back once");
  reserve.give_back(next, 4096);
}

TEST(AddressReserveStress, ThreadsHaveRegionsOfTheirOwn) {
  AddressReserve reserve(NumaNode(0), Pages::kSmall, kRangeBytes);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&reserve, t] {
      for (int i = 0; i < 500; ++i) {
        const size_t bytes = static_cast<size_t>(1 + (t + i) % 3) * 4096;
        std::byte* const data = reserve.take(bytes);
        ASSERT_TRUE(is_zero(data, bytes));
        std::fill_n(data, bytes, static_cast<std::byte>(t + 1));
        ASSERT_EQ(std::count(data, data + bytes, static_cast<std::byte>(t + 1)),
                  static_cast<std::ptrdiff_t>(bytes));
        reserve.give_back(data, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace diptych::base
