// Whole runs: both sides at work, then all conditions on both replicas and zero differences.

#include <string>
#include <tuple>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/workloads/loaded_session.h"
#include "workloads/benchmark.h"

namespace diptych::workloads {
namespace {

struct Threads {
  uint32_t oltp_workers;
  uint32_t olap_threads;
};
using Run = std::tuple<uint64_t, QuerySet, SizePolicy, Threads>;
class HybridRun : public ::testing::TestWithParam<Run> {};

TEST_P(HybridRun, ReplicasAgreeAndAllConditionsHold) {
  const auto [seed, queries, size, threads] = GetParam();
  BenchmarkOptions options = small_options(seed, size);
  options.queries = queries;
  options.query_clients = 2;
  options.seconds = 0.4;
  options.placement.oltp_workers = threads.oltp_workers;
  options.placement.olap_threads = threads.olap_threads;
  auto session = loaded_session(options);
  ASSERT_NE(session, nullptr);
  const dispatcher::Metrics before = session->database()->metrics();
  auto report = session->measure(options, kNeverStop, ignore_progress);
  ASSERT_TRUE(report) << report.error().to_string();
  // Of the whole run: under a sanitizer a query may take longer than the measured time.
  const dispatcher::Metrics after = session->database()->metrics();
  EXPECT_GT(after.transactions_committed, before.transactions_committed);
  EXPECT_GT(after.queries_completed, before.queries_completed);
  EXPECT_EQ(report->calls_failed, 0U) << to_table(*report);
  report->checks = session->finish(kNeverStop, ignore_progress);
  EXPECT_TRUE(report->clean()) << to_table(*report);
}

std::string name_of(const ::testing::TestParamInfo<Run>& run) {
  const auto& [seed, queries, size, threads] = run.param;
  return fmt::format("Seed{}{}{}With{}And{}Threads", seed,
                     queries == QuerySet::kCh ? "Ch" : "Templates",
                     size == SizePolicy::kConstant ? "Constant" : "Growing", threads.oltp_workers,
                     threads.olap_threads);
}

// With one worker nothing of the OLTP side is shared, with three it all is; one OLAP thread uses no
// oneTBB.
INSTANTIATE_TEST_SUITE_P(
    Seeds, HybridRun,
    ::testing::Combine(::testing::Range(uint64_t{1}, uint64_t{DIPTYCH_HYBRID_SEEDS + 1}),
                       ::testing::Values(QuerySet::kCh, QuerySet::kTemplates),
                       ::testing::Values(SizePolicy::kGrowing, SizePolicy::kConstant),
                       ::testing::Values(Threads{1, 1}, Threads{3, 2})),
    name_of);

// Transactions alone, serializable: with more workers than warehouses they do conflict.
class SerializableRun : public ::testing::TestWithParam<uint32_t> {};

TEST_P(SerializableRun, AllConditionsHoldAndReplicasAgree) {
  for (const SizePolicy size : {SizePolicy::kGrowing, SizePolicy::kConstant}) {
    BenchmarkOptions options = small_options(4, size);
    options.isolation = dispatcher::IsolationLevel::kSerializable;
    options.transaction_clients = 32;
    options.query_clients = 0;
    options.seconds = 0.5;
    options.placement.oltp_workers = GetParam();
    auto report = run_benchmark(options, kNeverStop, ignore_progress);
    // Where the machine has other things to do, not one may end in that time.
    while (report && report->transactions["NewOrder"].completed == 0 && options.seconds < 60) {
      options.seconds *= 4;
      report = run_benchmark(options, kNeverStop, ignore_progress);
    }
    ASSERT_TRUE(report) << report.error().to_string();
    EXPECT_GT(report->transactions.at("NewOrder").completed, 0U) << to_table(*report);
    EXPECT_TRUE(report->clean()) << to_table(*report);
    EXPECT_NE(to_table(*report).find("serializable"), std::string::npos);
    EXPECT_NE(to_json(*report).find("\"isolation\": \"serializable\""), std::string::npos);
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, SerializableRun, ::testing::Values(1U, 2U, 8U),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace diptych::workloads
