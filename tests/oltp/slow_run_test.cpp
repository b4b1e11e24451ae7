// What is slow is reported under its own procedure: a body, an access or a partition function; and
// a mark names it meanwhile.

#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::Result;

TEST(SlowRuns, ARunOverTheLimitIsInTheReportAndAMarkNamesItMeanwhile) {
  const base::Catalog catalog = bank_catalog();
  propagation::UpdateQueue queue;
  EngineOptions options;
  options.placement.threads = 1;
  options.slow_run_ns = 1'000'000;
  options.batch_time_max_ns = 60'000'000'000;  // however slow the machine is just now
  Engine engine(&catalog, options, &queue);
  std::vector<RunningProcedure> seen;
  const base::ProcedureId quick = engine.register_procedure(define_procedure<Nothing, Nothing>(
      "quick", [](Transaction&, const Nothing&) -> Result<Nothing> { return Nothing{}; }));
  const base::ProcedureId slow = engine.register_procedure(define_procedure<Nothing, Nothing>(
      "slow", [&](Transaction&, const Nothing&) -> Result<Nothing> {
        const uint64_t begin_ns = base::steady_ns();
        while (base::steady_ns() - begin_ns < 3'000'000) seen = engine.running();
        return Nothing{};
      }));
  Request requests[3];
  Request* batch[3];
  const Nothing nothing;
  for (size_t i = 0; i < 3; ++i) {
    requests[i].procedure = i == 1 ? slow : quick;
    requests[i].arguments = std::as_bytes(std::span(&nothing, 1));
    batch[i] = &requests[i];
  }
  const uint64_t before_ns = base::steady_ns();
  const BatchReport report = engine.run_batch(batch);
  ASSERT_EQ(report.committed, 3u);
  bool found = false;
  for (const SlowRun& run : report.slow) {
    found |= run.procedure == slow && run.ns >= 3'000'000;
  }
  EXPECT_TRUE(found);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].procedure, slow);
  EXPECT_GE(seen[0].since_ns + 65'536, before_ns);
  EXPECT_TRUE(engine.running().empty());
}

TEST(SlowRuns, WhoRunsBehindOneThatErasedManyRowsIsNotBlamed) {
  constexpr int kRows = 300'000;
  const base::Catalog catalog = bank_catalog();
  const auto entry = *bind_table<Entry>(catalog, "entry");
  const auto by_key = *bind_index<&Entry::account, &Entry::number>(catalog, "entry_pkey");
  propagation::UpdateQueue queue;
  EngineOptions options;
  options.placement.threads = 1;
  options.slow_run_ns = 20'000'000;
  options.batch_time_max_ns = 60'000'000'000;
  Engine engine(&catalog, options, &queue);
  const auto define = [&](const char* name, const Bank::Body& body) {
    return engine.register_procedure(define_procedure<Nothing, Nothing>(
        name, [body](Transaction& txn, const Nothing&) -> Result<Nothing> {
          if (auto done = body(txn); !done) return done.error();
          return Nothing{};
        }));
  };
  const base::ProcedureId fill = define("fill", [&](Transaction& txn) -> Result<void> {
    for (int i = 0; i < kRows; ++i) {
      if (auto row = txn.insert(entry, Entry{i % 1000, i, {}}); !row) return row.error();
    }
    return {};
  });
  const base::ProcedureId empty = define("empty", [&](Transaction& txn) -> Result<void> {
    const auto erase = [&](const RowHandle& handle, int32_t) {
      txn.erase(*txn.claim<Entry>(handle));
      return ScanStep::kContinue;
    };
    auto scanned = txn.scan<&Entry::number>(by_key, KeyRange{}, {}, erase);
    return scanned ? Result<void>() : scanned.error();
  });
  const base::ProcedureId quick = define("quick", [](Transaction&) -> Result<void> { return {}; });
  Request requests[3];
  const base::ProcedureId procedures[] = {fill, empty, quick};
  std::vector<Request*> batch;
  const Nothing nothing;
  for (size_t i = 0; i < 3; ++i) {
    requests[i].procedure = procedures[i];
    requests[i].arguments = std::as_bytes(std::span(&nothing, 1));
    batch.push_back(&requests[i]);
  }
  const BatchReport report = engine.run_batch(batch);
  ASSERT_EQ(report.committed, 3u);
  ASSERT_EQ(engine.row_count(entry.table), 0u);
  for (const SlowRun& run : report.slow) EXPECT_NE(run.procedure, quick) << run.ns << " ns";
}

// A batch of thirteen calls of "quick" and of one whose access or partition function holds it up.
class SlowHint {
 public:
  static constexpr size_t kQuick = 13;
  static constexpr uint64_t kLimitNs = 100'000'000;

  explicit SlowHint(uint32_t workers) : catalog_(bank_catalog()) {
    EngineOptions options;
    options.placement.threads = workers;
    options.slow_run_ns = kLimitNs;
    options.batch_time_max_ns = 60'000'000'000;
    engine_ = std::make_unique<Engine>(&catalog_, options, &queue_);
    quick_ = add("quick", {});
  }

  base::ProcedureId add(const char* name, ProcedureOptions<Nothing> options) {
    const auto body = [](Transaction&, const Nothing&) -> Result<Nothing> { return Nothing{}; };
    return engine_->register_procedure(define_procedure<Nothing, Nothing>(name, body, options));
  }
  // What the function does.
  void hold_up() {
    std::this_thread::sleep_for(std::chrono::nanoseconds(3 * kLimitNs));
    seen_ = engine_->running();
  }
  void expect_blame(base::ProcedureId slow, size_t position) {
    std::array<Request, kQuick + 1> requests;
    std::vector<Request*> batch;
    const Nothing nothing;
    for (size_t i = 0; i < requests.size(); ++i) {
      requests[i].procedure = i == position ? slow : quick_;
      requests[i].arguments = std::as_bytes(std::span(&nothing, 1));
      batch.push_back(&requests[i]);
    }
    seen_.clear();
    const uint64_t before_ns = base::steady_ns();
    const BatchReport report = engine_->run_batch(batch);
    EXPECT_EQ(report.committed, requests.size());
    ASSERT_EQ(report.slow.size(), 1u);
    EXPECT_EQ(report.slow[0].procedure, slow);
    EXPECT_GE(report.slow[0].ns, 3 * kLimitNs);
    ASSERT_EQ(seen_.size(), 1u);
    EXPECT_EQ(seen_[0].procedure, slow);
    EXPECT_GE(seen_[0].since_ns + 65'536, before_ns);
    EXPECT_TRUE(engine_->running().empty());
  }

 private:
  base::Catalog catalog_;
  propagation::UpdateQueue queue_;
  std::unique_ptr<Engine> engine_;
  base::ProcedureId quick_;
  std::vector<RunningProcedure> seen_;
};

TEST(SlowRuns, AnAccessFunctionIsItsOwnProceduresAndNotThatOfWhoRunsBefore) {
  SlowHint hint(1);
  const auto slow =
      hint.add("slow", {.access = [&](const Nothing&, AccessPlan&) { hint.hold_up(); }});
  hint.expect_blame(slow, 0);                 // planned before the first run
  hint.expect_blame(slow, SlowHint::kQuick);  // behind a run of another
}

TEST(SlowRuns, APartitionFunctionIsItsOwnProcedures) {
  SlowHint hint(2);
  const auto slow = hint.add("slow", {.partition = [&](const Nothing&) -> uint64_t {
                               hint.hold_up();
                               return 1;
                             }});
  hint.expect_blame(slow, 0);
  hint.expect_blame(slow, SlowHint::kQuick);
}

}  // namespace
}  // namespace diptych::oltp::test
