// Views: what CREATE VIEW and DROP VIEW take and refuse, what a view keeps, and that a statement is
// planned with it as with its SELECT in its place. tests/olap/answers/views.test has their rows.

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/olap/sql_fixture.h"

namespace diptych::olap {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class SqlViewTest : public SqlTest {
 protected:
  void SetUp() override {
    SqlTest::SetUp();
    ASSERT_EQ(define(&catalog_, R"(
        CREATE VIEW big AS SELECT c_id AS id, c_p_id, c_amount FROM child WHERE c_amount > 100;
        CREATE VIEW sums (parent, total) AS
          SELECT c_p_id, sum(c_amount) FROM child GROUP BY c_p_id;
        CREATE VIEW named AS SELECT p_name, total FROM sums JOIN parent ON p_id = parent;)"),
              "");
  }

  // "SQLSTATE message" of a statement that is refused, by the parser or by the catalog.
  std::string refusal(std::string_view statement) const {
    base::Catalog catalog(catalog_);
    auto change = parse_ddl(statement, catalog);
    const auto done = change ? apply_to(&catalog, *std::move(change)) : change.error();
    if (done) return "done";
    return fmt::format("{} {}", done.error().sqlstate(), done.error().message);
  }
  std::vector<std::string> view_names() const {
    std::vector<std::string> names;
    for (const base::Catalog::ViewPtr& view : catalog_.views()) names.push_back(view->name);
    return names;
  }
};

TEST_F(SqlViewTest, KeepsItsTextItsColumnsAndWhatItUses) {
  ASSERT_EQ(define(&catalog_,
                   "CREATE VIEW public.v (\"as\", b) -- a comment\n AS /* c */\n"
                   " SELECT p.p_id, s.total, 'x' FROM sums s, public.parent p,"
                   " (SELECT 1 FROM big UNION SELECT 2) AS d,"
                   " information_schema.tables AS t"),
            "unsupported: a view of a system table is not supported yet (line 3, column 101: "
            "\"information_schema.tables ...\")");
  ASSERT_EQ(define(&catalog_,
                   "CREATE VIEW public.v (\"as\", b) -- a comment\n AS /* c */\n"
                   " SELECT p.p_id, s.total, 'x' FROM sums s, public.parent p,"
                   " (SELECT 1 FROM big UNION SELECT 2) AS d "),
            "");
  const base::ViewSchema& view = *catalog_.find_view("v");
  EXPECT_EQ(
      view.query,
      "/* c */\n SELECT p.p_id, s.total, 'x' FROM sums s, public.parent p, (SELECT 1 FROM big "
      "UNION SELECT 2) AS d");
  EXPECT_THAT(view.uses, ElementsAre("big", "parent", "sums"));
  std::vector<std::string> columns;
  for (const base::ColumnSchema& column : view.columns) {
    columns.push_back(column.name + " " + column.type.to_string());
  }
  EXPECT_THAT(columns, ElementsAre("as INT", "b DECIMAL(38,2)", "?column? TEXT"));
  EXPECT_THAT(view_names(), ElementsAre("big", "sums", "named", "v"));
}

// No predicate stops at it, and no order either.
TEST_F(SqlViewTest, IsPlannedAsItsSelectInItsPlace) {
  constexpr std::string_view kBig =
      "(SELECT c_id AS id, c_p_id, c_amount FROM child WHERE c_amount > 100)";
  constexpr std::string_view kSums =
      "(SELECT c_p_id AS parent, sum(c_amount) AS total FROM child GROUP BY c_p_id)";
  const std::string named =
      fmt::format("(SELECT p_name, total FROM {} AS sums JOIN parent ON p_id = parent)", kSums);
  const struct {
    std::string with_view;
    std::string without;
  } pairs[] = {
      {"SELECT * FROM big", fmt::format("SELECT * FROM {} AS big", kBig)},
      {"SELECT id FROM big WHERE id = 7 AND c_p_id IN (1, 2)",
       fmt::format("SELECT id FROM {} AS big WHERE id = 7 AND c_p_id IN (1, 2)", kBig)},
      {"SELECT total FROM sums WHERE parent = 3",
       fmt::format("SELECT total FROM {} AS sums WHERE parent = 3", kSums)},
      {"SELECT p_name, t FROM sums AS s (p, t), parent WHERE p = p_id AND p_kind = 'ab'",
       fmt::format("SELECT p_name, t FROM {} AS s (p, t), parent WHERE p = p_id AND p_kind = 'ab'",
                   kSums)},
      {"SELECT total FROM named WHERE p_name = 'x'",
       fmt::format("SELECT total FROM {} AS named WHERE p_name = 'x'", named)},
      {"SELECT p_id FROM parent p WHERE EXISTS (SELECT 1 FROM big WHERE c_p_id = p.p_id)",
       fmt::format("SELECT p_id FROM parent p WHERE EXISTS (SELECT 1 FROM {} AS big WHERE c_p_id = "
                   "p.p_id)",
                   kBig)},
      {"SELECT p_id, (SELECT total FROM sums WHERE parent = p_id) FROM parent",
       fmt::format("SELECT p_id, (SELECT total FROM {} AS sums WHERE parent = p_id) FROM parent",
                   kSums)},
      // One that is named twice is one SELECT, as a WITH query is.
      {"SELECT a.total, b.total FROM sums a JOIN sums b ON a.parent = b.parent + 1 WHERE a.parent "
       "< "
       "9 AND b.parent < 8",
       fmt::format("WITH sums AS {} SELECT a.total, b.total FROM sums a JOIN sums b ON a.parent = "
                   "b.parent + 1 WHERE a.parent < 9 AND b.parent < 8",
                   kSums)},
      // One of the same name hides it.
      {"WITH sums AS (SELECT p_id FROM parent) SELECT * FROM sums", "SELECT p_id FROM parent"},
  };
  for (const auto& [with_view, without] : pairs) {
    const std::string planned = plan(with_view);
    EXPECT_EQ(planned, plan(without)) << with_view;
    EXPECT_THAT(planned, HasSubstr("scan ")) << with_view;
  }
}

// Where it is named there may be other names than where it was made.
TEST_F(SqlViewTest, SeesOnlyWhatItsTextNames) {
  EXPECT_EQ(plan("WITH child AS (SELECT 1 AS c_p_id, 2 AS c_amount) SELECT * FROM sums"),
            plan("SELECT * FROM sums"));
  EXPECT_THAT(refusal("CREATE VIEW v AS SELECT p_id, outer_one FROM parent"),
              HasSubstr("outer_one"));
  ASSERT_EQ(define(&catalog_, "CREATE VIEW ids AS SELECT p_id AS c_id FROM parent"), "");
  EXPECT_EQ(plan("SELECT c_id FROM child WHERE c_id IN (SELECT c_id FROM ids)"),
            plan("SELECT c_id FROM child WHERE c_id IN (SELECT c_id FROM (SELECT p_id AS c_id FROM "
                 "parent) AS ids)"));
}

TEST_F(SqlViewTest, ErrorsOfItsCreationStandAtTheirPlace) {
  const struct {
    std::string_view statement;
    std::string_view refusal;
  } cases[] = {
      {"CREATE VIEW v AS\n SELECT p_nam FROM parent",
       "42703 no such column \"p_nam\"; did you mean \"p_name\"? (line 2, "
       "column 9: \"p_nam\")"},
      {"CREATE VIEW v AS SELECT 1 FROM name",
       "42P01 no such table \"name\"; did you mean \"named\"? (line 1, column 32: \"name\")"},
      {"CREATE VIEW v AS SELECT x FROM secret",
       "42P01 table \"secret\" was created with analytics = "
       "off: it cannot be queried (line 1, column 32: "
       "\"secret\")"},
      {"CREATE VIEW v AS SELECT p_id FROM parent WHERE p_id = $1",
       "42P02 there is no parameter $1: 0 are given (line 1, column 55: \"$1\")"},
      {"CREATE VIEW v (a, b) AS SELECT p_id FROM parent",
       "42601 view \"v\" has 1 column, but 2 names are given (line 1, column 13: \"v\")"},
      {"CREATE VIEW v (a) AS SELECT p_id, p_id AS a FROM parent",
       "42701 view \"v\" has two columns \"a\" (line 1, column 13: \"v\")"},
      {"CREATE VIEW v AS SELECT FROM parent",
       "42P16 view \"v\" needs a column (line 1, column 13: \"v\")"},
      {"CREATE VIEW big AS SELECT 1", "42P07 view \"big\" exists"},
      {"CREATE VIEW parent AS SELECT 1", "42P07 table \"parent\" exists"},
      {"CREATE OR REPLACE VIEW parent AS SELECT 1",
       "42809 \"parent\" is a table and no view (line 1, column 24: \"parent\")"},
      {"CREATE TABLE big (id INT PRIMARY KEY)", "42P07 view \"big\" exists"},
      {"CREATE TABLE t (id INT PRIMARY KEY REFERENCES big (id))",
       "42809 \"big\" is a view and no table (line 1, column 47: \"big\")"},
      {"CREATE INDEX i ON big (id)",
       "42809 \"big\" is a view and no table (line 1, column 19: \"big\")"},
      {"TRUNCATE parent, big", "42809 \"big\" is a view and no table (line 1, column 18: \"big\")"},
      {"CREATE VIEW other.v AS SELECT 1",
       "0A000 a schema but \"public\" is not supported yet (line 1, column 13: \"other.v AS SELECT "
       "1\")"},
      {"CREATE TEMP VIEW v AS SELECT 1",
       "0A000 a temporary view is not supported yet (line 1, column 1: \"CREATE TEMP VIEW v AS "
       "SELECT ...\")"},
      {"CREATE RECURSIVE VIEW v (n) AS SELECT 1",
       "0A000 a RECURSIVE view is not supported yet (line 1, column 1: \"CREATE RECURSIVE VIEW v "
       "...\")"},
      {"CREATE VIEW v WITH (security_barrier) AS SELECT 1",
       "0A000 WITH of a view is not supported yet (line 1, column 13: \"v WITH (security_barrier "
       "...\")"},
      {"CREATE VIEW v AS SELECT p_id FROM parent WITH LOCAL CHECK OPTION",
       "0A000 WITH CHECK OPTION is not supported yet (line 1, column 13: \"v AS SELECT p_id FROM "
       "parent ...\")"},
      {"CREATE VIEW v AS SELECT 1 INTO t",
       "0A000 SELECT INTO is not supported yet (line 1, column 25: \"1 INTO t\")"},
      {"CREATE MATERIALIZED VIEW v AS SELECT 1",
       "0A000 CREATE MATERIALIZED VIEW cannot stand here: DDL is CREATE and DROP of tables, "
       "indexes and views, and TRUNCATE (line 1, column 1: \"CREATE\")"},
  };
  for (const auto& [statement, expected] : cases) EXPECT_EQ(refusal(statement), expected);
  EXPECT_EQ(refusal("CREATE VIEW recursive (n, \"AS\") AS SELECT 1, 2"), "done");
  EXPECT_EQ(refusal("CREATE TABLE IF NOT EXISTS big (id INT PRIMARY KEY)"), "done");
}

TEST_F(SqlViewTest, IsDroppedUnlessAViewThatStaysUsesIt) {
  EXPECT_EQ(refusal("DROP VIEW sums"),
            "2BP01 view \"sums\" cannot be dropped: view \"named\" uses it");
  EXPECT_EQ(refusal("DROP TABLE child"),
            "2BP01 table \"child\" cannot be dropped: view \"big\" uses it");
  EXPECT_EQ(refusal("DROP TABLE child, parent"),
            "2BP01 table \"child\" cannot be dropped: view \"big\" uses it");
  EXPECT_EQ(refusal("DROP VIEW sums CASCADE"),
            "0A000 CASCADE is not supported yet (line 1, column 16: \"CASCADE\")");
  EXPECT_EQ(refusal("DROP TABLE big"),
            "42809 \"big\" is a view and no table; DROP VIEW drops it "
            "(line 1, column 12: \"big\")");
  EXPECT_EQ(
      refusal("DROP TABLE IF EXISTS nowhere, big"),
      "42809 \"big\" is a view and no table; DROP VIEW drops it (line 1, column 31: \"big\")");
  EXPECT_EQ(refusal("DROP VIEW parent"),
            "42809 \"parent\" is a table and no view; DROP TABLE drops "
            "it (line 1, column 11: \"parent\")");
  EXPECT_EQ(refusal("DROP VIEW big, named, bigg"),
            "42P01 no such view \"bigg\"; did you mean \"big\"? (line 1, column 23: \"bigg\")");
  EXPECT_EQ(refusal("DROP MATERIALIZED VIEW big"),
            "0A000 DROP of other things than tables, indexes and views is not supported yet (line "
            "1, column 1: \"DROP MATERIALIZED VIEW big\")");
  ASSERT_EQ(define(&catalog_, "DROP VIEW IF EXISTS nowhere; DROP VIEW sums, public.named, sums"),
            "");
  EXPECT_THAT(view_names(), ElementsAre("big"));
  EXPECT_THAT(plan("SELECT * FROM sums"), HasSubstr("no such table \"sums\""));
  ASSERT_EQ(define(&catalog_, "DROP VIEW big RESTRICT; DROP TABLE child, parent"), "");
  EXPECT_THAT(catalog_.views(), IsEmpty());
}

TEST_F(SqlViewTest, IsReplacedIfItsColumnsStay) {
  const std::string create = "CREATE OR REPLACE VIEW ";
  EXPECT_EQ(refusal(create + "big AS SELECT c_id AS id, c_p_id FROM child"),
            "42P16 view \"big\" cannot be replaced: column \"c_amount\" is missing (line 1, column "
            "24: \"big\")");
  EXPECT_EQ(
      refusal(create + "big AS SELECT c_id, c_p_id, c_amount FROM child"),
      "42P16 view \"big\" cannot be replaced: column \"id\" would be \"c_id\" (line 1, column "
      "24: \"big\")");
  EXPECT_EQ(refusal(create + "big AS SELECT c_big AS id, c_p_id, c_amount FROM child"),
            "42P16 view \"big\" cannot be replaced: column \"id\" is INT and would be BIGINT (line "
            "1, column 24: \"big\")");
  EXPECT_EQ(refusal(create + "big AS SELECT * FROM big"),
            "42P17 view \"big\" would use itself (line 1, column 24: \"big\")");
  EXPECT_EQ(refusal(create + "sums AS SELECT 1 AS parent, total FROM named"),
            "42P17 view \"sums\" would use itself (line 1, column 24: \"sums\")");
  EXPECT_EQ(refusal(create + "sums (parent, total, more) AS SELECT 1, 2.00::DECIMAL(38, 2), 3"),
            "2BP01 view \"sums\" cannot get another column: views use it (line 1, column 24: "
            "\"sums\")");
  // Of tables that came later, and with a column more.
  ASSERT_EQ(define(&catalog_,
                   "CREATE TABLE late (l_id INT PRIMARY KEY, l_sum DECIMAL(12,2));" + create +
                       "big AS SELECT l_id AS id, l_id AS c_p_id, l_sum AS c_amount, 1 FROM late;" +
                       create +
                       "sums AS SELECT id AS parent, sum(c_amount) AS total FROM big GROUP "
                       "BY id; " +
                       create + "fresh AS SELECT * FROM named"),
            "");
  EXPECT_THAT(view_names(), ElementsAre("big", "sums", "named", "fresh"));
  EXPECT_THAT(plan("SELECT * FROM fresh"), HasSubstr("scan late"));
  EXPECT_EQ(refusal("DROP TABLE late"),
            "2BP01 table \"late\" cannot be dropped: view \"big\" uses it");
  EXPECT_EQ(refusal("DROP TABLE child"), "done");
}

// Each text is of one SELECT.
TEST_F(SqlViewTest, AChainOfThemMayBeLongerThanSelectsNest) {
  std::string below = "parent";
  std::string refused;
  int views = 0;
  for (; refused.empty(); ++views) {
    const std::string view = fmt::format("v{}", views);
    refused = define(&catalog_, fmt::format("CREATE VIEW {} AS SELECT p_id FROM {}", view, below));
    if (refused.empty()) below = view;
  }
  EXPECT_EQ(views, 201);
  EXPECT_THAT(refused,
              HasSubstr(": view \"v199\": WITH queries and views that name each other over "
                        "200 deep is not supported yet (line 1, column 8: \"p_id FROM parent\") "
                        "(line 1, column 38: \"v199\")"));
  ASSERT_EQ(define(&catalog_, fmt::format("DROP VIEW {}", below)), "");
  EXPECT_EQ(plan("SELECT p_id FROM v198"), plan("SELECT p_id FROM parent"));
}

// Each has the one before twice.
TEST_F(SqlViewTest, TooMuchOfThemIsRefusedWhenTheyAreMade) {
  std::string below = "parent";
  std::string refused;
  int views = 0;
  for (; refused.empty(); ++views) {
    const std::string view = fmt::format("v{}", views);
    refused = define(
        &catalog_, fmt::format("CREATE VIEW {0} AS SELECT a.p_id FROM {1} a, {1} b", view, below));
    if (refused.empty()) below = view;
  }
  EXPECT_EQ(views, 10);
  EXPECT_THAT(refused, HasSubstr("a statement of over 600 SELECTs is not supported yet"));
  EXPECT_EQ(refusal("CREATE OR REPLACE VIEW v0 AS SELECT p_id FROM parent"), "done");
  // What uses it is too much with it.
  const std::string replaced = refusal(
      "CREATE OR REPLACE VIEW v0 AS SELECT p_id FROM (SELECT p_id FROM parent) a, (SELECT 1) b, "
      "(SELECT 1) c");
  EXPECT_THAT(replaced, HasSubstr("0A000 view \"v7\", which uses it, would not go on: view "));
  EXPECT_THAT(replaced, HasSubstr("over 600 SELECTs is not supported yet"));
  // At its use, the place is that of its name.
  const auto twice =
      prepare(fmt::format("SELECT 1\n FROM {0} a, {0} b, {0} c", below), catalog_, rows_);
  ASSERT_FALSE(twice.ok());
  EXPECT_THAT(twice.error().message, HasSubstr("(line 2, column "));
  EXPECT_GT(twice.error().position, 10U);
  EXPECT_EQ(
      error_in_script(twice.error(), fmt::format("SELECT 1\n FROM {0} a, {0} b, {0} c", below),
                      place_after("SELECT 2;\n"))
          .position,
      twice.error().position + 10);
}

}  // namespace
}  // namespace diptych::olap
