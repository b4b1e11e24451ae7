// The schemas that the SQL fuzz targets know, and what any answer of the front end must be.

#pragma once

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"
#include "olap/query.h"

namespace diptych::olap::fuzz {

// Of a script.
inline base::Catalog catalog_of(std::string_view script) {
  base::Catalog catalog;
  const auto statements = split_statements(script);
  DIPTYCH_CHECK(statements.ok(), "the script is good");
  for (const std::string_view statement : *statements) {
    auto change = parse_ddl(statement, catalog);
    DIPTYCH_CHECK(change.ok(), "each statement is good");
    DIPTYCH_CHECK(apply_to(&catalog, *std::move(change)).ok(), "its name is new");
  }
  return catalog;
}

inline constexpr std::string_view kFuzzTables =
    "create table p (id int primary key, name varchar(20) not null, kind char(4));"
    "create table c (id int not null, p_id int, amount decimal(12,2) not null, moment timestamp,"
    "  day date, big bigint, ratio double precision, flag boolean, note text,"
    "  primary key (id), foreign key (p_id) references p);"
    "create table hidden (x int primary key) with (analytics = off);"
    "create view v (a, b) as select id, name from p where kind is not null;"
    "create view w as select a, sum(amount) as total from v join c on p_id = a group by a;";

// Those, CH-benCHmark's tables, and those of the questions that PostgreSQL has answered: what the
// queries that the search begins with name.
inline base::Catalog catalog_of_queries() {
  std::string script(kFuzzTables);
  for (const char* const from : {"workloads/tpcc/schema.sql", "tests/olap/answers/tables.sql"}) {
    std::ifstream in(std::string(DIPTYCH_SOURCE_DIR "/") + from);
    DIPTYCH_CHECK(in.good(), "the sources are there");
    script.append(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return catalog_of(script);
}

inline void check_refusal(const base::Error& error) {
  using base::ErrorCode;
  DIPTYCH_CHECK(
      error.code == ErrorCode::kSyntaxError || error.code == ErrorCode::kInvalidArgument ||
          error.code == ErrorCode::kUnsupported || error.code == ErrorCode::kNotFound ||
          error.code == ErrorCode::kAlreadyExists || error.code == ErrorCode::kOutOfMemory,
      "a text that is refused is the text's fault");
  DIPTYCH_CHECK(!error.message.empty(), "and words say why");
}

}  // namespace diptych::olap::fuzz
