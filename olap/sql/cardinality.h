// Estimator: how many rows a table, a predicate and a key leave, from row counts and keys alone.
//
// Distinct values of a column, by the first rule that applies:
//   1. a unique key of its own: as many as rows;
//   2. a foreign key's column: as many as the parent's column;
//   3. a part of the primary key: the rows, divided by the distinct values of the other parts;
//   4. a guess by type.
// So ol_o_id has 3,000 and o_d_id 10 values without any statistics.

#pragma once

#include <map>
#include <unordered_map>
#include <utility>

#include "base/schema.h"
#include "olap/query.h"
#include "olap/sql/query_block.h"

namespace diptych::olap {

class Estimator {
 public:
  Estimator(const base::Catalog& catalog, const TableRows& rows, const SlotTable& slots)
      : catalog_(catalog), rows_(rows), slots_(slots) {}

  double table_rows(const base::TableSchema& table) const;  // at least 1

  double distinct(const Expression& expression);  // at least 1
  double distinct(uint32_t slot);

  // For slots that are no table's column: outputs of blocks, group keys.
  void set_distinct(uint32_t slot, double values) { known_[slot] = values; }

  // The share of rows that satisfy the predicate, in (0, 1].
  double selectivity(const Expression& predicate);

 private:
  double distinct(const base::TableSchema& table, base::ColumnId column, unsigned depth);
  double distinct_of_key_part(const base::TableSchema& table, unsigned depth);
  const base::TableSchema* parent_of(const base::TableSchema& table, base::ColumnId column,
                                     base::ColumnId* parent_column) const;
  double function_distinct(const Expression& call);
  double equality_selectivity(const Expression& equality);
  double range_selectivity(const Expression& comparison);

  const base::Catalog& catalog_;
  const TableRows& rows_;
  const SlotTable& slots_;
  std::unordered_map<uint32_t, double> known_;
  std::map<std::pair<uint32_t, uint16_t>, double> columns_;  // by table and column
};

}  // namespace diptych::olap
