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
    bool adds_in_64_bits = false;  // kVectorRows values do, whichever
  };
  // What rows add to an argument's sum, in 64 bits where that is enough.
  template <class Number>
  struct Addend {
    Number sum = 0;
    int64_t count = 0;  // of values, where the argument has nulls; else it is the rows
  };
  // Of a vector's rows and a word.
  template <class Number>
  struct Part {
    // Rows in succession with the same queries.
    uint64_t run_queries = 0;
    int64_t run_rows = 0;
    std::vector<Addend<Number>> run;  // by place in the word's wanted arguments
    // What runs that have ended gave.
    uint64_t queries = 0;
    int64_t rows[64] = {};
    std::vector<Addend<Number>> sums;  // by place in the word's wanted arguments, then query
  };

  static constexpr uint32_t kBlockRows = 64;

  template <class Number>
  void add_word(size_t word, const uint64_t* bits, uint32_t slots, Part<Number>* part);
  // Adds rows [first, end), of which every one is wanted by the queries of the run.
  template <class Number>
  void add_block(size_t word, uint32_t first, uint32_t end, Part<Number>* part) const;
  template <class Number>
  void add_row(size_t word, uint32_t row, Part<Number>* part) const;
  template <class Number>
  void end_run(size_t word, Part<Number>* part) const;
  template <class Number>
  void add_part(size_t word, Part<Number>* part);

  const std::vector<std::vector<uint32_t>> wanted_;
  std::vector<Argument> arguments_;
  Part<int64_t> narrow_;
  Part<int128_t> wide_;
  std::vector<int64_t> counts_;  // by query
  std::vector<Sum> sums_;        // by query and argument
};

}  // namespace diptych::olap
