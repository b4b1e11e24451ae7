// The subcommands of the program, by their makers: each adds one to the app that it is given, and
// gives what runs it. What each does for its user is said here; its options, in its source.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/command.h"

namespace diptych::cli {

// diptych init PATH --schema FILE.sql: a new database with the tables of a script.
//
// All or nothing: where a statement fails, what was created at PATH is removed again.
std::unique_ptr<Command> make_init_command(CLI::App& parent);

// diptych ddl PATH (-c SQL | -f FILE) [--procedures LIB.so]...: makes and drops tables,
// indexes and views of a database, and empties tables.
//
// The statements run in their order, and what they made is saved before it is printed. Where one
// fails, those before it stay: the error names it, and what was made is said behind it.
std::unique_ptr<Command> make_ddl_command(CLI::App& parent);

// diptych load PATH TABLE FILE.csv [--delimiter C] [--null TEXT] [--quote C] [--columns A,B,...]
//              [--no-header]: the rows of a CSV file, all or none (cli/csv_table.h). The options
//              are those of PostgreSQL's COPY.
std::unique_ptr<Command> make_load_command(CLI::App& parent);

// diptych query PATH [-c SQL]... [-f FILE] [--param VALUE]... [--null TEXT]
//                    [--format table|csv|json] [--threads N]
//                    [--timeout MS] [--query-memory MIB] [--queries-memory MIB] [--metrics FILE]
//
// All statements of -c, -f and (if neither is given) standard input run as one batch, on one
// snapshot. Results go to standard output in the order of the statements; times and errors go to
// standard error. A statement that fails does not hold up the others; the exit code is then 1. One
// that has not ended --timeout milliseconds after the batch was begun fails. Each -c, and the file,
// is a text of its own: one that cannot be read as statements (an open quote) fails as one.
//
// The values of --param, in their order, stand for $1, $2 and so on in every statement, as a quoted
// literal would: each is read as the type that its place asks for. One that is --null's text is
// NULL.
std::unique_ptr<Command> make_query_command(CLI::App& parent);

// diptych call PATH --procedures LIB.so... [--format table|csv|json] [--null TEXT] NAME [ARG...]
// diptych call PATH --procedures LIB.so... -- NAME [ARG...]
// diptych call PATH --procedures LIB.so... --list
//
// Loads libraries of procedures and calls one of theirs, with arguments as SQL values in text. The
// reply goes to standard output as a result of one row does; the time and errors go to standard
// error. What the call changed is saved before its reply is printed; a call that fails changes
// nothing, and the exit code is then 1.
//
// `behind_options`: what stands behind "--": no options, whatever they look like.
std::unique_ptr<Command> make_call_command(CLI::App& parent,
                                           std::vector<std::string> behind_options);

// diptych inspect PATH: what a database's files hold, and, with --verify, whether they are intact.
//
// It exits with 1 where a chunk is damaged.
std::unique_ptr<Command> make_inspect_command(CLI::App& parent);

// diptych test FILE.slt...: runs test scripts in sqllogictest's format, each on a new database in
// memory, and says what failed: file, line, what was expected and what came.
std::unique_ptr<Command> make_test_command(CLI::App& parent);

// diptych verify PATH: whether a database's files are intact: manifest, every chunk, every frame of
// the log. Nothing is changed.
//
// It exits with 1 where something is damaged. A log that ends within a group is not: that is what
// a crash leaves.
std::unique_ptr<Command> make_verify_command(CLI::App& parent);

// diptych checkpoint PATH: saves a database as of now, so that no log has to be replayed; of one
// that was not closed, the log is replayed first.
std::unique_ptr<Command> make_checkpoint_command(CLI::App& parent);

// diptych backup PATH DIR: a copy of a database's directory, verified, from which `diptych restore`
// makes a database again. The database need not have been closed, but no process has it open.
std::unique_ptr<Command> make_backup_command(CLI::App& parent);

// diptych restore DIR PATH [--vid V]: a new database at PATH from the backup in DIR, as of its
// newest version or an older one. The backup stays as it is.
std::unique_ptr<Command> make_restore_command(CLI::App& parent);

// diptych bench tpcc: TPC-C alone, in memory: the transaction side and what exporting costs it.
std::unique_ptr<Command> make_bench_tpcc_command(CLI::App& parent);

// diptych bench ch: the hybrid CH-benCHmark: TPC-C transactions and analytical queries at once.
std::unique_ptr<Command> make_bench_ch_command(CLI::App& parent);

// diptych bench isolation: a grid of transaction clients by query clients: what each side loses to
// the other, and how fresh the queries' data is.
std::unique_ptr<Command> make_bench_isolation_command(CLI::App& parent);

// diptych bench propagation: what it costs the replica to apply TPC-C's updates, by step and table.
std::unique_ptr<Command> make_bench_propagation_command(CLI::App& parent);

// diptych bench scan: how fast the columnar replica is scanned, from memory or from the disk.
std::unique_ptr<Command> make_bench_scan_command(CLI::App& parent);

// diptych bench queries: how fast the analytical side answers, each query alone or by the hundred.
std::unique_ptr<Command> make_bench_queries_command(CLI::App& parent);

// diptych bench recovery: how long a database takes to run again, and how fast its log is replayed.
std::unique_ptr<Command> make_bench_recovery_command(CLI::App& parent);

// diptych bench overload: what becomes of calls when more come than the database can take.
std::unique_ptr<Command> make_bench_overload_command(CLI::App& parent);

}  // namespace diptych::cli
