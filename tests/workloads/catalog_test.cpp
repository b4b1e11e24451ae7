// The .sql files are embedded, and template parameters keep the paper's ranges.

#include "workloads/queries/catalog.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "workloads/embedded_files.h"
#include "workloads/tpcc/population.h"

namespace diptych::workloads {
namespace {

TEST(Catalog, HasTheTwentyTwoQueriesAndTheFourteenTemplates) {
  const auto ch = catalog(QuerySet::kCh);
  ASSERT_EQ(ch.size(), 22U);
  EXPECT_EQ(ch.front().name, "Q01");
  EXPECT_EQ(ch.back().name, "Q22");
  std::set<std::string> names;
  for (const NamedQuery& query : catalog(QuerySet::kTemplates)) names.insert(query.name);
  EXPECT_EQ(names, (std::set<std::string>{"Q02", "Q03", "Q05", "Q07", "Q08", "Q09", "Q10", "Q11",
                                          "Q12", "Q14", "Q16", "Q17", "Q19", "Q20"}));
  for (const NamedQuery& query : catalog(QuerySet::kGrouped)) {
    EXPECT_EQ(names.erase(query.name), 1U);
    EXPECT_NE(query.text.find("\ngroup by "), std::string_view::npos) << query.name;
  }
  EXPECT_TRUE(names.empty());
}

TEST(Catalog, EveryFileIsEmbeddedAsItIs) {
  const std::filesystem::path root = std::filesystem::path(DIPTYCH_SOURCE_DIR) / "workloads";
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".sql") continue;
    ++files;
    std::ostringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    EXPECT_EQ(embedded_file(entry.path().lexically_relative(root).string()), text.str());
  }
  EXPECT_EQ(embedded_files().size(), files);
}

TEST(Catalog, NoPlaceholderIsLeft) {
  tpcc::Random random(1);
  for (const QuerySet set : {QuerySet::kCh, QuerySet::kTemplates, QuerySet::kGrouped}) {
    for (const NamedQuery& query : catalog(set)) {
      EXPECT_EQ(instantiate(query.text, &random).find('['), std::string::npos) << query.name;
    }
  }
}

TEST(Catalog, ParametersKeepThePapersRanges) {
  tpcc::Random random(2);
  std::set<std::string> dates;
  std::set<int> prices;
  std::set<int> quantities;
  std::set<std::string> chars;
  for (int i = 0; i < 20'000; ++i) {
    dates.insert(instantiate("[DATE]", &random));
    prices.insert(std::stoi(instantiate("[PRICE]", &random)));
    quantities.insert(std::stoi(instantiate("[QUANTITY]", &random)));
    chars.insert(instantiate("[CHAR]", &random));
  }
  EXPECT_EQ(dates.size(), 60U);
  EXPECT_EQ(*dates.begin(), "1993-01-01");
  EXPECT_EQ(*dates.rbegin(), "1997-12-01");
  EXPECT_EQ(prices.size(), 101U);
  EXPECT_EQ(*prices.rbegin(), 100);
  EXPECT_EQ(quantities.size(), 11U);
  EXPECT_EQ(*quantities.rbegin(), 10);
  EXPECT_EQ(chars.size(), 26U);
  EXPECT_EQ(*chars.begin(), "a");
}

TEST(Catalog, NamesAreThoseOfTheTables) {
  tpcc::Random random(3);
  std::set<std::string> nations;
  std::set<std::string> regions;
  for (int i = 0; i < 5000; ++i) {
    nations.insert(instantiate("[NNAME]", &random));
    regions.insert(instantiate("[RNAME]", &random));
  }
  std::set<std::string> expected;
  for (int32_t i = 0; i < tpcc::kNations; ++i) expected.emplace(tpcc::nation_name(i));
  EXPECT_EQ(nations, expected);
  EXPECT_EQ(regions.size(), 5U);
}

TEST(Catalog, APlaceholderThatStandsTwiceGetsOneValue) {
  tpcc::Random random(4);
  for (int i = 0; i < 50; ++i) {
    const std::string text = instantiate("[PRICE] [PRICE] [CHAR1][CHAR2]", &random);
    const size_t blank = text.find(' ');
    EXPECT_EQ(text.substr(0, blank), text.substr(blank + 1, blank));
  }
}

}  // namespace
}  // namespace diptych::workloads
