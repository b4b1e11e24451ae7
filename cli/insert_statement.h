// InsertStatement: INSERT INTO table [(columns)] VALUES (constants), ... as text, or with a query
// in place of VALUES; for test scripts, since the engine's SQL reads only.
//
// A constant is NULL, TRUE, FALSE, a number, 'text', or DATE or TIMESTAMP and 'text'. VALUES with
// other expressions are a query. What is neither is refused with its place: kSyntaxError.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/value.h"

namespace diptych::cli {

struct InsertStatement {
  std::string table;
  std::vector<std::string> columns;            // empty: all, in the table's order
  std::vector<std::vector<base::Value>> rows;  // numbers as text, so that no digit is lost
  std::string query;  // that makes the rows, behind blanks; empty: they are above
};

bool is_insert(std::string_view sql);
base::Result<InsertStatement> parse_insert(std::string_view sql);

}  // namespace diptych::cli
