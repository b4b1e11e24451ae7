// A small catalog for tests of the SQL front end, and prepare() as text.

#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "olap/query.h"
#include "olap/sql/explain.h"

namespace diptych::olap {

// Executes a DDL script on a catalog; empty, or the first error's text.
inline std::string define(base::Catalog* catalog, std::string_view script) {
  const auto statements = split_statements(script);
  if (!statements) return statements.error().to_string();
  for (const std::string_view statement : *statements) {
    auto change = parse_ddl(statement, *catalog);
    if (!change) return change.error().to_string();
    const auto applied = apply_to(catalog, *std::move(change));
    if (!applied) return applied.error().to_string();
  }
  return {};
}

class SqlTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(define(&catalog_, R"(
      CREATE TABLE parent (p_id INT PRIMARY KEY, p_name VARCHAR(20) NOT NULL, p_kind CHAR(4));
      CREATE TABLE child (
        c_id INT NOT NULL, c_p_id INT, c_amount DECIMAL(12,2) NOT NULL, c_at TIMESTAMP, c_day DATE,
        c_big BIGINT, c_ratio DOUBLE PRECISION, c_flag BOOLEAN, c_text TEXT,
        PRIMARY KEY (c_id), FOREIGN KEY (c_p_id) REFERENCES parent);
      CREATE TABLE secret (x INT PRIMARY KEY) WITH (analytics = off);)"),
              "");
    rows_ = {100, 10'000, 1};
  }

  // explain() without the row estimates, or the error.
  std::string plan(std::string_view sql) const {
    const auto prepared = prepare(sql, catalog_, rows_);
    if (!prepared) return prepared.error().to_string();
    std::string text;
    const std::string full = explain(*prepared, catalog_);
    std::string_view rest = full;
    while (!rest.empty()) {
      const size_t end = rest.find('\n');
      const std::string_view line = rest.substr(0, end);
      text += line.substr(0, line.rfind(" ("));
      text += '\n';
      rest.remove_prefix(end + 1);
    }
    return text;
  }

  base::Catalog catalog_;
  TableRows rows_;
};

}  // namespace diptych::olap
