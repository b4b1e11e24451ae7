// Comparing the replicas, row for row and cell for cell, in both directions.
//
// Every row of the OLTP replica is looked up in the OLAP replica by its RowID, and its cells are
// compared as SQL values (nulls with nulls, strings by their bytes, doubles by their bits). Then
// the live rows are counted: RowIDs are distinct, so equal counts leave no row that only the OLAP
// replica has; unequal ones are told apart by name.
//
// The OLTP replica's indexes must have just its rows, too: it stops where one has not, or is not
// whole.
//
// Rows are looked up many at a time and compared in the order of their places, column by column:
// each value is decoded about once, and a chunk that lies in the file is read once for all of them.
// Differences come in no order.
//
// Threads    the caller has excluded both sides, and the replica shows the engine's last VID.

#pragma once

#include "base/result.h"
#include "base/schema.h"
#include "dispatcher/database.h"
#include "oltp/engine.h"
#include "propagation/applier.h"
#include "storage/table.h"

namespace diptych::dispatcher {

inline constexpr size_t kDifferencesNamedMax = 20;

// kIo, kCorrupt: of reading the OLAP replica.
base::Result<ReplicaComparison> compare_replicas(const base::Catalog& catalog,
                                                 const oltp::Engine& engine,
                                                 const storage::Replica& replica,
                                                 const propagation::Applier& applier);

}  // namespace diptych::dispatcher
