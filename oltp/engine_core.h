// EngineCore: what the engine's workers share.
//
// Threads    the leader changes tables, indexes and procedures between batches; during a batch the
//            workers read them. last_vid moves as said below.
//
// Invariants
//   C1  last_vid names the newest commit. Its writer holds commit_mutex (with one worker: is the
//       only one) and has stamped all versions of the transaction before it stores the VID. A
//       transaction reads last_vid once, when it begins: it sees all of a commit or nothing of it.
//   C2  With several workers, read_marks has the VID that a running transaction reads, or a lesser
//       one.

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/alignment.h"
#include "base/ids.h"
#include "base/page_preparer.h"
#include "base/schema.h"
#include "oltp/engine.h"
#include "oltp/string_depot.h"
#include "oltp/table.h"
#include "propagation/export/update_queue.h"

namespace diptych::oltp {

// Why something is refused where there is no room (Engine::set_room).
inline constexpr std::string_view kNoRoom =
    "the data has the memory that it may take (data_memory_bytes_max, --data-memory)";

// What one worker's transaction reads (C2).
struct alignas(base::kLineBytes) ReadMark {
  static constexpr uint64_t kNone = UINT64_MAX;
  std::atomic<uint64_t> vid{kNone};  // writer: its worker
};

struct EngineCore {
  EngineCore(const base::Catalog* of_catalog, const EngineOptions& with_options,
             propagation::UpdateQueue* to_queue)
      : catalog(of_catalog),
        options(with_options),
        queue(to_queue),
        concurrency(with_options.placement.threads > 1 ? Concurrency::kShared
                                                       : Concurrency::kSingle),
        preparer(options.background_cores.empty()
                     ? nullptr
                     : std::make_unique<base::PagePreparer>(options.background_cores)),
        strings(memory_place()),
        read_marks(options.placement.threads) {}
  ~EngineCore() { preparer.reset(); }  // before the memory whose pages it makes

  // Of tables, indexes and strings.
  base::MemoryPlace memory_place() const { return {options.placement.node, preparer.get()}; }

  // No other engine's of late: row handles of one are refused by the others.
  static uint32_t next_first_stamp() {
    static std::atomic<uint32_t> engines{0};  // writers: who make engines
    // relaxed: a number of its own is all.
    return engines.fetch_add(1, std::memory_order_relaxed) * 0x9E3779B1U;
  }

  // nullptr: there is none, here and below.
  Table* find_table(base::TableId id) const {
    return id.value < tables.size() ? tables[id.value].get() : nullptr;
  }
  TableIndex* find_index(base::IndexId id) const {
    return id.value < indexes.size() ? indexes[id.value] : nullptr;
  }
  Table& table(base::TableId id) const {
    Table* const found = find_table(id);
    DIPTYCH_CHECK(found != nullptr, "a table id comes from the catalog, and add_table has seen it");
    return *found;
  }
  const ProcedureDefinition& procedure(base::ProcedureId id) const {
    DIPTYCH_CHECK(id.value < procedures.size(), "a procedure id comes from register_procedure");
    return *procedures[id.value];
  }

  // The oldest VID that another worker's transaction reads, or that any later one will read. Asked
  // between two transactions of the worker.
  base::Vid oldest_read(base::WorkerId asker) {
    // seq_cst: what begins later reads this VID or a newer one, or its mark is met below (C2). The
    // commit's store is in no such order, so this is a store of the same VID, too.
    uint64_t oldest = last_vid.fetch_add(0, std::memory_order_seq_cst);
    for (size_t i = 0; i < read_marks.size(); ++i) {
      if (i == asker.value) continue;
      // seq_cst: as above.
      oldest = std::min(oldest, read_marks[i].vid.load(std::memory_order_seq_cst));
    }
    return base::Vid(oldest);
  }

  bool may_grow() const { return room != 0; }

  bool is_lost() const {
    // relaxed: the batch ends a little sooner or later. Lost later still, it is whole, and pushed.
    return lost.load(std::memory_order_relaxed);
  }

  const base::Catalog* catalog;
  EngineOptions options;
  propagation::UpdateQueue* queue;  // null where nothing is exported
  Concurrency concurrency;
  size_t room = SIZE_MAX;                     // Engine::set_room
  uint32_t first_stamp = next_first_stamp();  // of transactions (transaction_core.h)
  std::unique_ptr<base::PagePreparer> preparer;
  StringDepot strings;
  std::vector<std::unique_ptr<Table>> tables;  // [TableId]; null where not added, or dropped
  std::vector<TableIndex*> indexes;            // [IndexId]; owned by their tables
  // By id, also of what was dropped: who uses it still is told so. Empty: never added.
  std::vector<std::string> table_names;
  std::vector<std::string> index_names;
  std::vector<std::unique_ptr<ProcedureDefinition>> procedures;

  std::mutex commit_mutex;
  std::atomic<uint64_t> last_vid{0};  // writer: who commits (C1)
  std::vector<ReadMark> read_marks;   // [WorkerId]
  std::atomic<bool> lost{false};      // writers: lose, clear (Engine)
};

}  // namespace diptych::oltp
