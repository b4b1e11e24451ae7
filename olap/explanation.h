// The output format of EXPLAIN, and the lines that describe a plan (plan_report.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace diptych::olap {

struct Operator;

enum class ExplainFormat : uint8_t { kText, kJson };

// The description of one operator. Children follow their parent, one level deeper.
struct PlanLine {
  const Operator* op = nullptr;
  size_t depth = 0;
  std::string text;
};

}  // namespace diptych::olap
