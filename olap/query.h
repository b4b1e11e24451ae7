// Queries: SQL text to plan, plans to results. What the dispatcher uses of olap/.
//
//   prepare()      SQL text -> Plan       (olap/sql/: libpg_query, binder, join order)
//   parse_ddl()    DDL text -> changes    (olap/sql/)
//   Executor       Plans -> QueryResults  (olap/execution/: vectorised, morsel-parallel)
//
// Threads    prepare and parse_ddl: any thread. Executor::run_batch: one caller at a time.

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/schema.h"
#include "base/topology.h"
#include "base/value.h"
#include "olap/plan.h"
#include "olap/query_control.h"
#include "olap/query_memory_limit.h"
#include "olap/result_rows.h"
#include "olap/system_table.h"
#include "olap/table_statistics.h"
#include "storage/table.h"

namespace diptych::olap {

// A copy shares the table.
struct QueryResult {
  std::vector<ResultColumn> columns;
  ResultRows rows;  // rows.table(): the same by columns
  uint64_t execute_ns = 0;
};

// One SELECT statement, or EXPLAIN [ANALYZE], or EXPLAIN (ANALYZE, FORMAT JSON), and one. Errors:
// kSyntaxError, kInvalidArgument (no such table or column, types that do not fit) and kUnsupported
// (named construct), each with "line L, column C" and the text there. The statistics are for the
// join order.
//
// $1, $2 and so on stand for `parameters`, as literals would: the plan is made for their values. A
// text takes the type that its place asks for, a whole number is INT where it fits; NULL is any
// type's.
//
// Where `control` is stopped, it fails soon, with the control's error.
//
// `system_tables` are there besides the catalog's tables (olap/system_table.h).
base::Result<Plan> prepare(std::string_view sql, const base::Catalog& catalog,
                           const TableRows& table_rows,
                           std::span<const base::Value> parameters = {},
                           std::span<const SystemTable> system_tables = {},
                           const QueryControl* control = nullptr);

// The statements of a script, split at semicolons by the SQL lexer; empty ones are dropped. They
// are views of the script, so that a caller knows where each one stands.
base::Result<std::vector<std::string_view>> split_statements(std::string_view script);

// What stands before a place in a script.
struct ScriptPlace {
  size_t lines = 0;
  size_t characters = 0;
  size_t characters_in_line = 0;  // of these
};
// Behind a text that begins at `place`.
ScriptPlace place_after(std::string_view text, ScriptPlace place = {});
// The error of a statement that begins at `place`: where it says a place in the statement, with the
// one in the script.
base::Error error_in_script(base::Error error, std::string_view statement,
                            const ScriptPlace& place);

// CREATE TABLE and CREATE [UNIQUE] INDEX. A foreign key refers to a primary or unique key; it is
// declared for joins and not enforced: nobody looks for the parent's row.
//   CREATE TABLE t (c INT NOT NULL, ..., PRIMARY KEY (c), FOREIGN KEY (x) REFERENCES p (y))
//     [WITH (primary_index = hash | ordered, analytics = on | off,       default: hash, on
//            settled = on | off,                                       default: off
//            column_groups = '(a, b) (c)')]    writers of different groups of a row do not conflict
//   CREATE [UNIQUE] INDEX i ON t [USING hash | btree] (c, ...)           default: btree (ordered)
struct CreateTable {
  base::TableSchema schema;
};
struct CreateIndex {
  std::string table;
  base::IndexSchema index;  // columns resolved against the catalog
};
using DdlChange = std::variant<CreateTable, CreateIndex>;

// One DDL statement. Errors as in prepare(); unknown options and types are named.
base::Result<DdlChange> parse_ddl(std::string_view statement, const base::Catalog& catalog);

// Set by another thread to make a batch stop soon; its unfinished queries fail with kCancelled.
using StopFlag = std::atomic<bool>;

// How a query came to its run, for EXPLAIN ANALYZE.
struct QueryRoute {
  uint64_t queue_ns = 0;  // from its submission until a batch took it
  // Then, where it left that for a run on a snapshot of its own: until it had that.
  std::optional<uint64_t> long_lane_ns;
  // Memory that snapshots keep; of such a run, asked as it ends.
  std::function<size_t()> snapshot_bytes;
};

// A query of a batch.
struct QueryRun {
  const Plan* plan = nullptr;
  const QueryControl* control = nullptr;  // nullptr: nobody stops it alone
  // Where it runs alone and takes longer, it fails with kDeadlineExceeded, though its control is
  // not stopped; where it scans together with others and takes longer, it runs alone then. 0:
  // however long.
  uint64_t run_ns_max = 0;
  const QueryRoute* route = nullptr;  // nullptr: it is not known
};
// Called once for each query of a batch when it has ended, on the thread of run_batch.
using DeliverResult = std::function<void(size_t query, base::Result<QueryResult> result)>;

class ExecutionArena;  // olap/execution/threads/arena.h: the TBB arena on the replica's cores

// How many rows the plan's operators are thought to give out, in all.
double estimated_rows(const Plan& plan);

class Executor {
 public:
  // A query that would keep more than so many bytes (rows of joins, groups and sorts, its result)
  // fails with kOutOfMemory, and so does one with which all queries, and results that are still
  // held, would keep more than `queries_memory_bytes_max`; SIZE_MAX: no limit but the system's.
  explicit Executor(const base::SidePlacement& placement, size_t query_memory_bytes_max = SIZE_MAX,
                    size_t queries_memory_bytes_max = SIZE_MAX);
  // Another one within the memory limits of `beside`.
  Executor(const base::SidePlacement& placement, const Executor& beside);
  ~Executor();

  // Runs the plans on the replica as it stands. Results are in the order of the plans. A query that
  // fails (division by zero, overflow, out of memory, stopped) fails alone.
  std::vector<base::Result<QueryResult>> run_batch(std::span<const Plan* const> plans,
                                                   const storage::Replica& replica,
                                                   const StopFlag& stop);
  // The same of queries that can be stopped one by one, delivered as they end. One that is stopped
  // fails with its control's error, and is not run where it was stopped before.
  void run_batch(std::span<const QueryRun> queries, const storage::Replica& replica,
                 const StopFlag& stop, const DeliverResult& deliver);

  // Runs body(i) for i in [0, count) on the replica's cores and returns when all are done: the
  // applier's partitions run here too. Any thread.
  void run_parallel(uint32_t count, const std::function<void(uint32_t)>& body);

  // What queries keep, and results that are still held. Any thread.
  size_t queries_memory_bytes() const { return memory_limit_->used(); }

 private:
  std::unique_ptr<ExecutionArena> arena_;
  const size_t query_memory_bytes_max_;
  const MemoryHold::Limit memory_limit_;
};

}  // namespace diptych::olap
