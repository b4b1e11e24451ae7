// RowsByGroup: the base of aggregates that need all rows of a group in an order (string_agg,
// percentiles, mode). It keeps the rows with their group's number and sorts them at the end.
//
// Rows whose first argument is NULL are left out.
//
// Threads    as for AggregateColumn.
// Memory     memory_bytes() includes the memory of the later sort.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "olap/execution/group/aggregate_column.h"
#include "olap/execution/vector/column_store.h"

namespace diptych::olap {

class RowsByGroup : public AggregateColumn {
 public:
  size_t memory_bytes() const override;
  uint64_t kept_values() const override { return rows_.row_count(); }
  void update(const Vector& argument, const Selection& rows, const uint32_t* groups) override {
    update_all({&argument, 1}, rows, groups);
  }
  // Keeps the first arguments, as many as the column has types.
  void update_all(std::span<const Vector> arguments, const Selection& rows,
                  const uint32_t* groups) override;
  void split(const GroupSplit& groups, const StopSignal& stop) override;
  void merge(const AggregateColumn& other, const GroupMerge& groups) override;

 protected:
  // `arguments` are the types of the kept arguments. `order` sorts a group's rows; its columns
  // count the arguments from 0.
  RowsByGroup(std::span<const base::DataType> arguments, std::span<const SortKey> order);

  // Column 0 has the group's number, column i + 1 argument i.
  const ColumnStore& rows() const { return rows_; }
  // Calls f(group, its rows in order) for each group that has rows, by number.
  template <class F>
  void for_each_group(const StopSignal& stop, const F& f) const {
    const std::vector<uint32_t> sorted = sorted_numbers(stop);
    const auto* const groups = rows_.values<int32_t>(0);
    for (size_t first = 0, end = 0; first < sorted.size(); first = end) {
      const int32_t group = groups[sorted[first]];
      while (end < sorted.size() && groups[sorted[end]] == group) stop.check_at(++end);
      f(static_cast<uint32_t>(group), std::span(sorted).subspan(first, end - first));
    }
  }

  // As above, with the rows in the order of their arrival; all groups are below `groups`.
  template <class F>
  void for_each_group_unsorted(uint32_t groups, const StopSignal& stop, const F& f) const {
    const auto* const group = rows_.values<int32_t>(0);
    const NumbersByPartition rows(checked_rows(), groups, stop,
                                  [&](uint32_t row) { return static_cast<uint32_t>(group[row]); });
    for (uint32_t g = 0; g < groups; ++g) {
      stop.check_at(g);
      if (rows.size(g) != 0) f(g, rows.all(g));
    }
  }

  // Keeps only these rows, in this order, and copies their texts into the column.
  void keep_only(std::span<const uint32_t> rows, const StopSignal& stop);

 private:
  std::vector<uint32_t> sorted_numbers(const StopSignal& stop) const;
  // The number of rows, checked against the sort's limit.
  uint32_t checked_rows() const;

  const std::vector<base::DataType> types_;
  std::vector<SortKey> order_;
  ColumnStore rows_;
  NumbersByPartition rows_split_;  // from split() on
  std::vector<VectorBuffer> buffers_;
  std::vector<Vector> columns_;
  Selection present_;
};

}  // namespace diptych::olap
