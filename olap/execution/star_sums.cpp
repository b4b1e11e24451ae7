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
    argument.adds_in_64_bits = true;
  } else {
    DIPTYCH_CHECK(values.type == PhysicalType::kInt64, "sums are of integers");
    uint64_t magnitudes = 0;  // of no fewer bits than the largest
    for_slots(rows, [&](uint32_t i) {
      wide[i] = values.as<int64_t>()[i];
      magnitudes |= static_cast<uint64_t>(wide[i] < 0 ? ~wide[i] : wide[i]);
    });
    argument.adds_in_64_bits = magnitudes < uint64_t{1} << 56;
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
  for (size_t w = 0; w < wanted_.size(); ++w) add_word(w, rows.word(w), slots);
}

void StarSums::add_word(size_t word, const uint64_t* bits, uint32_t slots) {
  const auto begin_run = [&](uint64_t queries) {
    if (queries == run_.queries) return;
    flush(word);
    run_.queries = queries;
  };
  for (uint32_t first = 0; first < slots; first += kBlockRows) {
    const uint32_t end = std::min(slots, first + kBlockRows);
    uint64_t difference = 0;
    uint64_t any = 0;
    for (uint32_t i = first; i < end; ++i) {
      difference |= bits[i] ^ bits[first];
      any |= bits[i];
    }
    if (any == 0) continue;
    if (difference == 0) {
      begin_run(any);
      add_block(word, first, end);
      continue;
    }
    uint64_t wanted = 0;
    for (uint32_t i = first; i < end; ++i) wanted |= uint64_t{bits[i] != 0} << (i - first);
    for (; wanted != 0; wanted &= wanted - 1) {
      const uint32_t row = first + static_cast<uint32_t>(std::countr_zero(wanted));
      begin_run(bits[row]);
      add_row(word, row);
    }
  }
  flush(word);
}

void StarSums::add_block(size_t word, uint32_t first, uint32_t end) {
  const std::vector<uint32_t>& wanted = wanted_[word];
  run_.rows += end - first;
  for (size_t a = 0; a < wanted.size(); ++a) {
    const Argument& argument = arguments_[wanted[a]];
    if (argument.adds_in_64_bits) {
      int64_t sum = 0;
      for (uint32_t i = first; i < end; ++i) sum += argument.values[i];
      run_.sums[a].sum += sum;
    } else {
      for (uint32_t i = first; i < end; ++i) run_.sums[a].sum += argument.values[i];
    }
    int64_t count = end - first;
    if (argument.has_nulls) {
      count = 0;
      for (uint32_t i = first; i < end; ++i) count += argument.is_value[i];
    }
    run_.sums[a].count += count;
  }
}

void StarSums::add_row(size_t word, uint32_t row) {
  const std::vector<uint32_t>& wanted = wanted_[word];
  ++run_.rows;
  for (size_t a = 0; a < wanted.size(); ++a) {
    const Argument& argument = arguments_[wanted[a]];
    run_.sums[a].sum += argument.values[row];
    run_.sums[a].count += argument.has_nulls ? argument.is_value[row] : 1;
  }
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
