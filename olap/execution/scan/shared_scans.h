// SharedScans: where the plans of a batch wait that have come to a scan, until one pass runs all
// scans of a table that wait.
//
//   plan runs ──scan()──► waits ──run_pass(): its table's turn──► plan runs on
//
// The smallest table that is waited for is next: plans that have yet to read small tables come to
// the large one in the meantime, so that as many as can go over it together.
//
// Threads    one: plans run by turns, each until it waits or has ended.

#pragma once

#include <coroutine>
#include <map>
#include <vector>

#include "olap/execution/scan/scan_pass.h"

namespace diptych::olap {

class SharedScans {
 public:
  class Wait {
   public:
    Wait(SharedScans* scans, PlanScan* scan) : scans_(*scans), scan_(scan) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> plan) const;
    void await_resume() const noexcept {}

   private:
    SharedScans& scans_;
    PlanScan* const scan_;
  };

  // Awaited by the plan, whose scan has run, or failed, when it goes on.
  Wait scan(PlanScan* scan) { return {this, scan}; }

  bool has_waiting() const { return !waiting_.empty(); }
  // Then lets the plans whose scans have run go on.
  void run_pass();

 private:
  struct Waiting {
    PlanScan* scan;
    std::coroutine_handle<> plan;
  };
  // Tables by their rows, small ones first.
  using Key = std::pair<uint64_t, uint32_t>;

  std::map<Key, std::vector<Waiting>> waiting_;
};

}  // namespace diptych::olap
