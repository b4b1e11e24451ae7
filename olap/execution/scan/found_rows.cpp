#include "olap/execution/scan/found_rows.h"

#include <algorithm>
#include <utility>

#include "olap/execution/expression/expression_key.h"
#include "olap/execution/scan/column_predicate.h"
#include "olap/execution/vector/column_range.h"

namespace diptych::olap {

namespace {

template <class F>
void for_leaves_with_rows(const storage::Table& table, F&& f) {
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    const storage::Partition& partition = table.partition(base::PartitionId(p));
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      if (partition.leaf(l).live_rows() != 0) f(partition.leaf(l));
    }
  }
}

// The column of the scan that the key is; nullptr: it is computed.
const Expression* key_column(const Operator& join, size_t key) {
  return column_of(*join.probe_keys[key]);
}

void list_operators(const Operator& op, std::vector<const Operator*>* operators) {
  operators->push_back(&op);
  for (const auto& child : op.children) list_operators(*child, operators);
}

bool has_predicate(const Operator& scan, const std::string& key) {
  return std::ranges::any_of(scan.predicates, [&](const ExpressionPtr& predicate) {
    return expression_key(*predicate, scan.columns) == key;
  });
}

bool has_range(const Operator& scan, base::ColumnId column) {
  return std::ranges::any_of(scan.predicates, [&](const ExpressionPtr& predicate) {
    const std::optional<ColumnRange> range = column_range(*predicate);
    return range && scan.columns[range->column->column] == column;
  });
}

}  // namespace

uint64_t FoundRows::slots(const storage::Table& table) {
  uint64_t slots = 0;
  for_leaves_with_rows(table, [&](const storage::Leaf& leaf) { slots += leaf.row_slots(); });
  return slots;
}

FoundRows::FoundRows(const storage::Table& table, MemoryBudget* memory)
    : charge_(memory, "the rows that a scan found for another") {
  uint64_t words = 0;
  for_leaves_with_rows(table, [&](const storage::Leaf& leaf) {
    starts_.emplace(&leaf, words);
    words += words_of(leaf.row_slots());
  });
  charge_.set(words * sizeof(uint64_t));
  bits_.resize(words);
  std::fill_n(bits_.data(), words, 0);
}

ScanConditions::ScanConditions(const Operator& scan, std::span<const JoinFilter> filters) {
  for (const ExpressionPtr& predicate : scan.predicates) {
    if (const std::optional<ColumnRange> range = column_range(*predicate)) {
      narrow(scan.columns[range->column->column], range->min, range->max, &predicate_ranges_);
    } else {
      predicates_.insert(expression_key(*predicate, scan.columns));
    }
  }
  ranges_ = predicate_ranges_;
  for (const JoinFilter& filter : filters) add_join(scan, filter);
}

void ScanConditions::add_join(const Operator& scan, const JoinFilter& filter) {
  for (const ColumnRange& range : filter.implied) {
    narrow(scan.columns[range.column->column], range.min, range.max, &ranges_);
  }
  const std::vector<ValueBounds>& bounds = filter.table->key_bounds();
  for (size_t i = 0; i < bounds.size(); ++i) {
    const Expression* const column = key_column(*filter.join, i);
    if (column == nullptr) continue;
    narrow(scan.columns[column->column], bounds[i].min, bounds[i].max, &ranges_);
  }
  for (const KeyColumnSet& set : filter.table->column_sets()) {
    const Expression* const column = key_column(*filter.join, set.column());
    add_values(scan, column, set.values());
    if (column == nullptr) continue;
    narrow(scan.columns[column->column], set.bounds().min, set.bounds().max, &ranges_);
  }
  if (!filter.table->is_direct()) return;  // no more is asked
  std::optional<KeyValues> values = filter.table->key_values();
  const Expression* const column = values ? key_column(*filter.join, 0) : nullptr;
  add_values(scan, column, std::move(values));
}

// Of a column, unless it is nullptr, which a filter asks of.
void ScanConditions::add_values(const Operator& scan, const Expression* column,
                                std::optional<KeyValues> values) {
  if (column == nullptr) {
    are_all_ = false;
  } else {
    values_[scan.columns[column->column]].push_back(*std::move(values));
  }
}

void ScanConditions::narrow(base::ColumnId column, int64_t min, int64_t max, Ranges* ranges) {
  ValueBounds& range = ranges->try_emplace(column, ValueBounds{INT64_MIN, INT64_MAX}).first->second;
  range.min = std::max(range.min, min);
  range.max = std::min(range.max, max);
}

bool ScanConditions::are_within(const Ranges& ranges, base::ColumnId column,
                                const ValueBounds& bounds) {
  const auto range = ranges.find(column);
  return range != ranges.end() && range->second.min >= bounds.min &&
         range->second.max <= bounds.max;
}

bool ScanConditions::predicates_imply(const Operator& scan, const Expression& predicate) const {
  if (const std::optional<ColumnRange> range = column_range(predicate)) {
    return are_within(predicate_ranges_, scan.columns[range->column->column],
                      {range->min, range->max});
  }
  return predicates_.contains(expression_key(predicate, scan.columns));
}

bool ScanConditions::imply(const ScanConditions& others) const {
  const auto has_values = [&](base::ColumnId column, const KeyValues& wanted) {
    const auto own = values_.find(column);
    return own != values_.end() && std::ranges::any_of(own->second, [&](const KeyValues& values) {
             return wanted.has_all(values);
           });
  };
  return std::ranges::includes(predicates_, others.predicates_) &&
         std::ranges::all_of(
             others.ranges_,
             [&](const auto& range) { return are_within(ranges_, range.first, range.second); }) &&
         std::ranges::all_of(others.values_, [&](const auto& column) {
           return std::ranges::all_of(column.second, [&](const KeyValues& wanted) {
             return has_values(column.first, wanted);
           });
         });
}

RepeatedScans::RepeatedScans(const Operator& root) {
  std::vector<const Operator*> operators;
  list_operators(root, &operators);
  std::map<base::TableId, size_t> scans;
  for (const Operator* op : operators) {
    if (op->kind == OperatorKind::kScan) ++scans[op->table];
  }
  for (const Operator* op : operators) {
    if (op->kind != OperatorKind::kScan || scans[op->table] == 1) continue;
    scans_.emplace_back().op = op;
  }
  if (scans_.empty()) return;
  for (const Operator* op : operators) {
    if (op->kind != OperatorKind::kHashJoin) continue;
    if (Scan* const scan = scan_of(filtered_scan(*op))) scan->joins.push_back(op);
  }
  for (Scan& first : scans_) {
    for (const Scan& second : scans_) {
      if (may_serve(first, second)) first.others.push_back(second.op);
    }
  }
}

RepeatedScans::Scan* RepeatedScans::scan_of(const Operator* op) {
  const auto found = std::ranges::find(scans_, op, &Scan::op);
  return found == scans_.end() ? nullptr : &*found;
}

// Whether the second's conditions could imply the first's, as far as the plan tells.
bool RepeatedScans::may_serve(const Scan& first, const Scan& second) {
  if (&first == &second || first.op->table != second.op->table) return false;
  if (first.op->predicates.empty() && first.joins.empty()) return false;
  const auto column_of_key = [](const Scan& scan, const ExpressionPtr& key) {
    const Expression* const column = column_of(*key);
    return column == nullptr ? std::nullopt : std::optional(scan.op->columns[column->column]);
  };
  const auto joins_by = [&](base::ColumnId column) {
    return std::ranges::any_of(second.joins, [&](const Operator* join) {
      return std::ranges::any_of(join->probe_keys, [&](const ExpressionPtr& key) {
        return column_of_key(second, key) == column;
      });
    });
  };
  const bool compares_by_join = std::ranges::any_of(
      second.joins, [](const Operator* join) { return !join->predicates.empty(); });
  const auto may_imply = [&](const ExpressionPtr& predicate) {
    if (has_predicate(*second.op, expression_key(*predicate, first.op->columns))) return true;
    const std::optional<ColumnRange> range = column_range(*predicate);
    if (!range) return false;
    const base::ColumnId column = first.op->columns[range->column->column];
    return compares_by_join || joins_by(column) || has_range(*second.op, column);
  };
  const auto may_have_keys = [&](const Operator* join) {
    return std::ranges::all_of(join->probe_keys, [&](const ExpressionPtr& key) {
      const std::optional<base::ColumnId> column = column_of_key(first, key);
      return column && joins_by(*column);
    });
  };
  return std::ranges::all_of(first.op->predicates, may_imply) &&
         std::ranges::all_of(first.joins, may_have_keys);
}

bool RepeatedScans::is_waited_for(const Scan& scan) const {
  return std::ranges::any_of(scans_, [&](const Scan& other) {
    return !other.has_run && std::ranges::count(scan.others, other.op) != 0;
  });
}

RepeatedScans::Roles RepeatedScans::begin(const Operator& op, std::span<const JoinFilter> filters,
                                          const storage::Table& table, MemoryBudget* memory) {
  Scan* const scan = scan_of(&op);
  if (scan == nullptr) return {};
  scan->has_run = true;
  const bool has_found = std::ranges::any_of(scans_, [&](const Scan& other) {
    return other.op->table == op.table && other.found != nullptr;
  });
  const bool may_find = is_waited_for(*scan) && FoundRows::slots(table) <= FoundRows::kSlotsMax;
  if (!has_found && !may_find) return {};
  auto conditions = std::make_unique<ScanConditions>(op, filters);
  Roles roles;
  for (const Scan& other : scans_) {
    if (&other != scan && other.op->table == op.table) look_within(other, op, *conditions, &roles);
  }
  if (may_find && conditions->are_all()) {
    scan->conditions = std::move(conditions);
    scan->found = std::make_unique<FoundRows>(table, memory);
    roles.found = scan->found.get();
  }
  return roles;
}

void RepeatedScans::look_within(const Scan& other, const Operator& op,
                                const ScanConditions& conditions, Roles* roles) {
  if (other.found == nullptr || !other.found->are_all()) return;
  if (!conditions.imply(*other.conditions)) return;
  std::vector<bool> known;
  for (const ExpressionPtr& predicate : op.predicates) {
    known.push_back(other.conditions->predicates_imply(op, *predicate));
    // What may fail is asked of every row, as it is without joins.
    if (!known.back() && !column_predicate(*predicate).has_value()) return;
  }
  roles->within = other.found.get();
  roles->known = std::move(known);
}

}  // namespace diptych::olap
