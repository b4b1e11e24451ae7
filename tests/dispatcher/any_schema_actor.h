// Actor: one run of a procedure that does what its transaction's random numbers say, on rows of any
// schema, and notes for each operation what it saw, to be compared with a shadow.
//
// Look-ups by each unique index, compiled or not, and of some columns; inserts; updates and
// erasures of rows that were found, inserted or met in a scan; handles that were kept for later, of
// rows that may be gone; values that do not fit; aborts and exceptions.
//
// Threads  one: the worker that runs the procedure.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "dispatcher/procedure_module.h"
#include "tests/dispatcher/any_schema.h"
#include "tests/dispatcher/any_schema_shadow.h"
#include "tests/dispatcher/any_schema_task.h"

namespace diptych::dispatcher::any_schema {

class Actor {
 public:
  // `steps_max`: some of them do several operations.
  Actor(const Tables& tables, uint64_t steps_max, Transaction& txn, Run* run);

  // An error is the transaction's: a conflict, or its own wish.
  base::Result<void> act(const ActorsTask& task);

 private:
  using ErrorCode = base::ErrorCode;
  using Handle = oltp::RowHandle;
  using Found = oltp::TransactionCore::Found;
  using Done = base::Result<void>;  // an error: a conflict
  using Then = std::function<Done(const Handle&)>;
  struct Scan {
    const IndexSchema* index = nullptr;
    KeyBounds bounds;
    oltp::KeyRange range;
    oltp::ScanOptions options;
    uint64_t rows_max = UINT64_MAX;  // then the visitor stops it
    std::vector<ColumnId> named;
  };
  struct Seen {
    uint64_t row_id;
    Cells cells;  // of the columns that were meant
  };

  Done act_once();
  Done sweep(const ActorsTask& task);
  Done end();

  Done insert(int number);
  Done look_up(const IndexSchema& index, const Cells& key_cells, const Then& then);
  Done look_up_number(int number, const Then& then);
  Done look_up_by_any_index(const Then& then);
  base::Result<Found> find(const IndexSchema& index, const base::Key& key,
                           const std::vector<ColumnId>& named);
  Done scan(bool writes);
  Scan some_scan();
  void check_scan(const Scan& scan, std::vector<Seen> seen, bool is_refused, bool is_broken_off);
  Done write_met(const Handle& handle, const IndexSchema& index);

  // Claims some columns; updates some of the claimed ones, several times; may erase the row.
  Done claim_and_change(const Handle& handle);
  Done update(const Handle& handle, const std::vector<ColumnId>& claimed);
  void write(const Handle& handle, const std::vector<ColumnId>& columns, const Cells& cells);
  Done erase(const Handle& handle);
  Done erase_claimed(const Handle& handle);
  // What the transaction has failed with.
  Done failure();

  const Table& table() const { return tables_[table_]; }
  static ColumnId column(size_t number) { return ColumnId(static_cast<uint16_t>(number)); }
  int some_number();
  // Those that an operation names; none: it means all.
  std::vector<ColumnId> some_columns();
  std::vector<ColumnId> meant_by(const std::vector<ColumnId>& named) const;
  Cells read(const std::vector<ColumnId>& columns, const std::byte* row) const;
  void check(Check what) { run_->checks.push_back(std::move(what)); }

  const Tables& tables_;
  const uint64_t steps_max_;
  Transaction& txn_;
  Run* const run_;
  const Below below_;
  size_t table_ = 0;  // of the present operation
  std::vector<std::pair<size_t, Handle>> kept_;
};

}  // namespace diptych::dispatcher::any_schema
