// diptych bench queries from outside, at the smallest size.

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program_run.h"

namespace diptych::cli {
namespace {

nlohmann::json queries_report(const std::string& path) {
  std::ifstream in(path);
  return nlohmann::json::parse(in, nullptr, false);
}

TEST(BenchQueries, WritesTheKeysThatScriptsRelyOn) {
  const ScratchFolder folder;
  const std::string path = folder.path("queries.json");
  const Outcome outcome = run({"bench", "queries", "--warehouses", "1", "--threads", "1",
                               "--queries", "ch", "--seconds", "0.01", "--json", path});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json report = queries_report(path);
  EXPECT_EQ(report.at("query_ms").size(), 22U);
  EXPECT_GT(report.at("query_ms").at("Q01"), 0);
  EXPECT_GT(report.at("geometric_mean_ms"), 0);
  EXPECT_GT(report.at("queries_per_second"), 0);
  EXPECT_EQ(report.at("threads"), 1);
  EXPECT_THAT(outcome.out, testing::HasSubstr("Geometric mean of the medians"));
}

TEST(BenchQueries, ClientsAreNumbersFromOne) {
  const Outcome outcome = run({"bench", "queries", "--clients", "1,0"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.err, testing::HasSubstr("is not a whole number from 1 to"));
}

}  // namespace
}  // namespace diptych::cli
