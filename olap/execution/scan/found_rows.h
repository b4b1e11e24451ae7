// FoundRows: the rows that a scan found, kept for a later scan of the same table in the same plan
// that needs a subset of them.
//
//   orderline, of some items ─► its average by item ─┐
//   orderline ───────────────────────────────────────┴─► below the average of its item (CH's Q17)
//
// The second scan looks only at the first one's rows, because the keys of its join are a subset of
// the keys of the first one's. This is common where a table is joined with groups of itself, for
// example because a correlated subquery became a GROUP BY. The subset is not derived from the plan:
// when the second scan begins, its conditions are known with all constants and join keys, and are
// compared with the first one's.
//
// Threads    FoundRows: workers write the words of different vectors; then it is immutable. The
//            other classes belong to the plan's thread.
// Errors     QueryFailure: over the memory limit.

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "olap/execution/join/join_filter.h"
#include "olap/execution/limits/growing_array.h"
#include "olap/execution/limits/memory_budget.h"
#include "olap/plan.h"
#include "storage/table.h"

namespace diptych::olap {

class FoundRows {
 public:
  // For tables with more slots, the memory does not pay.
  static constexpr uint64_t kSlotsMax = uint64_t{1} << 26;

  // Begins with no row found.
  FoundRows(const storage::Table& table, MemoryBudget* memory);

  static uint64_t slots(const storage::Table& table);

  // A bit for each position in the leaf, which has rows.
  uint64_t* bits(const storage::Leaf& leaf) { return &bits_[starts_.at(&leaf)]; }
  const uint64_t* bits(const storage::Leaf& leaf) const { return &bits_[starts_.at(&leaf)]; }

  // Notes that a worker of the scan ended before it had tested all of its rows.
  void cut_short() {
    // relaxed: read when the workers are done.
    is_cut_short_.store(true, std::memory_order_relaxed);
  }
  bool are_all() const {
    // relaxed: as above.
    return !is_cut_short_.load(std::memory_order_relaxed);
  }

 private:
  std::unordered_map<const storage::Leaf*, uint64_t> starts_;  // in bits_
  GrowingArray<uint64_t> bits_;
  MemoryCharge charge_;
  std::atomic<bool> is_cut_short_{false};  // writer: a worker
};

// ScanConditions: the conditions that a scan's output rows satisfy: its predicates, and the filters
// of joins above it (join_filter.h).
class ScanConditions {
 public:
  ScanConditions(const Operator& scan, std::span<const JoinFilter> filters);

  // True if the scan tests nothing beyond these conditions.
  bool are_all() const { return are_all_; }
  // True if rows that satisfy these conditions satisfy the others, of a scan of the same table.
  bool imply(const ScanConditions& others) const;
  // True if the scan's output rows satisfy a predicate of another scan. Join filters do not count,
  // because they are applied only while they pay.
  bool predicates_imply(const Operator& scan, const Expression& predicate) const;

 private:
  using Ranges = std::map<base::ColumnId, ValueBounds>;

  static void narrow(base::ColumnId column, int64_t min, int64_t max, Ranges* ranges);
  static bool are_within(const Ranges& ranges, base::ColumnId column, const ValueBounds& bounds);
  void add_join(const Operator& scan, const JoinFilter& filter);
  void add_values(const Operator& scan, const Expression* column, std::optional<KeyValues> values);

  std::set<std::string> predicates_;                         // keys of predicates that are no range
  Ranges predicate_ranges_;                                  // ranges of the other predicates
  Ranges ranges_;                                            // these, and the joins' ranges
  std::map<base::ColumnId, std::vector<KeyValues>> values_;  // the column is in each of the sets
  bool are_all_ = true;
};

// RepeatedScans: the scans of a plan that may find rows for each other.
class RepeatedScans {
 public:
  explicit RepeatedScans(const Operator& root);

  // The roles of a scan that begins.
  struct Roles {
    const FoundRows* within = nullptr;  // a superset of the rows that it finds; nullptr: none
    std::vector<bool> known;            // by predicate: all rows of `within` satisfy it
    FoundRows* found = nullptr;         // receives the rows that it finds; nullptr: not needed
  };
  Roles begin(const Operator& scan, std::span<const JoinFilter> filters,
              const storage::Table& table, MemoryBudget* memory);

 private:
  struct Scan {
    const Operator* op;
    std::vector<const Operator*> joins;          // joins that filter it
    std::vector<const Operator*> others;         // scans for which it may find rows
    std::unique_ptr<ScanConditions> conditions;  // the conditions of `found`
    std::unique_ptr<FoundRows> found;
    bool has_run = false;
  };

  static bool may_serve(const Scan& first, const Scan& second);
  // True if a scan for which it may find rows has not run yet.
  bool is_waited_for(const Scan& scan) const;
  // Lets the scan `op`, with these conditions, look within the rows of `other`, if these include
  // all of its own.
  static void look_within(const Scan& other, const Operator& op, const ScanConditions& conditions,
                          Roles* roles);
  Scan* scan_of(const Operator* op);

  std::vector<Scan> scans_;  // the scans of tables that are scanned several times
};

}  // namespace diptych::olap
