// explain: a plan as indented text, one operator a line, children below their parent. What EXPLAIN
// answers; the columns carry the names of the tables' columns.

#pragma once

#include <string>

#include "base/schema.h"
#include "olap/plan.h"

namespace diptych::olap {

std::string explain(const Plan& plan, const base::Catalog& catalog);

}  // namespace diptych::olap
