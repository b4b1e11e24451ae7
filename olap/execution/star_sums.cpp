#include "olap/execution/star_sums.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "olap/execution/probe_kernels.h"

namespace diptych::olap {

namespace {

constexpr size_t kColumnsAnArgument = 3;
constexpr uint64_t kLowerHalf = UINT32_MAX;

// Sums of value_of(slot) to `before`.
template <class ValueOf>
void add_up(uint32_t slots, std::vector<uint64_t>* before, ValueOf value_of) {
  before->resize(kVectorRows + 1);
  uint64_t sum = 0;
  for (uint32_t i = 0; i < slots; ++i) {
    (*before)[i] = sum;
    sum += static_cast<uint64_t>(value_of(i));
  }
  (*before)[slots] = sum;
}

}  // namespace

StarSums::StarSums(size_t arguments, std::vector<std::vector<uint32_t>> wanted_arguments)
    : wanted_(std::move(wanted_arguments)),
      arguments_(arguments),
      rows_(kVectorRows + 1),
      starts_(kVectorRows + 1),
      added_(1 + arguments * kColumnsAnArgument),
      totals_(64 * (1 + arguments * kColumnsAnArgument)),
      counts_(wanted_.size() * 64),
      sums_(wanted_.size() * 64 * arguments) {
  // One that fails may have none, and those beside it in a word are added up with it.
  for (Argument& argument : arguments_) argument.sums.resize(kVectorRows + 1);
  std::iota(rows_.begin(), rows_.end(), 0);
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

void StarSums::set_argument(size_t index, const Vector& values, const Selection& rows) {
  Argument& argument = arguments_[index];
  argument.has_nulls = values.nulls != nullptr;
  argument.is_wide = false;
  if (values.type == PhysicalType::kInt32) {
    return add_up_argument<int32_t>(values, rows.slots, &argument);
  }
  DIPTYCH_CHECK(values.type == PhysicalType::kInt64, "sums are of integers");
  const int64_t* const given = values.as<int64_t>();
  uint64_t magnitudes = 0;  // of no fewer bits than the largest
  for_slots(rows, [&](uint32_t i) {
    magnitudes |= static_cast<uint64_t>(given[i] < 0 ? ~given[i] : given[i]);
  });
  argument.is_wide = magnitudes >= uint64_t{1} << 52;
  static_assert(kVectorRows <= 1 << 10);
  add_up_argument<int64_t>(values, rows.slots, &argument);
}

void StarSums::add(const QueryRows& rows, uint32_t slots) {
  for (size_t w = 0; w < wanted_.size(); ++w) add_word(w, rows.word(w), slots);
}

void StarSums::add_word(size_t word, const uint64_t* bits, uint32_t slots) {
  uint32_t runs = collect_changes(bits, words_of(slots), starts_.data());
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
    Sum* const sums = sums_.data() + (word * 64 + query) * arguments_.size();
    for (const uint32_t index : wanted_[word]) {
      const Argument& argument = arguments_[index];
      sums[index].sum += take(total++);
      if (argument.is_wide) sums[index].sum += int128_t{take(total++)} << 32;
      sums[index].count += argument.has_nulls ? take(total++) : rows;
    }
  }
}

void StarSums::merge(const StarSums& other) {
  for (size_t q = 0; q < counts_.size(); ++q) counts_[q] += other.counts_[q];
  for (size_t i = 0; i < sums_.size(); ++i) {
    sums_[i].sum += other.sums_[i].sum;
    sums_[i].count += other.sums_[i].count;
  }
}

}  // namespace diptych::olap
