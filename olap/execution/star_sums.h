// StarSums: counts and sums of many queries over the rows of one table.
//
// Rows in succession that the same queries want are added up first, and given to each of these
// queries once: a query without joins wants whole blocks, and then costs next to nothing.
//
// Sums are exact (128 bits), so results do not depend on the number of threads.
//
// Threads    one worker; merged by one.

#pragma once

#include <cstdint>
#include <vector>

#include "base/int128.h"
#include "olap/execution/query_rows.h"

namespace diptych::olap {

class StarSums {
 public:
  struct Sum {
    int128_t sum = 0;
    int64_t count = 0;  // of values that are not null
  };

  // `wanted_arguments`: by word of the query sets, the arguments that its queries sum.
  StarSums(size_t arguments, std::vector<std::vector<uint32_t>> wanted_arguments);

  // Sets argument `index` of the vector's rows: INT, DATE (kInt32) or kInt64 values.
  void set_argument(size_t index, const Vector& values, const Selection& rows);
  // Adds the rows of the vector to the queries of the first words that want them. Benchmark:
  // BM_StarBatch.
  void add(const QueryRows& rows, uint32_t slots);
  void merge(const StarSums& other);

  int64_t rows(uint32_t query) const { return counts_[query]; }
  const Sum& of(uint32_t query, size_t argument) const {
    return sums_[query * arguments_.size() + argument];
  }

 private:
  struct Argument {
    std::vector<int64_t> values;  // 0 where null
    std::vector<uint8_t> is_value;
    bool has_nulls = false;
    bool adds_in_64_bits = false;  // kBlockRows values do, whichever
  };
  // Rows in succession with the same queries.
  struct Run {
    uint64_t queries = 0;
    int64_t rows = 0;
    std::vector<Sum> sums;  // by place in the word's wanted arguments
  };

  static constexpr uint32_t kBlockRows = 64;

  void add_word(size_t word, const uint64_t* bits, uint32_t slots);
  // Rows [first, end), of which every one is wanted by the queries of the run.
  void add_block(size_t word, uint32_t first, uint32_t end);
  void add_row(size_t word, uint32_t row);
  void flush(size_t word);

  const std::vector<std::vector<uint32_t>> wanted_;
  std::vector<Argument> arguments_;
  Run run_;
  std::vector<int64_t> counts_;  // by query
  std::vector<Sum> sums_;        // by query and argument
};

}  // namespace diptych::olap
