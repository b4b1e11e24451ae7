// RankSelection: finds the rows of given ranks in a column's order, without a sort. Of equal rows,
// the earlier one has the lower rank.
//
// Prefixes (sort_prefix.h) are counted by their highest differing bits. Rows that share the wanted
// digit are counted again by the next lower bits. A rank takes at most seven rounds and mostly two
// or three, each over fewer rows, whatever the values. Rows are compared only if their prefixes are
// equal and do not decide.
//
// Threads    one worker.
// Stopping   within some milliseconds.
// Memory     20 bytes for each row.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "olap/execution/expression/comparison_kernels.h"
#include "olap/execution/key/sort_prefix.h"
#include "olap/execution/limits/stop_signal.h"

namespace diptych::olap {

template <class T>
class RankSelection {
 public:
  RankSelection(const T* values, bool descending, const StopSignal& stop)
      : values_(values), descending_(descending), stop_(stop) {}

  // Selects among these rows from now on. None of them is null. They outlive this object.
  void start(std::span<const uint32_t> rows) {
    rows_ = rows;
    prefixes_.resize(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      stop_.check_at(i + 1);
      const uint64_t prefix = prefix_of(values_[rows[i]]);
      prefixes_[i] = descending_ ? ~prefix : prefix;
    }
    tied_.clear();
  }

  uint32_t row(size_t rank) {
    if (rank < first_tied_ || rank - first_tied_ >= tied_.size()) tie(rank);
    const auto chosen = tied_.begin() + static_cast<std::ptrdiff_t>(rank - first_tied_);
    if (!prefix_decides_) std::nth_element(tied_.begin(), chosen, tied_.end(), Order{this});
    return *chosen;
  }

 private:
  static constexpr uint32_t kDigitBits = 10;
  static constexpr size_t kCountedMin = 512;  // below, comparing is faster

  // Standard algorithms copy the comparison.
  struct Order {
    RankSelection* of;
    bool operator()(uint32_t a, uint32_t b) const {
      of->stop_.check_at(++of->compared_);
      const T& low = of->values_[of->descending_ ? b : a];
      const T& high = of->values_[of->descending_ ? a : b];
      if (value_less(low, high)) return true;
      return !value_less(high, low) && a < b;
    }
  };

  // Finds the rows that have the prefix of this rank.
  void tie(size_t rank) {
    const uint64_t prefix = prefix_at(rank);
    tied_.resize(rows_.size());
    size_t below = 0;
    size_t tied = 0;
    for (size_t i = 0; i < rows_.size(); ++i) {
      stop_.check_at(i + 1);
      tied_[tied] = rows_[i];
      tied += static_cast<size_t>(prefixes_[i] == prefix);
      below += static_cast<size_t>(prefixes_[i] < prefix);
    }
    tied_.resize(tied);
    first_tied_ = below;
    prefix_decides_ = std::all_of(tied_.begin(), tied_.end(),
                                  [this](uint32_t row) { return prefix_decides(values_[row]); });
  }

  uint64_t prefix_at(size_t rank) {
    std::span<const uint64_t> left = prefixes_;
    candidates_.resize(prefixes_.size());
    while (left.size() >= kCountedMin) {
      uint64_t differing = 0;
      for (size_t i = 0; i < left.size(); ++i) differing |= left[i] ^ left[0];
      if (differing == 0) return left[0];
      const auto bits = static_cast<uint32_t>(std::bit_width(differing));
      const uint32_t shift = bits - std::min(bits, kDigitBits);
      const auto digit_of = [shift](uint64_t prefix) {
        return (prefix >> shift) % (1U << kDigitBits);
      };
      std::array<uint32_t, 1U << kDigitBits> counts = {};
      for (size_t i = 0; i < left.size(); ++i) {
        stop_.check_at(i + 1);
        ++counts[digit_of(left[i])];
      }
      uint64_t digit = 0;
      while (rank >= counts[digit]) rank -= counts[digit++];
      size_t kept = 0;
      for (size_t i = 0; i < left.size(); ++i) {
        stop_.check_at(i + 1);
        const uint64_t prefix = left[i];
        candidates_[kept] = prefix;
        kept += static_cast<size_t>(digit_of(prefix) == digit);
      }
      left = {candidates_.data(), kept};
    }
    if (left.data() != candidates_.data()) {
      std::copy(left.begin(), left.end(), candidates_.begin());
    }
    const auto wanted = candidates_.begin() + static_cast<std::ptrdiff_t>(rank);
    std::nth_element(candidates_.begin(), wanted,
                     candidates_.begin() + static_cast<std::ptrdiff_t>(left.size()));
    return *wanted;
  }

  const T* values_;
  bool descending_;
  const StopSignal& stop_;
  std::span<const uint32_t> rows_;
  std::vector<uint64_t> prefixes_;  // of the rows, ascending in the wanted order
  std::vector<uint64_t> candidates_;
  std::vector<uint32_t> tied_;  // rows that share a prefix
  size_t first_tied_ = 0;       // number of rows before them
  bool prefix_decides_ = false;
  uint64_t compared_ = 0;
};

}  // namespace diptych::olap
