#include "olap/execution/scan/shared_scans.h"

#include <utility>

namespace diptych::olap {

void SharedScans::Wait::await_suspend(std::coroutine_handle<> plan) const {
  const base::TableId table = scan_->op.table;
  const uint64_t rows = scan_->context.replica->table(table).live_rows();
  scans_.waiting_[{rows, table.value}].push_back({scan_, plan});
}

void SharedScans::run_pass() {
  const std::vector<Waiting> next = std::move(waiting_.extract(waiting_.begin()).mapped());
  std::vector<PlanScan*> scans;
  for (const Waiting& waiting : next) scans.push_back(waiting.scan);
  olap::run_pass(scans);
  for (const Waiting& waiting : next) waiting.plan.resume();
}

}  // namespace diptych::olap
