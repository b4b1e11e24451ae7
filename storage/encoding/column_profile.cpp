#include "storage/encoding/column_profile.h"

#include <algorithm>
#include <bit>
#include <unordered_map>

namespace diptych::storage::encoding {
namespace {

constexpr uint32_t kSampleRuns = 32;
constexpr uint32_t kSampleRunRows = 32;
constexpr size_t kSymbolSampleBytes = 16 * 1024;

// Calls fn(row) for the rows of a sample: all where there are few.
template <class Function>
void for_sample(uint32_t rows, uint32_t run_rows, Function&& fn) {
  const uint32_t stride = std::max(run_rows, rows / kSampleRuns);
  for (uint32_t first = 0; first < rows; first += stride) {
    const uint32_t last = std::min(rows, first + run_rows);
    for (uint32_t row = first; row < last; ++row) fn(row);
  }
}

uint32_t count_bits(const uint64_t* words, uint32_t rows) {
  uint32_t bits = 0;
  for (uint32_t word = 0; word < rows / 64; ++word) bits += std::popcount(words[word]);
  if (rows % 64 != 0) {
    bits += std::popcount(words[rows / 64] & ((uint64_t{1} << (rows % 64)) - 1));
  }
  return bits;
}

}  // namespace

ColumnProfile::ColumnProfile(const ColumnRun& column) : column_(column) {
  if (column.nulls != nullptr) null_rows_ = count_bits(column.nulls, column.rows);
  if (null_rows_ == 0) column_.nulls = nullptr;
  if (column.kind == ValueKind::kText) {
    read_texts();
    return;
  }
  with_keys(column, [&](const auto* values, const auto& to_key) { read_keys(values, to_key); });
}

template <class Function>
void ColumnProfile::for_each_row(const Function& fn, Rows rows) const {
  const uint64_t flip = rows == Rows::kNulls ? 0 : ~uint64_t{0};
  for (uint32_t first = 0; first < column_.rows; first += 64) {
    const uint32_t count = std::min(64U, column_.rows - first);
    uint64_t rest = (column_.nulls[first / 64] ^ flip) & (~uint64_t{0} >> (64 - count));
    for (; rest != 0; rest &= rest - 1) fn(first + static_cast<uint32_t>(std::countr_zero(rest)));
  }
}

template <class Value, class ToKey>
void ColumnProfile::read_keys(const Value* values, const ToKey& to_key) {
  keys_.resize(column_.rows);
  for (uint32_t i = 0; i < column_.rows; ++i) keys_[i] = to_key(values[i]);
  int64_t min = min_;  // in registers: the keys might be these members, for all the compiler knows
  int64_t max = max_;
  const auto widen = [&](int64_t key) {
    min = std::min(min, key);
    max = std::max(max, key);
  };
  if (column_.nulls == nullptr) {
    for (const int64_t key : keys_) widen(key);
  } else {
    for_each_row([&](uint32_t row) { widen(keys_[row]); }, Rows::kValues);
    const int64_t fill = min <= max ? min : 0;
    for_each_row([&](uint32_t row) { keys_[row] = fill; }, Rows::kNulls);
  }
  min_ = min;
  max_ = max;
  all_equal_ = min >= max;
}

void ColumnProfile::read_texts() {
  const auto* const values = column_.as<base::StringRef>();
  texts_.resize(column_.rows);
  length_min_ = column_.rows == 0 ? 0 : UINT32_MAX;
  std::array<uint8_t, 256> seen{};
  const std::string_view* first = nullptr;
  for (uint32_t i = 0; i < column_.rows; ++i) {
    const bool is_null = column_.is_null(i);
    const std::string_view text = is_null ? std::string_view() : values[i].view();
    texts_[i] = text;
    const auto size = static_cast<uint32_t>(text.size());
    text_bytes_ += size;
    length_min_ = std::min(length_min_, size);
    length_max_ = std::max(length_max_, size);
    if (is_null) continue;
    const int64_t key = text_key(text);
    min_ = std::min(min_, key);
    max_ = std::max(max_, key);
    if (first == nullptr) first = &texts_[i];
    all_equal_ = all_equal_ && text == *first;
    for (const char c : text) seen[static_cast<uint8_t>(c)] = 1;
  }
  std::copy(seen.begin(), seen.end(), seen_.begin());
}

ColumnProfile::Distinct ColumnProfile::sample_distinct() const {
  struct Seen {
    uint32_t times = 0;
  };
  const auto estimate = [&](const auto& seen) {
    double once = 0;
    double twice = 0;
    for (const auto& [value, count] : seen) {
      once += count.times == 1 ? 1 : 0;
      twice += count.times == 2 ? 1 : 0;
    }
    const double unseen = once * once / (2 * std::max(twice, 0.5));
    return std::min(static_cast<double>(rows()), static_cast<double>(seen.size()) + unseen);
  };
  if (kind() != ValueKind::kText) {
    std::unordered_map<int64_t, Seen> seen;
    for_sample(rows(), kSampleRunRows, [&](uint32_t row) { ++seen[keys_[row]].times; });
    return {estimate(seen), 0};
  }
  std::unordered_map<std::string_view, Seen> seen;
  for_sample(rows(), kSampleRunRows, [&](uint32_t row) { ++seen[texts_[row]].times; });
  double bytes = 0;
  for (const auto& [text, count] : seen) bytes += static_cast<double>(text.size());
  return {estimate(seen), bytes / std::max(1.0, static_cast<double>(seen.size()))};
}

void ColumnProfile::learn_symbols() const {
  std::vector<std::string_view> sample;
  size_t bytes = 0;
  const double mean = static_cast<double>(text_bytes_) / std::max(1U, rows()) + 1;
  const auto run_rows = std::clamp(static_cast<uint32_t>(kSymbolSampleBytes / mean / kSampleRuns),
                                   1U, kSampleRunRows);
  for_sample(rows(), run_rows, [&](uint32_t row) {
    if (bytes >= kSymbolSampleBytes) return;
    // No text takes the sample alone.
    sample.push_back(texts_[row].substr(0, kSymbolSampleBytes / 8));
    bytes += sample.back().size();
  });
  uint64_t compressed = 0;
  symbols_ = SymbolTable::learn(sample, &compressed);
  symbol_ratio_ = bytes == 0 ? 1 : static_cast<double>(compressed) / static_cast<double>(bytes);
}

const SymbolTable& ColumnProfile::symbols() const {
  if (!symbols_) learn_symbols();
  return *symbols_;
}

double ColumnProfile::symbol_ratio() const {
  if (!symbols_) learn_symbols();
  return symbol_ratio_;
}

}  // namespace diptych::storage::encoding
