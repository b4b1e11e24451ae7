#include "olap/execution/star_sums.h"

#include <algorithm>
#include <bit>
#include <utility>

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
  const auto make_room = [&](auto* part) {
    part->run.resize(arguments);
    part->sums.resize(arguments * 64);
  };
  make_room(&narrow_);
  make_room(&wide_);
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
    argument.adds_in_64_bits = magnitudes < uint64_t{1} << 52;
    static_assert(kVectorRows <= 1 << 10);
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
  for (size_t w = 0; w < wanted_.size(); ++w) {
    const bool is_narrow =
        std::all_of(wanted_[w].begin(), wanted_[w].end(),
                    [this](uint32_t argument) { return arguments_[argument].adds_in_64_bits; });
    if (is_narrow) {
      add_word(w, rows.word(w), slots, &narrow_);
    } else {
      add_word(w, rows.word(w), slots, &wide_);
    }
  }
}

template <class Number>
void StarSums::add_word(size_t word, const uint64_t* bits, uint32_t slots, Part<Number>* part) {
  const auto begin_run = [&](uint64_t queries) {
    if (queries == part->run_queries) return;
    end_run(word, part);
    part->run_queries = queries;
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
      add_block(word, first, end, part);
      continue;
    }
    uint64_t wanted = 0;
    for (uint32_t i = first; i < end; ++i) wanted |= uint64_t{bits[i] != 0} << (i - first);
    for (; wanted != 0; wanted &= wanted - 1) {
      const uint32_t row = first + static_cast<uint32_t>(std::countr_zero(wanted));
      begin_run(bits[row]);
      add_row(word, row, part);
    }
  }
  end_run(word, part);
  add_part(word, part);
}

template <class Number>
void StarSums::add_block(size_t word, uint32_t first, uint32_t end, Part<Number>* part) const {
  const std::vector<uint32_t>& wanted = wanted_[word];
  part->run_rows += end - first;
  for (size_t a = 0; a < wanted.size(); ++a) {
    const Argument& argument = arguments_[wanted[a]];
    Number sum = 0;
    for (uint32_t i = first; i < end; ++i) sum += argument.values[i];
    part->run[a].sum += sum;
    if (!argument.has_nulls) continue;
    for (uint32_t i = first; i < end; ++i) part->run[a].count += argument.is_value[i];
  }
}

template <class Number>
void StarSums::add_row(size_t word, uint32_t row, Part<Number>* part) const {
  const std::vector<uint32_t>& wanted = wanted_[word];
  ++part->run_rows;
  for (size_t a = 0; a < wanted.size(); ++a) {
    const Argument& argument = arguments_[wanted[a]];
    part->run[a].sum += argument.values[row];
    if (argument.has_nulls) part->run[a].count += argument.is_value[row];
  }
}

template <class Number>
void StarSums::end_run(size_t word, Part<Number>* part) const {
  const std::vector<uint32_t>& wanted = wanted_[word];
  const uint64_t queries = std::exchange(part->run_queries, 0);
  const int64_t rows = std::exchange(part->run_rows, 0);
  part->queries |= queries;
  for (uint64_t left = queries; left != 0; left &= left - 1) {
    part->rows[std::countr_zero(left)] += rows;
  }
  for (size_t a = 0; a < wanted.size(); ++a) {
    const Addend<Number> run = std::exchange(part->run[a], {});
    Addend<Number>* const sums = part->sums.data() + a * 64;
    for (uint64_t left = queries; left != 0; left &= left - 1) {
      sums[std::countr_zero(left)].sum += run.sum;
    }
    if (!arguments_[wanted[a]].has_nulls) continue;
    for (uint64_t left = queries; left != 0; left &= left - 1) {
      sums[std::countr_zero(left)].count += run.count;
    }
  }
}

template <class Number>
void StarSums::add_part(size_t word, Part<Number>* part) {
  const std::vector<uint32_t>& wanted = wanted_[word];
  for (uint64_t left = std::exchange(part->queries, 0); left != 0; left &= left - 1) {
    const auto query = static_cast<size_t>(std::countr_zero(left));
    const int64_t rows = std::exchange(part->rows[query], 0);
    counts_[word * 64 + query] += rows;
    Sum* const sums = sums_.data() + (word * 64 + query) * arguments_.size();
    for (size_t a = 0; a < wanted.size(); ++a) {
      const Addend<Number> added = std::exchange(part->sums[a * 64 + query], {});
      sums[wanted[a]].sum += added.sum;
      sums[wanted[a]].count += arguments_[wanted[a]].has_nulls ? added.count : rows;
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
