#include "olap/column_sample.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "base/string_ref.h"

namespace diptych::olap {

namespace {

constexpr uint32_t kRunRows = 64;
constexpr uint32_t kStride = 4;  // of a run: neighbours are alike
constexpr uint32_t kLeavesMax = 64;
constexpr size_t kFrequentMax = 32;
constexpr size_t kQuantiles = 64;
constexpr size_t kTextsMax = 256;

// The values that were drawn, and the rows that had none.
template <class Key>
struct Drawn {
  std::vector<Key> values;
  uint64_t nulls = 0;

  double rows() const { return static_cast<double>(values.size() + nulls); }
};

// Different values and their counts, of sorted ones.
template <class Key>
struct Counted {
  struct Value {
    Key key;
    uint64_t count;
  };
  std::vector<Value> values;
  uint64_t once = 0;
};

template <class Key>
Counted<Key> counted(const std::vector<Key>& sorted) {
  Counted<Key> result;
  for (size_t i = 0; i < sorted.size();) {
    size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[i]) ++end;
    result.values.push_back({sorted[i], end - i});
    result.once += end - i == 1 ? 1 : 0;
    i = end;
  }
  return result;
}

// Duj1: of `all` values, `drawn` were drawn.
double distinct_of_all(double drawn, double different, double once, double all) {
  const double left = drawn - once + once * drawn / std::max(all, drawn);
  return std::clamp(drawn * different / std::max(left, 1.0), different, std::max(all, different));
}

void set_key(double* to, std::string* /*text*/, double key) {
  *to = key;
}
void set_key(double* /*number*/, std::string* to, std::string_view key) {
  *to = key;
}

// Of drawn values, which it sorts.
template <class Key>
ColumnSample summary_of(Drawn<Key>* drawn, bool is_whole, double table_rows) {
  ColumnSample sample;
  sample.is_whole = is_whole;
  if (drawn->rows() == 0) return sample;
  sample.null_share = static_cast<double>(drawn->nulls) / drawn->rows();
  std::sort(drawn->values.begin(), drawn->values.end());
  Counted<Key> all = counted(drawn->values);
  const auto count = static_cast<double>(drawn->values.size());
  const auto different = static_cast<double>(all.values.size());
  sample.distinct = is_whole ? different
                             : distinct_of_all(count, different, static_cast<double>(all.once),
                                               table_rows * (1 - sample.null_share));
  // What is not clearly above the average is a chance of the draw, but where all rows were seen.
  const bool few = is_whole && all.values.size() <= kFrequentMax;
  const double average = count / std::max(sample.distinct, 1.0);
  std::erase_if(all.values, [&](const auto& value) {
    return !few && (value.count < 4 || static_cast<double>(value.count) < 1.25 * average);
  });
  const size_t kept = std::min(all.values.size(), kFrequentMax);
  std::partial_sort(all.values.begin(), all.values.begin() + static_cast<std::ptrdiff_t>(kept),
                    all.values.end(),
                    [](const auto& a, const auto& b) { return a.count > b.count; });
  for (size_t i = 0; i < kept; ++i) {
    ColumnSample::Frequent& value = sample.frequent.emplace_back();
    set_key(&value.number, &value.text, all.values[i].key);
    value.share = static_cast<double>(all.values[i].count) / drawn->rows();
  }
  return sample;
}

}  // namespace

std::optional<double> numeric_value(const base::Value& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* date = std::get_if<base::Date>(&value)) return date->days;
  if (const auto* at = std::get_if<base::Timestamp>(&value)) return static_cast<double>(at->micros);
  if (const auto* decimal = std::get_if<base::DecimalValue>(&value)) {
    return static_cast<double>(decimal->units);
  }
  return std::nullopt;
}

std::optional<double> ColumnSample::share_of(const base::Value& value, double rows) const {
  const auto* const text = std::get_if<std::string>(&value);
  const std::optional<double> number = numeric_value(value);
  if (text == nullptr && !number.has_value()) return std::nullopt;
  double others = 1 - null_share;
  for (const Frequent& one : frequent) {
    if (text != nullptr ? one.text == *text : one.number == *number) return one.share;
    others -= one.share;
  }
  if (is_whole && static_cast<double>(frequent.size()) >= distinct)
    return 0.5 / std::max(rows, 1.0);
  return std::max(others, 0.0) / std::max(distinct - static_cast<double>(frequent.size()), 1.0);
}

std::optional<double> ColumnSample::share_below(const base::Value& value) const {
  const std::optional<double> number = numeric_value(value);
  if (!number.has_value() || quantiles.size() < 2) return std::nullopt;
  const auto above = std::lower_bound(quantiles.begin(), quantiles.end(), *number);
  if (above == quantiles.begin()) return 0;
  if (above == quantiles.end()) return 1 - null_share;
  const double before = *(above - 1);
  const double within = *above > before ? (*number - before) / (*above - before) : 0;
  const double place = static_cast<double>(above - quantiles.begin()) - 1 + within;
  return place / static_cast<double>(quantiles.size() - 1) * (1 - null_share);
}

SampledRows::SampledRows(const storage::Table& table) : table_(table) {
  std::vector<const storage::Leaf*> leaves;
  for (uint32_t p = 0; p < table.partition_count(); ++p) {
    const storage::Partition& partition = table.partition(base::PartitionId(p));
    for (size_t l = 0; l < partition.leaf_count(); ++l) {
      if (partition.leaf(l).live_rows() != 0) leaves.push_back(&partition.leaf(l));
    }
  }
  is_whole_ = table.live_rows() <= kSampledRows;
  if (is_whole_) {
    for (const storage::Leaf* leaf : leaves) {
      for (uint32_t first = 0; first < leaf->row_slots(); first += kRunRows) {
        runs_.push_back({leaf, first, std::min(kRunRows, leaf->row_slots() - first), 1});
      }
    }
    return;
  }
  // Runs at even distances over as many leaves as may be.
  const size_t chosen = std::min<size_t>(leaves.size(), kLeavesMax);
  const size_t runs = kSampledRows / (kRunRows / kStride) / chosen + 1;
  for (size_t i = 0; i < chosen; ++i) {
    const storage::Leaf* const leaf = leaves[i * leaves.size() / chosen];
    const uint32_t there = (leaf->row_slots() + kRunRows - 1) / kRunRows;
    const size_t taken = std::min<size_t>(runs, there);
    for (size_t r = 0; r < taken; ++r) {
      const auto first = static_cast<uint32_t>(r * there / taken) * kRunRows;
      runs_.push_back({leaf, first, std::min(kRunRows, leaf->row_slots() - first), kStride});
    }
  }
}

namespace {

// f(slot) for the rows of the run that are drawn.
template <class F>
void for_drawn(const storage::Leaf& leaf, uint32_t first, uint32_t count, uint32_t stride, F&& f) {
  for (uint32_t i = (first / kRunRows) % stride; i < count; i += stride) {
    if (leaf.lives(first + i)) f(i);
  }
}

double number_at(const base::DataType& type, const storage::ColumnView& view, uint32_t i) {
  switch (type.kind) {
    case base::TypeKind::kInt:
    case base::TypeKind::kDate: return view.as<int32_t>()[i];
    case base::TypeKind::kDouble: return view.as<double>()[i];
    case base::TypeKind::kBoolean: return view.as<uint8_t>()[i];
    default: return static_cast<double>(view.as<int64_t>()[i]);
  }
}

void add_quantiles(const std::vector<double>& sorted, ColumnSample* sample) {
  if (sorted.empty()) return;
  for (size_t q = 0; q <= kQuantiles; ++q) {
    sample->quantiles.push_back(sorted[q * (sorted.size() - 1) / kQuantiles]);
  }
}

}  // namespace

std::optional<ColumnSample> SampledRows::sample(base::ColumnId column) const {
  const base::DataType& type = table_.schema().columns[column.value].type;
  const auto rows = static_cast<double>(table_.live_rows());
  Drawn<double> numbers;
  Drawn<std::string> texts;
  storage::DecodeBuffer buffer;
  for (size_t r = 0; r < runs_.size();) {
    const storage::Leaf& leaf = *runs_[r].leaf;
    if (!leaf.in_memory(column)) return std::nullopt;
    const auto pinned = leaf.pin(column);
    if (!pinned) return std::nullopt;
    for (; r < runs_.size() && runs_[r].leaf == &leaf; ++r) {
      const Run& run = runs_[r];
      const storage::ColumnView view = pinned->view(run.first, run.count, &buffer);
      for_drawn(leaf, run.first, run.count, run.stride, [&](uint32_t i) {
        if (type.is_string()) {
          if (view.is_null(i)) {
            ++texts.nulls;
          } else {
            texts.values.emplace_back(view.as<base::StringRef>()[i].view());
          }
        } else if (const double number = view.is_null(i) ? 0 : number_at(type, view, i);
                   view.is_null(i) || std::isnan(number)) {
          ++numbers.nulls;
        } else {
          numbers.values.push_back(number);
        }
      });
    }
  }
  if (!type.is_string()) {
    ColumnSample sample = summary_of(&numbers, is_whole_, rows);
    add_quantiles(numbers.values, &sample);
    return sample;
  }
  std::vector<std::string> some;
  const size_t step = std::max<size_t>(texts.values.size() / kTextsMax, 1);
  for (size_t i = 0; i < texts.values.size(); i += step) some.push_back(texts.values[i]);
  ColumnSample sample = summary_of(&texts, is_whole_, rows);
  sample.texts = std::move(some);
  return sample;
}

}  // namespace diptych::olap
