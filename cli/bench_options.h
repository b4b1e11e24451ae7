// Options that the benchmarks have in one form, and how a benchmark ends.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "base/topology.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "cli/signal_stop.h"
#include "dispatcher/database.h"
#include "workloads/benchmark.h"

namespace diptych::cli {

// Refuses more than the memory that is available can hold.
void add_warehouses(CLI::App& app, uint32_t* warehouses);
void add_seconds(CLI::App& app, double* seconds, const std::string& seconds_what,
                 double* warmup_seconds, const std::string& warmup_what);
void add_seed(CLI::App& app, uint64_t* seed);
void add_queries(CLI::App& app, workloads::QuerySet* queries);
void add_isolation(CLI::App& app, dispatcher::IsolationLevel* level);
// Refuses cores that the machine lacks.
void add_placement(CLI::App& app, base::PlacementOptions* placement);
// "1,16,64": numbers from `low` to workloads::kClientsMax, each once.
void add_client_counts(CLI::App& app, const std::string& name, const std::string& what,
                       uint32_t low, std::vector<uint32_t>* counts);
// --keep: where the benchmark's database stays, on disk, for queries afterwards.
void add_keep(CLI::App& app, std::string* path);
// --log, of a benchmark that has --keep.
void add_log(CLI::App& app, dispatcher::LogMode* log);
// What is wrong with the two, or nothing.
std::optional<std::string> wrong_log(dispatcher::LogMode log, const std::string& keep_path);
void add_output(CLI::App& app, const std::string& name, const std::string& what, std::string* path);
// --json, for print_report().
void add_json(CLI::App& app, std::string* path);

// Runs a benchmark with progress and Ctrl-C.
template <class Options, class Report>
base::Result<Report> run_with_progress(base::Result<Report> (*run)(const Options&,
                                                                   const workloads::StopFlag&,
                                                                   const workloads::Progress&),
                                       const Options& options) {
  const SignalStop stop;
  ProgressLine progress("starting");
  return run(options, stop.flag(),
             [&](const std::string& what, double done) { progress.update(what, done); });
}

// Writes the text unless the path is empty, and says on standard error where it lies.
base::Result<void> write_report(const std::string& path, const std::string& text);

// Writes the JSON where a path is given, and only then prints the table: the reader of a pipe may
// be gone. "-" prints the JSON in place of the table.
base::Result<void> print_report(const std::string& json_path, const std::string& json,
                                const std::string& table);

// print_report() of a benchmark. An interrupted run says `rest`, what there is of it. kFailed where
// a check found something.
template <class Report>
ExitCode give_report(const Report& report, const std::string& json_path, const std::string& rest) {
  const auto written = print_report(json_path, to_json(report) + "\n", to_table(report));
  if (report.interrupted) say("interrupted: " + rest + "\n");
  if (!written) return fail(written.error());
  return report.clean() ? ExitCode::kFine : ExitCode::kFailed;
}

// The same of TPC-C and CH. kFailed also where nothing was measured.
ExitCode give_report(const workloads::BenchmarkReport& report, const std::string& json_path);
ExitCode run_and_report(const workloads::BenchmarkOptions& options, const std::string& json_path,
                        const std::string& metrics_path);

}  // namespace diptych::cli
