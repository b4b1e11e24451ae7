// Estimator: how many rows a table, a predicate and a key leave, from row counts, keys, and samples
// of columns (olap/column_sample.h).
//
// Distinct values of a column, by the first rule that applies:
//   1. a unique key of its own: as many as rows;
//   2. a sample that has all rows: as many as it has;
//   3. a foreign key's column: as many as the parent's column;
//   4. a part of the primary key: the rows, divided by the distinct values of the other parts;
//   5. a sample: what it suggests, at most as many as lie between the column's bounds;
//   6. a guess by type.
// So ol_o_id has 3,000 and o_d_id 10 values without any statistics.
//
// Of a column and a literal, =, IN, ranges, IS NULL and LIKE go by the column's sample: common
// values, quantiles, the share of nulls, and how many of some texts match. Any other predicate of
// one column is tried on the sample's values (sampled_predicate.h).

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

  const SlotTable& slots() const { return slots_; }

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
  // The sample of the column that the expression is, if there is one; its table's rows in *rows.
  const ColumnSample* sample_of(const Expression& expression, double* rows) const;
  double bounded_distinct(const base::TableSchema& table, base::ColumnId column,
                          const ColumnSample& sample) const;
  double null_share(const Expression& expression) const;
  double equality_selectivity(const Expression& equality);
  // Of expression = literal.
  double literal_selectivity(const Expression& expression, const Expression& literal);
  double in_selectivity(const Expression& in);
  double like_selectivity(const Expression& like) const;
  double range_selectivity(const Expression& comparison);
  double selectivity_by_kind(const Expression& predicate);
  // Of a predicate that is more than a comparison of one column; `by_kind`: as far as is known
  // without the column's sample.
  double sampled_selectivity(const Expression& predicate, double by_kind) const;

  const base::Catalog& catalog_;
  const TableRows& rows_;
  const SlotTable& slots_;
  std::unordered_map<uint32_t, double> known_;
  std::map<std::pair<uint32_t, uint16_t>, double> columns_;  // by table and column
};

}  // namespace diptych::olap
