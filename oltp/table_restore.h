// TableRestore: puts the rows of one table back under their RowIDs, from several threads: when a
// database is opened, and when the primary was lost.
//
//   each lane   begin_run ─► [begin ─► the caller writes cells into the rows ─► end]* ─► end_run
//   then        make_steps ─► step ..., side by side ─► finish
//
// Rows come by the hundred, so that each column is written for all of them in one loop, and the
// misses of index entries overlap. The table is empty and nobody else uses the engine; no row is
// claimed, exported or undone. A table whose restore failed is useless.
//
// Threads    a lane is one thread's at a time; what is drawn behind "then" comes when all lanes
//            have ended their runs, step() from any thread.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

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
  // At most so many rows, from so many lanes. The indexes have no entries.
  TableRestore(EngineCore* core, Table* table, uint64_t rows_max, uint32_t lanes);

  // At most `rows_max` rows follow in the run.
  void begin_run(uint32_t lane, uint64_t rows_max);
  // Where the rows lie, all zeroes, in the order of their ids. kCorrupt: one of them is there
  // already, or its id is none.
  base::Result<std::span<std::byte* const>> begin(uint32_t lane, std::span<const base::RowId> ids);
  // The cell of a long string: its bytes are copied to where they will stay.
  base::Text copy(uint32_t lane, std::string_view text) { return lanes_[lane].strings.copy(text); }
  // All cells are written: enters the rows into the indexes. kInvalidArgument: a key is too long.
  base::Result<void> end(uint32_t lane);
  void end_run(uint32_t lane);

  // Steps that build indexes: how many, at most so many an index.
  uint32_t make_steps(uint32_t steps_max);
  void step(uint32_t number);
  // The table is as it was. kAlreadyExists: two rows have the same key of a unique index.
  base::Result<void> finish();

 private:
  struct alignas(64) Lane {
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
