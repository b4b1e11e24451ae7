// RepeatedGroups: the GROUP BYs that stand more than once in a plan, as where a CTE is used twice
// (CH's Q15). Each is computed once a run; those that compare equal read the first one's groups.
//
// Threads    immutable once built; the plan must stay.

#pragma once

#include <map>
#include <optional>
#include <vector>

#include "olap/plan.h"

namespace diptych::olap {

class RepeatedGroups {
 public:
  explicit RepeatedGroups(const Operator& root);

  size_t count() const { return count_; }
  // The number in [0, count()) that equal aggregates have; nothing for one that stands alone.
  std::optional<size_t> number_of(const Operator& aggregate) const;

 private:
  std::map<const Operator*, size_t> numbers_;
  size_t count_ = 0;
};

}  // namespace diptych::olap
