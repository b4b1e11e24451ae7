// LoadSink: where the rows of a bulk load go on their way from the OLTP tables to the replica.
//
// A load writes no update records: its rows lie in their slots, and nobody writes them until it has
// ended. So the sink gets pointers, and reads the rows when it has time.
//
//   take* ──► the load has committed: the sink's owner finishes it
//         └─► discard: one row was refused, or the source has failed
//
// Threads    called by who loads.

#pragma once

#include <cstddef>
#include <span>

#include "base/ids.h"
#include "propagation/export/row_id_runs.h"

namespace diptych::propagation {

struct LoadedRow {
  base::RowId row_id;
  const std::byte* row;  // in the table's layout; a long string's Text points to its bytes
};

class LoadSink {
 public:
  virtual ~LoadSink() = default;

  // Rows in the order of the load. They stay as they are until the load is finished or discarded.
  virtual void take(std::span<const LoadedRow> rows) = 0;
  // The load has failed: of what was taken nothing stays, and no row is read after the call.
  // `loaded` are its rows so far, those that the sink did not get yet among them.
  virtual void discard(const RowIdRuns& loaded) = 0;
};

}  // namespace diptych::propagation
