#include "olap/sql/sampled_keys.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "olap/column_sample.h"
#include "olap/execution/vector/column_range.h"
#include "olap/sql/expression_tree.h"

namespace diptych::olap {
namespace {

using base::ColumnId;

constexpr double kKeysMin = 20;      // sampled ones within the bounds
constexpr double kLeftOutMin = 0.5;  // the share of keys that the bounds leave out

const SampledColumn* sampled(const TableStatistics& statistics, ColumnId column) {
  return column.value < statistics.samples.size() ? statistics.samples[column.value].get()
                                                  : nullptr;
}

// A comparison of a column with constants.
struct Test {
  std::vector<double> numbers;  // the column's, by slot
  ExpressionKind kind;          // kInList for = and IN
  std::vector<double> constants;

  bool is_true(size_t slot) const {
    const double number = slot < numbers.size() ? numbers[slot] : SampledValues::kNull;
    switch (kind) {
      case ExpressionKind::kLess: return number < constants[0];
      case ExpressionKind::kLessEqual: return number <= constants[0];
      case ExpressionKind::kGreater: return number > constants[0];
      case ExpressionKind::kGreaterEqual: return number >= constants[0];
      default: return std::find(constants.begin(), constants.end(), number) != constants.end();
    }
  }
};

std::optional<double> number_of(const Expression& constant, bool may_be_text) {
  if (!is_literal(constant)) return std::nullopt;
  const auto* const text = std::get_if<std::string>(&constant.literal);
  if (text != nullptr && may_be_text) return text_number(*text);
  return numeric_value(constant.literal);
}

// nullopt for any other predicate.
std::optional<Test> test_of(const TableStatistics& statistics, const Operator& scan,
                            const Expression& predicate) {
  const bool is_in = predicate.kind == ExpressionKind::kInList;
  const bool is_compared =
      is_comparison(predicate.kind) && predicate.kind != ExpressionKind::kNotEqual;
  if (!is_in && !is_compared) return std::nullopt;
  const bool is_left = is_in || is_literal(*predicate.children[1]);
  const Expression& column = without_integer_casts(*predicate.children[is_left ? 0 : 1]);
  if (column.kind != ExpressionKind::kColumn) return std::nullopt;
  const SampledColumn* const sample = sampled(statistics, scan.columns[column.column]);
  if (sample == nullptr) return std::nullopt;
  Test test;
  test.kind = is_in || predicate.kind == ExpressionKind::kEqual ? ExpressionKind::kInList
              : is_left                                         ? predicate.kind
                                                                : mirrored(predicate.kind);
  for (size_t i = 0; i < predicate.children.size(); ++i) {
    if (predicate.children[i].get() == predicate.children[is_left ? 0 : 1].get()) continue;
    const auto number = number_of(*predicate.children[i], test.kind == ExpressionKind::kInList);
    if (!number.has_value()) return std::nullopt;
    test.constants.push_back(*number);
  }
  test.numbers = sample->numbers();
  return test;
}

struct Counted {
  double rows = 0;
  double matches = 0;

  // Half a match and one row are added: none in a few hundred is not never.
  double share() const { return (matches + 0.5) / (rows + 1); }
};

}  // namespace

double share_of_keys(const TableStatistics& statistics, const Operator& scan, ColumnId key,
                     const ColumnBounds& referred) {
  const SampledColumn* const sample = sampled(statistics, key);
  if (sample == nullptr || !referred.known || key.value >= statistics.columns.size()) return 1;
  const ColumnBounds& all_keys = statistics.columns[key.value];
  const double left_out = 1 - (referred.max - referred.min + 1) / (all_keys.max - all_keys.min + 1);
  if (!all_keys.known || left_out < kLeftOutMin) return 1;
  std::vector<Test> tests;
  for (const ExpressionPtr& predicate : scan.predicates) {
    if (auto test = test_of(statistics, scan, *predicate)) tests.push_back(*std::move(test));
  }
  if (tests.empty()) return 1;
  Counted all;
  Counted within;
  const std::vector<double> keys = sample->numbers();
  for (size_t slot = 0; slot < keys.size(); ++slot) {
    if (std::isnan(keys[slot])) continue;
    const bool is_match = std::all_of(tests.begin(), tests.end(),
                                      [slot](const Test& test) { return test.is_true(slot); });
    const bool is_within = keys[slot] >= referred.min && keys[slot] <= referred.max;
    ++all.rows;
    all.matches += is_match ? 1 : 0;
    within.rows += is_within ? 1 : 0;
    within.matches += is_within && is_match ? 1 : 0;
  }
  if (within.rows < kKeysMin || within.rows > all.rows * (1 - kLeftOutMin)) return 1;
  return within.share() / all.share();
}

}  // namespace diptych::olap
