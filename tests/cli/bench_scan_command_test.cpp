// diptych bench scan from outside, at the smallest size.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

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
  EXPECT_EQ(first.at("extended").at("blocks_by_encoding").count("packed frame"), 0U)
      << "numbers above the largest by all that they span leave the frame";
  EXPECT_TRUE(first.at("predicate").is_null());
  EXPECT_GE(report.at("slowdown_max"), first.at("slowdown_max"));
  EXPECT_GT(report.at("encoded_bytes_per_second"), 0);
  EXPECT_GT(report.at("encoding").at("orderline").at("bytes"), 50 * first.at("rows").get<int>());
}

TEST(BenchScan, FromMemoryAsksNumbersAndTexts) {
  const ScratchFolder folder;
  const std::string path = folder.path("scan.json");
  ASSERT_EQ(run({"bench", "scan", "--warehouses", "1", "--seconds", "0.001", "--json", path}).code,
            0);
  const nlohmann::json report = report_of(path);
  std::set<std::string> asked;
  for (const nlohmann::json& scan : report.at("columns")) {
    const std::string column = scan.at("column");
    asked.insert(column + (scan.at("predicate").is_null()
                               ? ""
                               : " " + scan.at("predicate").get<std::string>()));
    EXPECT_EQ(scan.at("frozen_again").at("thawed_blocks"), 0) << column;
    if (column == "ol_dist_info") {
      EXPECT_EQ(scan.at("extended").at("thawed_blocks"), scan.at("rows").get<int>() / 65'536);
    }
  }
  for (const char* each : {"ol_i_id", "ol_i_id BETWEEN", "ol_amount", "ol_amount BETWEEN",
                           "ol_dist_info =", "ol_dist_info BETWEEN", "ol_dist_info LIKE 'x%'"}) {
    EXPECT_TRUE(asked.contains(each)) << each;
  }
}

// The programs that a test's own find, for as long as it lives.
class ProgramPath {
 public:
  explicit ProgramPath(const std::string& path) : before_(std::getenv("PATH")) {
    ::setenv("PATH", path.c_str(), 1);
  }
  ~ProgramPath() { ::setenv("PATH", before_.c_str(), 1); }
  ProgramPath(const ProgramPath&) = delete;
  ProgramPath& operator=(const ProgramPath&) = delete;

 private:
  std::string before_;
};

// A cold scan with a program in fio's place; empty: with none.
class BenchScanFio : public testing::Test {
 protected:
  nlohmann::json scan_beside(const std::string& fio) {
    if (!fio.empty()) {
      std::filesystem::permissions(folder_.file("fio", "#!/bin/sh\n" + fio),
                                   std::filesystem::perms::owner_all);
    }
    const ProgramPath found(folder_.path(""));
    const std::string path = folder_.path("scan.json");
    outcome_ = run({"bench", "scan", "--warehouses", "1", "--cold", "--seconds", "0.01", "--json",
                    path, "--path", folder_.path("database")});
    return report_of(path);
  }

  ScratchFolder folder_;
  Outcome outcome_;
};

TEST_F(BenchScanFio, ReadsTheSameFileAsTheScanAtItsDepthPastThePageCache) {
  const std::string words = folder_.path("words");
  const nlohmann::json report =
      scan_beside("echo \"$@\" >" + words +
                  "\necho a warning\necho '{\"jobs\": [{\"read\": {\"bw_bytes\": 250000000}}]}'\n");
  EXPECT_EQ(report.at("fio_bytes_per_second"), 250'000'000);
  EXPECT_GE(report.at("share_of_fio"), 0);
  EXPECT_LE(report.at("share_of_fio_min"), report.at("share_of_fio"));
  EXPECT_THAT(outcome_.out, testing::ContainsRegex("fio on the same file .* 0.250 .* 0.250\n"));
  const nlohmann::json& integers = report.at("integers");
  EXPECT_EQ(integers.at("fio_bytes_per_second"), 250'000'000);
  EXPECT_GT(integers.at("read_bytes"), 0);
  EXPECT_LT(integers.at("raw_read_bytes"), report.at("raw_read_bytes"));
  std::ifstream in(words);
  const std::string given{std::istreambuf_iterator<char>(in), {}};
  for (const std::string& word :
       {"--filename=" + folder_.path("database/blocks.dtb"), std::string("--readonly"),
        std::string("--rw=read"), std::string("--direct=1"), std::string("--iodepth=32")}) {
    EXPECT_THAT(given, testing::HasSubstr(word));
  }
  const size_t size = given.find("--bs=");
  ASSERT_NE(size, std::string::npos);
  const auto block_bytes = std::strtoull(given.c_str() + size + 5, nullptr, 10);
  EXPECT_GT(block_bytes, 0U);
  EXPECT_EQ(block_bytes % 4096, 0U);
}

TEST_F(BenchScanFio, IsMissingWithoutHarm) {
  const nlohmann::json report = scan_beside("");
  EXPECT_TRUE(report.at("fio_bytes_per_second").is_null());
  EXPECT_TRUE(report.at("share_of_fio").is_null());
  EXPECT_GT(report.at("raw_read_bytes_per_second"), 0);
  EXPECT_THAT(outcome_.out, testing::HasSubstr("Nothing by fio: there is no fio on PATH\n"));
}

TEST_F(BenchScanFio, IsQuotedWhereItFails) {
  const nlohmann::json report = scan_beside("echo fio: no such engine >&2\nexit 1\n");
  EXPECT_TRUE(report.at("fio_bytes_per_second").is_null());
  EXPECT_THAT(outcome_.out,
              testing::HasSubstr("Nothing by fio: fio failed: fio: no such engine\n"));
}

TEST(BenchScan, ColdReadsAllBlocksFromDiskWhereLittleFitsIntoMemory) {
  const ScratchFolder folder;
  const std::string path = folder.path("scan.json");
  const Outcome outcome =
      run({"bench", "scan", "--warehouses", "1", "--cold", "--memory", "4", "--seconds", "0.01",
           "--json", path, "--path", folder.path("database")});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const nlohmann::json report = report_of(path);
  EXPECT_GT(report.at("read_bytes"), 4 << 20);
  EXPECT_EQ(report.at("read_bytes"), report.at("raw_read_bytes"));
  EXPECT_GT(report.at("read_bytes_per_second"), 0);
  EXPECT_GT(report.at("decoded_bytes_per_second"), report.at("read_bytes_per_second"));
  EXPECT_TRUE(report.at("memory_bytes_per_second").is_null());
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
