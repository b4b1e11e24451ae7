// RepeatedOperators: finds GROUP BYs, windows and recursions that occur more than once in a plan,
// for example because a CTE is used twice (CH's Q15). They are computed once a run, and the equal
// ones read the rows of the first.
//
// A recursion passes each round's rows on before the next, so that a LIMIT can end it. If the plan
// has a LIMIT, each recursion runs alone.
//
// Threads    immutable once built; the plan outlives it.

#pragma once

#include <map>
#include <optional>

#include "olap/plan.h"

namespace diptych::olap {

class RepeatedOperators {
 public:
  explicit RepeatedOperators(const Operator& root);

  size_t count() const { return count_; }
  // The number in [0, count()) that equal operators share. nullopt for an operator without an equal
  // one, or within a repeated operator.
  std::optional<size_t> number_of(const Operator& op) const;

 private:
  std::map<const Operator*, size_t> numbers_;
  size_t count_ = 0;
};

}  // namespace diptych::olap
