// Value classes: evaluate the predicates of many queries on one column at once.
//
// The literals of all queries divide a column's values into classes; all values of a class satisfy
// the same predicates. A row's class is found once. The class's mask has the queries that keep the
// row: those whose predicates hold, and those without a predicate on the column. So the cost of a
// row does not grow with the number of queries.
//
//   RangeClasses    integers: an interval for each query; classes lie between the intervals' ends
//   PrefixClasses   texts: LIKE 'x%' and LIKE 'xy%', and NOT LIKE of them, by the first two bytes
//
// Use        add() for each query, finish(words), then apply() from any number of workers.
// Threads    immutable after finish().

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "olap/execution/star/query_rows.h"
#include "olap/plan.h"
#include "storage/leaf.h"

namespace diptych::olap {

class RangeClasses {
 public:
  // The query wants only values in [min, max]; a second interval of a query narrows its first.
  void add(uint32_t query, int64_t min, int64_t max);
  // Masks have `words` words of the batch's query sets, from word `first_word` on.
  void finish(size_t first_word, size_t words);

  // Narrows `queries` to those that may want a row of a leaf, by the classes in the leaf's bounds
  // and nulls.
  void keep_leaf(const storage::ColumnSummary& summary, uint64_t* queries) const;
  // Narrows the rows' queries by kInt32 or kInt64 values.
  void apply(const Vector& values, const Selection& live, QueryRows* rows) const;

 private:
  struct Interval {
    int64_t min = INT64_MIN;
    int64_t max = INT64_MAX;
  };

  template <class T>
  void apply_to(const T* values, const Vector& vector, const Selection& live,
                QueryRows* rows) const;
  uint16_t class_of(int64_t value) const;
  // Writes the classes of the selected slots.
  template <class T>
  void find_classes(const T* values, const Selection& rows, uint16_t* classes) const;
  const uint64_t* mask(size_t of_class) const { return masks_.data() + of_class * words_; }
  size_t null_class() const { return bounds_.size() + 1; }

  std::map<uint32_t, Interval> intervals_;  // by query
  size_t words_ = 0;
  std::vector<int64_t> bounds_;  // ascending; class k has values of [bounds_[k - 1], bounds_[k])
  // If the bounds are near each other: the class by value - direct_min_, and the classes of values
  // below and above all bounds.
  std::vector<uint16_t> direct_;
  int64_t direct_min_ = 0;
  std::vector<uint64_t> masks_;   // by class, then the mask of nulls
  std::vector<size_t> acting_;    // words in which some mask drops a query
  std::vector<uint64_t> asking_;  // the queries that have an interval
};

class PrefixClasses {
 public:
  static constexpr size_t kPrefixBytesMax = 2;

  struct Prefix {
    uint32_t column;
    std::string bytes;  // one or two
    bool negated = false;
  };
  // The prefix of [NOT] LIKE with such a pattern on a column.
  static std::optional<Prefix> prefix_of(const Expression& predicate);

  void add(uint32_t query, const Prefix& prefix);
  void finish(size_t first_word, size_t words);

  void apply(const Vector& texts, const Selection& live, QueryRows* rows) const;

 private:
  // The prefixes of one length. Class 0 has the texts with none of them.
  struct Length {
    std::map<std::string, uint16_t> classes;
    std::vector<uint16_t> by_bytes;  // the class by the prefix as a number
    std::vector<uint64_t> masks;     // by class, then the mask of nulls
    std::vector<size_t> acting;      // as acting_ above
  };
  struct Wish {
    uint32_t query;
    Prefix prefix;
  };

  std::array<Length, kPrefixBytesMax> lengths_;
  std::vector<Wish> wishes_;
};

}  // namespace diptych::olap
