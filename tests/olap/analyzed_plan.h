// Plans as EXPLAIN ANALYZE has them run, whose operators are numbered in the report.

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/olap/exec_table.h"

namespace diptych::olap::test {

inline void add_lines(const Operator& op, size_t depth, std::vector<PlanLine>* lines) {
  lines->push_back({&op, depth, "operator " + std::to_string(lines->size())});
  for (const OperatorPtr& child : op.children) add_lines(*child, depth + 1, lines);
}
inline Plan analyzed(OperatorPtr root, ExplainFormat format = ExplainFormat::kText) {
  Plan plan = plan_of(std::move(root));
  plan.is_analyzed = true;
  plan.format = format;
  add_lines(*plan.root, 0, &plan.lines);
  return plan;
}

}  // namespace diptych::olap::test
