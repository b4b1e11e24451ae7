// Variances, covariances and bits of the naive reference, by their definitions.

#include <cmath>

#include "tests/olap/exec_naive.h"

namespace diptych::olap::test {

using base::is_null;

Value naive_moment(AggregateKind kind, const std::vector<Value>& values) {
  const auto count = static_cast<double>(values.size());
  double mean = 0;
  for (const Value& value : values) mean += std::get<double>(value) / count;
  double squares = 0;
  for (const Value& value : values) squares += std::pow(std::get<double>(value) - mean, 2);
  const bool sample = kind == AggregateKind::kVarSamp || kind == AggregateKind::kStddevSamp;
  if (sample && values.size() < 2) return kNull;
  const double variance = squares / (sample ? count - 1 : count);
  const bool root = kind == AggregateKind::kStddevSamp || kind == AggregateKind::kStddevPop;
  return root ? std::sqrt(variance) : variance;
}

Value naive_covariance(const Aggregate& one, const std::vector<Row>& rows) {
  std::vector<std::pair<double, double>> pairs;  // their differences from the first one
  std::pair<double, double> first;
  for (const Row& row : rows) {
    const Value y = naive_evaluate(*one.argument, row);
    const Value x = naive_evaluate(*one.further[0], row);
    if (is_null(y) || is_null(x)) continue;
    if (pairs.empty()) first = {std::get<double>(y), std::get<double>(x)};
    pairs.emplace_back(std::get<double>(y) - first.first, std::get<double>(x) - first.second);
  }
  if (pairs.empty()) return kNull;
  const auto count = static_cast<double>(pairs.size());
  double mean_y = 0;
  double mean_x = 0;
  for (const auto& [y, x] : pairs) {
    mean_y += y / count;
    mean_x += x / count;
  }
  double products = 0;
  for (const auto& [y, x] : pairs) products += (y - mean_y) * (x - mean_x);
  return products / count;
}

Value naive_bits(AggregateKind kind, const std::vector<Value>& values) {
  auto bits = std::get<int64_t>(values[0]);
  for (size_t i = 1; i < values.size(); ++i) {
    const auto next = std::get<int64_t>(values[i]);
    bits = kind == AggregateKind::kBitAnd  ? bits & next
           : kind == AggregateKind::kBitOr ? bits | next
                                           : bits ^ next;
  }
  return bits;
}

}  // namespace diptych::olap::test
