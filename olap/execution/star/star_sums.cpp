#include "olap/execution/star/star_sums.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "olap/execution/vector/probe_kernels.h"

namespace diptych::olap {

namespace {

constexpr size_t kColumnsAnArgument = 3;
constexpr uint64_t kLowerHalf = UINT32_MAX;

// Sums of value_of(slot) to `before`.
template <class ValueOf>
void add_up(uint32_t slots, std::vector<uint64_t>* before, ValueOf value_of) {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < slots; ++i) {
    (*before)[i] = sum;
    sum += static_cast<uint64_t>(value_of(i));
  }
  (*before)[slots] = sum;
}

}  // namespace

StarSums::StarSums(std::span<const SharedExpression> arguments, size_t words)
    : wanted_(words),
      arguments_(arguments.size()),
      rows_(kVectorRows + 1),
      starts_(kVectorRows + 1),
      counts_(words * 64),
      sums_(words) {
  for (uint32_t a = 0; a < arguments.size(); ++a) {
    const QuerySet& queries = arguments[a].queries;
    uint32_t count = 0;
    for (size_t w = 0; w < words; ++w) {
      if (queries[w] == 0) continue;
      count += static_cast<uint32_t>(std::popcount(queries[w]));
      arguments_[a].only = static_cast<uint32_t>(w * 64 + std::countr_zero(queries[w]));
    }
    if (count == 1) continue;
    arguments_[a].only.reset();
    for (Before* before : {&arguments_[a].sums, &arguments_[a].upper_sums, &arguments_[a].counts}) {
      before->resize(kVectorRows + 1);
    }
    for (size_t w = 0; w < words; ++w) {
      if (queries[w] != 0) wanted_[w].push_back(a);
    }
  }
  size_t wanted_max = 0;
  for (size_t w = 0; w < words; ++w) {
    sums_[w].resize(wanted_[w].size() * 64);
    wanted_max = std::max(wanted_max, wanted_[w].size());
  }
  added_.resize(1 + wanted_max * kColumnsAnArgument);
  totals_.resize(64 * added_.size());
  std::iota(rows_.begin(), rows_.end(), 0);
}

template <class T>
void StarSums::add_to_only(const Vector& values, const Selection& selection, const QueryRows& rows,
                           Argument* argument) {
  const T* const given = values.as<T>();
  const uint64_t* const bits = rows.word(*argument->only / 64);
  const uint32_t bit = *argument->only % 64;
  Sum sum = argument->of_only;
  for_selected(selection, [&](uint32_t i) {
    const bool counts = ((bits[i] >> bit) & 1) != 0 && !values.is_null(i);
    sum.sum += counts ? given[i] : 0;
    sum.count += counts ? 1 : 0;
  });
  argument->of_only = sum;
}

// Slots that are not selected give anything: no run has them.
template <class T>
void StarSums::add_up_argument(const Vector& values, uint32_t slots, Argument* argument) {
  const T* const given = values.as<T>();
  if (argument->has_nulls) {
    add_up(slots, &argument->counts, [&](uint32_t i) { return !values.is_null(i); });
  }
  const auto add_sums = [&](auto value_of) {
    if (!argument->is_wide) return add_up(slots, &argument->sums, value_of);
    add_up(slots, &argument->sums,
           [&](uint32_t i) { return static_cast<uint64_t>(value_of(i)) & kLowerHalf; });
    add_up(slots, &argument->upper_sums, [&](uint32_t i) { return value_of(i) >> 32; });
  };
  if (argument->has_nulls) {
    add_sums([&](uint32_t i) { return values.is_null(i) ? 0 : int64_t{given[i]}; });
  } else {
    add_sums([&](uint32_t i) { return int64_t{given[i]}; });
  }
}

void StarSums::set_argument(size_t index, const Vector& values, const Selection& selection,
                            const QueryRows& rows) {
  Argument& argument = arguments_[index];
  const bool is_int32 = values.type == PhysicalType::kInt32;
  DIPTYCH_CHECK(is_int32 || values.type == PhysicalType::kInt64, "sums are of integers");
  if (argument.only.has_value()) {
    return is_int32 ? add_to_only<int32_t>(values, selection, rows, &argument)
                    : add_to_only<int64_t>(values, selection, rows, &argument);
  }
  argument.has_nulls = values.nulls != nullptr;
  argument.is_wide = false;
  if (is_int32) return add_up_argument<int32_t>(values, selection.slots, &argument);
  const int64_t* const given = values.as<int64_t>();
  uint64_t magnitudes = 0;  // of no fewer bits than the largest
  for_slots(selection, [&](uint32_t i) {
    magnitudes |= static_cast<uint64_t>(given[i] < 0 ? ~given[i] : given[i]);
  });
  argument.is_wide = magnitudes >= uint64_t{1} << 52;
  static_assert(kVectorRows <= 1 << 10);
  add_up_argument<int64_t>(values, selection.slots, &argument);
}

void StarSums::add(const QueryRows& rows, uint32_t slots) {
  for (size_t w = 0; w < wanted_.size(); ++w) add_word(w, rows.word(w), slots);
}

void StarSums::add_word(size_t word, const uint64_t* bits, uint32_t slots) {
  uint32_t runs = collect_changes(bits, words_of(slots), 0, starts_.data());
  while (runs > 0 && starts_[runs - 1] >= slots) --runs;
  if (runs == 0) return;
  starts_[runs] = static_cast<uint16_t>(slots);
  columns_.assign(1, rows_.data());
  for (const uint32_t index : wanted_[word]) {
    const Argument& argument = arguments_[index];
    columns_.push_back(argument.sums.data());
    if (argument.is_wide) columns_.push_back(argument.upper_sums.data());
    if (argument.has_nulls) columns_.push_back(argument.counts.data());
  }
  switch (columns_.size()) {
    case 1: return add_totals(word, add_runs<1>(bits, runs));
    case 2: return add_totals(word, add_runs<2>(bits, runs));
    case 3: return add_totals(word, add_runs<3>(bits, runs));
    default: return add_totals(word, add_runs<0>(bits, runs));
  }
}

// Returns the queries that have totals now. 0 columns: as many as there are.
template <size_t kColumns>
uint64_t StarSums::add_runs(const uint64_t* bits, uint32_t runs) {
  const size_t columns = kColumns == 0 ? columns_.size() : kColumns;
  const uint64_t* const* const before = columns_.data();
  uint64_t* const totals = totals_.data();
  uint64_t fixed[kColumns == 0 ? 1 : kColumns];
  uint64_t* const added = kColumns == 0 ? added_.data() : fixed;
  uint64_t any = 0;
  for (uint32_t r = 0; r < runs; ++r) {
    const uint32_t first = starts_[r];
    const uint32_t end = starts_[r + 1];
    const uint64_t queries = bits[first];
    if (queries == 0) continue;
    any |= queries;
    for (size_t c = 0; c < columns; ++c) added[c] = before[c][end] - before[c][first];
    for (uint64_t left = queries; left != 0; left &= left - 1) {
      uint64_t* const of_query = totals + static_cast<size_t>(std::countr_zero(left)) * columns;
      for (size_t c = 0; c < columns; ++c) of_query[c] += added[c];
    }
  }
  return any;
}

void StarSums::add_totals(size_t word, uint64_t queries) {
  const auto take = [](uint64_t* total) { return static_cast<int64_t>(std::exchange(*total, 0)); };
  for (; queries != 0; queries &= queries - 1) {
    const auto query = static_cast<size_t>(std::countr_zero(queries));
    uint64_t* total = totals_.data() + query * columns_.size();
    const int64_t rows = take(total++);
    counts_[word * 64 + query] += rows;
    Sum* sum = sums_[word].data() + query * wanted_[word].size();
    for (const uint32_t index : wanted_[word]) {
      const Argument& argument = arguments_[index];
      sum->sum += take(total++);
      if (argument.is_wide) sum->sum += int128_t{take(total++)} << 32;
      sum->count += argument.has_nulls ? take(total++) : rows;
      ++sum;
    }
  }
}

void StarSums::merge(const StarSums& other) {
  const auto add = [](const Sum& added, Sum* sum) {
    sum->sum += added.sum;
    sum->count += added.count;
  };
  for (size_t q = 0; q < counts_.size(); ++q) counts_[q] += other.counts_[q];
  for (size_t w = 0; w < sums_.size(); ++w) {
    for (size_t i = 0; i < sums_[w].size(); ++i) add(other.sums_[w][i], &sums_[w][i]);
  }
  for (size_t a = 0; a < arguments_.size(); ++a) {
    add(other.arguments_[a].of_only, &arguments_[a].of_only);
  }
}

size_t StarSums::memory_bytes() const {
  size_t bytes = arguments_.size() * sizeof(Argument) + totals_.size() * sizeof totals_[0];
  for (const Argument& argument : arguments_) {
    bytes += kColumnsAnArgument * argument.sums.size() * sizeof argument.sums[0];
  }
  for (const std::vector<Sum>& sums : sums_) bytes += sums.size() * sizeof(Sum);
  return bytes;
}

const StarSums::Sum& StarSums::of(uint32_t query, uint32_t argument) const {
  if (arguments_[argument].only.has_value()) return arguments_[argument].of_only;
  const std::vector<uint32_t>& wanted = wanted_[query / 64];
  const auto place = std::lower_bound(wanted.begin(), wanted.end(), argument) - wanted.begin();
  return sums_[query / 64][query % 64 * wanted.size() + static_cast<size_t>(place)];
}

}  // namespace diptych::olap
