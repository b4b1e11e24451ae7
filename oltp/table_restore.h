// TableRestore: restores the rows of one table under their RowIDs, from several threads, when a
// database is opened or its primary was lost.
//
//   each lane   begin_run ─► [begin ─► the caller writes cells into the rows ─► end]* ─► end_run
//   then        make_steps ─► step ..., side by side ─► finish
//
// Rows come by the hundred, so that each column is written for all of them in one loop, and the
// misses of index entries overlap. The table is empty and nobody else uses the engine; no row is
// claimed, exported or undone. A table whose restore has failed cannot be used.
//
// Threads    one thread uses a lane at a time. The functions after "then" are called when all lanes
//            have ended their runs; any thread may call step().

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/alignment.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/types.h"
#include "oltp/engine_core.h"
#include "oltp/index_build.h"
#include "oltp/string_memory.h"
#include "oltp/table.h"

namespace diptych::oltp {

class TableRestore {
 public:
  // For at most `rows_max` rows, from `lanes` lanes. The indexes have no entries.
  TableRestore(EngineCore* core, Table* table, uint64_t rows_max, uint32_t lanes);

  // Begins a run of at most `rows_max` rows.
  void begin_run(uint32_t lane, uint64_t rows_max);
  // The places of the rows, filled with zeroes, in the order of their ids. kCorrupt: a row exists
  // already, or its id is invalid.
  base::Result<std::span<std::byte* const>> begin(uint32_t lane, std::span<const base::RowId> ids);
  // Makes the cell of a long string, and copies its bytes to their final place.
  base::Text copy(uint32_t lane, std::string_view text) { return lanes_[lane].strings.copy(text); }
  // Enters the rows into the indexes, after all cells are written. kInvalidArgument: a key is too
  // long.
  base::Result<void> end(uint32_t lane);
  void end_run(uint32_t lane);

  // Returns the number of steps that build the indexes, at most `steps_max` for each index.
  uint32_t make_steps(uint32_t steps_max);
  void step(uint32_t number);
  // Completes the table. kAlreadyExists: two rows have the same key of a unique index.
  base::Result<void> finish();

 private:
  struct alignas(base::kLineBytes) Lane {
    explicit Lane(StringDepot* depot) : strings(depot) {}

    StringMemory strings;
    std::vector<base::RowId> ids;  // of the last begin()
    std::vector<std::byte*> rows;  // likewise
    uint64_t row_count = 0;
  };
  struct Step {
    IndexBuild* build;
    uint32_t number;
  };

  Table* table_;
  const base::PagePreparer::Pause pause_;
  std::vector<std::unique_ptr<IndexBuild>> builds_;  // by the table's indexes
  std::vector<Lane> lanes_;
  std::vector<Step> steps_;
};

}  // namespace diptych::oltp
