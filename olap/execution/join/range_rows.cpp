#include "olap/execution/join/range_rows.h"

#include <algorithm>
#include <string>
#include <utility>

#include "olap/execution/expression/expression_key.h"
#include "olap/execution/join/join_sides.h"
#include "olap/execution/key/key_table.h"
#include "olap/execution/key/sort_prefix.h"
#include "olap/execution/vector/column_range.h"

namespace diptych::olap {

namespace {

// Comparisons of a sort between two looks at the stop signal.
constexpr uint32_t kComparisonsBetween = 64 * 1024;

// A value of the build side, and what comparisons of the join say of it.
struct BoundedValue {
  std::string key;
  const Expression* value;
  const Expression* lower;
  const Expression* upper;
};

void add_comparison(const Operator& join, const Expression& predicate,
                    std::vector<BoundedValue>* values) {
  ExpressionKind kind = predicate.kind;
  if (kind < ExpressionKind::kLess || kind > ExpressionKind::kGreaterEqual) return;
  const Expression* build = predicate.children[0].get();
  const Expression* probe = predicate.children[1].get();
  if (!reads_build_side(join, *build)) {
    std::swap(build, probe);
    kind = mirrored(kind);
  }
  if (!reads_build_side(join, *build) || !reads_probe_side(join, *probe)) return;
  std::string key = expression_key(*build);
  auto found = std::find_if(values->begin(), values->end(),
                            [&](const BoundedValue& value) { return value.key == key; });
  if (found == values->end()) {
    found = values->insert(values->end(), {std::move(key), build, nullptr, nullptr});
  }
  const bool is_upper = kind == ExpressionKind::kLess || kind == ExpressionKind::kLessEqual;
  (is_upper ? found->upper : found->lower) = probe;
}

// A value that is bounded both ways, or else the first; then another one, preferably with a bound
// on the side that the first leaves open.
std::vector<BoundedValue> bounded_values(const Operator& join) {
  std::vector<BoundedValue> values;
  for (const ExpressionPtr& predicate : join.predicates) add_comparison(join, *predicate, &values);
  std::stable_partition(values.begin(), values.end(), [](const BoundedValue& value) {
    return value.lower != nullptr && value.upper != nullptr;
  });
  if (values.size() < 2) return values;
  std::stable_partition(values.begin() + 1, values.end(), [&](const BoundedValue& value) {
    return values[0].lower == nullptr ? value.lower != nullptr : value.upper != nullptr;
  });
  values.resize(2);
  return values;
}

// prefixes[k] of the k-th selected row, is_null(k) where there is none.
template <class IsNull>
void prefixes_of(const Vector& vector, const Selection& rows, uint64_t* prefixes,
                 const IsNull& is_null) {
  with_physical_type(vector.type, [&](auto any) {
    using T = decltype(any);
    const T* const values = vector.as<T>();
    for_numbered(rows, [&](uint32_t k, uint32_t slot) {
      if (vector.is_null(slot)) return is_null(k);
      prefixes[k] = prefix_of(values[slot]);
    });
  });
}

// The value of all build rows.
void evaluate_all(const Operator& join, const Expression& value, const ColumnStore& rows,
                  const QueryLimits& limits, uint64_t* prefixes, uint8_t* nulls) {
  const NodePtr node = compile_expression(value, limits);
  for_build_batches(join, rows, {&value}, *limits.stop,
                    [&](const Batch& batch, const Selection& all, uint64_t first) {
                      prefixes_of(node->evaluate(batch, all), all, prefixes + first,
                                  [&](uint32_t k) { nulls[first + k] = 1; });
                    });
}

}  // namespace

bool has_ranges(const Operator& join) {
  return !bounded_values(join).empty();
}

struct RangeRows::Order {
  struct Entry {
    uint64_t value;
    uint32_t row;
  };

  const StopSignal* stop;
  GrowingArray<uint64_t> values;  // by row, this and the next ones
  GrowingArray<uint64_t> others;  // empty where there is none
  GrowingArray<uint8_t> nulls;    // 1: one of them is NULL
  std::vector<Entry> entries;     // of a key
};

std::optional<RangeRows> RangeRows::make(const Operator& join, const ColumnStore& rows,
                                         const GrowingArray<uint32_t>& starts,
                                         const GrowingArray<uint32_t>& by_key,
                                         const QueryLimits& limits) {
  const auto row_count = static_cast<uint32_t>(rows.row_count());
  uint32_t most = starts.size() == 0 ? row_count : 0;  // of a key
  for (size_t n = 1; n < starts.size(); ++n) most = std::max(most, starts[n] - starts[n - 1]);
  if (most < kRowsMin) return std::nullopt;
  const std::vector<BoundedValue> values = bounded_values(join);
  if (values.empty()) return std::nullopt;

  RangeRows ranges;
  ranges.lower_ = values[0].lower;
  ranges.upper_ = values[0].upper;
  const bool has_other = values.size() == 2;
  if (has_other) {
    const bool is_open_above = values[0].upper == nullptr;
    ranges.is_other_mirrored_ =
        is_open_above ? values[1].upper != nullptr : values[1].lower == nullptr;
    ranges.other_ = ranges.is_other_mirrored_ ? values[1].upper : values[1].lower;
  }
  MemoryCharge charge(limits.memory, "the build side of a join");
  charge.set(row_count * (2 * sizeof(uint64_t) * (has_other ? 2 : 1) + sizeof(uint32_t) + 1) +
             most * sizeof(Order::Entry));
  Order order{limits.stop, {}, {}, {}, {}};
  order.nulls.resize(row_count, 0);
  order.values.resize(row_count);
  const bool are_values = evaluates([&] {
    evaluate_all(join, *values[0].value, rows, limits, order.values.data(), order.nulls.data());
    if (!has_other) return;
    order.others.resize(row_count);
    evaluate_all(join, *values[1].value, rows, limits, order.others.data(), order.nulls.data());
  });
  if (!are_values) return std::nullopt;
  if (has_other) ranges.other_values_.emplace_back();
  ranges.values_.reserve(row_count);
  ranges.rows_.reserve(row_count);
  ranges.starts_.push_back(0);
  if (starts.size() == 0) ranges.add_key(nullptr, row_count, &order);
  for (size_t n = 1; n < starts.size(); ++n) {
    limits.stop->check_at(n);
    ranges.add_key(by_key.data() + starts[n - 1], starts[n] - starts[n - 1], &order);
  }
  ranges.make_maxima();
  return ranges;
}

// `rows` nullptr: the rows are 0, 1, 2...
void RangeRows::add_key(const uint32_t* rows, uint32_t count, Order* order) {
  order->entries.clear();
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t row = rows == nullptr ? i : rows[i];
    if (order->nulls[row] == 0) order->entries.push_back({order->values[row], row});
  }
  uint32_t compared = 0;
  std::sort(order->entries.begin(), order->entries.end(),
            [&](const Order::Entry& a, const Order::Entry& b) {
              if (++compared % kComparisonsBetween == 0) order->stop->check();
              return a.value != b.value ? a.value < b.value : a.row < b.row;
            });
  for (const Order::Entry& entry : order->entries) {
    values_.push_back(entry.value);
    rows_.push_back(entry.row);
    if (other_values_.empty()) continue;
    const uint64_t other = order->others[entry.row];
    other_values_[0].push_back(is_other_mirrored_ ? ~other : other);
  }
  starts_.push_back(static_cast<uint32_t>(rows_.size()));
}

void RangeRows::make_maxima() {
  if (other_values_.empty()) return;
  while (other_values_.back().size() > (size_t{1} << kFanBits)) {
    const GrowingArray<uint64_t>& below = other_values_.back();
    GrowingArray<uint64_t> maxima;
    for (size_t first = 0; first < below.size(); first += size_t{1} << kFanBits) {
      const size_t end = std::min(below.size(), first + (size_t{1} << kFanBits));
      maxima.push_back(*std::max_element(below.data() + first, below.data() + end));
    }
    other_values_.push_back(std::move(maxima));
  }
}

// Up while no place of a node is left that will do, then down to the first one.
uint32_t RangeRows::next(uint32_t place, uint32_t end, uint64_t least) const {
  if (other_values_.empty() || place >= end) return place;
  uint64_t at = place;
  size_t level = 0;
  while (true) {
    const GrowingArray<uint64_t>& values = other_values_[level];
    const uint64_t node_end = std::min<uint64_t>((at | ((1U << kFanBits) - 1)) + 1, values.size());
    while (at < node_end && values[at] < least) ++at;
    if (at < node_end) break;
    if (at >= values.size() || at << (kFanBits * level) >= end) return end;
    at >>= kFanBits;
    ++level;
  }
  for (; level > 0; --level) {
    at <<= kFanBits;
    while (other_values_[level - 1][at] < least) ++at;
  }
  return static_cast<uint32_t>(std::min<uint64_t>(at, end));
}

size_t RangeRows::memory_bytes() const {
  size_t bytes = starts_.bytes() + values_.bytes() + rows_.bytes();
  for (const GrowingArray<uint64_t>& values : other_values_) bytes += values.bytes();
  return bytes;
}

RangeFinder::RangeFinder(const RangeRows& rows, const QueryLimits& limits)
    : rows_(rows), prefixes_(kVectorRows) {
  const auto compiled = [&](const Expression* bound) {
    return bound == nullptr ? NodePtr() : compile_expression(*bound, limits);
  };
  lower_ = compiled(rows.lower_);
  upper_ = compiled(rows.upper_);
  other_ = compiled(rows.other_);
}

bool RangeFinder::evaluate(ExpressionNode* bound, const Batch& batch, const Selection& rows,
                           Range* ranges) {
  if (bound == nullptr) return false;
  return evaluates([&] {
    prefixes_of(bound->evaluate(batch, rows), rows, prefixes_.data(), [&](uint32_t k) {
      prefixes_[k] = 0;
      ranges[k].end = ranges[k].next;
    });
  });
}

void RangeFinder::find(const Batch& batch, const Selection& rows, const uint32_t* numbers,
                       Range* ranges) {
  for (uint32_t k = 0; k < rows.count; ++k) {
    const uint32_t number = numbers == nullptr ? 0 : numbers[k];
    ranges[k] = {0, 0, 0};
    if (number != KeyTable::kNoKey) {
      ranges[k] = {rows_.starts_[number], rows_.starts_[number + size_t{1}], 0};
    }
  }
  const uint64_t* const values = rows_.values_.data();
  if (evaluate(lower_.get(), batch, rows, ranges)) {
    for (uint32_t k = 0; k < rows.count; ++k) {
      Range& range = ranges[k];
      range.next = static_cast<uint32_t>(
          std::lower_bound(values + range.next, values + range.end, prefixes_[k]) - values);
    }
  }
  if (evaluate(upper_.get(), batch, rows, ranges)) {
    for (uint32_t k = 0; k < rows.count; ++k) {
      Range& range = ranges[k];
      range.end = static_cast<uint32_t>(
          std::upper_bound(values + range.next, values + range.end, prefixes_[k]) - values);
    }
  }
  if (!evaluate(other_.get(), batch, rows, ranges)) return;
  for (uint32_t k = 0; k < rows.count; ++k) {
    Range& range = ranges[k];
    range.least = rows_.is_other_mirrored_ ? ~prefixes_[k] : prefixes_[k];
    range.next = rows_.next(range.next, range.end, range.least);
  }
}

}  // namespace diptych::olap
