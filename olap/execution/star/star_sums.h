// StarSums: counts and sums of many queries over the rows of one table.
//
// For each vector, prefix sums give the sum of the values before each slot. So a run of rows with
// the same set of queries costs one subtraction, and one addition for each of these queries,
// whatever its length. A query without joins wants whole vectors and costs almost nothing. An
// argument that only one query sums is added row by row; prefix sums would cost the other queries
// of its word a further column.
//
// Sums are exact (128 bits), so results do not depend on the number of threads.
//
// Threads    one worker; one thread merges.

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
    int64_t count = 0;  // values that are not null
  };

  // The arguments' queries lie in the first `words` words.
  StarSums(std::span<const SharedExpression> arguments, size_t words);

  // Sets argument `index` for the vector's rows, as kInt32 or kInt64 values. `selection` has the
  // rows that its queries want.
  void set_argument(size_t index, const Vector& values, const Selection& selection,
                    const QueryRows& rows);
  // Adds the vector's rows to the queries of the first words that want them. Benchmark:
  // BM_StarBatch.
  void add(const QueryRows& rows, uint32_t slots);
  void merge(const StarSums& other);
  size_t memory_bytes() const;

  int64_t rows(uint32_t query) const { return counts_[query]; }
  const Sum& of(uint32_t query, uint32_t argument) const;

 private:
  // Prefix sums by slot, then the total. They are modulo 2^64, which differences do not notice.
  using Before = std::vector<uint64_t>;

  struct Argument {
    std::optional<uint32_t> only;  // the query that sums it, if there is only one
    Sum of_only;
    // The following are for several queries.
    bool has_nulls = false;
    bool is_wide = false;  // kVectorRows values may exceed 64 bits, so halves are summed
    Before sums;           // if wide, sums of the lower 32 bits
    Before upper_sums;     // if wide, sums of the upper bits
    Before counts;         // of values, if there are nulls; otherwise rows_ has the counts
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
  std::vector<uint16_t> starts_;          // starts of runs of rows with the same queries; the end
  std::vector<const uint64_t*> columns_;  // for a word: prefix sums of rows and of its arguments
  std::vector<uint64_t> added_;           // by column: the sum of a run
  std::vector<uint64_t> totals_;          // for a vector and a word, by query and column
  std::vector<int64_t> counts_;           // by query
  std::vector<std::vector<Sum>> sums_;    // by word, then query and place among its arguments
};

}  // namespace diptych::olap
