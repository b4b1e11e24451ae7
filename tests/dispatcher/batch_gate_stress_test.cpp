#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "dispatcher/batch_gate.h"
#include "dispatcher/freshness_clock.h"

namespace diptych::dispatcher {
namespace {

// Plain counters: ThreadSanitizer proves G2, the sums prove G1.
TEST(BatchGateStress, AnExclusiveSectionIsAloneAndIsNotStarvedByBatches) {
  BatchGate gate;
  std::atomic<bool> stop{false};
  uint64_t side_batches[2] = {};
  uint64_t shared = 0;
  std::vector<std::thread> sides;
  for (const Side side : {Side::kOltp, Side::kOlap}) {
    sides.emplace_back([&, side] {
      // relaxed: it only ends the loop.
      while (!stop.load(std::memory_order_relaxed)) {
        const BatchGate::Passage passage = gate.pass(side);
        ++side_batches[static_cast<size_t>(side)];
      }
    });
  }
  std::vector<std::thread> excluders;
  for (int t = 0; t < 3; ++t) {
    excluders.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const BatchGate::Exclusive held = gate.exclude();
        const uint64_t before = side_batches[0] + side_batches[1];
        ++shared;
        std::this_thread::yield();
        ASSERT_EQ(side_batches[0] + side_batches[1], before);
      }
    });
  }
  for (std::thread& excluder : excluders) excluder.join();
  // relaxed: it only ends the loops.
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& side : sides) side.join();
  EXPECT_EQ(shared, 1500u);
}

// The OLAP side is inside all the time: who stopped it too would wait for ever.
TEST(BatchGateStress, WhoStopsTheOltpSideAloneDoesNotWaitForTheOlapSide) {
  BatchGate gate;
  uint64_t batches = 0;
  uint64_t shared = 0;
  {
    const BatchGate::Passage olap = gate.pass(Side::kOlap);
    std::vector<std::thread> excluders;
    for (int t = 0; t < 2; ++t) {
      excluders.emplace_back([&] {
        for (int i = 0; i < 500; ++i) {
          const BatchGate::Exclusive held = gate.exclude(Stops::kOltp);
          const uint64_t before = batches;
          ++shared;
          std::this_thread::yield();
          ASSERT_EQ(batches, before);
        }
      });
    }
    for (int i = 0; i < 500; ++i) {
      const BatchGate::Passage oltp = gate.pass(Side::kOltp);
      ++batches;
    }
    for (std::thread& excluder : excluders) excluder.join();
  }
  EXPECT_EQ(shared, 1000u);
  const BatchGate::Exclusive both = gate.exclude();
  EXPECT_EQ(batches, 500u);
}

// A query may run for minutes.
TEST(BatchGateStress, WhoWaitsForTheOlapSideHoldsUpNoOltpBatches) {
  BatchGate gate;
  std::atomic<bool> excluded{false};
  std::unique_ptr<BatchGate::Passage> olap(new BatchGate::Passage(gate.pass(Side::kOlap)));
  std::thread excluder([&] {
    const BatchGate::Exclusive held = gate.exclude();
    excluded = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it mostly waits by then
  auto batches = std::async(std::launch::async, [&] {
    for (int i = 0; i < 500; ++i) const BatchGate::Passage oltp = gate.pass(Side::kOltp);
  });
  EXPECT_EQ(batches.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_FALSE(excluded) << "the OLAP side is inside";
  olap.reset();
  excluder.join();
  EXPECT_TRUE(excluded);
}

// What a lost primary holds is nobody's business until it is built anew.
TEST(BatchGateStress, NobodyComesBetweenAnInterruptAndItsEnd) {
  BatchGate gate;
  std::atomic<bool> stop{false};
  std::atomic<bool> spoiled{false};
  std::vector<std::thread> threads;
  for (const Side side : {Side::kOltp, Side::kOlap}) {
    threads.emplace_back([&, side] {
      // relaxed: it only ends the loop.
      while (!stop.load(std::memory_order_relaxed)) {
        const BatchGate::Passage passage = gate.pass(side);
        std::this_thread::yield();
      }
    });
  }
  for (const Stops stops : {Stops::kOltp, Stops::kBoth}) {
    threads.emplace_back([&, stops] {
      // relaxed: it only ends the loop.
      while (!stop.load(std::memory_order_relaxed)) {
        const BatchGate::Exclusive held = gate.exclude(stops);
        EXPECT_FALSE(spoiled);
      }
    });
  }
  for (int i = 0; i < 500; ++i) {
    const BatchGate::Exclusive held = gate.interrupt([&] { spoiled = true; });
    std::this_thread::yield();
    spoiled = false;
  }
  // relaxed: it only ends the loops.
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& thread : threads) thread.join();
}

// One of each kind at a time, though they stop different sides.
TEST(BatchGateStress, ExclusiveSectionsOfBothKindsTakeTurns) {
  BatchGate gate;
  uint64_t sections = 0;
  std::vector<std::thread> excluders;
  for (const Stops stops : {Stops::kOltp, Stops::kBoth, Stops::kOltp}) {
    excluders.emplace_back([&, stops] {
      for (int i = 0; i < 500; ++i) {
        const BatchGate::Exclusive held = gate.exclude(stops);
        const uint64_t before = sections;
        std::this_thread::yield();
        sections = before + 1;
      }
    });
  }
  for (std::thread& excluder : excluders) excluder.join();
  EXPECT_EQ(sections, 1500u);
}

TEST(FreshnessClock, AgeIsCountedFromTheFirstBatchThatIsNotInTheSnapshot) {
  propagation::UpdateQueue updates;
  FreshnessClock clock;
  EXPECT_EQ(clock.age_ns(100), 0u);
  clock.batch_begins(100);
  EXPECT_EQ(clock.age_ns(150), 50u) << "a running batch may commit";
  updates.push({}, base::Vid(5));
  clock.batch_ends(base::Vid(5));
  EXPECT_EQ(clock.age_ns(180), 80u) << "sealed, but not collected";
  clock.batch_begins(200);
  static_cast<void>(clock.collect(&updates));
  EXPECT_EQ(clock.age_ns(230), 30u) << "only the running batch is unseen";
  clock.batch_ends(base::Vid(5));
  EXPECT_EQ(clock.age_ns(300), 0u) << "it committed nothing";
  clock.batch_begins(310);
  clock.batch_ends(base::Vid(6));
  clock.batch_begins(320);
  clock.batch_ends(base::Vid(7));
  EXPECT_EQ(clock.age_ns(350), 40u) << "the oldest unseen batch counts";
}

TEST(FreshnessClock, ABatchThatWasCollectedWhileItEndedIsSeen) {
  propagation::UpdateQueue updates;
  FreshnessClock clock;
  clock.batch_begins(100);
  updates.push({}, base::Vid(3));  // pushed, but its end is not announced yet
  static_cast<void>(clock.collect(&updates));
  EXPECT_EQ(clock.age_ns(150), 50u) << "an upper bound";
  clock.batch_ends(base::Vid(3));
  EXPECT_EQ(clock.age_ns(200), 0u);
}

}  // namespace
}  // namespace diptych::dispatcher
