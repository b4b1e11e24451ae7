// SystemTable: a table that no replica has: whoever compiles a query gives its rows, at that time.
//
// A statement that names it gets the rows as a VALUES would give them, so that joins, filters and
// all else work. A table of the catalog that has the same name hides it.
//
// Threads    `rows` is called by whoever compiles, once for each place that names the table.

#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/types.h"
#include "base/value.h"

namespace diptych::olap {

struct SystemColumn {
  std::string name;
  base::DataType type;
  bool nullable = false;
};

struct SystemTable {
  std::string name;
  std::vector<SystemColumn> columns;
  std::function<std::vector<std::vector<base::Value>>()> rows;  // values of the columns' types
};

}  // namespace diptych::olap
