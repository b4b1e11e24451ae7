#include "base/thread.h"

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/sanitizers.h"
#include "base/topology.h"

namespace diptych::base {
namespace {

TEST(Thread, APinnedThreadRunsOnItsCore) {
  const uint32_t core = Topology::detect().nodes.front().cores.back();
  std::jthread thread([core] {
    if (!pin_this_thread(std::vector<uint32_t>{core})) GTEST_SKIP() << "pinning is forbidden here";
    EXPECT_EQ(sched_getcpu(), static_cast<int>(core));
  });
}

TEST(Thread, AnAbsentCoreIsRefused) {
  EXPECT_FALSE(pin_this_thread(std::vector<uint32_t>{8191}));
  EXPECT_TRUE(pin_this_thread({}));
}

TEST(Thread, MemoryThatIsRefusedLeavesItUnpinned) {
  if (kSanitized) GTEST_SKIP() << "sanitizers reserve more addresses than any limit";
  const auto pin = [] {
    const rlimit none{.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
    const bool limited = setrlimit(RLIMIT_AS, &none) == 0;
    // A set of so many cores takes 512 MiB.
    const bool pinned = pin_this_thread(std::vector<uint32_t>{UINT32_MAX - 1});
    _exit(limited && !pinned ? 0 : 1);
  };
  EXPECT_EXIT(pin(), testing::ExitedWithCode(0), "");
}

TEST(Thread, NamesAreCutAtFifteenBytes) {
  std::jthread thread([] {
    name_this_thread("oltp-worker-number-12");
    char name[32] = {};
    ASSERT_EQ(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    EXPECT_STREQ(name, "oltp-worker-num");
  });
}

TEST(Thread, OneThatBeginsAtTheEndOfAnothersIsNotItsOwners) {
  const int owner = 0;
  for (int i = 0; i < 2; ++i) {
    std::thread([&] {
      EXPECT_FALSE(is_this_thread_of(&owner));
      mark_this_thread_as_of(&owner);
      EXPECT_TRUE(is_this_thread_of(&owner));
    }).join();
  }
  EXPECT_FALSE(is_this_thread_of(&owner));
}

TEST(Thread, CpuTimeGrowsWithWork) {
  const uint64_t before_ns = thread_cpu_ns();
  volatile uint64_t sum = 0;
  for (int i = 0; i < 1'000'000; ++i) sum = sum + 1;
  EXPECT_GT(thread_cpu_ns(), before_ns);
}

void work_for_ns(uint64_t ns) {
  const uint64_t end_ns = thread_cpu_ns() + ns;
  while (thread_cpu_ns() < end_ns) continue;
}

TEST(NamedThreads, CpuTimeKeepsThatOfThoseThatEnded) {
  static constexpr uint64_t kWorkNs = 2'000'000;
  EXPECT_EQ(named_threads_cpu_ns("witness"), 0u);
  for (uint64_t i = 1; i <= 3; ++i) {
    std::thread([&] {
      work_for_ns(kWorkNs);  // nameless
      name_this_thread("witness-" + std::to_string(i));
      work_for_ns(kWorkNs);
      EXPECT_GE(named_threads_cpu_ns("witness"), i * kWorkNs);
    }).join();
    EXPECT_GE(named_threads_cpu_ns("witness-"), i * kWorkNs);
  }
  const uint64_t ended_ns = named_threads_cpu_ns("witness");
  EXPECT_LT(named_threads_cpu_ns("witness-1"), ended_ns);
  EXPECT_EQ(named_threads_cpu_ns("witness"), ended_ns);
  EXPECT_EQ(named_threads_cpu_ns("witness-4"), 0u);
}

TEST(NamedThreads, ARenamedOnesTimeBelongsToTheNameThatItHad) {
  static constexpr uint64_t kWorkNs = 2'000'000;
  std::thread([] {
    name_this_thread("first-name");
    work_for_ns(kWorkNs);
    name_this_thread("second-name");
    const uint64_t first_ns = named_threads_cpu_ns("first-name");
    EXPECT_GE(first_ns, kWorkNs);
    work_for_ns(kWorkNs);
    EXPECT_EQ(named_threads_cpu_ns("first-name"), first_ns);
    EXPECT_GE(named_threads_cpu_ns("second-name"), kWorkNs);
  }).join();
}

TEST(NamedThreads, CpuTimeNeverFallsWhileTheyComeAndGo) {
  std::atomic<bool> over{false};
  std::jthread coming([&] {
    for (int i = 0; i < 200; ++i) {
      std::thread([] {
        name_this_thread("guest");
        work_for_ns(50'000);
      }).join();
    }
    over = true;
  });
  uint64_t last_ns = 0;
  while (!over) {
    const uint64_t now_ns = named_threads_cpu_ns("guest");
    ASSERT_GE(now_ns, last_ns);
    last_ns = now_ns;
  }
  EXPECT_GE(named_threads_cpu_ns("guest"), 200u * 50'000u);
}

TEST(Thread, PriorityIsRaisedForTheThreadAlone) {
  std::thread([] {
    if (!raise_priority_of_this_thread()) GTEST_SKIP() << "real-time priorities are forbidden here";
    EXPECT_EQ(sched_getscheduler(0), SCHED_RR | SCHED_RESET_ON_FORK);
    std::thread([] { EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER); }).join();
  }).join();
  EXPECT_EQ(sched_getscheduler(0), SCHED_OTHER);
}

TEST(Thread, HasItsStackWhateverTheProcessesLimit) {
  size_t bytes = 0;
  Thread thread([&] {
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
    void* begin = nullptr;
    pthread_attr_getstack(&attributes, &begin, &bytes);
    pthread_attr_destroy(&attributes);
    volatile char used[kThreadStackBytes / 2];
    used[0] = 1;
    EXPECT_EQ(used[0], 1);
  });
  Thread moved(std::move(thread));
  EXPECT_FALSE(thread.joinable());  // NOLINT: by design
  ASSERT_TRUE(moved.joinable());
  moved.join();
  EXPECT_FALSE(moved.joinable());
  EXPECT_GE(bytes, kThreadStackBytes);
}

TEST(EnsureBegun, BeginsAThreadOnce) {
  std::atomic<int> runs{0};
  Thread thread;
  EXPECT_TRUE(ensure_begun(&thread, [&] { ++runs; }));
  EXPECT_TRUE(ensure_begun(&thread, [&] { ++runs; }));
  thread.join();
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace diptych::base
