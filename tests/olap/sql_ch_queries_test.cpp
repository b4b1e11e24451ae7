// The CH-benCHmark's own schema and queries, from workloads/: every one plans, and none explodes.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

const std::filesystem::path kWorkloads = std::filesystem::path(DIPTYCH_SOURCE_DIR) / "workloads";

std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

void replace_all(std::string* text, std::string_view from, std::string_view to) {
  for (size_t at = text->find(from); at != std::string::npos; at = text->find(from, at)) {
    text->replace(at, from.size(), to);
    at += to.size();
  }
}

class ChQueriesTest : public testing::Test {
 protected:
  static constexpr double kOrderLines = 3'000'000;

  void SetUp() override {
    const auto schema = kWorkloads / "tpcc" / "schema.sql";
    ASSERT_TRUE(std::filesystem::exists(schema)) << schema << " does not exist";
    ASSERT_EQ(define(&catalog_, contents(schema)), "");
    const std::map<std::string, uint64_t> rows = {
        {"region", 5},        {"nation", 62},       {"supplier", 10'000},
        {"warehouse", 10},    {"district", 100},    {"customer", 300'000},
        {"history", 300'000}, {"item", 100'000},    {"stock", 1'000'000},
        {"orders", 300'000},  {"neworder", 90'000}, {"orderline", 3'000'000}};
    for (const base::TableSchema& table : catalog_.tables()) rows_.push_back(rows.at(table.name));
  }

  // Prepares every file of the folder with the templates' parameters filled in.
  std::map<std::string, Plan> prepare_all(std::string_view folder) const {
    std::map<std::string, Plan> plans;
    for (const auto& entry : std::filesystem::directory_iterator(kWorkloads / "queries" / folder)) {
      std::string sql = contents(entry.path());
      for (const auto& [name, value] :
           std::map<std::string_view, std::string_view>{{"[RNAME]", "Europe"},
                                                        {"[NNAME]", "Germany"},
                                                        {"[NNAME_1]", "Germany"},
                                                        {"[NNAME_2]", "Cambodia"},
                                                        {"[CHAR]", "a"},
                                                        {"[CHAR1]", "a"},
                                                        {"[CHAR2]", "b"},
                                                        {"[DATE]", "2007-01-02"},
                                                        {"[QUANTITY]", "5"},
                                                        {"[PRICE]", "10"}}) {
        replace_all(&sql, name, value);
      }
      auto plan = prepare(sql, catalog_, rows_);
      if (!plan) {
        ADD_FAILURE() << entry.path() << ": " << plan.error().to_string();
        continue;
      }
      plans.emplace(entry.path().stem().string(), *std::move(plan));
    }
    return plans;
  }

  base::Catalog catalog_;
  TableRows rows_;
};

double most_rows(const Operator& op) {
  double most = op.estimated_rows;
  for (const OperatorPtr& child : op.children) most = std::max(most, most_rows(*child));
  return most;
}

// Joins of every pair where both sides have several rows.
int cross_products(const Operator& op) {
  int found = 0;
  if (op.kind == OperatorKind::kHashJoin && op.probe_keys.empty() &&
      op.children[1]->estimated_rows > 1) {
    found = 1;
  }
  for (const OperatorPtr& child : op.children) found += cross_products(*child);
  return found;
}

// The largest table of whose rows all are put into a hash table, in rows.
double most_built(const Operator& op) {
  double most = 0;
  if (op.kind == OperatorKind::kHashJoin && op.join == JoinKind::kInner) {
    most = op.children[1]->estimated_rows;
  }
  for (const OperatorPtr& child : op.children) most = std::max(most, most_built(*child));
  return most;
}

TEST_F(ChQueriesTest, All22PlanWithoutCrossProductsOrExplosions) {
  const auto plans = prepare_all("ch");
  EXPECT_EQ(plans.size(), 22U);
  for (const auto& [name, plan] : plans) {
    EXPECT_EQ(cross_products(*plan.root), 0) << name << "\n" << explain(plan, catalog_);
    EXPECT_LE(most_rows(*plan.root), kOrderLines) << name << "\n" << explain(plan, catalog_);
    EXPECT_LE(most_built(*plan.root), 1'000'000) << name << "\n" << explain(plan, catalog_);
  }
}

TEST_F(ChQueriesTest, TheTemplatesAndTheConsistencyConditionsPlan) {
  EXPECT_EQ(prepare_all("templates").size(), 14U);
  EXPECT_EQ(prepare_all("consistency").size(), 12U);
}

TEST_F(ChQueriesTest, Query5ReducesSuppliersAndCustomersBeforeItTouchesOrderLines) {
  const auto plans = prepare_all("ch");
  const std::string text = explain(plans.at("Q05"), catalog_);
  const size_t lines = text.find("scan orderline");
  ASSERT_NE(lines, std::string::npos);
  EXPECT_NE(text.find("scan region", lines), std::string::npos)
      << "the region's suppliers are the build side of the order lines\n"
      << text;
  const size_t customers = text.find("semi join on ascii(c_state) = n_nationkey");
  ASSERT_NE(customers, std::string::npos) << "a customer's nation is the supplier's\n" << text;
  EXPECT_LT(customers, text.find("scan customer")) << text;
}

TEST_F(ChQueriesTest, Query14AsksATextOnceAnItem) {
  const auto plans = prepare_all("ch");
  const std::string text = explain(plans.at("Q14"), catalog_);
  EXPECT_NE(text.find("project [i_id, i_data, (i_data like 'PR%')]"), std::string::npos) << text;
}

// Rows that agree in the unique key alone may be what the others divide by zero.
TEST_F(ChQueriesTest, EqualitiesBesideAUniqueKeyAreAskedBeforeOtherConditions) {
  const auto plan = prepare(
      "select count(*) from orderline, orders where 100 / (ol_number - o_carrier_id) > 1 and "
      "ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id and ol_i_id = o_c_id",
      catalog_, rows_);
  ASSERT_TRUE(plan.ok());
  const std::string text = explain(*plan, catalog_);
  EXPECT_NE(text.find("where (ol_i_id = o_c_id) and ((100 / "), std::string::npos) << text;
}

// A pass over the lines alone, which batches share, has no projection below the join.
TEST_F(ChQueriesTest, TextsAreAskedBelowAJoinOnlyWhereItRepeatsThem) {
  const auto plan = prepare(
      "select sum(case when ol_dist_info like 'a%' then 1 else 0 end) from orderline, stock where "
      "ol_supply_w_id = s_w_id and ol_i_id = s_i_id and ol_o_id = 7 and ol_d_id = 1",
      catalog_, rows_);
  ASSERT_TRUE(plan.ok());
  const std::string text = explain(*plan, catalog_);
  EXPECT_LT(text.find("scan stock"), text.find("scan orderline")) << text;
  EXPECT_EQ(text.find("project"), std::string::npos) << text;
}

}  // namespace
}  // namespace diptych::olap
