#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "dispatcher/batch_gate.h"
#include "dispatcher/freshness_clock.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;

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
      for (int i = 0; i < 200; ++i) {
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
  EXPECT_EQ(shared, 600u);
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

TEST(BatchGateStress, WhoGivesUpKeepsNobodyWaiting) {
  constexpr uint64_t kSoonNs = 50'000'000;
  BatchGate gate;
  {
    const BatchGate::Passage oltp = gate.pass(Side::kOltp);
    const uint64_t begin_ns = base::steady_ns();
    auto gives_up = std::async(std::launch::async, [&] {
      return gate.exclude_until(begin_ns + kSoonNs).code() == ErrorCode::kDeadlineExceeded;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // it mostly waits by then
    auto olap = std::async(std::launch::async,
                           [&] { const BatchGate::Passage passage = gate.pass(Side::kOlap); });
    EXPECT_TRUE(gives_up.get());
    EXPECT_GE(base::steady_ns() - begin_ns, kSoonNs);
    EXPECT_EQ(olap.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  }
  EXPECT_TRUE(gate.exclude_until(0).ok()) << "a gate that is free needs no time";
  const auto held = gate.exclude_until(base::steady_ns() + kSoonNs);
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(gate.exclude_until(base::steady_ns() + kSoonNs).code(), ErrorCode::kDeadlineExceeded);
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

// G3. Somebody always waits to be alone: the sides would never pass if that alone stopped them.
TEST(BatchGateStress, ExclusiveSectionsThatOverlapDoNotStarveTheBatches) {
  constexpr uint64_t kBatches = 200;
  constexpr int kTurnsMax = 200'000;
  BatchGate gate;
  std::atomic<int> begun{0};
  std::atomic<int> sides_left{2};
  std::atomic<int> gave_up{0};
  std::vector<std::thread> threads;
  for (const Stops stops : {Stops::kBoth, Stops::kOltp, Stops::kBoth}) {
    threads.emplace_back([&, stops] {
      int turns = 0;
      // relaxed: it only ends the loop.
      while (sides_left.load(std::memory_order_relaxed) != 0 && turns < kTurnsMax) {
        const BatchGate::Exclusive held = gate.exclude(stops);
        if (turns++ == 0) ++begun;
        std::this_thread::yield();
      }
      if (turns == kTurnsMax) ++gave_up;
    });
  }
  while (begun != 3) std::this_thread::yield();
  for (const Side side : {Side::kOltp, Side::kOlap}) {
    threads.emplace_back([&, side] {
      for (uint64_t i = 0; i < kBatches; ++i) const BatchGate::Passage passage = gate.pass(side);
      // relaxed: it only ends the loops.
      sides_left.fetch_sub(1, std::memory_order_relaxed);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(gave_up, 0) << "sections went on and on, and batches waited for all of them";
}

// A batch that is owed may be of queries that run for minutes.
TEST(BatchGateStress, WhoWaitsForAnOlapBatchThatIsOwedHoldsUpNoOltpBatches) {
  BatchGate gate;
  std::atomic<bool> excluded{false};
  std::atomic<bool> olap_inside{false};
  std::promise<void> olap_may_end;
  std::thread olap;
  std::thread excluder;
  {
    const BatchGate::Exclusive held = gate.exclude();
    olap = std::thread([&] {
      const BatchGate::Passage passage = gate.pass(Side::kOlap);
      olap_inside = true;
      olap_may_end.get_future().wait();
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it mostly waits by then
    excluder = std::thread([&] {
      const BatchGate::Exclusive next = gate.exclude();
      excluded = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  // Where neither waited yet, the section went first, and the rest shows nothing.
  while (!olap_inside) std::this_thread::yield();
  for (int i = 0; i < 500; ++i) const BatchGate::Passage oltp = gate.pass(Side::kOltp);
  olap_may_end.set_value();
  olap.join();
  excluder.join();
  EXPECT_TRUE(excluded);
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

// Where the others cannot go on, who excludes them gives up after so many turns.
constexpr int kTurnsMax = 10'000;

// Takes a while, so that whoever else asks for a turn meanwhile waits in line.
base::Result<LoadReport> load_one(Bank* bank, int32_t id) {
  const Account row{id, {10'000}, 0};
  bool given = false;
  return bank->database->load(bank->accounts.table, [&]() -> RowBatch {
    if (given) return {};
    given = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return {reinterpret_cast<const std::byte*>(&row), 1};
  });
}

using ExclusiveTurnsStress = DirectoryFixture;

TEST_F(ExclusiveTurnsStress, TwoWhoLoadWithoutAPauseAndCallersAllMakeProgress) {
  constexpr int kCalls = 10;
  auto bank = Bank::open({});
  bank->fill(1);
  std::array<std::atomic<int>, 2> loads{};
  std::atomic<bool> stop{false};
  std::vector<std::thread> loaders;
  for (size_t i = 0; i < loads.size(); ++i) {
    loaders.emplace_back([&, i] {
      // relaxed: it only ends the loop.
      while (!stop.load(std::memory_order_relaxed) && loads[i] < kTurnsMax) {
        const auto id = static_cast<int32_t>((i + 1) * 1'000'000) + loads[i];
        const auto loaded = load_one(bank.get(), id);
        ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
        ++loads[i];
      }
    });
  }
  while (loads[0] == 0 || loads[1] == 0) std::this_thread::yield();
  for (int i = 0; i < kCalls; ++i) {
    ASSERT_TRUE(bank->database->call(bank->bump, {.id = 0, .balance = {}}).get().ok());
    ASSERT_EQ(*bank->number("SELECT version FROM account WHERE id = 0"), i + 1);
  }
  EXPECT_TRUE(loads[0] < kTurnsMax && loads[1] < kTurnsMax) << "calls waited for all the loads";
  // relaxed: it only ends the loops.
  stop.store(true, std::memory_order_relaxed);
  for (std::thread& loader : loaders) loader.join();
  expect_equal_replicas(bank->database.get());
}

// And whoever waits for the calls, as close does.
TEST_F(ExclusiveTurnsStress, CloseEndsThoseWhoTakeTurnsWithoutAPause) {
  constexpr int kCalls = 100;
  for (const auto end : {&Database::close, &Database::discard}) {
    auto bank = Bank::open({.path = path(end == &Database::close ? "closed" : "discarded")});
    bank->fill(1);
    std::array<std::atomic<int>, 4> turns{};
    std::array<std::atomic<ErrorCode>, 4> last{};
    const auto take_turn = [&](size_t thread, int turn) -> base::Result<void> {
      if (thread == 0) return bank->database->save();
      if (thread == 1)
        return bank->database->execute_ddl(kBankDdl);  // it exists: that takes a turn
      const auto id = static_cast<int32_t>(thread) * 1'000'000 + turn;
      const auto loaded = load_one(bank.get(), id);
      return loaded ? base::Result<void>() : loaded.error();
    };
    std::vector<std::thread> threads;
    for (size_t i = 0; i < turns.size(); ++i) {
      threads.emplace_back([&, i] {
        while (turns[i] < kTurnsMax) {
          const auto taken = take_turn(i, turns[i]);
          if (!taken) last[i] = taken.code();
          if (!taken && taken.code() != ErrorCode::kAlreadyExists) return;
          ++turns[i];
        }
      });
    }
    for (const auto& taken : turns) {
      while (taken == 0) std::this_thread::yield();
    }
    std::vector<Future<oltp::Nothing>> calls;
    for (int i = 0; i < kCalls; ++i) {
      calls.push_back(bank->database->call(bank->bump, {.id = 0, .balance = {}}));
    }
    const auto ended = (bank->database.get()->*end)();
    EXPECT_TRUE(ended.ok()) << ended.error().to_string();
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < turns.size(); ++i) {
      EXPECT_EQ(last[i], ErrorCode::kClosed) << i << " after " << turns[i];
    }
    for (auto& call : calls) EXPECT_TRUE(call.get().ok());
  }
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
