// What the predicates of a join read: expressions of one side alone, and their values over all rows
// of the build side. For indexes of the build rows by such values (range_rows.h, key_choices.h).

#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "olap/execution/limits/query_failure.h"
#include "olap/execution/limits/stop_signal.h"
#include "olap/execution/vector/column_store.h"
#include "olap/execution/vector/vector.h"
#include "olap/plan.h"

namespace diptych::olap {

// True if the expression reads columns, all of the probe side.
bool reads_probe_side(const Operator& join, const Expression& expression);
// True if it reads columns, all of the build side, and the build rows have them (no probe_twin).
bool reads_build_side(const Operator& join, const Expression& expression);

// Selects the rows without a null key.
void select_without_nulls(std::span<const Vector> keys, const Selection& rows, Selection* result);

// Calls visit(batch, selection, first) for all build rows, a vector's worth at a time, of which the
// first is row `first`. In the batch, the columns that the expressions read have their positions in
// the join's predicates; the others are empty.
void for_build_batches(
    const Operator& join, const ColumnStore& rows, const std::vector<const Expression*>& read,
    const StopSignal& stop,
    const std::function<void(const Batch&, const Selection&, uint64_t first)>& visit);

// Returns false if evaluate() fails because a value cannot be computed. Such a value matters only
// if a pair needs it, and that is not known for values of one side.
template <class Evaluate>
bool evaluates(const Evaluate& evaluate) {
  try {
    evaluate();
  } catch (const QueryFailure& failure) {
    if (failure.error().code != base::ErrorCode::kInvalidArgument) throw;
    return false;
  }
  return true;
}

}  // namespace diptych::olap
