// The lock-free parts of admission: the tokens that bound what is in flight, and the queue.

#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dispatcher/admission_tokens.h"
#include "dispatcher/bounded_queue.h"
#include "tests/mutant.h"
#include "tests/relaxed_atomic.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using base::SpinPolicy;

TEST(BoundedQueue, PopsWhatOneThreadPushesInItsOrder) {
  BoundedQueue<int> queue(3);
  int popped = 0;
  EXPECT_FALSE(queue.try_pop(&popped));
  int next = 0;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 3; ++i) {
      int value = round * 3 + i;
      ASSERT_TRUE(queue.try_push(value));
    }
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(queue.try_pop(&popped));
      EXPECT_EQ(popped, next++);
    }
  }
}

TEST(BoundedQueue, SaysThatItIsFullAndKeepsTheValue) {
  BoundedQueue<std::unique_ptr<int>> queue(2);
  for (int i = 0; i < 2; ++i) {
    auto value = std::make_unique<int>(i);
    ASSERT_TRUE(queue.try_push(value));
    EXPECT_EQ(value, nullptr);
  }
  auto surplus = std::make_unique<int>(2);
  EXPECT_FALSE(queue.try_push(surplus));
  ASSERT_NE(surplus, nullptr);
  std::unique_ptr<int> popped;
  ASSERT_TRUE(queue.try_pop(&popped));
  EXPECT_TRUE(queue.try_push(surplus));
}

TEST(AdmissionTokens, RefuseBeyondTheLimitAndAfterTheDoorCloses) {
  AdmissionTokens tokens(2, SpinPolicy::kNever);
  EXPECT_TRUE(tokens.take().ok());
  EXPECT_TRUE(tokens.take().ok());
  EXPECT_EQ(tokens.take().code(), ErrorCode::kOverloaded);
  tokens.give_back();
  EXPECT_TRUE(tokens.take_or_wait().ok());
  tokens.close();
  EXPECT_EQ(tokens.take().code(), ErrorCode::kClosed);
  EXPECT_EQ(tokens.take_or_wait().code(), ErrorCode::kClosed);
  EXPECT_FALSE(tokens.drained());
  tokens.give_back();
  tokens.give_back();
  EXPECT_TRUE(tokens.drained());
}

TEST(AdmissionTokens, ClosingWakesWhoWaits) {
  AdmissionTokens tokens(1, SpinPolicy::kNever);
  ASSERT_TRUE(tokens.take().ok());
  std::thread waiter([&] { EXPECT_EQ(tokens.take_or_wait().code(), ErrorCode::kClosed); });
  tokens.close();
  waiter.join();
}

// Producers push under tokens, one consumer pops and gives back: with so few tokens the ring wraps
// all the time, and a push that found no slot would break T1.
TEST(AdmissionStress, EveryPushUnderATokenFindsASlotAndIsPoppedOnce) {
  constexpr int kProducers = 4;
  constexpr uint64_t kValues = 20'000;
  AdmissionTokens tokens(3, SpinPolicy::kNever);
  BoundedQueue<std::unique_ptr<uint64_t>> queue(3);
  std::vector<std::thread> producers;
  for (uint64_t p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      for (uint64_t i = 0; i < kValues; ++i) {
        ASSERT_TRUE(tokens.take_or_wait().ok());
        auto value = std::make_unique<uint64_t>(p * kValues + i);
        ASSERT_TRUE(queue.try_push(value));
      }
    });
  }
  std::vector<uint64_t> next(kProducers, 0);
  for (uint64_t popped = 0; popped < kProducers * kValues;) {
    std::unique_ptr<uint64_t> value;
    if (!queue.try_pop(&value)) {
      std::this_thread::yield();
      continue;
    }
    const uint64_t producer = *value / kValues;
    ASSERT_EQ(*value % kValues, next[producer]++);
    ASSERT_LE(tokens.in_use(), 3u);
    ++popped;
    tokens.give_back();
    tokens.announce_returned();
  }
  for (std::thread& producer : producers) producer.join();
  EXPECT_EQ(tokens.in_use(), 0u);
}

// A single token is a lock: who has it counts, and nothing else orders the counting. Once the door
// is closed and all is given back, the count is final (T2), and whoever saw drained() may read it.
template <template <class> class Atomic>
void count_under_one_token() {
  BasicAdmissionTokens<Atomic> tokens(1, SpinPolicy::kNever);
  uint64_t count = 0;  // of who has the token
  std::atomic<uint64_t> counted{0};
  std::vector<std::jthread> users;
  for (int user = 0; user < 4; ++user) {
    users.emplace_back([&] {
      while (true) {
        const auto taken = tokens.take();
        if (!taken && taken.code() == ErrorCode::kClosed) return;
        if (taken) {
          ++count;
          // relaxed: the number is all that is told, here and below.
          counted.fetch_add(1, std::memory_order_relaxed);
          tokens.give_back();
        }
        std::this_thread::yield();
      }
    });
  }
  // relaxed: as above.
  while (counted.load(std::memory_order_relaxed) < 5'000) std::this_thread::yield();
  tokens.close();
  while (!tokens.drained()) std::this_thread::yield();
  const uint64_t final_count = count;
  users.clear();
  EXPECT_EQ(final_count, count);
  // relaxed: the threads have ended.
  EXPECT_EQ(final_count, counted.load(std::memory_order_relaxed));
}

TEST(AdmissionStress, ATokenHandsOnWhatItsLastUserDid) {
  for (int round = 0; round < 5; ++round) count_under_one_token<std::atomic>();
}

#ifdef DIPTYCH_TSAN
void run_mutant() {
  BoundedQueue<uint64_t, diptych::test::RelaxedAtomic> queue(4);
  std::thread producer([&] {
    for (uint64_t i = 0; i < 10'000;) {
      uint64_t value = i;
      if (queue.try_push(value)) ++i;
    }
  });
  uint64_t sum = 0;
  for (int popped = 0; popped < 10'000;) {
    uint64_t value = 0;
    if (!queue.try_pop(&value)) continue;
    ++popped;
    sum += value;
  }
  producer.join();
  std::fprintf(stderr, "sum %llu\n", static_cast<unsigned long long>(sum));  // a use: no dead load
}

TEST(BoundedQueueStressDeathTest, ThreadSanitizerFindsTheMutantWithWeakenedOrders) {
  EXPECT_RACE_FOUND(run_mutant());
}

TEST(AdmissionStressDeathTest, ThreadSanitizerFindsTheMutantWhoseTokensHandOnNothing) {
  EXPECT_RACE_FOUND(count_under_one_token<diptych::test::RelaxedAtomic>());
}
#endif

}  // namespace
}  // namespace diptych::dispatcher
