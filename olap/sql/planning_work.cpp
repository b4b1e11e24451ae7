#include "olap/sql/planning_work.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace diptych::olap {

void PlanningWork::fail_columns(const char* what) const {
  const size_t most = std::string_view(what) == "a statement" ? kStatementColumnsMax : kColumnsMax;
  base::Error error = source_.unsupported(-1, fmt::format("{} of over {} columns", what, most));
  error.state = "54011";
  throw PlanningEnd{std::move(error)};
}

void PlanningWork::fail_copies() const {
  throw PlanningEnd{
      source_.unsupported(0, "a statement of so many subqueries or full joins within each other")};
}

void PlanningWork::fail_expression() const {
  base::Error error = source_.unsupported(
      -1, fmt::format("an expression of over {} nodes, operands that it needs twice counted so,",
                      kExpressionNodesMax));
  error.state = "54001";
  throw PlanningEnd{std::move(error)};
}

}  // namespace diptych::olap
