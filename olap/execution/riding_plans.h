// Chooses the plans of a batch that ride together, that is, share their scans (shared_scans.h).
//
// Plans with the same largest table ride together, so that they share at least that scan, as long
// as the rows that they are expected to keep (build sides, groups, rows of a sort) are few in all.
// Riding saves decoding and reads, but the kept rows of several plans may not fit the caches, in
// which those of one plan would stay (docs/measurements/execution.md). A scan that a LIMIT is
// expected to end early does not count: it would wait for the whole pass of the others.
//
// Threads    any; these are functions of values.

#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "olap/plan.h"
#include "storage/table.h"

namespace diptych::olap {

// The groups of two or more plans that ride together, by their places. All others run alone.
std::vector<std::vector<size_t>> riding_plans(std::span<const Plan* const> plans,
                                              const storage::Replica& replica);

// The share of its rows that the child of a LIMIT is expected to read until the LIMIT has enough;
// 1 if anything but filters and projections lies between the LIMIT and a scan.
double share_read(const Operator& limit);

// The number of rows that all operators of the plan are expected to keep.
double rows_kept(const Operator& op);

}  // namespace diptych::olap
