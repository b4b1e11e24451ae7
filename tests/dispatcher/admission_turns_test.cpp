// Whose calls or queries are in the next batch: priorities by weight, clients in turn, deadlines.

#include "dispatcher/admission_turns.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "oltp/request.h"

namespace diptych::dispatcher {
namespace {

using CallTurns = AdmissionTurns<oltp::Request*>;

constexpr size_t kTurn = 8;

class AdmissionTurnsTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kCallsMax = 10'000;

  AdmissionTurnsTest() {
    for (size_t i = 0; i < kPriorities; ++i) {
      anonymous_[i] = std::make_unique<CallQueue>(CallQueue::Of::kAnyone, static_cast<Priority>(i),
                                                  kCallsMax, base::SpinPolicy::kNever);
    }
    turns_ = std::make_unique<CallTurns>(
        std::array<CallQueue*, kPriorities>{anonymous_[0].get(), anonymous_[1].get(),
                                            anonymous_[2].get()},
        64, kTurn);
  }

  CallQueue* client(Priority priority = Priority::kNormal) {
    clients_.push_back(std::make_unique<CallQueue>(CallQueue::Of::kClient, priority, kCallsMax,
                                                   base::SpinPolicy::kNever));
    return clients_.back().get();
  }
  CallQueue* anyone(Priority priority) { return anonymous_[static_cast<size_t>(priority)].get(); }

  void submit(CallQueue* queue, size_t calls, uint64_t deadline_ns = 0) {
    for (size_t i = 0; i < calls; ++i) {
      ASSERT_TRUE(queue->tokens().take());
      requests_.push_back(std::make_unique<oltp::Request>());
      requests_.back()->admitted_by = queue;
      requests_.back()->deadline_ns = deadline_ns;
      if (queue->push({requests_.back().get(), deadline_ns})) turns_->arrive(queue);
    }
  }
  // How many of whose calls the next batch has; in its order in batch_.
  std::map<void*, size_t> fill(size_t calls_max, uint64_t now_ns = 1) {
    batch_.clear();
    turns_->fill(calls_max, now_ns, &batch_, &expired_);
    EXPECT_LE(batch_.size(), calls_max);
    std::map<void*, size_t> counts;
    for (const oltp::Request* request : batch_) ++counts[request->admitted_by];
    return counts;
  }

  std::array<std::unique_ptr<CallQueue>, kPriorities> anonymous_;
  std::unique_ptr<CallTurns> turns_;
  std::vector<std::unique_ptr<CallQueue>> clients_;
  std::vector<std::unique_ptr<oltp::Request>> requests_;
  std::vector<oltp::Request*> batch_;
  std::vector<oltp::Request*> expired_;
};

TEST_F(AdmissionTurnsTest, WhoHasThousandsHoldsNobodyUpWhoHasOne) {
  CallQueue* const greedy = client();
  submit(greedy, 10'000);
  std::vector<CallQueue*> modest;
  for (int i = 0; i < 20; ++i) submit(modest.emplace_back(client()), 1);
  auto counts = fill(100);
  EXPECT_EQ(batch_.size(), 100u);
  for (CallQueue* const queue : modest) EXPECT_EQ(counts[queue], 1u);
  EXPECT_EQ(counts[greedy], 80u) << "what the others leave is his";
}

TEST_F(AdmissionTurnsTest, ClientsAndCallersWithoutOneTakeTurnsOverBatches) {
  std::vector<CallQueue*> all = {anyone(Priority::kNormal)};
  for (int i = 0; i < 6; ++i) all.push_back(client());
  for (CallQueue* const queue : all) submit(queue, 2000);
  std::map<void*, size_t> sums;
  constexpr size_t kBatch = 50;  // no multiple of a round
  for (int batch = 0; batch < 70; ++batch) {
    for (const auto& [queue, calls] : fill(kBatch)) sums[queue] += calls;
  }
  for (CallQueue* const queue : all) {
    EXPECT_NEAR(static_cast<double>(sums[queue]), 70.0 * kBatch / 7, 2 * kTurn);
  }
}

// Who is answered and comes back at once comes behind those who waited meanwhile.
TEST_F(AdmissionTurnsTest, ClientsWithOneCallAtATimeAreServedEquallyOften) {
  std::map<void*, size_t> sums;
  for (int i = 0; i < 20; ++i) submit(client(), 1);
  for (int batch = 0; batch < 40; ++batch) {
    fill(5);
    for (const oltp::Request* const request : batch_) {
      ++sums[request->admitted_by];
      submit(static_cast<CallQueue*>(request->admitted_by), 1);
    }
  }
  for (const auto& queue : clients_) EXPECT_EQ(sums[queue.get()], 10u);
}

TEST_F(AdmissionTurnsTest, CallsOfOneClientKeepTheirOrder) {
  CallQueue* const one = client();
  submit(one, 30);
  submit(client(), 30);
  size_t next = 0;
  while (!fill(7).empty()) {
    for (const oltp::Request* request : batch_) {
      if (request->admitted_by != one) continue;
      EXPECT_EQ(request, requests_[next++].get());
    }
  }
  EXPECT_EQ(next, 30u);
}

TEST_F(AdmissionTurnsTest, AFullBatchIsSharedOutByPriorityAndNobodyStarves) {
  for (const Priority priority : {Priority::kHigh, Priority::kNormal, Priority::kLow}) {
    submit(anyone(priority), 5000);
  }
  auto counts = fill(210);
  EXPECT_EQ(counts[anyone(Priority::kHigh)], 160u);
  EXPECT_EQ(counts[anyone(Priority::kNormal)], 40u);
  EXPECT_EQ(counts[anyone(Priority::kLow)], 10u);
  EXPECT_EQ(batch_.front()->admitted_by, anyone(Priority::kHigh)) << "they go first";
  for (const size_t room : {1, 2, 3, 5}) {
    std::map<void*, size_t> sums;
    for (int batch = 0; batch < 42; ++batch) {
      for (const auto& [queue, calls] : fill(room)) sums[queue] += calls;
    }
    for (const auto& queue : anonymous_) EXPECT_GE(sums[queue.get()], 2u) << room;
    EXPECT_GE(sums[anyone(Priority::kHigh)], sums[anyone(Priority::kLow)]) << room;
  }
}

TEST_F(AdmissionTurnsTest, RoomThatAPriorityLeavesIsTheOthers) {
  submit(anyone(Priority::kLow), 500);
  submit(client(Priority::kHigh), 3);
  auto counts = fill(100);
  EXPECT_EQ(batch_.size(), 100u);
  EXPECT_EQ(counts[clients_[0].get()], 3u);
  EXPECT_EQ(counts[anyone(Priority::kLow)], 97u);
}

TEST_F(AdmissionTurnsTest, CallsWhoseDeadlineHasPassedAreSetAside) {
  submit(anyone(Priority::kNormal), 2, 100);
  submit(anyone(Priority::kNormal), 1);
  submit(client(), 2, 200);
  EXPECT_EQ(fill(10, 150).size(), 2u);
  EXPECT_EQ(batch_.size(), 3u);
  EXPECT_EQ(expired_.size(), 2u);
  submit(clients_[0].get(), 5, 100);
  EXPECT_TRUE(fill(10, 100).empty()) << "the deadline itself is too late";
  EXPECT_EQ(expired_.size(), 7u);
}

// The moments at which a push may meet a queue that leaves, one after the other.
TEST_F(AdmissionTurnsTest, AQueueThatLeavesIsListedForWhateverComes) {
  CallQueue* const queue = client();
  oltp::Request request;
  CallQueue::Entry entry;
  const auto push = [&] {
    EXPECT_TRUE(queue->tokens().take());
    return queue->push({&request, 0});
  };
  EXPECT_TRUE(push());
  EXPECT_TRUE(queue->pop(&entry));
  EXPECT_FALSE(push()) << "it is listed still";
  EXPECT_FALSE(queue->leave()) << "with something that nobody else would list";
  EXPECT_TRUE(queue->pop(&entry));
  EXPECT_TRUE(queue->leave());
  EXPECT_TRUE(push()) << "it is to be listed again";
}

// Clients come and go from the turns while their calls are pushed: every call is taken, once.
TEST(AdmissionTurnsStress, EveryCallIsTakenOnceWhileClientsPushAndLeave) {
  constexpr uint32_t kClients = 6;
  constexpr size_t kCalls = 20'000;
  std::array<std::unique_ptr<CallQueue>, kPriorities> anonymous;
  std::array<CallQueue*, kPriorities> raw;
  for (size_t i = 0; i < kPriorities; ++i) {
    anonymous[i] = std::make_unique<CallQueue>(CallQueue::Of::kAnyone, static_cast<Priority>(i), 16,
                                               base::SpinPolicy::kNever);
    raw[i] = anonymous[i].get();
  }
  CallTurns turns(raw, kClients, kTurn);
  std::vector<std::unique_ptr<CallQueue>> clients;
  std::vector<std::vector<oltp::Request>> requests(kClients);
  for (uint32_t i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<CallQueue>(CallQueue::Of::kClient,
                                                  static_cast<Priority>(i % kPriorities), 1 + i % 2,
                                                  base::SpinPolicy::kNever));
    requests[i].resize(kCalls);
  }
  std::vector<std::thread> pushers;
  for (uint32_t i = 0; i < kClients; ++i) {
    pushers.emplace_back([&, i] {
      for (oltp::Request& request : requests[i]) {
        EXPECT_TRUE(clients[i]->tokens().take_or_wait());
        request.admitted_by = clients[i].get();
        if (clients[i]->push({&request, 0})) turns.arrive(clients[i].get());
      }
    });
  }
  size_t taken = 0;
  std::vector<oltp::Request*> batch;
  std::vector<oltp::Request*> expired;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (taken < kClients * kCalls && std::chrono::steady_clock::now() < end) {
    batch.clear();
    turns.fill(16, 1, &batch, &expired);
    if (batch.empty()) std::this_thread::yield();
    for (oltp::Request* const request : batch) {
      ++request->conflicts;
      auto* const queue = static_cast<CallQueue*>(request->admitted_by);
      queue->tokens().give_back();
      queue->tokens().announce_returned();
    }
    taken += batch.size();
  }
  EXPECT_EQ(taken, kClients * kCalls) << "a call was lost";
  for (const auto& client : clients) client->tokens().close();
  for (std::thread& pusher : pushers) pusher.join();
  for (const auto& of_client : requests) {
    for (const oltp::Request& request : of_client) ASSERT_EQ(request.conflicts, 1u);
  }
}

}  // namespace
}  // namespace diptych::dispatcher
