// Back-pressure: no batch starts while too many updates wait; who waits for room sleeps.

#include <chrono>
#include <future>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "dispatcher/module_registry.h"
#include "dispatcher/oltp_dispatcher.h"

namespace diptych::dispatcher {
namespace {

uint64_t process_cpu_ns() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& time) {
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<uint64_t>(time.tv_usec) * 1'000;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

void push_one(propagation::UpdateQueue* updates) {
  auto pending = updates->take_empty();
  pending->append_delete(base::Vid(1), base::RowId(0));
  std::vector<propagation::SealedSet> sets;
  sets.push_back({base::WorkerId(0), base::TableId(0), std::move(pending)});
  updates->push(std::move(sets), base::Vid(1));
}

TEST(BackPressure, IsSaidAgainAfterATimeWithoutAndNotBefore) {
  for (const uint64_t pause_ns : {uint64_t{0}, uint64_t{3'600'000'000'000}}) {
    const base::Catalog catalog;
    propagation::UpdateQueue updates;
    oltp::Engine engine(&catalog, {}, &updates);
    ProcedureDirectory procedures;
    BatchGate gate;
    FreshnessClock clock;
    OltpDispatcher dispatcher({.placement = {},
                               .limits = {1, 1, 1, 1},
                               .batch_requests_max = 1,
                               .pending_update_bytes_max = 1,
                               .wait_notice_pause_ns = pause_ns},
                              &engine, &procedures, &updates, &gate, &clock,
                              [&] { updates.recycle(updates.collect().sets); });
    const auto said = [&] {
      push_one(&updates);
      testing::internal::CaptureStderr();
      EXPECT_TRUE(dispatcher.wait_until_batch_may_start());
      return testing::internal::GetCapturedStderr().find("transactions wait") != std::string::npos;
    };
    EXPECT_TRUE(said());
    EXPECT_EQ(said(), pause_ns == 0);
    EXPECT_EQ(dispatcher.back_pressure_waits(), 2U);
  }
}

TEST(BackPressure, ABatchThatWaitsForRoomAsksOnceSleepsAndGoesOnWhenThereIsRoom) {
  const base::Catalog catalog;
  propagation::UpdateQueue updates;
  oltp::Engine engine(&catalog, {}, &updates);
  ProcedureDirectory procedures;
  ASSERT_EQ(
      add_procedure(NewProcedure({.name = "nothing",
                                  .argument_columns = {},
                                  .reply_columns = {},
                                  .body = [](auto&, auto, auto) { return base::Result<void>(); }}),
                    &engine, &procedures),
      base::ProcedureId(0));
  push_one(&updates);

  BatchGate gate;
  FreshnessClock clock;
  std::atomic<int> asked{0};
  OltpDispatcher dispatcher({.placement = {},
                             .limits = {1, 1, 1, 1},
                             .batch_requests_max = 1,
                             .pending_update_bytes_max = 1},
                            &engine, &procedures, &updates, &gate, &clock, [&] {
                              // relaxed: read when the call is over. It rings the parker, as
                              // OlapDispatcher::apply_now does.
                              asked.fetch_add(1, std::memory_order_relaxed);
                              updates.parker().wake_all();
                            });
  std::atomic<bool> completed{false};
  oltp::Request request;
  request.procedure = base::ProcedureId(0);
  request.context = &completed;
  request.complete = [](oltp::Request* done) {
    // release: pairs with the acquire below.
    static_cast<std::atomic<bool>*>(done->context)->store(true, std::memory_order_release);
  };
  clock.batch_begins(base::steady_ns() - 1'500'000'000);
  clock.batch_ends(base::Vid(1));
  testing::internal::CaptureStderr();
  ASSERT_TRUE(
      dispatcher.submit(&request, dispatcher.queues().of(Priority::kNormal), Admission::kRefuse));
  const uint64_t submitted_ns = base::steady_ns();
  // relaxed: it asks behind what it says.
  while (asked.load(std::memory_order_relaxed) == 0 &&
         base::steady_ns() - submitted_ns < 10'000'000'000) {
    std::this_thread::yield();
  }
  const uint64_t cpu_before_ns = process_cpu_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(process_cpu_ns() - cpu_before_ns, 60'000'000u) << "the wait does not spin";
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("4 KiB of updates are pending, the limit is 1 byte;"), std::string::npos)
      << said;
  // As old as its batch is made above, and what passed until the dispatcher's thread came to it.
  EXPECT_THAT(said, testing::ContainsRegex("was made (1\\.[5-9]|[2-9]\\.)")) << said;
  EXPECT_GE(dispatcher.back_pressure_ns(), 100'000'000u) << "a wait that goes on counts";
  // acquire: pairs with the completion's release.
  EXPECT_FALSE(completed.load(std::memory_order_acquire));

  updates.recycle(updates.collect().sets);
  dispatcher.stop();  // ends what was admitted
  // acquire: pairs with the completion's release.
  EXPECT_TRUE(completed.load(std::memory_order_acquire));
  // relaxed: the dispatcher's thread has ended.
  EXPECT_EQ(asked.load(std::memory_order_relaxed), 1);
  EXPECT_EQ(dispatcher.back_pressure_waits(), 1u);
  EXPECT_GE(dispatcher.back_pressure_ns(), 100'000'000u);
}

// A call that its test waits for.
struct Called {
  explicit Called(uint64_t timeout_ns = 0) {
    request.procedure = base::ProcedureId(0);
    request.context = this;
    request.deadline_ns = timeout_ns == 0 ? 0 : base::steady_ns() + timeout_ns;
    request.complete = [](oltp::Request* done) {
      static_cast<Called*>(done->context)->answer.set_value(done->outcome);
    };
  }
  bool is_answered(std::chrono::milliseconds within) {
    return answered.wait_for(within) == std::future_status::ready;
  }

  oltp::Request request;
  std::promise<base::Result<void>> answer;
  std::future<base::Result<void>> answered = answer.get_future();
};

TEST(BackPressure, CallsAreAnsweredByTheirDeadlinesBeforeThereIsRoomOrTheGateOpens) {
  for (const bool at_gate : {false, true}) {
    SCOPED_TRACE(at_gate ? "at the gate" : "without room");
    const base::Catalog catalog;
    propagation::UpdateQueue updates;
    oltp::Engine engine(&catalog, {}, &updates);
    ProcedureDirectory procedures;
    const auto body = [](auto&, auto, auto) { return base::Result<void>(); };
    ASSERT_EQ(
        add_procedure(
            NewProcedure(
                {.name = "nothing", .argument_columns = {}, .reply_columns = {}, .body = body}),
            &engine, &procedures),
        base::ProcedureId(0));
    if (!at_gate) push_one(&updates);
    BatchGate gate;
    std::optional<BatchGate::Exclusive> held;
    if (at_gate) held.emplace(gate.exclude());
    FreshnessClock clock;
    OltpDispatcher dispatcher({.placement = {},
                               .limits = {4, 1, 1, 1},
                               .batch_requests_max = 2,
                               .pending_update_bytes_max = 1},
                              &engine, &procedures, &updates, &gate, &clock, [] {});
    // What it waits at rings for others, too.
    const std::jthread ringer([&](const std::stop_token& end) {
      while (!end.stop_requested()) {
        updates.parker().wake_all();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
    Called patient;
    Called late(300'000'000);
    Called also_late(50'000'000);
    Called in_time(3'600'000'000'000);
    for (Called* const called : {&patient, &late, &in_time, &also_late}) {
      ASSERT_TRUE(dispatcher.submit(&called->request, dispatcher.queues().of(Priority::kNormal),
                                    Admission::kRefuse));
    }
    EXPECT_TRUE(also_late.is_answered(std::chrono::seconds(20)));
    EXPECT_TRUE(late.is_answered(std::chrono::seconds(20)));
    EXPECT_FALSE(patient.is_answered(std::chrono::milliseconds(0)));
    held.reset();
    updates.recycle(updates.collect().sets);
    updates.parker().wake_all();
    EXPECT_TRUE(patient.answered.get().ok());
    EXPECT_TRUE(in_time.answered.get().ok());
    EXPECT_EQ(late.answered.get().code(), base::ErrorCode::kDeadlineExceeded);
    EXPECT_EQ(also_late.answered.get().code(), base::ErrorCode::kDeadlineExceeded);
  }
}

}  // namespace
}  // namespace diptych::dispatcher
