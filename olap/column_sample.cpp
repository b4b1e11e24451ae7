#include "olap/column_sample.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <string_view>

#include <xxhash.h>

namespace diptych::olap {

namespace {

constexpr size_t kFrequentMax = 32;
constexpr size_t kQuantiles = 64;
// If at most one of so many values was drawn once only, the sample is taken to have all values.
constexpr double kValuesToOneDrawnOnce = 20;

// Different values and their counts, of sorted ones.
struct Counted {
  struct Value {
    double number;
    uint64_t count;
  };
  std::vector<Value> values;
  uint64_t once = 0;
};

Counted counted(const std::vector<double>& sorted) {
  Counted result;
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

// Ascending numbers, of rows of which so many more had none.
void summarize(const std::vector<double>& sorted, uint64_t nulls, double table_rows,
               ColumnSample* sample) {
  const double rows = static_cast<double>(sorted.size() + nulls);
  if (rows == 0) return;
  sample->null_share = static_cast<double>(nulls) / rows;
  Counted all = counted(sorted);
  const auto count = static_cast<double>(sorted.size());
  const auto different = static_cast<double>(all.values.size());
  sample->distinct = sample->is_whole
                         ? different
                         : distinct_of_all(count, different, static_cast<double>(all.once),
                                           table_rows * (1 - sample->null_share));
  sample->has_all_values =
      sample->is_whole || static_cast<double>(all.once) * kValuesToOneDrawnOnce <= different;
  // What is not clearly above the average is a chance of the draw, but where all rows were seen.
  const bool few = sample->is_whole && all.values.size() <= kFrequentMax;
  const double average = count / std::max(sample->distinct, 1.0);
  std::erase_if(all.values, [&](const auto& value) {
    return !few && (value.count < 4 || static_cast<double>(value.count) < 1.25 * average);
  });
  const size_t kept = std::min(all.values.size(), kFrequentMax);
  std::partial_sort(all.values.begin(), all.values.begin() + static_cast<std::ptrdiff_t>(kept),
                    all.values.end(),
                    [](const auto& a, const auto& b) { return a.count > b.count; });
  for (size_t i = 0; i < kept; ++i) {
    sample->frequent.push_back(
        {all.values[i].number, static_cast<double>(all.values[i].count) / rows});
  }
}

void add_quantiles(const std::vector<double>& sorted, ColumnSample* sample) {
  if (sorted.empty()) return;
  for (size_t q = 0; q <= kQuantiles; ++q) {
    sample->quantiles.push_back(sorted[q * (sorted.size() - 1) / kQuantiles]);
  }
}

void sort_numbers(std::vector<double>* numbers) {
  std::erase_if(*numbers, [](double number) { return std::isnan(number); });
  std::sort(numbers->begin(), numbers->end());
}

bool is_null(double number) {
  return std::isnan(number) && !SampledValues::is_none(number);
}

}  // namespace

const double SampledValues::kNone = std::bit_cast<double>(uint64_t{0x7ff8'0000'0000'0001});

bool SampledValues::is_none(double number) {
  return std::bit_cast<uint64_t>(number) == std::bit_cast<uint64_t>(kNone);
}

double text_number(std::string_view text) {
  return static_cast<double>(XXH3_64bits(text.data(), text.size()) >> 11);
}

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
  const std::optional<double> number = text == nullptr ? numeric_value(value) : text_number(*text);
  if (!number.has_value()) return std::nullopt;
  double others = 1 - null_share;
  for (const Frequent& one : frequent) {
    if (one.number == *number) return one.share;
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

const std::vector<double>& SampledValues::sorted() const {
  std::call_once(once_, [this] {
    sorted_ = numbers_;
    sort_numbers(&sorted_);
  });
  return sorted_;
}

SampledColumn::SampledColumn(SampledValuesPtr values, std::vector<Change> changes,
                             SampledTextsPtr texts, Extent extent, uint64_t table_rows)
    : values_(std::move(values)),
      changes_(std::move(changes)),
      texts_(std::move(texts)),
      extent_(extent),
      table_rows_(table_rows) {}

const ColumnSample& SampledColumn::summary() const {
  std::call_once(once_, [this] { summary_ = summarized(); });
  return summary_;
}

std::vector<double> SampledColumn::numbers() const {
  std::vector<double> numbers = values_->numbers();
  for (const Change& change : changes_) {
    if (change.slot >= numbers.size()) numbers.resize(change.slot + 1, SampledValues::kNone);
    numbers[change.slot] = change.number;
  }
  return numbers;
}

ColumnSample SampledColumn::summarized() const {
  const std::vector<double> now = numbers();
  const std::vector<double>& before = values_->numbers();
  std::vector<uint32_t> slots;
  for (const Change& change : changes_) slots.push_back(change.slot);
  std::sort(slots.begin(), slots.end());
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  std::vector<double> gone;
  std::vector<double> came;
  for (const uint32_t slot : slots) {
    if (slot < before.size()) gone.push_back(before[slot]);
    came.push_back(now[slot]);
  }
  sort_numbers(&gone);
  sort_numbers(&came);
  const std::vector<double>& all = values_->sorted();
  std::vector<double> left;
  left.reserve(now.size());
  std::set_difference(all.begin(), all.end(), gone.begin(), gone.end(), std::back_inserter(left));
  std::vector<double> sorted;
  sorted.reserve(now.size());
  std::merge(left.begin(), left.end(), came.begin(), came.end(), std::back_inserter(sorted));
  const auto nulls = static_cast<uint64_t>(std::count_if(now.begin(), now.end(), is_null));
  ColumnSample sample;
  sample.is_whole = extent_ == Extent::kWhole;
  summarize(sorted, nulls, static_cast<double>(table_rows_), &sample);
  if (texts_ == nullptr) {
    add_quantiles(sorted, &sample);
  } else {
    for (const auto& [slot, text] : *texts_) sample.texts.push_back(text);
  }
  return sample;
}

}  // namespace diptych::olap
