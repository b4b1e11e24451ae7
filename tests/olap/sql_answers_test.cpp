// SQL text to rows: every statement of answers/*.test gives the rows, or the SQLSTATE, that
// stand below it; with one thread and with more than cores, and by the naive reference as well.
//
// The answers are PostgreSQL's (tests/olap/answers/README.md), which
// tests/sql/answers_postgres_test.py asks again, and records where they are new.

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "tests/olap/exec_naive.h"
#include "tests/olap/sql_fixture.h"
#include "tests/storage/one_row.h"

namespace diptych::olap {
namespace {

const std::filesystem::path kAnswers =
    std::filesystem::path(DIPTYCH_SOURCE_DIR) / "tests/olap/answers";

// One statement of a file, as sqllogictest writes it: "query [ordered]" or "error STATE", the SQL,
// "----" and the rows, a blank line. Comments stand before it.
struct Statement {
  std::string header;
  std::string sql;
  std::vector<std::string> rows;

  bool is_error() const { return header.starts_with("error"); }
  bool is_ordered() const { return header == "query ordered"; }
};

std::vector<Statement> read_statements(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<Statement> statements;
  Statement statement;
  bool in_rows = false;
  const auto finish = [&] {
    if (!statement.header.empty()) statements.push_back(std::move(statement));
    statement = Statement();
    in_rows = false;
  };
  for (std::string line; std::getline(file, line);) {
    if (line.empty()) {
      finish();
    } else if (statement.header.empty()) {
      if (!line.starts_with("#")) statement.header = line;
    } else if (line == "----") {
      in_rows = true;
    } else if (in_rows) {
      statement.rows.push_back(line);
    } else {
      statement.sql += statement.sql.empty() ? line : "\n" + line;
    }
  }
  finish();
  return statements;
}

// The tables of tables.sql in a catalog, in a replica, and as rows for the naive reference.
class AnswersTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    std::ifstream file(kAnswers / "tables.sql");
    std::stringstream script;
    script << file.rdbuf();
    ASSERT_EQ(define(&catalog_, script.str()), "");
    for (const base::TableSchema& table : catalog_.tables()) load(table);
  }

  void load(const base::TableSchema& schema) {
    replica_.replica().add_table(schema);
    storage::Table& table = replica_.replica().table(schema.id);
    const base::RowLayout& layout = table.layout();
    std::vector<test::Row>& rows = tables_.emplace_back();
    std::ifstream file(kAnswers / (schema.name + ".csv"));
    for (std::string line; std::getline(file, line);) {
      std::vector<std::byte> bytes(layout.bytes);
      test::Row& row = rows.emplace_back();
      std::stringstream cells(line);
      std::string cell;
      for (size_t c = 0; c < schema.columns.size(); ++c) {
        std::getline(cells, cell, '|');
        row.push_back(cell == "NULL" ? base::Value()
                                     : *base::parse_value(schema.columns[c].type, cell));
      }
      for (size_t c = 0; c < row.size(); ++c) {
        ASSERT_TRUE(base::store_value(layout.columns[c], row[c], bytes.data()).ok()) << line;
      }
      const base::RowId id(next_row_id_++);
      storage::test::insert_row(table.partition(table.partition_of(id)), id, bytes.data(), nullptr);
    }
    rows_.push_back(rows.size());
  }

  static std::vector<std::string> lines(const std::vector<test::Row>& rows, bool sorted) {
    std::vector<std::string> lines;
    for (const test::Row& row : rows) {
      std::string line;
      for (const base::Value& value : row) {
        if (!line.empty() || &value != row.data()) line += "|";
        line += base::to_string(value);
      }
      lines.push_back(line.empty() ? "(empty)" : line);
    }
    if (sorted) std::sort(lines.begin(), lines.end());
    return lines;
  }

  // Equal, but for the last digits of doubles, whose sums depend on the order of rows.
  static bool same_cell(const std::string& a, const std::string& b) {
    if (a == b) return true;
    char* a_end = nullptr;
    char* b_end = nullptr;
    const double x = std::strtod(a.c_str(), &a_end);
    const double y = std::strtod(b.c_str(), &b_end);
    const bool numbers = *a_end == 0 && *b_end == 0 && !a.empty() && !b.empty();
    return numbers && std::abs(x - y) <= 1e-12 * std::max(std::abs(x), std::abs(y));
  }

  static std::string difference(const std::vector<std::string>& rows,
                                const std::vector<std::string>& expected) {
    const auto all = [](const std::vector<std::string>& lines) {
      return fmt::format("{}", fmt::join(lines, "\n"));
    };
    bool same = rows.size() == expected.size();
    for (size_t i = 0; same && i < rows.size(); ++i) {
      std::stringstream a(rows[i]);
      std::stringstream b(expected[i]);
      std::string x;
      std::string y;
      while (same && std::getline(a, x, '|') && std::getline(b, y, '|')) same = same_cell(x, y);
      same = same && std::count(rows[i].begin(), rows[i].end(), '|') ==
                         std::count(expected[i].begin(), expected[i].end(), '|');
    }
    return same ? "" : fmt::format("rows:\n{}\nexpected:\n{}", all(rows), all(expected));
  }

  // As planned for tables with so many rows.
  base::Result<QueryResult> run(const std::string& sql, uint32_t threads, const TableRows& rows) {
    auto plan = prepare(sql, catalog_, rows);
    if (!plan) return plan.error();
    return test::run(*plan, replica_.replica(), threads);
  }

  void expect_naive_agrees(const Statement& statement, const std::vector<std::string>& rows) {
    const auto plan = prepare(statement.sql, catalog_, rows_);
    ASSERT_TRUE(plan.ok());
    try {
      std::vector<test::Row> naive = test::naive_execute(*plan->root, tables_);
      for (test::Row& row : naive) row.resize(plan->column_names.size());
      EXPECT_EQ(difference(lines(naive, !statement.is_ordered()), rows), "")
          << "naively: " << statement.sql;
    } catch (const std::logic_error&) {
      // The reference knows few functions.
    }
  }

  void check(const Statement& statement) {
    SCOPED_TRACE(statement.sql);
    for (const uint32_t threads : {1, 3}) {
      SCOPED_TRACE(fmt::format("{} threads", threads));
      check_run(statement, threads, rows_);
    }
    // Plans for tables of other sizes give the same answers.
    for (size_t first = 0; first < 3; ++first) {
      SCOPED_TRACE(fmt::format("as planned for other sizes, {}", first));
      static constexpr uint64_t kSizes[] = {1, 3'000, 10'000'000};
      TableRows others = rows_;
      for (size_t i = 0; i < others.size(); ++i) others[i].rows = kSizes[(first + i) % 3];
      check_run(statement, 1, others);
    }
  }

  void check_run(const Statement& statement, uint32_t threads, const TableRows& sizes) {
    const auto result = run(statement.sql, threads, sizes);
    if (statement.is_error()) {
      ASSERT_FALSE(result.ok()) << "an error is expected";
      EXPECT_EQ(fmt::format("error {}", result.error().sqlstate()), statement.header)
          << result.error().to_string();
      return;
    }
    ASSERT_TRUE(result.ok()) << result.error().to_string();
    const std::vector<std::string> rows = lines(result->rows, !statement.is_ordered());
    EXPECT_EQ(difference(rows, statement.rows), "");
    if (threads == 1 && &sizes == &rows_) expect_naive_agrees(statement, rows);
  }

  base::Catalog catalog_;
  TableRows rows_;
  test::TestReplica replica_;
  test::NaiveTables tables_;
  uint64_t next_row_id_ = 1;
};

TEST_P(AnswersTest, RowsAreTheExpectedOnes) {
  const std::filesystem::path path = kAnswers / (GetParam() + ".test");
  const std::vector<Statement> statements = read_statements(path);
  ASSERT_FALSE(statements.empty()) << path;
  for (const Statement& statement : statements) check(statement);
}

std::vector<std::string> topics() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kAnswers)) {
    if (entry.path().extension() == ".test") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

INSTANTIATE_TEST_SUITE_P(Topics, AnswersTest, testing::ValuesIn(topics()),
                         [](const auto& topic) { return topic.param; });

// docs/sql.md: a line "SELECT ...;  -- value" of its SQL gives that value, to the last digit.
class SqlDocumentTest : public AnswersTest {};

TEST_P(SqlDocumentTest, SaysWhatExpressionsGive) {
  std::ifstream file(std::filesystem::path(DIPTYCH_SOURCE_DIR) / GetParam());
  size_t checked = 0;
  for (std::string line; std::getline(file, line);) {
    const size_t end = line.find(";  -- ");
    if (!line.starts_with("SELECT ") || end == std::string::npos) continue;
    SCOPED_TRACE(line);
    const auto result = run(line.substr(0, end), 1, rows_);
    ASSERT_TRUE(result.ok()) << result.error().to_string();
    EXPECT_EQ(lines(result->rows, false), std::vector<std::string>{line.substr(end + 6)});
    ++checked;
  }
  EXPECT_GT(checked, 50u);
}

// And each block of SQL in it that begins with a CREATE is a script, one after the other.
TEST(SqlDocument, ItsTablesCanBeMade) {
  std::ifstream file(std::filesystem::path(DIPTYCH_SOURCE_DIR) / "docs/sql.md");
  size_t scripts = 0;
  base::Catalog catalog;
  for (std::string line; std::getline(file, line);) {
    if (line != "```sql") continue;
    std::string script;
    while (std::getline(file, line) && line != "```") script += line + "\n";
    if (!script.starts_with("CREATE ")) continue;
    EXPECT_EQ(define(&catalog, script), "") << script;
    ++scripts;
  }
  EXPECT_GT(scripts, 0u);
}

INSTANTIATE_TEST_SUITE_P(Docs, SqlDocumentTest, testing::Values("docs/sql.md"),
                         [](const auto&) { return "Sql"; });

}  // namespace
}  // namespace diptych::olap
