// Overload: limits by priority and client, deadlines, and clients that have shares of their own.

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "dispatcher/client.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;

constexpr uint64_t kOneMs = 1'000'000;

// A procedure that holds its batch up until it is let go.
class Overload : public ::testing::Test {
 protected:
  void open(DatabaseOptions options) {
    options.partitions = 2;
    options.slow_procedure_ns = 0;
    bank_ = Bank::open(options);
    bank_->fill(10);
    hold_ = *bank_->database->register_procedure<AccountArguments, oltp::Nothing>(
        "hold", [this](Transaction&, const AccountArguments&) -> base::Result<oltp::Nothing> {
          // relaxed: nothing is read on the strength of them.
          running_.store(true, std::memory_order_relaxed);
          // relaxed: as above.
          while (!let_go_.load(std::memory_order_relaxed)) {
            std::this_thread::sleep_for(std::chrono::microseconds(100));
          }
          return oltp::Nothing{};
        });
  }
  ~Overload() override { let_go(); }

  // From here on, what is submitted is queued.
  void hold() {
    held_ = bank_->database->call(hold_, {});
    // relaxed: see above.
    while (!running_.load(std::memory_order_relaxed)) std::this_thread::yield();
  }
  void let_go() {
    // relaxed: see above.
    let_go_.store(true, std::memory_order_relaxed);
  }
  Database& database() { return *bank_->database; }
  Future<oltp::Nothing> bump(const CallOptions& options = {}) {
    return database().call(bank_->bump, {1, {}}, options);
  }
  int64_t bumps() { return *bank_->number("SELECT sum(version) FROM account"); }

  std::atomic<bool> running_{false};
  std::atomic<bool> let_go_{false};
  std::unique_ptr<Bank> bank_;
  ProcedureRef<AccountArguments, oltp::Nothing> hold_;
  Future<oltp::Nothing> held_;
};

TEST_F(Overload, EachPriorityHasALimitOfItsOwn) {
  open({.queue_requests = 3});
  hold();  // one of the normal ones
  std::vector<Future<oltp::Nothing>> admitted;
  for (const auto& [priority, room] :
       {std::pair(Priority::kHigh, 3), std::pair(Priority::kNormal, 2), {Priority::kLow, 3}}) {
    const CallOptions options{.admission = Admission::kRefuse, .priority = priority};
    for (int i = 0; i < room; ++i) admitted.push_back(bump(options));
    EXPECT_EQ(bump(options).get().code(), ErrorCode::kOverloaded);
  }
  const Metrics metrics = database().metrics();
  EXPECT_EQ(metrics.transactions_in_flight, 9u);
  EXPECT_EQ(metrics.calls_in_flight, (std::array<uint64_t, kPriorities>{3, 3, 3}));
  EXPECT_EQ(metrics.calls_waiting, (std::array<uint64_t, kPriorities>{3, 2, 3}));
  EXPECT_EQ(metrics.calls_refused[static_cast<size_t>(ErrorCode::kOverloaded)], 3u);
  let_go();
  for (auto& future : admitted) EXPECT_TRUE(future.get().ok());
  EXPECT_EQ(bumps(), 8);
}

TEST_F(Overload, WhatIsRefusedIsCountedByReason) {
  open({.queue_requests = 1, .clients_max = 1});
  const auto client = Client::connect(&database(), {});
  ASSERT_TRUE(client.ok());
  EXPECT_EQ(Client::connect(&database(), {}).code(), ErrorCode::kOverloaded);
  hold();
  EXPECT_EQ(bump({.admission = Admission::kRefuse}).get().code(), ErrorCode::kOverloaded);
  EXPECT_EQ(bump({.timeout_ns = kOneMs}).get().code(), ErrorCode::kDeadlineExceeded);
  oltp::Request unknown;
  unknown.procedure = base::ProcedureId(1000);
  EXPECT_EQ(database().submit(&unknown, {}).code(), ErrorCode::kInvalidArgument);
  let_go();
  EXPECT_TRUE(held_.get().ok());
  const Metrics metrics = database().metrics();
  std::array<uint64_t, base::kErrorCodes> expected{};
  for (const ErrorCode why :
       {ErrorCode::kOverloaded, ErrorCode::kDeadlineExceeded, ErrorCode::kInvalidArgument}) {
    expected[static_cast<size_t>(why)] = 1;
  }
  EXPECT_EQ(metrics.calls_refused, expected);
  EXPECT_EQ(metrics.clients_refused, 1U);
  EXPECT_EQ(*bank_->number("SELECT CAST(sum(value) AS BIGINT) FROM diptych_metrics WHERE name IN "
                           "('diptych_calls_refused_total', 'diptych_clients_refused_total')"),
            4);
}

TEST_F(Overload, ABatchTakesHalfOfWhatIsInFlight) {
  open({});
  hold();
  std::vector<Future<oltp::Nothing>> queued;
  for (int i = 0; i < 1000; ++i) queued.push_back(bump());
  let_go();
  for (auto& future : queued) EXPECT_TRUE(future.get().ok());
  EXPECT_EQ(bumps(), 1000);
  const Metrics metrics = database().metrics();
  EXPECT_EQ(metrics.batch_calls.max(), 500u);
}

TEST_F(Overload, ACallWhoseDeadlinePassesInTheQueueIsNotRun) {
  open({});
  hold();
  auto late = bump({.timeout_ns = 5 * kOneMs});
  auto patient = bump({.timeout_ns = 3'600'000 * kOneMs});
  auto endless = bump({.timeout_ns = UINT64_MAX});
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  let_go();
  EXPECT_EQ(late.get().code(), ErrorCode::kDeadlineExceeded);
  EXPECT_TRUE(patient.get().ok());
  EXPECT_TRUE(endless.get().ok());
  EXPECT_EQ(bumps(), 2);
  const Metrics metrics = database().metrics();
  EXPECT_EQ(metrics.calls_failed[static_cast<size_t>(ErrorCode::kDeadlineExceeded)], 1u);
  EXPECT_EQ(metrics.transactions_in_flight, 0u);
}

TEST_F(Overload, ARequestThatIsSubmittedAgainHasNoDeadlineAndNoConflictsOfBefore) {
  open({});
  const AccountArguments account{.id = 1, .balance = {}};
  std::promise<void> ended;
  oltp::Request request;
  request.procedure = bank_->bump.id;
  request.arguments = std::as_bytes(std::span(&account, 1));
  request.context = &ended;
  request.complete = [](oltp::Request* of) {
    static_cast<std::promise<void>*>(of->context)->set_value();
  };
  for (const uint64_t timeout_ns : {10 * kOneMs, uint64_t{0}}) {
    ended = {};
    request.conflicts = 7;
    ASSERT_TRUE(database().submit(&request, {.timeout_ns = timeout_ns}).ok());
    ended.get_future().wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(11));
  }
  EXPECT_TRUE(request.outcome.ok()) << request.outcome.error().to_string();
  EXPECT_EQ(request.conflicts, 0u);
}

TEST_F(Overload, TheLongestWaitOfABatchIsThatOfItsOldestCall) {
  open({});
  hold();
  auto early = bump({.priority = Priority::kLow});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  auto late = bump({.priority = Priority::kHigh});
  let_go();
  EXPECT_TRUE(early.get().ok());
  EXPECT_TRUE(late.get().ok());
  EXPECT_GE(database().metrics().call_wait_ns.max(), 20 * kOneMs);
}

// A load has the gate, so the batch that has taken the call waits there.
TEST_F(Overload, ACallWhoseDeadlinePassesAtTheGateIsNotRun) {
  open({});
  constexpr uint64_t kTimeNs = 200 * kOneMs;
  Future<oltp::Nothing> late;
  const auto loaded = database().load(bank_->accounts.table, [&]() -> RowBatch {
    const uint64_t begin_ns = base::steady_ns();
    // Of another thread: the source's own calls are refused.
    std::thread([&] { late = bump({.timeout_ns = kTimeNs}); }).join();
    while (database().metrics().calls_waiting[static_cast<size_t>(Priority::kNormal)] != 0) {
      std::this_thread::yield();
    }
    while (base::steady_ns() - begin_ns <= 2 * kTimeNs) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return {};
  });
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  EXPECT_EQ(late.get().code(), ErrorCode::kDeadlineExceeded);
  EXPECT_EQ(bumps(), 0);
}

TEST_F(Overload, WhoWaitsToBeAdmittedWaitsNoLongerThanItsDeadline) {
  open({.queue_requests = 1});
  hold();
  const uint64_t begin_ns = base::steady_ns();
  EXPECT_EQ(bump({.timeout_ns = 20 * kOneMs}).get().code(), ErrorCode::kDeadlineExceeded);
  EXPECT_GE(base::steady_ns() - begin_ns, 20 * kOneMs);
  let_go();
  EXPECT_TRUE(bump({.timeout_ns = 3'600'000 * kOneMs}).get().ok());
}

TEST_F(Overload, OfConcurrentClientsOneWithThousandsHoldsUpNobodyElse) {
  open({.client_requests = 4000, .batch_requests_max = 32});
  hold();
  auto greedy = *Client::connect(&database());
  auto modest = *Client::connect(&database());
  std::atomic<int> finished{0};
  struct Counted {
    oltp::Request request;
    AccountArguments arguments{1, {}};
    std::atomic<int>* finished = nullptr;
    int place = 0;
  };
  const auto submit = [&](Client* client, Counted* call) {
    call->finished = &finished;
    call->request.procedure = bank_->bump.id;
    call->request.arguments = std::as_bytes(std::span(&call->arguments, 1));
    call->request.context = call;
    call->request.complete = [](oltp::Request* done) {
      auto* const self = static_cast<Counted*>(done->context);
      // acq_rel: who waits for the last one sees every place.
      self->place = self->finished->fetch_add(1, std::memory_order_acq_rel);
    };
    return client->submit(&call->request, {.admission = Admission::kRefuse});
  };
  std::vector<Counted> many(4000);
  Counted one;
  Counted refused;
  for (Counted& call : many) ASSERT_TRUE(submit(greedy.get(), &call).ok());
  ASSERT_TRUE(submit(modest.get(), &one).ok());
  EXPECT_EQ(submit(greedy.get(), &refused).code(), ErrorCode::kOverloaded);
  let_go();
  // acquire: pairs with the last completion.
  while (finished.load(std::memory_order_acquire) < 4001) std::this_thread::yield();
  EXPECT_LT(one.place, 32) << "it is in the first batch that is made";
  EXPECT_EQ(bumps(), 4001);
}

TEST_F(Overload, ClientsComeAndGoWithinTheirLimit) {
  open({.clients_max = 2});
  for (int round = 0; round < 5; ++round) {
    auto first = Client::connect(&database());
    auto second = Client::connect(&database());
    ASSERT_TRUE(first.ok() && second.ok()) << round;
    EXPECT_TRUE((*first)->call(bank_->bump, {1, {}}).get().ok());
    EXPECT_EQ(Client::connect(&database()).code(), ErrorCode::kOverloaded);
    auto high = Client::connect(&database(), {.priority = Priority::kHigh});
    ASSERT_TRUE(high.ok());
    EXPECT_TRUE((*high)->call(bank_->bump, {1, {}}, {.timeout_ns = UINT64_MAX}).get().ok());
    EXPECT_EQ(database().metrics().clients, 3u);
  }
  EXPECT_EQ(database().metrics().clients, 0u);
  EXPECT_EQ(bumps(), 10);
}

TEST_F(Overload, CallsOfAClientThatHasGoneEndAndOnlyThenIsItsPlaceFree) {
  open({.clients_max = 1});
  auto client = *Client::connect(&database());
  hold();
  auto queued = client->call(bank_->bump, {1, {}});
  client.reset();
  EXPECT_EQ(Client::connect(&database()).code(), ErrorCode::kOverloaded);
  let_go();
  EXPECT_TRUE(queued.get().ok());
  EXPECT_TRUE(Client::connect(&database()).ok());
}

TEST_F(Overload, AClosedDatabaseTakesNoClientAndNoCall) {
  open({});
  auto client = *Client::connect(&database());
  ASSERT_TRUE(database().close().ok());
  EXPECT_EQ(client->call(bank_->bump, {1, {}}).get().code(), ErrorCode::kClosed);
  EXPECT_EQ(Client::connect(&database()).code(), ErrorCode::kClosed);
}

TEST_F(Overload, OptionsThatLeaveNoRoomAreRefused) {
  EXPECT_EQ(Database::open({.client_requests = 0}).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(Database::open({.clients_max = 0}).code(), ErrorCode::kInvalidArgument);
}

// Whoever has one for the other need not look for another form.
TEST_F(Overload, ADatabaseAndAClientAreCalledInTheSameForms) {
  open({});
  const auto client = *Client::connect(&database());
  const auto use = [&](auto& face) {
    EXPECT_TRUE(face.call(bank_->bump, {1, {}}, Admission::kWait).get().ok());
    const std::vector<base::Value> arguments = {int64_t{1}, int64_t{0}};
    EXPECT_TRUE(face.call_by_name("bump", arguments).ok());
    EXPECT_TRUE(face.call_by_name("bump", arguments, {.admission = Admission::kRefuse}).ok());
    EXPECT_EQ(face.call_by_name("bump", arguments, {.timeout_ns = 1}).code(),
              ErrorCode::kDeadlineExceeded);
    Request none;
    EXPECT_EQ(face.submit(&none, Admission::kWait).code(), ErrorCode::kInvalidArgument);
    const char* const sql = "SELECT count(*) FROM account WHERE id < $1";
    EXPECT_TRUE(face.query(sql, std::vector<base::Value>{int64_t{5}}).ok());
    EXPECT_TRUE(
        face.query(sql, QueryOptions{.parameters = {int64_t{5}}, .timeout_ns = kForeverNs}).ok());
    EXPECT_TRUE(face.query("SELECT 1").ok());
  };
  use(database());
  use(*client);
  EXPECT_EQ(bumps(), 6);
}

TEST(OverloadStress, EveryCallOfManyClientsIsAnsweredOnceHoweverItEnds) {
  auto bank = Bank::open({.partitions = 2, .queue_requests = 8, .client_requests = 4});
  bank->fill(10);
  std::atomic<int> committed{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 10; ++round) {
        auto client = *Client::connect(bank->database.get(),
                                       {.priority = static_cast<Priority>(t % kPriorities)});
        std::vector<Future<oltp::Nothing>> futures;
        for (int i = 0; i < 20; ++i) {
          CallOptions options;
          if (i % 3 == 0) options.timeout_ns = 50'000;
          if (i % 5 == 0) options.admission = Admission::kRefuse;
          const AccountArguments arguments{static_cast<int32_t>(t), {}};
          futures.push_back(i % 2 == 0 ? client->call(bank->bump, arguments, options)
                                       : bank->database->call(bank->bump, arguments, options));
        }
        if (round % 2 == 0) client.reset();
        for (auto& future : futures) {
          const auto result = future.get();
          // relaxed: read when all have ended.
          if (result) committed.fetch_add(1, std::memory_order_relaxed);
          if (!result && result.code() != ErrorCode::kOverloaded) {
            EXPECT_EQ(result.code(), ErrorCode::kDeadlineExceeded);
          }
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // relaxed: all threads have ended.
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"),
            committed.load(std::memory_order_relaxed));
}

}  // namespace
}  // namespace diptych::dispatcher
