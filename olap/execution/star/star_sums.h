// StarSums: counts and sums of many queries over the rows of one table.
//
// Of a vector's values it is known what those before each slot add up to. So rows in succession
// that the same queries want cost a subtraction, and an addition for each of these queries,
// however many rows they are: a query without joins wants whole vectors, and costs next to nothing.
// What one query alone sums is added row by row: for the others of its word it would be a column
// more.
//
// Sums are exact (128 bits), so results do not depend on the number of threads.
//
// Threads    one worker; merged by one.

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/int128.h"
#include "olap/execution/star/query_rows.h"
#include "olap/execution/star/star_node.h"

namespace diptych::olap {

class StarSums {
 public:
  struct Sum {
    int128_t sum = 0;
    int64_t count = 0;  // of values that are not null
  };

  // The arguments' queries are of the first `words` words.
  StarSums(std::span<const SharedExpression> arguments, size_t words);

  // Sets argument `index` of the vector's rows: INT, DATE (kInt32) or kInt64 values, where
  // `selection` has the rows that its queries want.
  void set_argument(size_t index, const Vector& values, const Selection& selection,
                    const QueryRows& rows);
  // Adds the rows of the vector to the queries of the first words that want them. Benchmark:
  // BM_StarBatch.
  void add(const QueryRows& rows, uint32_t slots);
  void merge(const StarSums& other);
  size_t memory_bytes() const;

  int64_t rows(uint32_t query) const { return counts_[query]; }
  const Sum& of(uint32_t query, uint32_t argument) const;

 private:
  // What is added up, by slot and at the end: modulo 2^64, which differences do not feel.
  using Before = std::vector<uint64_t>;

  struct Argument {
    std::optional<uint32_t> only;  // the query that sums it, where it is one
    Sum of_only;
    // Of what several queries sum.
    bool has_nulls = false;
    bool is_wide = false;  // kVectorRows values may take over 64 bits: they are added by halves
    Before sums;           // wide: of the lower 32 bits
    Before upper_sums;     // of the upper ones, if wide
    Before counts;         // of values, where there are nulls; else it is the rows
  };

  template <class T>
  static void add_to_only(const Vector& values, const Selection& selection, const QueryRows& rows,
                          Argument* argument);
  template <class T>
  static void add_up_argument(const Vector& values, uint32_t slots, Argument* argument);
  void add_word(size_t word, const uint64_t* bits, uint32_t slots);
  template <size_t kColumns>
  uint64_t add_runs(const uint64_t* bits, uint32_t runs);
  void add_totals(size_t word, uint64_t queries);

  std::vector<std::vector<uint32_t>> wanted_;  // by word: arguments that several queries sum
  std::vector<Argument> arguments_;
  Before rows_;
  std::vector<uint16_t> starts_;          // of runs of rows with the same queries; then the end
  std::vector<const uint64_t*> columns_;  // of a word: rows, and what its arguments have
  std::vector<uint64_t> added_;           // by a run, by column
  std::vector<uint64_t> totals_;          // of a vector's rows and a word, by query and column
  std::vector<int64_t> counts_;           // by query
  std::vector<std::vector<Sum>> sums_;    // by word, then query and place among its arguments
};

}  // namespace diptych::olap
