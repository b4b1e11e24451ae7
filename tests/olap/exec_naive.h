// The naive reference: plans executed row by row over base::Value, written without a look at
// olap/execution. Slow and plain on purpose.

#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/olap/exec_table.h"

namespace diptych::olap::test {

// What a query that fails throws.
struct NaiveError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// By TableId; and the rows of the round before of each recursion around, by its number.
struct NaiveTables : std::vector<std::vector<Row>> {
  using std::vector<std::vector<Row>>::vector;
  std::map<uint32_t, std::vector<Row>> working;
};

Value naive_evaluate(const Expression& expression, const Row& row);
std::vector<Row> naive_execute(const Operator& op, const NaiveTables& tables);

// The aggregate over all of the rows.
Value naive_aggregate_of(const Aggregate& aggregate, const std::vector<Row>& rows);

// Of values that are not NULL, and of rows (exec_naive_numbers.cpp).
Value naive_moment(AggregateKind kind, const std::vector<Value>& values);
Value naive_bits(AggregateKind kind, const std::vector<Value>& values);
Value naive_covariance(const Aggregate& aggregate, const std::vector<Row>& rows);

// Whether a comes before b in the order of the keys; and what depends on it
// (exec_naive_ordered.cpp).
bool naive_before(const std::vector<SortKey>& keys, const Row& a, const Row& b);
Value naive_string_agg(const Aggregate& aggregate, const std::vector<Row>& rows);
Value naive_ordered_set(const Aggregate& aggregate, std::vector<Value> values);

// The rows with the window's values behind them (exec_naive_window.cpp).
std::vector<Row> naive_window(const Operator& op, std::vector<Row> rows);

// Whether the row passes all predicates; and the rows of a join (exec_naive_join.cpp).
bool naive_satisfies(const std::vector<ExpressionPtr>& predicates, const Row& row);
std::vector<Row> naive_join(const Operator& op, const NaiveTables& tables);

// All rounds' rows (exec_naive_recursion.cpp).
std::vector<Row> naive_recursion(const Operator& op, NaiveTables tables);

// Recursive, straight from the definition.
bool naive_like(std::string_view text, std::string_view pattern);

// -1, 0, 1; both of one type and not null.
int naive_compare(const Value& a, const Value& b);

// An order of rows of the same types, by their values; nulls come first.
struct NaiveRowBefore {
  bool operator()(const Row& a, const Row& b) const {
    for (size_t i = 0; i < a.size(); ++i) {
      if (base::is_null(a[i]) != base::is_null(b[i])) return base::is_null(a[i]);
      const int order = base::is_null(a[i]) ? 0 : naive_compare(a[i], b[i]);
      if (order != 0) return order < 0;
    }
    return false;
  }
};

}  // namespace diptych::olap::test
