// diptych bench scan from outside, at the smallest size.

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/cli/program_run.h"

namespace diptych::cli {
namespace {

nlohmann::json report_of(const std::string& path) {
  std::ifstream in(path);
  return nlohmann::json::parse(in, nullptr, false);
}

TEST(BenchScan, FromMemoryMeasuresColumnsFrozenUpdatedAndFrozenAgain) {
  const ScratchFolder folder;
  const std::string path = folder.path("scan.json");
  const Outcome outcome =
      run({"bench", "scan", "--warehouses", "1", "--seconds", "0.01", "--json", path});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json report = report_of(path);
  EXPECT_GT(report.at("decoded_bytes_per_second"), 0);
  EXPECT_GT(report.at("memory_bytes_per_second"), 0);
  EXPECT_TRUE(report.at("read_bytes_per_second").is_null());
  const nlohmann::json& first = report.at("columns").at(0);
  EXPECT_EQ(first.at("column"), "ol_i_id");
  EXPECT_EQ(first.at("encoding"), "packed frame");
  // Of some 300,000 order lines; those in pages are updated and not summed.
  EXPECT_GT(first.at("rows_updated"), 140'000);
  EXPECT_LT(first.at("rows_updated"), 160'000);
  EXPECT_EQ(first.at("rows").get<uint64_t>() % 65'536, 0U);
  EXPECT_EQ(first.at("frozen").at("thawed_blocks"), 0);
  EXPECT_EQ(first.at("frozen_again").at("thawed_blocks"), 0);
  EXPECT_GT(first.at("updated").at("slowdown"), 0);
}

// What fits into the limit of memory is no measurement of the disk.
TEST(BenchScan, ColdFailsWhereNothingNeedsToBeRead) {
  const ScratchFolder folder;
  const std::string path = folder.path("scan.json");
  const Outcome outcome = run({"bench", "scan", "--warehouses", "1", "--cold", "--seconds", "0.01",
                               "--json", path, "--path", folder.path("database")});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, testing::HasSubstr("give more warehouses"));
  EXPECT_GT(report_of(path).at("raw_read_bytes"), 0);
  EXPECT_EQ(run({"inspect", folder.path("database"), "--verify"}).code, 0);
}

}  // namespace
}  // namespace diptych::cli
