// Which plans of a batch go over their tables together, with shared scans (shared_scans.h).
//
// Together ride plans whose largest table is the same, so that they have at least that one in
// common, as long as what they are expected to keep (build sides, groups, rows of a sort) is small
// in all: what they save is the decoding of columns, and reads; what they lose is the caches, in
// which the kept rows of one plan alone would stay (README.md, Measured).
//
// Functions of values; any thread.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "olap/plan.h"
#include "storage/table.h"

namespace diptych::olap {

// The places of plans that ride together: groups of two or more. Who is in none runs alone.
std::vector<std::vector<size_t>> riding_plans(std::span<const Plan* const> plans,
                                              const storage::Replica& replica);

// Rows that the plan is expected to keep, over all of its operators.
double rows_kept(const Operator& op);

}  // namespace diptych::olap
