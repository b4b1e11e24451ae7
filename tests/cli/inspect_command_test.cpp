// diptych inspect from outside: a database of the program's own, intact and damaged.

#include <fstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

#include "tests/cli/program_run.h"

namespace diptych::cli {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

class Inspect : public testing::Test {
 protected:
  void SetUp() override {
    const std::string schema = folder_.file(
        "shop.sql",
        "CREATE TABLE item (i_id INT NOT NULL PRIMARY KEY, i_name VARCHAR(24), i_price INT);\n"
        "CREATE INDEX by_name ON item (i_name);\n"
        "CREATE TABLE nothing (n INT NOT NULL PRIMARY KEY);\n");
    ASSERT_EQ(run({"init", shop_, "--schema", schema}).code, 0);
    const std::string csv =
        folder_.file("item.csv", "i_id,i_name,i_price\n1,one,10\n2,,20\n3,threes,30\n");
    ASSERT_EQ(run({"load", shop_, "item", csv}).code, 0);
  }
  Json inspected() {
    const std::string path = folder_.path("report.json");
    const Outcome outcome = run({"inspect", shop_, "--json", path});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::ifstream in(path);
    return Json::parse(in, nullptr, false);
  }
  void flip(const std::string& file, std::streamoff at) const {
    std::fstream stream(shop_ + "/" + file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(at);
    const char byte = static_cast<char>(stream.get() ^ 0x40);
    stream.seekp(at);
    stream.put(byte);
  }

  ScratchFolder folder_;
  std::string shop_ = folder_.path("shop");
};

TEST_F(Inspect, JsonHasBytesPerTableColumnAndEncoding) {
  const Json report = inspected();
  const Json& item = report.at("tables").at("item");
  EXPECT_EQ(item.at("rows"), 3);
  EXPECT_EQ(item.at("live_rows"), 3);
  EXPECT_EQ(item.at("leaves"), 1);
  const Json& columns = item.at("columns");
  EXPECT_EQ(columns.at("i_id").at("uncompressed_bytes"), 3 * 4);
  // The lengths, "one" and "threes", and a word of null bits.
  EXPECT_EQ(columns.at("i_name").at("uncompressed_bytes"), 3 * 4 + 9 + 8);
  EXPECT_EQ(columns.at("(RowID)").at("uncompressed_bytes"), 3 * 8);
  EXPECT_EQ(item.at("uncompressed_bytes"), 12 + 29 + 12 + 24);
  EXPECT_EQ(report.at("uncompressed_bytes"), item.at("uncompressed_bytes"));
  uint64_t compressed = 0;
  for (const auto& [name, encoding] : item.at("encodings").items()) {
    compressed += encoding.at("compressed_bytes").get<uint64_t>();
    EXPECT_GT(encoding.at("uncompressed_bytes"), 0) << name;
  }
  EXPECT_EQ(item.at("compressed_bytes"), compressed);
  EXPECT_EQ(item.at("temperatures").at("hot").at("chunks"), 4);
  EXPECT_EQ(report.at("tables").at("nothing").at("chunks"), 0);
  EXPECT_TRUE(report.at("tables").at("nothing").at("ratio").is_null());
  const Json& file = report.at("block_file");
  EXPECT_EQ(file.at("bytes"),
            file.at("used_bytes").get<uint64_t>() + file.at("free_bytes").get<uint64_t>());
}

TEST_F(Inspect, VerifyOfAnIntactDatabaseSaysWhatWasRead) {
  const Outcome outcome = run({"inspect", shop_, "--verify"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::ContainsRegex("\nverified 4 chunks, [0-9]+ bytes\n$"));
  EXPECT_EQ(outcome.err, "");
  EXPECT_EQ(run({"query", shop_, "-c", "SELECT 1"}).code, 0);
}

TEST_F(Inspect, ADashPrintsTheJsonInPlaceOfTheTable) {
  const std::string report = folder_.path("report.json");
  ASSERT_EQ(run({"inspect", shop_, "--json", report}).code, 0);
  std::ifstream in(report);
  const Outcome outcome = run({"inspect", shop_, "--json", "-"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(Json::parse(outcome.out, nullptr, false), Json::parse(in, nullptr, false));
  EXPECT_EQ(outcome.err, "");
  EXPECT_FALSE(std::filesystem::exists("-"));
}

TEST_F(Inspect, TheSchemaIsAScriptThatMakesItAnew) {
  ASSERT_EQ(run({"ddl", shop_, "-c",
                 "DROP TABLE nothing; CREATE TABLE sale (s INT PRIMARY KEY, i INT NOT NULL "
                 "REFERENCES item (i_id)) -- of an item"})
                .code,
            0);
  ASSERT_EQ(run({"ddl", shop_, "-c",
                 "CREATE INDEX by_item ON sale (i); CREATE UNIQUE INDEX gone ON sale (s, i);"
                 "DROP INDEX gone; CREATE VIEW sold AS SELECT i FROM sale"})
                .code,
            0);
  const Outcome outcome = run({"inspect", shop_, "--schema"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  EXPECT_THAT(outcome.out, testing::StartsWith("CREATE TABLE item ("));
  EXPECT_THAT(outcome.out, testing::Not(HasSubstr("nothing")));
  const std::string twin = folder_.path("twin");
  ASSERT_EQ(run({"init", twin, "--schema", folder_.file("twin.sql", outcome.out)}).code, 0);
  EXPECT_EQ(run({"inspect", twin, "--schema"}).out, outcome.out);
  EXPECT_EQ(run({"inspect", shop_, "--schema", "--verify"}).code, 2);
  EXPECT_EQ(run({"inspect", shop_, "--schema", "--json", "-"}).code, 2);
}

TEST_F(Inspect, VerifyNamesADamagedChunkAndExitsWithOne) {
  const std::string report = folder_.path("report.json");
  // The first chunk that was written lies behind the file's header.
  const auto offset = [&] {
    for (std::streamoff at = 4096; at < 1 << 20; at += 4096) {
      flip("blocks.dtb", at + 70);
      const Outcome outcome = run({"inspect", shop_, "--verify", "--json", report});
      if (outcome.code == 1 && outcome.err.find("damaged: ") != std::string::npos) return at;
      flip("blocks.dtb", at + 70);
    }
    return std::streamoff{0};
  }();
  ASSERT_NE(offset, 0);
  const Outcome outcome = run({"inspect", shop_, "--verify", "--json", report});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("damaged: table \"item\", partition "));
  EXPECT_THAT(outcome.err, HasSubstr("rows 0 to 2, column \""));
  EXPECT_THAT(outcome.err, HasSubstr("blocks.dtb byte " + std::to_string(offset) + ": "));
  EXPECT_THAT(outcome.out, HasSubstr("; 1 damaged\n"));
  const Outcome opened = run({"query", shop_, "-c", "SELECT count(*) FROM item"});
  EXPECT_EQ(opened.code, 1);
  EXPECT_EQ(opened.err.find("table \"item\""), opened.err.rfind("table \"item\"")) << opened.err;
  EXPECT_EQ(opened.err.find("corrupt: "), opened.err.rfind("corrupt: ")) << opened.err;
  std::ifstream in(report);
  const Json found = Json::parse(in, nullptr, false);
  ASSERT_EQ(found.at("damaged").size(), 1U);
  EXPECT_EQ(found.at("damaged")[0].at("byte"), offset);
}

TEST_F(Inspect, ANameStaysOnItsLine) {
  ASSERT_EQ(run({"ddl", shop_, "-c", "CREATE TABLE odd (\"a\nb\" INT PRIMARY KEY)"}).code, 0);
  EXPECT_THAT(run({"inspect", shop_}).out, HasSubstr("\n  a\\nb  "));
}

TEST_F(Inspect, ADamagedManifestIsAnErrorThatNamesIt) {
  flip("manifest.json", 30);
  const Outcome outcome = run({"inspect", shop_});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("manifest.json"));
  EXPECT_THAT(run({"inspect", shop_, "--schema"}).err, HasSubstr("manifest.json"));
}

TEST_F(Inspect, ADatabaseThatIsOpenElsewhereIsRefused) {
  const int lock = ::open((shop_ + "/lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(lock, 0);
  ASSERT_EQ(::flock(lock, LOCK_EX | LOCK_NB), 0);
  const Outcome outcome = run({"inspect", shop_});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("another process has"));
  ::close(lock);
}

TEST_F(Inspect, ADirectoryWithoutADatabaseStaysAsItIs) {
  const Outcome outcome = run({"inspect", folder_.path(".")});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("holds no database"));
  EXPECT_NE(::access(folder_.path("lock").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace diptych::cli
