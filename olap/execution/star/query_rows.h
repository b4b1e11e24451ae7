// QueryRows: for each row of a vector, the queries of a batch that still want it.
//
// Query q is bit q % 64 of word q / 64. Words are apart: word(w)[slot] has 64 queries' bits of a
// row, so that a predicate or a join narrows all rows for 64 queries in one loop.
//
// Threads    one worker.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "olap/execution/expression/comparison_kernels.h"
#include "olap/execution/vector/vector.h"

namespace diptych::olap {

// A set of queries: words of bits, of a length that its owner knows.
using QuerySet = std::vector<uint64_t>;

inline void add_to_set(uint32_t query, QuerySet* set) {
  (*set)[query / 64] |= uint64_t{1} << (query % 64);
}
inline bool is_in_set(uint32_t query, const QuerySet& set) {
  return ((set[query / 64] >> (query % 64)) & 1) != 0;
}
inline void add_all(const QuerySet& queries, QuerySet* set) {
  for (size_t w = 0; w < queries.size(); ++w) (*set)[w] |= queries[w];
}

class QueryRows {
 public:
  explicit QueryRows(size_t words) : words_(words), bits_(words * kVectorRows) {}

  size_t words() const { return words_; }
  uint64_t* word(size_t w) { return bits_.data() + w * kVectorRows; }
  const uint64_t* word(size_t w) const { return bits_.data() + w * kVectorRows; }

  // The queries for the selected rows, and none for the others.
  void reset(const uint64_t* queries, const Selection& live) {
    for (size_t w = 0; w < words_; ++w) {
      uint64_t* const bits = word(w);
      if (live.all()) {
        std::fill_n(bits, live.slots, queries[w]);
      } else {
        for (uint32_t i = 0; i < live.slots; ++i) {
          bits[i] = bit_at(live.bits, i) ? queries[w] : 0;
        }
      }
    }
  }

  // Every row keeps only the queries in `mask`.
  void keep(const uint64_t* mask, uint32_t slots) {
    for (size_t w = 0; w < words_; ++w) {
      if (mask[w] == ~uint64_t{0}) continue;
      uint64_t* const bits = word(w);
      for (uint32_t i = 0; i < slots; ++i) bits[i] &= mask[w];
    }
  }

  // Row i keeps the queries in masks[classes[i]], which has words() words; those that are not among
  // `acting` let all through.
  void keep_by_class(const uint64_t* masks, std::span<const size_t> acting, const uint16_t* classes,
                     uint32_t slots) {
    for (const size_t w : acting) {
      uint64_t* const bits = word(w);
      for (uint32_t i = 0; i < slots; ++i) bits[i] &= masks[classes[i] * words_ + w];
    }
  }

  // Of `words` words from word `first` on, row i keeps the queries in found[keys[i]], for the
  // selected ones.
  void keep_by_key(size_t first, size_t words, const uint64_t* found, const uint32_t* keys,
                   const Selection& rows) {
    switch (words) {
      case 1: return keep_by_key<1>(first, words, found, keys, rows);
      case 2: return keep_by_key<2>(first, words, found, keys, rows);
      case 3: return keep_by_key<3>(first, words, found, keys, rows);
      case 4: return keep_by_key<4>(first, words, found, keys, rows);
      default: return keep_by_key<0>(first, words, found, keys, rows);
    }
  }

  // Rows without a true bit lose the queries of the set.
  void drop_where_false(const uint64_t* is_true, const uint64_t* queries, uint32_t slots) {
    for (size_t w = 0; w < words_; ++w) {
      if (queries[w] == 0) continue;
      const uint64_t others = ~queries[w];
      uint64_t* const bits = word(w);
      for (uint32_t i = 0; i < slots; ++i) {
        bits[i] &= others | (uint64_t{0} - ((is_true[i / 64] >> (i % 64)) & 1));
      }
    }
  }

  // Selects, of these rows, those that some query wants.
  void select_wanted(const Selection& rows, Selection* selection) const {
    select_wanted_by({0, words_, nullptr}, rows, selection);
  }
  // The same of some queries: `words` words of them, of which the first belongs to word `first`;
  // nullptr: all.
  struct Queries {
    size_t first;
    size_t words;
    const uint64_t* bits;
  };
  void select_wanted_by(const Queries& queries, const Selection& rows, Selection* selection) const {
    uint64_t any[kVectorRows];
    std::fill_n(any, rows.slots, 0);
    for (size_t w = 0; w < queries.words; ++w) {
      const uint64_t mask = queries.bits == nullptr ? ~uint64_t{0} : queries.bits[w];
      const uint64_t* const bits = word(queries.first + w);
      for (uint32_t i = 0; i < rows.slots; ++i) any[i] |= bits[i] & mask;
    }
    constexpr uint64_t kNone = 0;
    uint64_t wanted[kVectorWords];
    compare_values<NotEqualComparison, true>(any, &kNone, rows, nullptr, wanted);
    for (uint32_t w = 0; w < words_of(rows.slots); ++w) wanted[w] &= rows.bits[w];
    select_bits(wanted, rows.slots, selection);
  }

 private:
  // Up to four words together, so that a key's line is met once; 0: any number of them.
  template <size_t kWords>
  void keep_by_key(size_t first, size_t words, const uint64_t* found, const uint32_t* keys,
                   const Selection& rows) {
    const size_t count = kWords == 0 ? words : kWords;
    uint64_t* const bits = word(first);
    for_selected(rows, [&](uint32_t i) {
      const uint64_t* const of_key = found + keys[i] * count;
      for (size_t w = 0; w < count; ++w) bits[w * kVectorRows + i] &= of_key[w];
    });
  }

  size_t words_;
  std::vector<uint64_t> bits_;
};

}  // namespace diptych::olap
