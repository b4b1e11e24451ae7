// The key of an expression: a text that equal expressions share, and no others. Equal predicates
// and queries of a batch, and equal groups of a plan, are found by it and computed once.

#pragma once

#include <span>
#include <string>

#include "base/ids.h"
#include "olap/plan.h"

namespace diptych::olap {

std::string expression_key(const Expression& expression);
// The key in which column i is the table's columns[i], so that scans with other columns have the
// same key.
std::string expression_key(const Expression& expression, std::span<const base::ColumnId> columns);

}  // namespace diptych::olap
