// FoundRows: which rows a scan let through, kept for another scan of the table in the same plan
// that can only want some of them.
//
//   orderline, of some items ─► its average by item ─┐
//   orderline ───────────────────────────────────────┴─► below the average of its item (CH's Q17)
//
// The second scan looks at the first one's rows alone: the keys of its join are among those of the
// first one's. So it is where a table is joined with groups of itself, as where a subquery that was
// asked row by row became a GROUP BY. What makes one scan's rows some of another's is not looked
// for in the plan: when the second runs, its conditions are known with their constants, and the
// joins that it may ask with all of their keys.
//
// Threads    FoundRows: workers write the words of different vectors; then immutable. The others
//            belong to the plan's thread.
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
  // Tables with more slots are not worth the memory.
  static constexpr uint64_t kSlotsMax = uint64_t{1} << 26;

  // None is found yet.
  FoundRows(const storage::Table& table, MemoryBudget* memory);

  static uint64_t slots(const storage::Table& table);

  // By position in the leaf, which has rows.
  uint64_t* bits(const storage::Leaf& leaf) { return &bits_[starts_.at(&leaf)]; }
  const uint64_t* bits(const storage::Leaf& leaf) const { return &bits_[starts_.at(&leaf)]; }

  // A worker of the scan ended before it had asked all of its rows.
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

// What rows must satisfy that a scan lets through, of the table's columns: its predicates, and what
// the joins that it may ask want of them.
class ScanConditions {
 public:
  ScanConditions(const Operator& scan, std::span<const JoinFilter> filters);

  // The scan asks nothing that is not among them.
  bool are_all() const { return are_all_; }
  // Rows that satisfy these satisfy the others, of a scan of the same table.
  bool imply(const ScanConditions& others) const;
  // Rows that the scan lets through satisfy another's predicate. What joins want says nothing of
  // them: they are asked where it pays.
  bool predicates_imply(const Operator& scan, const Expression& predicate) const;

 private:
  using Ranges = std::map<base::ColumnId, ValueBounds>;

  static void narrow(base::ColumnId column, int64_t min, int64_t max, Ranges* ranges);
  static bool are_within(const Ranges& ranges, base::ColumnId column, const ValueBounds& bounds);
  void add_join(const Operator& scan, const JoinFilter& filter);

  std::set<std::string> predicates_;                         // keys of those that are no ranges
  Ranges predicate_ranges_;                                  // of the others
  Ranges ranges_;                                            // theirs, and the joins'
  std::map<base::ColumnId, std::vector<KeyValues>> values_;  // one of each of them
  bool are_all_ = true;
};

// Those of a plan's scans that may find rows for each other.
class RepeatedScans {
 public:
  explicit RepeatedScans(const Operator& root);

  // Where the scan begins: the rows that hold all of its own, with the scan's predicates that they
  // are known to satisfy; and where it is to leave what it finds. Both may be nullptr.
  struct Roles {
    const FoundRows* within = nullptr;
    std::vector<bool> known;  // by predicate, where `within`
    FoundRows* found = nullptr;
  };
  Roles begin(const Operator& scan, std::span<const JoinFilter> filters,
              const storage::Table& table, MemoryBudget* memory);

 private:
  struct Scan {
    const Operator* op;
    std::vector<const Operator*> joins;          // that it may ask
    std::vector<const Operator*> others;         // for which it may find rows
    std::unique_ptr<ScanConditions> conditions;  // of `found`
    std::unique_ptr<FoundRows> found;
    bool has_run = false;
  };

  static bool may_serve(const Scan& first, const Scan& second);
  // Whether one that it may serve has yet to run.
  bool is_waited_for(const Scan& scan) const;
  // The scan `op` of these conditions looks within the other's rows if it has found all of its own.
  static void look_within(const Scan& other, const Operator& op, const ScanConditions& conditions,
                          Roles* roles);
  Scan* scan_of(const Operator* op);

  std::vector<Scan> scans_;  // of tables with several
};

}  // namespace diptych::olap
