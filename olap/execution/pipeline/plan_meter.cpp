#include "olap/execution/pipeline/plan_meter.h"

namespace diptych::olap {

PlanMeter::PlanMeter(const Operator& root, uint32_t workers) : clocks_(workers) {
  number(root, nullptr);
  cells_.resize(workers * numbers_.size());
}

void PlanMeter::number(const Operator& op, const Operator* parent) {
  numbers_.emplace(&op, numbers_.size());
  parents_.emplace(&op, parent);
  for (const OperatorPtr& child : op.children) number(*child, &op);
}

const Operator* PlanMeter::switch_to(uint32_t worker, const Operator* op) {
  Clock& clock = clocks_[worker];
  const uint64_t now = base::steady_ns();
  const Operator* const before = clock.op;
  if (before != nullptr) {
    cell(worker, *before).own_ns += now - clock.since_ns;
  }
  clock = {op, now};
  return before;
}

PlanFigures PlanMeter::figures() const {
  PlanFigures figures;
  for (const auto& [op, number] : numbers_) {
    OperatorFigures sum;
    if (const auto said = once_.find(op); said != once_.end()) sum = said->second;
    for (size_t worker = 0; worker < clocks_.size(); ++worker) {
      const Cell& part = cells_[worker * numbers_.size() + number];
      sum.ran = sum.ran || part.ran;
      sum.rows += part.rows;
      sum.own_ns += part.own_ns;
      sum.decoded_bytes += part.decoded_bytes;
      sum.filtered_rows += part.filtered_rows;
      sum.joinless_rows += part.joinless_rows;
      sum.worse_rows += part.worse_rows;
    }
    figures.operators.emplace(op, std::move(sum));
  }
  return figures;
}

}  // namespace diptych::olap
