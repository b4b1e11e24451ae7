// Value classes: the predicates that many queries have on one column, evaluated for all of them at
// once.
//
// The literals of all queries cut a column's values into classes, whose values satisfy the same
// queries' predicates. A row's class is found once; its mask says which queries keep the row: those
// whose predicates hold, and those that have none on this column. So the cost of a row does not
// grow with the number of queries.
//
//   RangeClasses    integers: an interval a query; the classes lie between the intervals' ends
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
  // The query wants values of [min, max] only; a second interval of a query narrows its first.
  void add(uint32_t query, int64_t min, int64_t max);
  // `first_word`: of all queries' words, masks have those from this one on.
  void finish(size_t first_word, size_t words);

  // The queries that may want a row of a leaf: one of its classes, or a null, has their bit.
  void keep_leaf(const storage::ColumnSummary& summary, uint64_t* queries) const;
  // Of INT, DATE (kInt32) or kInt64 values.
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
  // To the selected slots of `classes`.
  template <class T>
  void find_classes(const T* values, const Selection& rows, uint16_t* classes) const;
  const uint64_t* mask(size_t of_class) const { return masks_.data() + of_class * words_; }
  size_t null_class() const { return bounds_.size() + 1; }

  std::map<uint32_t, Interval> intervals_;  // by query
  size_t words_ = 0;
  std::vector<int64_t> bounds_;  // ascending; class k has values of [bounds_[k - 1], bounds_[k])
  // Where the bounds are near: class by value - direct_min_, and of what is below or above all.
  std::vector<uint16_t> direct_;
  int64_t direct_min_ = 0;
  std::vector<uint64_t> masks_;   // by class, then that of nulls
  std::vector<size_t> acting_;    // words that a mask takes a query out of
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
  // Of [NOT] LIKE with such a pattern on a column.
  static std::optional<Prefix> prefix_of(const Expression& predicate);

  void add(uint32_t query, const Prefix& prefix);
  void finish(size_t first_word, size_t words);

  void apply(const Vector& texts, const Selection& live, QueryRows* rows) const;

 private:
  // The prefixes of one length: class 0 has the texts with none of them.
  struct Length {
    std::map<std::string, uint16_t> classes;
    std::vector<uint16_t> by_bytes;  // class by the prefix as a number
    std::vector<uint64_t> masks;     // by class, then that of nulls
    std::vector<size_t> acting;      // as above
  };
  struct Wish {
    uint32_t query;
    Prefix prefix;
  };

  std::array<Length, kPrefixBytesMax> lengths_;
  std::vector<Wish> wishes_;
};

}  // namespace diptych::olap
