#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/parker.h"
#include "base/thread.h"
#include "tests/mutant.h"
#include "tests/relaxed_atomic.h"

namespace diptych::base {
namespace {

// A token goes round a ring of threads, each waiting for its turn: one lost wake stops it for ever
// (the test's time limit then fails it). The payload is plain, so ThreadSanitizer checks that a
// wake carries the waker's writes.
void pass_token(SpinPolicy policy, uint32_t threads, uint32_t rounds) {
  Parker parker(policy);
  std::atomic<uint32_t> turn{0};
  uint64_t plain_sum = 0;
  std::vector<std::jthread> ring;
  for (uint32_t self = 0; self < threads; ++self) {
    ring.emplace_back([&, self] {
      for (uint32_t round = 0; round < rounds; ++round) {
        const uint32_t mine = round * threads + self;
        while (true) {
          const uint32_t ticket = parker.ticket();
          // acquire: pairs with the release of the thread before in the ring.
          if (turn.load(std::memory_order_acquire) == mine) break;
          parker.wait(ticket);
        }
        plain_sum += mine;
        // release: hands plain_sum to the next thread.
        turn.store(mine + 1, std::memory_order_release);
        parker.wake_all();
      }
    });
  }
  ring.clear();
  const uint64_t steps = uint64_t{threads} * rounds;
  EXPECT_EQ(plain_sum, steps * (steps - 1) / 2);
}

TEST(ParkerStress, NoWakeIsLostWithMoreThreadsThanCores) {
  pass_token(SpinPolicy::kNever, 8, 500);
}

TEST(ParkerStress, NoWakeIsLostWhenWaitersSpinFirst) {
  pass_token(SpinPolicy::kBriefly, 3, 1000);
}

// What a thread writes before it wakes another, as the other reads it; nothing else orders the two.
template <class AnyParker>
uint64_t sent_by_wake() {
  AnyParker parker;
  uint64_t plain = 0;
  const uint32_t ticket = parker.ticket();
  std::jthread waker([&] {
    plain = 7;
    parker.wake_all();
  });
  parker.wait(ticket);
  return plain;
}

TEST(ParkerStress, AWakeAloneCarriesTheWakersWrites) {
  for (int round = 0; round < 200; ++round) EXPECT_EQ(sent_by_wake<Parker>(), 7u);
}

TEST(ParkerStress, TimedAndUntimedWaitersAreWokenTogether) {
  for (int round = 0; round < 100; ++round) {
    Parker parker;
    const uint32_t ticket = parker.ticket();
    std::vector<std::jthread> waiters;
    for (int i = 0; i < 3; ++i) {
      waiters.emplace_back([&] { parker.wait(ticket); });
      waiters.emplace_back([&] { EXPECT_TRUE(parker.wait_for(ticket, UINT64_MAX)); });
    }
    parker.wake_all();
  }
}

#ifdef DIPTYCH_TSAN
void run_mutant() {
  uint64_t sum = 0;
  for (int round = 0; round < 200; ++round) {
    sum += sent_by_wake<BasicParker<diptych::test::RelaxedAtomic>>();
  }
  std::fprintf(stderr, "sum %llu\n", static_cast<unsigned long long>(sum));  // a use: no dead load
}

TEST(ParkerStressDeathTest, ThreadSanitizerFindsTheMutantWithWeakenedOrders) {
  EXPECT_RACE_FOUND(run_mutant());
}
#endif

TEST(Parker, AWakeAfterTheTicketMakesWaitReturnAtOnce) {
  Parker parker;
  const uint32_t ticket = parker.ticket();
  parker.wake_all();
  parker.wait(ticket);
  EXPECT_TRUE(parker.wait_for(ticket, 0));
}

TEST(Parker, TimedWaitEndsByItself) {
  using Clock = std::chrono::steady_clock;
  for (const SpinPolicy policy : {SpinPolicy::kNever, SpinPolicy::kBriefly}) {
    Parker parker(policy);
    const auto start = Clock::now();
    EXPECT_FALSE(parker.wait_for(parker.ticket(), 20'000'000));
    EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(20));
  }
}

TEST(Parker, AWaiterSleepsInsteadOfBurningItsCore) {
  Parker parker(SpinPolicy::kBriefly);
  const uint64_t before_ns = thread_cpu_ns();
  EXPECT_FALSE(parker.wait_for(parker.ticket(), 200'000'000));
  EXPECT_LT(thread_cpu_ns() - before_ns, 100'000'000u);
}

}  // namespace
}  // namespace diptych::base
