// The key of an expression: a text that equal expressions have, and no others. What is found equal
// by it is computed once: predicates and queries of a batch, groups of a plan.

#pragma once

#include <span>
#include <string>

#include "base/ids.h"
#include "olap/plan.h"

namespace diptych::olap {

std::string expression_key(const Expression& expression);
// Where column i is the table's columns[i], so that scans with other columns have it too.
std::string expression_key(const Expression& expression, std::span<const base::ColumnId> columns);

}  // namespace diptych::olap
