// Aggregates of the naive reference that depend on the order of values.

#include <algorithm>
#include <stdexcept>

#include "tests/olap/exec_naive.h"

namespace diptych::olap::test {

using base::is_null;

bool naive_before(const std::vector<SortKey>& keys, const Row& a, const Row& b) {
  for (const SortKey& key : keys) {
    const Value& x = a[key.column];
    const Value& y = b[key.column];
    if (is_null(x) || is_null(y)) {
      if (is_null(x) != is_null(y)) return is_null(x) == key.nulls_first;
      continue;
    }
    const int order = naive_compare(x, y);
    if (order != 0) return key.descending ? order > 0 : order < 0;
  }
  return false;
}

Value naive_string_agg(const Aggregate& one, const std::vector<Row>& rows) {
  std::vector<Row> texts;
  for (const Row& row : rows) {
    Row text = {naive_evaluate(*one.argument, row)};
    for (const ExpressionPtr& e : one.further) text.push_back(naive_evaluate(*e, row));
    if (!is_null(text[0])) texts.push_back(std::move(text));
  }
  std::vector<SortKey> order = one.order;
  for (uint32_t column = 0; one.distinct && column < 2; ++column) {
    if (std::ranges::find(order, column, &SortKey::column) == order.end()) {
      order.push_back({column, false, false});
    }
  }
  std::stable_sort(texts.begin(), texts.end(),
                   [&](const Row& a, const Row& b) { return naive_before(order, a, b); });
  Value result;
  for (size_t i = 0; i < texts.size(); ++i) {
    const bool repeats = i != 0 && texts[i][0] == texts[i - 1][0] && texts[i][1] == texts[i - 1][1];
    if (one.distinct && repeats) continue;
    const bool plain = is_null(result) || is_null(texts[i][1]);
    std::string text = is_null(result) ? "" : std::get<std::string>(result);
    if (!plain) text += std::get<std::string>(texts[i][1]);
    result = text + std::get<std::string>(texts[i][0]);
  }
  return result;
}

// The values in order, without NULLs.
Value naive_ordered_set(const Aggregate& one, std::vector<Value> values) {
  std::stable_sort(values.begin(), values.end(), [&](const Value& a, const Value& b) {
    return naive_before(one.order, {a}, {b});
  });
  if (one.kind == AggregateKind::kMode) {
    size_t best = 0;
    size_t most = 0;
    for (size_t i = 0, times = 0; i < values.size(); ++i) {
      times = i != 0 && naive_compare(values[i - 1], values[i]) == 0 ? times + 1 : 1;
      if (times > most) {
        most = times;
        best = i + 1 - times;
      }
    }
    return values[best];
  }
  const Value fraction = one.further[0]->literal;
  if (is_null(fraction)) return kNull;
  const auto count = static_cast<double>(values.size());
  const double share = std::get<double>(fraction);
  if (one.kind == AggregateKind::kPercentileDisc) {
    // The first value that at least this share of them is not after.
    size_t i = 0;
    while (i + 1 < values.size() && static_cast<double>(i + 1) < share * count) ++i;
    return values[i];
  }
  if (one.type.kind == base::TypeKind::kInterval) {
    throw std::logic_error("no naive version of what is between intervals");
  }
  const double place = share * (count - 1);
  const auto low = static_cast<size_t>(place);
  const double at_low = std::get<double>(values[low]);
  if (place == static_cast<double>(low)) return at_low;
  const double at_high = std::get<double>(values[low + 1]);
  return at_low + (place - static_cast<double>(low)) * (at_high - at_low);
}

}  // namespace diptych::olap::test
