#include "olap/execution/star_sums.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace diptych::olap {

StarSums::StarSums(size_t arguments, std::vector<std::vector<uint32_t>> wanted_arguments)
    : wanted_(std::move(wanted_arguments)),
      arguments_(arguments),
      counts_(wanted_.size() * 64),
      sums_(wanted_.size() * 64 * arguments) {
  for (Argument& argument : arguments_) {
    argument.values.resize(kVectorRows);
    argument.is_value.resize(kVectorRows);
  }
  run_.sums.resize(arguments);
}

void StarSums::set_argument(size_t index, const Vector& values, const Selection& rows) {
  Argument& argument = arguments_[index];
  int64_t* const wide = argument.values.data();
  if (values.type == PhysicalType::kInt32) {
    for_slots(rows, [&](uint32_t i) { wide[i] = values.as<int32_t>()[i]; });
  } else {
    DIPTYCH_CHECK(values.type == PhysicalType::kInt64, "sums are of integers");
    for_slots(rows, [&](uint32_t i) { wide[i] = values.as<int64_t>()[i]; });
  }
  argument.has_nulls = values.nulls != nullptr;
  if (!argument.has_nulls) return;
  for_slots(rows, [&](uint32_t i) {
    const bool is_null = values.is_null(i);
    argument.is_value[i] = is_null ? 0 : 1;
    if (is_null) wide[i] = 0;
  });
}

void StarSums::add(const QueryRows& rows, uint32_t slots) {
  for (size_t w = 0; w < rows.words(); ++w) add_word(w, rows.word(w), slots);
}

void StarSums::add_word(size_t word, const uint64_t* bits, uint32_t slots) {
  const std::vector<uint32_t>& wanted = wanted_[word];
  for (uint32_t i = 0; i < slots; ++i) {
    const uint64_t queries = bits[i];
    if (queries == 0) continue;
    if (queries != run_.queries) {
      flush(word);
      run_.queries = queries;
    }
    ++run_.rows;
    for (size_t a = 0; a < wanted.size(); ++a) {
      const Argument& argument = arguments_[wanted[a]];
      run_.sums[a].sum += argument.values[i];
      run_.sums[a].count += argument.has_nulls ? argument.is_value[i] : 1;
    }
  }
  flush(word);
}

void StarSums::flush(size_t word) {
  const std::vector<uint32_t>& wanted = wanted_[word];
  for (uint64_t left = run_.queries; left != 0; left &= left - 1) {
    const size_t query = word * 64 + static_cast<size_t>(std::countr_zero(left));
    counts_[query] += run_.rows;
    Sum* const sums = sums_.data() + query * arguments_.size();
    for (size_t a = 0; a < wanted.size(); ++a) {
      sums[wanted[a]].sum += run_.sums[a].sum;
      sums[wanted[a]].count += run_.sums[a].count;
    }
  }
  run_.queries = 0;
  run_.rows = 0;
  std::fill_n(run_.sums.begin(), wanted.size(), Sum{});
}

void StarSums::merge(const StarSums& other) {
  for (size_t q = 0; q < counts_.size(); ++q) counts_[q] += other.counts_[q];
  for (size_t i = 0; i < sums_.size(); ++i) {
    sums_[i].sum += other.sums_[i].sum;
    sums_[i].count += other.sums_[i].count;
  }
}

}  // namespace diptych::olap
