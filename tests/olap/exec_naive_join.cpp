// Joins of the naive reference: a map from keys to build rows, since models have tables of some
// thousand rows.

#include <algorithm>

#include "tests/olap/exec_naive.h"

namespace diptych::olap::test {
namespace {

Row keys_of(const std::vector<ExpressionPtr>& keys, const Row& row) {
  Row values;
  for (const ExpressionPtr& key : keys) values.push_back(naive_evaluate(*key, row));
  return values;
}

using RowsByKeys = std::map<Row, std::vector<size_t>, NaiveRowBefore>;

// A key that is NULL equals none.
RowsByKeys rows_by_keys(const std::vector<ExpressionPtr>& keys, const std::vector<Row>& rows) {
  RowsByKeys result;
  for (size_t i = 0; i < rows.size(); ++i) {
    Row values = keys_of(keys, rows[i]);
    if (std::ranges::none_of(values, base::is_null)) result[std::move(values)].push_back(i);
  }
  return result;
}

}  // namespace

std::vector<Row> naive_join(const Operator& op, const NaiveTables& tables) {
  const std::vector<Row> build = naive_execute(*op.children[1], tables);
  const RowsByKeys by_keys = rows_by_keys(op.build_keys, build);
  std::vector<bool> build_matched(build.size());
  std::vector<Row> result;
  for (const Row& p : naive_execute(*op.children[0], tables)) {
    bool matched = false;
    const auto found = by_keys.find(keys_of(op.probe_keys, p));
    for (const size_t b : found == by_keys.end() ? std::vector<size_t>() : found->second) {
      Row both = p;
      both.insert(both.end(), build[b].begin(), build[b].end());
      if (!naive_satisfies(op.predicates, both)) continue;
      matched = true;
      build_matched[b] = true;
      if (op.join == JoinKind::kInner || op.join == JoinKind::kLeft) result.push_back(both);
    }
    if (op.join == JoinKind::kLeft && !matched) {
      Row row = p;
      row.resize(op.output.size());
      result.push_back(row);
    }
    if (op.join == JoinKind::kMark) {
      result.push_back(p);
      result.back().push_back(matched);
    }
    if ((op.join == JoinKind::kSemi && matched) || (op.join == JoinKind::kAnti && !matched)) {
      result.push_back(p);
    }
  }
  if (!keeps_build_rows(op.join)) return result;
  for (size_t b = 0; b < build.size(); ++b) {
    if (build_matched[b] == (op.join == JoinKind::kBuildSemi)) result.push_back(build[b]);
  }
  return result;
}

}  // namespace diptych::olap::test
