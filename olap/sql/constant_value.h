// The value of an expression whose operands are literals, as execution computes it.

#pragma once

#include <optional>

#include "base/value.h"
#include "olap/plan.h"

namespace diptych::olap {

// nullopt: it fails, or takes more time or memory than a plan is worth.
std::optional<base::Value> constant_value(const Expression& expression);

}  // namespace diptych::olap
