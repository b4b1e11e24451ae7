// explain: a plan as indented text, one operator a line, children below their parent. What EXPLAIN
// answers; the columns carry the names of the tables' columns.

#pragma once

#include <string>
#include <vector>

#include "base/schema.h"
#include "olap/plan.h"

namespace diptych::olap {

std::vector<PlanLine> explain_lines(const Plan& plan, const base::Catalog& catalog);
// The lines as text, with the rows that are expected.
std::string explain(const Plan& plan, const base::Catalog& catalog);

}  // namespace diptych::olap
