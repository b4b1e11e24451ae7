// LeafFilter: decides from a leaf's column summaries (SMAs) that none of its rows can satisfy a
// scan's predicates, or find a match in the joins that filter the scan (join_filter.h).
//
// It supports comparisons of a column with a literal, IN lists, IS [NOT] NULL, and conjunctions of
// those; the column may be under a cast from INT to BIGINT. For all other predicates it answers
// "may match". By L3 a summary covers all live values, so skipping a leaf never loses a row.
//
// Threads    immutable once built.

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "olap/execution/join/join_filter.h"
#include "olap/execution/vector/column_range.h"
#include "olap/plan.h"
#include "storage/leaf.h"

namespace diptych::olap {

class LeafFilter {
 public:
  explicit LeafFilter(const Operator& scan, std::span<const JoinFilter> joins = {});

  bool may_match(const storage::Leaf& leaf) const;

 private:
  // A row can match only if the column has a value in [min, max] or, with `wants_null`, a null.
  struct Range {
    base::ColumnId column;
    bool is_double = false;
    bool wants_null = false;
    int64_t min = INT64_MIN;
    int64_t max = INT64_MAX;
    double min_double = 0;
    double max_double = 0;
  };

  void add(const Operator& scan, const Expression& predicate);
  void add(const Operator& scan, const JoinFilter& join);
  void add(const Operator& scan, const ColumnRange& integers);
  void add_comparison(const Operator& scan, const Expression& predicate);
  void add_in_list(const Operator& scan, const Expression& predicate);

  std::vector<Range> ranges_;
};

}  // namespace diptych::olap
