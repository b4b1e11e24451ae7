// SharedScans: plans of a batch wait here when they come to a scan, until one pass runs all waiting
// scans of a table.
//
//   plan runs ──scan()──► waits ──run_pass(): its table's turn──► plan runs on
//
// The smallest table with waiting scans is next. Plans that still have to read small tables reach
// the large one in the meantime, so that as many as possible read it together.
//
// Threads    one: plans run in turns, each until it waits or has ended.

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

  // The plan awaits the result; when it resumes, the scan has run or failed.
  Wait scan(PlanScan* scan) { return {this, scan}; }

  bool has_waiting() const { return !waiting_.empty(); }
  // Runs one pass, then resumes the plans whose scans have run.
  void run_pass();

 private:
  struct Waiting {
    PlanScan* scan;
    std::coroutine_handle<> plan;
  };
  // Tables by their number of rows, small ones first.
  using Key = std::pair<uint64_t, uint32_t>;

  std::map<Key, std::vector<Waiting>> waiting_;
};

}  // namespace diptych::olap
