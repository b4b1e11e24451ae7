// RepeatedOperators: what stands more than once in a plan and is computed once a run, as where a
// CTE is used twice (CH's Q15): GROUP BYs, windows and recursions. Equal ones read the first one's
// rows.
//
// A recursion passes each round's rows on before the next, so that a LIMIT ends it: where the plan
// has one, each runs alone.
//
// Threads    immutable once built; the plan must stay.

#pragma once

#include <map>
#include <optional>

#include "olap/plan.h"

namespace diptych::olap {

class RepeatedOperators {
 public:
  explicit RepeatedOperators(const Operator& root);

  size_t count() const { return count_; }
  // The number in [0, count()) that equal operators have; nothing for one that runs once, as it
  // stands alone or in one which is repeated itself.
  std::optional<size_t> number_of(const Operator& op) const;

 private:
  std::map<const Operator*, size_t> numbers_;
  size_t count_ = 0;
};

}  // namespace diptych::olap
