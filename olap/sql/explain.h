// explain: describes a plan as indented text, one line for each operator, children below their
// parent. This is EXPLAIN's answer; columns have the names of the tables' columns.

#pragma once

#include <string>
#include <vector>

#include "base/schema.h"
#include "olap/plan.h"

namespace diptych::olap {

std::vector<PlanLine> explain_lines(const Plan& plan, const base::Catalog& catalog);
// The lines as text, with the estimated rows.
std::string explain(const Plan& plan, const base::Catalog& catalog);

}  // namespace diptych::olap
