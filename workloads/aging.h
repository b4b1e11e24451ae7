// Aging: an hour's worth of TPC-C's transactions on a freshly loaded database, before queries are
// measured on it.
//
// The standard mix runs until half as many order lines as were loaded (`growth`) have been added.
// By then it has also changed about half of the customers (Payment and Delivery) and of the stock
// rows (New-Order); the report says how many. Where we differ from the mix: a fifth of the
// New-Orders asks for items that are drawn uniformly; with TPC-C's drawing alone it is a third of
// the stock. One call at a time, so that a seed gives the same rows, but for their dates, on any
// machine.
//
// Threads    the calling thread; the database's dispatchers work as they always do, and apply what
//            comes in meanwhile.

#pragma once

#include <cstdint>

#include "base/result.h"
#include "workloads/run_control.h"
#include "workloads/session.h"

namespace diptych::workloads {

struct AgingReport {
  double seconds = 0;
  uint64_t transactions = 0;
  uint64_t order_lines_loaded = 0, order_lines = 0;  // before and after
  double stock_changed = 0, customers_changed = 0;   // shares of the rows
};

inline constexpr double kAgingGrowth = 0.5;  // of the order lines

// kCancelled: stopped. Otherwise the first error of a transaction other than a rollback.
base::Result<AgingReport> age(Session* session, uint32_t warehouses, uint64_t seed,
                              const StopFlag& stop, const Progress& progress,
                              double growth = kAgingGrowth);

}  // namespace diptych::workloads
