// QueryRows: for each row of a vector, the set of queries of a batch that still want the row.
//
// Query q is bit q % 64 of word q / 64. Each word is an array by slot: word(w)[slot] has the bits
// of 64 queries for a row. So a predicate or a join narrows all rows for 64 queries in one loop.
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

// A set of queries as words of bits; its owner knows the length.
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

  // Sets the selected rows to these queries, and the others to none.
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

  // Narrows every row to the queries in `mask`.
  void keep(const uint64_t* mask, uint32_t slots) {
    for (size_t w = 0; w < words_; ++w) {
      if (mask[w] == ~uint64_t{0}) continue;
      uint64_t* const bits = word(w);
      for (uint32_t i = 0; i < slots; ++i) bits[i] &= mask[w];
    }
  }

  // Narrows row i to the queries in masks[classes[i]], which has words() words. In words that are
  // not in `acting`, masks drop no query.
  void keep_by_class(const uint64_t* masks, std::span<const size_t> acting, const uint16_t* classes,
                     uint32_t slots) {
    for (const size_t w : acting) {
      uint64_t* const bits = word(w);
      for (uint32_t i = 0; i < slots; ++i) bits[i] &= masks[classes[i] * words_ + w];
    }
  }

  // Narrows each selected row i, in `words` words from word `first` on, to the queries in
  // found[keys[i]].
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

  // Removes the queries of the set from rows whose bit in `is_true` is clear.
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

  // Selects those of the rows that some query wants.
  void select_wanted(const Selection& rows, Selection* selection) const {
    select_wanted_by({0, words_, nullptr}, rows, selection);
  }
  // Some of the queries: `words` words of bits, from word `first` on; nullptr: all of these words'
  // queries. select_wanted_by() selects the rows that one of them wants.
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
  // Handles up to four words together, so that a key's cache line is read once; 0: any number.
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
