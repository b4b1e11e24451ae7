// The key of an expression: a text that equal expressions have, and no others. What is found equal
// by it is computed once: predicates and queries of a batch, groups of a plan.

#pragma once

#include <string>

#include "olap/plan.h"

namespace diptych::olap {

std::string expression_key(const Expression& expression);

}  // namespace diptych::olap
