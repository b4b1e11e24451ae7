// The command load, as a shell runs it.

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/program_run.h"

namespace diptych::cli {
namespace {

using testing::HasSubstr;

// Writes some rows into a pipe, and closes it at its end, or when nobody waits any longer.
class SlowWriter {
 public:
  SlowWriter(const std::string& path, std::string_view rows)
      : pipe_(::open(path.c_str(), O_WRONLY | O_CLOEXEC)),
        closer_([this](const std::stop_token& end) {
          std::unique_lock lock(mutex_);
          given_up_ = !ended_.wait_for(lock, end, std::chrono::seconds(20), [] { return false; }) &&
                      !end.stop_requested();
          ::close(pipe_);
        }) {
    EXPECT_EQ(::write(pipe_, rows.data(), rows.size()), static_cast<ssize_t>(rows.size()));
  }
  bool end() {
    closer_.request_stop();
    closer_.join();
    return !given_up_;
  }

 private:
  const int pipe_;
  std::mutex mutex_;
  std::condition_variable_any ended_;
  bool given_up_ = false;  // guarded by joining closer_
  std::jthread closer_;
};

TEST(LoadCommand, CtrlCEndsALoadThatWaitsForAPipeAndNothingIsLoaded) {
  const ScratchFolder folder;
  const std::string shop = folder.path("shop");
  const std::string schema = folder.file("shop.sql", "CREATE TABLE t (a INT PRIMARY KEY);");
  ASSERT_EQ(run({"init", shop, "--schema", schema}).code, 0);
  const std::string pipe = folder.path("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  RunningProgram program({"load", shop, "t", pipe}, {});
  SlowWriter writer(pipe, "a\n1\n2\n");
  program.interrupt();
  const Outcome outcome = program.finish();
  EXPECT_TRUE(writer.end()) << "the load has waited for the pipe's end";
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("stopped; nothing was loaded\n"));
  EXPECT_EQ(run({"query", shop, "--format", "csv", "-c", "SELECT count(*) FROM t"}).out,
            "count\n0\n");
}

TEST(LoadCommand, ALoadThatWantsMoreMemoryThanDataMayTakeIsRefused) {
  const ScratchFolder folder;
  const std::string shop = folder.path("shop");
  const std::string schema = folder.file("shop.sql", "CREATE TABLE t (a INT PRIMARY KEY);");
  ASSERT_EQ(run({"init", shop, "--schema", schema}).code, 0);
  std::string csv = "a\n";
  for (int i = 0; i < 200'000; ++i) csv += std::to_string(i) + "\n";
  const std::string rows = folder.file("t.csv", csv);
  const Outcome refused = run({"load", shop, "t", rows, "--data-memory", "1"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("data_memory_bytes_max"));
  EXPECT_EQ(run({"query", shop, "--format", "csv", "-c", "SELECT count(*) FROM t"}).out,
            "count\n0\n");
  EXPECT_EQ(run({"load", shop, "t", rows, "--data-memory", "1000"}).code, 0);
}

TEST(LoadCommand, DelimiterAndNullAreAsCopyHasThem) {
  const ScratchFolder folder;
  const std::string shop = folder.path("shop");
  const std::string schema = folder.file("shop.sql", "CREATE TABLE t (a INT PRIMARY KEY, b TEXT);");
  ASSERT_EQ(run({"init", shop, "--schema", schema}).code, 0);
  const std::string csv = folder.file("t.csv", "a\tb\n1\tNA\n2\t\"NA\"\n3\t\n");
  const Outcome hinted = run({"load", shop, "t", csv});
  EXPECT_EQ(hinted.code, 1);
  EXPECT_THAT(hinted.err, HasSubstr("give --delimiter $'\\t'"));
  const Outcome loaded = run({"load", shop, "t", csv, "--delimiter", "\t", "--null", "NA"});
  EXPECT_EQ(loaded.code, 0) << loaded.err;
  EXPECT_EQ(run({"query", shop, "--format", "csv", "-c", "SELECT a, b FROM t ORDER BY a"}).out,
            "a,b\n1,\n2,NA\n3,\"\"\n");
  for (const char* const wrong : {"", "ab", "\"", "\n", "ä"}) {
    EXPECT_EQ(run({"load", shop, "t", csv, "--delimiter", wrong}).code, 2) << wrong;
  }
  EXPECT_EQ(run({"load", shop, "t", csv, "--delimiter", ";", "--null", "a;b"}).code, 2);
}

TEST(LoadCommand, QuotesColumnsAndTheHeaderAreAsItsOptionsSay) {
  const ScratchFolder folder;
  const std::string shop = folder.path("shop");
  const std::string schema = folder.file("shop.sql", "CREATE TABLE t (a INT PRIMARY KEY, b TEXT);");
  ASSERT_EQ(run({"init", shop, "--schema", schema}).code, 0);
  const std::string disks = folder.file("disks.tsv", "5\" disk\t1\n\"5 disk\t2\n");
  const std::vector<std::string> as_rows = {
      "load", shop, "t", disks, "--delimiter", "\t", "--no-header", "--columns", "B,a"};
  const Outcome hinted = run(as_rows);
  EXPECT_EQ(hinted.code, 1);
  EXPECT_THAT(hinted.err, HasSubstr("if quotes are part of the texts, give --quote none\n"));
  std::vector<std::string> as_text = as_rows;
  as_text.insert(as_text.end(), {"--quote", "none"});
  const Outcome loaded = run(as_text);
  EXPECT_EQ(loaded.code, 0) << loaded.err;
  const std::string apostrophes = folder.file("a.csv", "3,'x,y'\n");
  const Outcome table_order = run({"load", shop, "t", "--quote", "'", "--no-header", apostrophes});
  EXPECT_EQ(table_order.code, 0) << table_order.err;
  const std::string renamed = folder.file("r.csv", "number,text\n4,z\n");
  const Outcome passed_over = run({"load", shop, "t", "--columns", "a,b", renamed});
  EXPECT_EQ(passed_over.code, 0) << passed_over.err;
  EXPECT_EQ(run({"query", shop, "--format", "csv", "-c", "SELECT a, b FROM t ORDER BY a"}).out,
            "a,b\n1,\"5\"\" disk\"\n2,\"\"\"5 disk\"\n3,\"x,y\"\n4,z\n");
  EXPECT_EQ(run({"load", shop, "t", disks, "--quote", "no"}).code, 2);
  EXPECT_EQ(run({"load", shop, "t", disks, "--quote", ","}).code, 2);
  EXPECT_EQ(run({"load", shop, "t", disks, "--columns", ""}).code, 2);
}

}  // namespace
}  // namespace diptych::cli
