// What EXPLAIN asks for, and a plan in words (plan_report.h).

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace diptych::olap {

struct Operator;

enum class ExplainFormat : uint8_t { kText, kJson };

// An operator in words; children follow their parent, one deeper.
struct PlanLine {
  const Operator* op = nullptr;
  size_t depth = 0;
  std::string text;
};

}  // namespace diptych::olap
