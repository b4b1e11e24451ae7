// Estimator: estimates the rows of tables, the selectivity of predicates and the distinct values of
// keys, from row counts, keys and samples of columns (olap/column_sample.h).
//
// The number of distinct values of a column follows from the first rule that applies:
//   1. a unique key of one column: the number of rows;
//   2. a sample with all values: the sample's number;
//   3. a foreign key's column: the number of the parent's column;
//   4. a part of the primary key: the rows, divided by the distinct values of the other parts;
//   5. a sample: its estimate, at most the number of values between the column's bounds;
//   6. a guess by type.
// So ol_o_id has 3,000 and o_d_id 10 values without any statistics.
//
// For a column and a literal, the selectivity of =, IN, ranges, IS NULL and LIKE follows from the
// column's sample: its common values, quantiles, share of nulls, and the share of sampled texts
// that match. Any other predicate on one column is evaluated on the sample's values
// (sampled_predicate.h). Predicates are taken to be independent, except those on one column of
// numbers: of the two ends of a range, what lies between counts, and of others the strictest.

#pragma once

#include <map>
#include <optional>
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

  // For slots that are not a table's column: outputs of blocks, group keys.
  void set_distinct(uint32_t slot, double values) { known_[slot] = values; }
  // The slot has the values of the expression. combinations() looks through columns.
  void set_origin(uint32_t slot, const Expression& value);
  // A table of FROM, whose first column has the slot, has so many rows that satisfy its predicates.
  void set_rows(uint32_t first_slot, double rows) { rows_from_[first_slot] = rows; }

  // The number of combinations of the values; at least 1. Those of one table of FROM have at most
  // one combination a row: a product's name, brand and class together have as many as there are
  // products.
  double combinations(const Expressions& values);
  double combinations(const std::vector<uint32_t>& slots);

  // The share of rows that satisfy the predicate, in (0, 1].
  double selectivity(const Expression& predicate);
  // The share of rows that satisfy all of them.
  double selectivity(const Expressions& conjuncts);
  // The number of values that a column has in the rows that satisfy the predicates; at least 1.
  double distinct_among(uint32_t slot, const Expressions& predicates);
  // How many times as often as other rows of the scanned table the scan has those to which a column
  // refers, by the table's key (sampled_keys.h). 1 if nothing is known.
  double share_of_referred(uint32_t referring, uint32_t key, const Operator& scan) const;

 private:
  double distinct(const base::TableSchema& table, base::ColumnId column, unsigned depth);
  double distinct_of_key_part(const base::TableSchema& table, unsigned depth);
  const base::TableSchema* parent_of(const base::TableSchema& table, base::ColumnId column,
                                     base::ColumnId* parent_column) const;
  double function_distinct(const Expression& call);
  // The sample of the expression, if it is a column with one; sets *rows to its table's rows.
  const ColumnSample* sample_of(const Expression& expression, double* rows) const;
  double bounded_distinct(const base::TableSchema& table, base::ColumnId column,
                          const ColumnSample& sample) const;
  double null_share(const Expression& expression) const;
  double equality_selectivity(const Expression& equality);
  // The selectivity of expression = literal.
  double literal_selectivity(const Expression& expression, const Expression& literal);
  double in_selectivity(const Expression& in);
  double like_selectivity(const Expression& like) const;
  // A comparison of a column with a literal, as one end of a range.
  struct RangeEnd {
    const Expression* column = nullptr;
    const Expression* literal = nullptr;
    bool is_upper = false;
    bool takes_equal = false;
  };
  static std::optional<RangeEnd> range_end(const Expression& comparison);
  // The share of rows on the range's side of the end; nullopt if nothing is known of the column.
  std::optional<double> range_share(const RangeEnd& end) const;
  double range_selectivity(const Expression& comparison) const;
  // The column of numbers that alone the predicate names, if it is a table's.
  std::optional<uint32_t> only_number(const Expression& predicate) const;
  double selectivity_by_kind(const Expression& predicate);
  // The selectivity of a predicate on one column that is more than a comparison. `by_kind` is the
  // estimate without the column's sample.
  double sampled_selectivity(const Expression& predicate, double by_kind) const;

  const base::Catalog& catalog_;
  const TableRows& rows_;
  const SlotTable& slots_;
  // The first slot of the table of FROM that all columns of the expression belong to.
  std::optional<uint32_t> table_of(const Expression& expression) const;

  std::unordered_map<uint32_t, double> known_;
  std::unordered_map<uint32_t, uint32_t> origins_;  // the table's column whose values a slot has
  std::unordered_map<uint32_t, double> rows_from_;
  std::map<std::pair<uint32_t, uint16_t>, double> columns_;  // by table and column
};

}  // namespace diptych::olap
