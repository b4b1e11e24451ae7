// Database: the public interface. With this header you open databases, write and call procedures,
// and run queries. Less common needs have their own headers: a client's share of the admission
// (dispatcher/client.h), making a database of a backup (dispatcher/backup.h), results as Arrow
// (olap/arrow_export.h).
//
//   auto database = Database::open({.path = "shop"});             // or {} for one in memory
//   (*database)->execute_ddl("CREATE TABLE ...");
//   auto accounts = (*database)->bind_table<Account>("account");
//   auto transfer = (*database)->register_procedure<TransferArgs, TransferReply>("transfer", body);
//   auto reply = (*database)->call(*transfer, {.from = 1, .to = 2}).get();
//   auto result = (*database)->query("SELECT sum(balance) FROM account");
//   (*database)->close();
//
// Freshness  a query sees every transaction that was acknowledged before it was submitted.
// Durability in a database at a path, what was acknowledged is there after any crash: a call is
//            logged, and its reply given when the log is durable; a query shows only durable data.
//            The exception: while calls are refused because the disk is full or has failed, queries
//            go on and show what is in memory; a crash may lose the newest part of it.
//            close() saves the replica; with a log (DatabaseOptions::log), loads save it too, and
//            so does DDL that does more than add tables or indexes. After a crash the log is
//            replayed by recover(), or before the first use of the data: by then the procedures
//            that it names must have been registered or loaded. docs/operations.md says how to
//            choose a log.
// Threads    every member may be called from any thread; close() once, after which the others fail
//            with kClosed. A completion runs on a dispatcher thread and must neither block nor
//            throw: from there, submit and submit_query never wait (kOverloaded), and what would
//            wait for the dispatcher itself (query, execute_ddl, load, close, discard, ...,
//            RunningQuery::get) fails with kInvalidArgument. Inside a procedure, and inside a
//            recovery_listener, all of these, and submit, fail with kInvalidArgument, in the first
//            run and in a replay. The future of a call is the standard library's: it must not be
//            waited for in any of these. A database that is destroyed in a completion or procedure
//            stops the process, and says so. In a child that was forked all of these fail with
//            kInvalidArgument, too, and the destructor does nothing.
// Errors     values (base/result.h), with text for a person; nothing throws.
// Limits     at most `queue_requests` calls, and `queue_queries` queries, of a priority wait; a
//            further one fails with kOverloaded at once, or waits, as its options say. A caller who
//            needs a share that others cannot use up connects as a client (dispatcher/client.h).
//
//   call ──► queue ──batch──► oltp::Engine ──sealed sets──► UpdateQueue ──► Applier ──► Replica
//   query ─► queue ──batch──────────────────────────────────────────────► Executor ◄─┘

#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/row_binding.h"
#include "base/schema.h"
#include "base/value.h"
#include "dispatcher/call_future.h"
#include "dispatcher/call_options.h"
#include "dispatcher/database_options.h"
#include "dispatcher/database_reports.h"
#include "dispatcher/metrics.h"
#include "dispatcher/procedure_module.h"
#include "dispatcher/running_query.h"
#include "olap/query_result.h"
#include "olap/script.h"
#include "oltp/procedure.h"
#include "oltp/request.h"
#include "oltp/row_batch.h"
#include "oltp/table_ref.h"

namespace diptych::dispatcher {

// What users of the public face write often; procedure_module.h has what procedures do.
using olap::QueryResult;
using olap::ResultArray;
using olap::ResultChunk;
using olap::ResultColumn;
using olap::ResultRows;
using olap::ResultTable;
using oltp::define_procedure;
using oltp::ProcedureDefinition;
using oltp::ProcedureRef;
using oltp::Request;
using oltp::RowBatch;

class Database {
 public:
  // kNotFound, kAlreadyExists, kIo, kCorrupt, kInUse (this or another process has it open),
  // kInvalidArgument, kNoSpace, kOutOfMemory (the system gives no thread).
  static base::Result<std::unique_ptr<Database>> open(const DatabaseOptions& options);
  ~Database();  // closes, and reports a failed save on standard error

  // Runs CREATE and DROP of tables, indexes and views, and TRUNCATE (docs/sql.md), in UTF-8,
  // between batches; either all of the script or, with an error that names the statement, those
  // before it.
  base::Result<void> execute_ddl(std::string_view script, const ChangeOptions& options = {});
  // The catalog as of now: an immutable copy, valid until the database is destroyed.
  const base::Catalog& catalog() const;

  template <base::Described Row>
  base::Result<TableRef<Row>> bind_table(std::string_view name) const {
    return oltp::bind_table<Row>(catalog(), name);
  }
  template <auto... KeyMembers>
  base::Result<IndexRef<KeyMembers...>> bind_index(std::string_view name) const {
    return oltp::bind_index<KeyMembers...>(catalog(), name);
  }

  template <class Arguments, class Reply, class Body>
  base::Result<ProcedureRef<Arguments, Reply>> register_procedure(
      std::string name, Body body, ProcedureOptions<Arguments> options = {}) {
    auto id = register_definition(oltp::define_procedure<Arguments, Reply>(
        std::move(name), std::move(body), std::move(options)));
    if (!id) return id.error();
    return ProcedureRef<Arguments, Reply>{*id};
  }
  // kAlreadyExists: the name is taken. kInvalidArgument: it is empty or not UTF-8; arguments or
  // reply have more than kProcedureStructBytesMax.
  // kOverloaded: there are too many. kOutOfMemory.
  base::Result<base::ProcedureId> register_definition(ProcedureDefinition definition);
  // Gives a procedure that the program has registered another body and other options, from the
  // next batch on: bound to the tables that DDL has made since, say. Refs stay valid, and waiting
  // calls run the new one. Saves the database first, whose log has calls of the old one.
  // kNotFound; kInvalidArgument: it is a module's, or had other arguments or another reply; and
  // the errors of register_procedure and save().
  template <class Arguments, class Reply, class Body>
  base::Result<ProcedureRef<Arguments, Reply>> replace_procedure(
      std::string name, Body body, ProcedureOptions<Arguments> options = {},
      const ChangeOptions& change = {}) {
    auto id = replace_definition(oltp::define_procedure<Arguments, Reply>(
                                     std::move(name), std::move(body), std::move(options)),
                                 change);
    if (!id) return id.error();
    return ProcedureRef<Arguments, Reply>{*id};
  }
  base::Result<base::ProcedureId> replace_definition(ProcedureDefinition definition,
                                                     const ChangeOptions& options = {});

  // Loads a shared library of procedures (dispatcher/procedure_module.h), whose calls are possible
  // from the next batch on. Where a module of its name is loaded already, its procedures take the
  // place of that one's, and ids and refs stay valid: names that both have must have the same
  // arguments and reply. All or nothing. kNotFound, kIo, kInvalidArgument, kUnsupported, as
  // dispatcher/module_library.h says, or as the module itself does; kAlreadyExists: a name is the
  // program's own or another module's; kOutOfMemory.
  base::Result<LoadedProcedures> load_procedures(const std::string& path,
                                                 const ChangeOptions& options = {});
  // A ref to a procedure that someone else has registered or loaded. kNotFound; kInvalidArgument:
  // it has other arguments or another reply.
  template <class Arguments, class Reply>
  base::Result<ProcedureRef<Arguments, Reply>> bind_procedure(std::string_view name) const {
    auto id = find_procedure(name, sizeof(Arguments), oltp::detail::cells_of<Arguments>(),
                             sizeof(Reply), oltp::detail::cells_of<Reply>());
    if (!id) return id.error();
    return ProcedureRef<Arguments, Reply>{*id};
  }
  // Those that can be called now, in the order of their registration.
  base::Result<std::vector<ProcedureDescription>> procedures() const;

  // Calls a procedure; the future is ready when the transaction has ended. Until then, the bytes
  // that Text arguments point at must live. Those of a reply's Texts live as long as the reply that
  // the future gives (dispatcher/call_future.h).
  template <class Arguments, class Reply>
  Future<Reply> call(const ProcedureRef<Arguments, Reply>& procedure, const Arguments& arguments,
                     const CallOptions& options = {}) {
    return detail::call(procedure, arguments,
                        [&](Request* request) { return submit(request, options); });
  }
  template <class Arguments, class Reply>
  Future<Reply> call(const ProcedureRef<Arguments, Reply>& procedure, const Arguments& arguments,
                     Admission admission) {
    return call(procedure, arguments, CallOptions{.admission = admission});
  }

  // By name, with one value per argument column; gives one value per reply column. kNotFound,
  // kInvalidArgument (number or types of the values; names the argument).
  base::Result<std::vector<base::Value>> call_by_name(std::string_view procedure,
                                                      std::span<const base::Value> arguments,
                                                      const CallOptions& options = {});

  // For many calls at a time without a thread each: the request's `complete` is called when it has
  // ended. Request::of makes one of a ref (oltp/request.h). Fails, without a completion, with
  // kOverloaded (kRefuse), kDeadlineExceeded (it waited so long to be admitted), kClosed,
  // kInvalidArgument.
  base::Result<void> submit(Request* request, const CallOptions& options);
  base::Result<void> submit(Request* request, Admission admission) {
    return submit(request, CallOptions{.admission = admission});
  }

  // `parameters` stand for $1, $2 and so on (olap/query.h).
  base::Result<QueryResult> query(std::string_view sql, std::vector<base::Value> parameters = {});
  // A template, since braces mean the parameters here, and a client's options.
  template <std::same_as<QueryOptions> Options>
  base::Result<QueryResult> query(std::string_view sql, const Options& options) {
    const std::string statement(sql);
    return std::move(query_batch(std::span(&statement, 1), options).front());
  }
  // All on one snapshot; results in the order of the statements.
  std::vector<base::Result<QueryResult>> query_batch(std::span<const std::string> statements,
                                                     const QueryOptions& options = {});
  // The result is taken, or the query cancelled, by the handle. Fails where it was not admitted:
  // kOverloaded, kDeadlineExceeded, kClosed; errors in the SQL text are the result's.
  base::Result<RunningQuery> start_query(std::string_view sql, const QueryOptions& options = {});
  // Calls done(result) on a dispatcher thread. As start_query, which it is without waiting.
  base::Result<QueryHandle> submit_query(std::string sql, QueryDone done,
                                         const QueryOptions& options = {
                                             .admission = Admission::kRefuse});

  // Loads rows as one transaction, on both replicas: all or none; all, too, where the error's text
  // says that it is done, but could not be saved (save() or checkpoint() then does). An error of
  // `next` ends it, and is its own; so does what `next` throws (kAborted). Everything else waits
  // meanwhile, so `next` must not call the database, which refuses it (kInvalidArgument); another
  // one it may.
  base::Result<LoadReport> load(base::TableId table,
                                const std::function<base::Result<RowBatch>()>& next,
                                const ChangeOptions& options = {});
  // The same of rows that are there. kInvalidArgument: the ref is another database's.
  template <base::Described Row>
  base::Result<LoadReport> load(const TableRef<Row>& table,
                                std::span<const std::type_identity_t<Row>> rows,
                                const ChangeOptions& options = {}) {
    if (const base::TableSchema* const schema = catalog().find_table(table.table)) {
      if (auto same = base::check_binding<Row>(*schema); !same) return same.error();
    }
    const auto next = [&rows]() -> base::Result<RowBatch> {
      const auto given = std::exchange(rows, {});
      return RowBatch{reinterpret_cast<const std::byte*>(given.data()), given.size()};
    };
    return load(table.table, next, options);
  }

  // Rows of a table in the OLTP replica, between two batches.
  base::Result<uint64_t> row_count(base::TableId table) const;

  // Waits until the replica shows everything that was acknowledged before the call, and compares
  // every row of every table. Both sides stand still meanwhile. kUnsupported if updates are not
  // exported.
  base::Result<ReplicaComparison> compare_replicas();

  Metrics metrics() const;
  // The same in Prometheus' text format. As rows: SELECT * FROM diptych_metrics (docs/metrics.md).
  std::string metrics_text() const;
  const base::Placement& placement() const;

  // After open, of a database that was not closed: replays its log, if that was not done yet. Any
  // use of the data does it too. kNotFound, kInvalidArgument: a procedure that the log names is not
  // registered, or takes other arguments; it can be called again. kCorrupt, for good: a procedure
  // fails, changes nothing or inserts another number of rows than it did (other values are not
  // noticed); log and last save stay as they are.
  base::Result<RecoveryReport> recover();
  // Those that a log which is still to be replayed names, and that are not there yet.
  base::Result<std::vector<std::string>> procedures_to_recover() const;

  // The OLTP replica counts as lost, as after a crash of its workers, and is built anew from the
  // analytical one. Calls of a batch that runs are run again; everything waits. kUnsupported: no
  // updates are exported. kIo, kCorrupt: for good; kOutOfMemory: until it is called again, and
  // succeeds; calls end with the error meanwhile, and queries go on.
  base::Result<RebuildReport> rebuild_primary();

  // Saves a database at a path as of now, in the background, while transactions and queries go on,
  // and drops the log up to there; returns when that is durable. kIo, kNoSpace: what was saved last
  // stays, and the log. kClosed: the database was closed meanwhile.
  base::Result<void> checkpoint();
  // The same while everything stands still. A checkpoint that runs is ended: this save has it all.
  base::Result<void> save();
  // Copies a database at a path to a new or empty directory, while all goes on: as of a VID not
  // older than what was acknowledged before the call. dispatcher/backup.h makes a database of it
  // again. If a load, DDL or a replaced library comes meanwhile, the copy has the state before it.
  // kAlreadyExists: the directory is not empty. kUnsupported: the database is in memory. kClosed:
  // it was closed meanwhile. kIo, kNoSpace, kCorrupt (the source is damaged); nothing is left then.
  base::Result<BackupReport> backup(const std::string& directory,
                                    const BackupOptions& options = {});
  // Ends the calls that were submitted, cancels the queries that have not ended (kCancelled), saves
  // if anything changed since the last save, and stops the dispatchers. DDL, loads and saves that
  // wait for their turn fail with kClosed at once. If the save fails, all but close() and save()
  // are closed, and the data stays in memory: close() again (once there is space) tries the save
  // again.
  base::Result<void> close();
  // Closes without saving. A database that was there before open() is left as a crash leaves it:
  // what was saved last, and the log. One that open() made is given up as a whole, whatever was
  // saved of it: it is gone from its path, and the directory with it if open() made that too.
  // kInvalidArgument, and nothing is done: as for close(), in a procedure or a completion. kClosed.
  base::Result<void> discard();

 private:
  friend class Client;         // dispatcher/client.h
  friend class ReplicaAccess;  // dispatcher/replica_access.h
  struct State;
  explicit Database(std::unique_ptr<State> state);
  base::Result<base::ProcedureId> find_procedure(
      std::string_view name, size_t argument_bytes,
      const std::vector<base::BoundColumn>& argument_columns, size_t reply_bytes,
      const std::vector<base::BoundColumn>& reply_columns) const;

  std::unique_ptr<State> state_;
};

}  // namespace diptych::dispatcher
