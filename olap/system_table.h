// SystemTable: a table without storage. Its rows are made when a query that names it is compiled.
//
// A statement sees the rows as those of a VALUES clause, so it can join and filter them like any
// table's. A table of the catalog with the same name hides the system table.
//
// Threads    `rows` is called on the compiling thread, once for each place that names the table.

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
  std::function<std::vector<std::vector<base::Value>>()> rows;  // values have the columns' types
};

}  // namespace diptych::olap
