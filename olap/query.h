// Queries: SQL text to plans, and plans to results. This header is the interface of olap/ that the
// dispatcher uses.
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
#include "olap/query_result.h"
#include "olap/script.h"
#include "olap/system_table.h"
#include "olap/table_statistics.h"
#include "storage/table.h"

namespace diptych::olap {

// Plans one SELECT statement, which may follow EXPLAIN [ANALYZE] or EXPLAIN (ANALYZE, FORMAT JSON).
// Errors are kSyntaxError, kInvalidArgument (an unknown table or column, types that do not fit) and
// kUnsupported (it names the construct); each says "line L, column C" and quotes the text there.
//
// `table_rows` holds the statistics that the estimates and the join order use. $1, $2 and so on
// stand for `parameters` as literals would: the plan is made for these values. A text takes the
// type that its place requires, an integer is INT if it fits, and NULL has any type. If `control`
// is stopped, prepare fails soon with the control's error. `system_tables` exist in addition to the
// catalog's tables (olap/system_table.h).
base::Result<Plan> prepare(std::string_view sql, const base::Catalog& catalog,
                           const TableRows& table_rows,
                           std::span<const base::Value> parameters = {},
                           std::span<const SystemTable> system_tables = {},
                           const QueryControl* control = nullptr);

// CREATE and DROP of tables, indexes and views, and TRUNCATE. A foreign key refers to a primary or
// unique key. It is a declaration for joins and is not enforced: no check looks for the parent's
// row. A view's SELECT has no parameters, and names tables, views and no system tables.
//   CREATE TABLE t (c INT NOT NULL, ..., PRIMARY KEY (c), FOREIGN KEY (x) REFERENCES p (y))
//     [WITH (primary_index = hash | ordered, analytics = on | off,       default: hash, on
//            settled = on | off,                                       default: off
//            column_groups = '(a, b) (c)')]    writers of different groups of a row do not conflict
//   CREATE [UNIQUE] INDEX i ON t [USING hash | btree] (c, ...)           default: btree (ordered)
//   CREATE [OR REPLACE] VIEW v [(c, ...)] AS SELECT ...
//   DROP TABLE | INDEX | VIEW [IF EXISTS] n, ...                         TRUNCATE t, ...
struct CreateTable {
  base::TableSchema schema;
};
struct CreateIndex {
  std::string table;
  base::IndexSchema index;  // columns resolved against the catalog
};
enum class IfViewExists : uint8_t { kFail, kReplace };
struct CreateView {
  base::ViewSchema view;
  IfViewExists if_exists = IfViewExists::kFail;
};
// Of names that are in the catalog, each once.
struct DropTables {
  std::vector<std::string> tables;
};
struct DropIndexes {
  std::vector<std::string> indexes;
};
struct DropViews {
  std::vector<std::string> views;
};
struct TruncateTables {
  std::vector<std::string> tables;
};
struct NoChange {};  // IF EXISTS, and it is not there; IF NOT EXISTS, and it is
using DdlChange = std::variant<CreateTable, CreateIndex, CreateView, DropTables, DropIndexes,
                               DropViews, TruncateTables, NoChange>;

// Parses one DDL statement. Errors are those of prepare(); they name unknown options and types.
// `system_tables` are those that a view cannot name.
base::Result<DdlChange> parse_ddl(std::string_view statement, const base::Catalog& catalog,
                                  std::span<const SystemTable> system_tables = {});
// Makes the change in the catalog alone, which has no rows. Errors are the catalog's.
base::Result<void> apply_to(base::Catalog* catalog, DdlChange change);

// Another thread sets the flag to stop a batch soon; unfinished queries fail with kCancelled.
using StopFlag = std::atomic<bool>;

// The steps of a query before it runs, for EXPLAIN ANALYZE.
struct QueryRoute {
  uint64_t queue_ns = 0;  // from the query's submission until a batch took it
  // Set if the query left its batch for the long lane: the time until it had its own snapshot.
  std::optional<uint64_t> long_lane_ns;
  // The memory of all snapshots; called when a query of the long lane ends.
  std::function<size_t()> snapshot_bytes;
};

// One query of a batch.
struct QueryRun {
  const Plan* plan = nullptr;
  const QueryControl* control = nullptr;  // nullptr: the query cannot be stopped by itself
  // The longest run time; 0 means no limit. A query that exceeds it while it runs alone fails with
  // kDeadlineExceeded, although its control is not stopped. A query that exceeds it while it shares
  // scans starts again alone.
  uint64_t run_ns_max = 0;
  const QueryRoute* route = nullptr;  // nullptr: the route is unknown
};
// Called once for each query of a batch when the query has ended, on the thread of run_batch.
using DeliverResult = std::function<void(size_t query, base::Result<QueryResult> result)>;

class ExecutionArena;  // the TBB arena on the replica's cores (threads/execution_arena.h)

// The estimated number of output rows, summed over all operators of the plan.
double estimated_rows(const Plan& plan);

class Executor {
 public:
  // `query_memory_bytes_max` limits the bytes that one query keeps (rows of joins, groups and
  // sorts, its result), `queries_memory_bytes_max` those of all queries and of results that are
  // still held. A query that would exceed either fails with kOutOfMemory. SIZE_MAX means no limit
  // except the system's.
  explicit Executor(const base::SidePlacement& placement, size_t query_memory_bytes_max = SIZE_MAX,
                    size_t queries_memory_bytes_max = SIZE_MAX);
  // Makes a second executor that shares the memory limits of `beside`.
  Executor(const base::SidePlacement& placement, const Executor& beside);
  ~Executor();

  // Runs the plans on the replica's current state and returns the results in the plans' order. A
  // query that fails (division by zero, overflow, out of memory, stopped) fails alone.
  std::vector<base::Result<QueryResult>> run_batch(std::span<const Plan* const> plans,
                                                   const storage::Replica& replica,
                                                   const StopFlag& stop);
  // Runs queries that can be stopped one by one, and delivers each when it ends. A stopped query
  // fails with its control's error; a query that was stopped before the call does not run.
  void run_batch(std::span<const QueryRun> queries, const storage::Replica& replica,
                 const StopFlag& stop, const DeliverResult& deliver);

  // Runs body(i) for i in [0, count) on the replica's cores and returns when all are done. The
  // applier's partitions run here too. Any thread may call.
  void run_parallel(uint32_t count, const std::function<void(uint32_t)>& body);

  // Bytes of running queries and of results that are still held. Any thread may call.
  size_t queries_memory_bytes() const { return memory_limit_->used(); }

 private:
  std::unique_ptr<ExecutionArena> arena_;
  const size_t query_memory_bytes_max_;
  const MemoryHold::Limit memory_limit_;
};

}  // namespace diptych::olap
