// Options that the benchmarks have in one form, and how a benchmark ends.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.h"
#include "base/topology.h"
#include "cli/exit_code.h"
#include "dispatcher/database.h"
#include "workloads/benchmark.h"

namespace diptych::cli {

inline constexpr uint32_t kWarehousesMax = 100'000;
inline constexpr uint32_t kClientsMax = 100'000;

// Refuses more than the memory that is available can hold.
void add_warehouses(CLI::App& app, uint32_t* warehouses);
void add_seconds(CLI::App& app, double* seconds, const std::string& seconds_what,
                 double* warmup_seconds, const std::string& warmup_what);
void add_seed(CLI::App& app, uint64_t* seed);
void add_queries(CLI::App& app, workloads::QuerySet* queries);
void add_isolation(CLI::App& app, dispatcher::IsolationLevel* level);
// Refuses cores that the machine lacks.
void add_placement(CLI::App& app, base::PlacementOptions* placement);
// --keep: where the benchmark's database stays, on disk, for queries afterwards.
void add_keep(CLI::App& app, std::string* path);
void add_output(CLI::App& app, const std::string& name, const std::string& what, std::string* path);

// Runs one benchmark with progress and Ctrl-C, then give_report. kFailed where it could not run.
ExitCode run_and_report(const workloads::BenchmarkOptions& options, const std::string& json_path,
                        const std::string& metrics_path);

// Writes the JSON where a path is given, and only then prints the table: the reader of a pipe may
// be gone. kFailed where nothing was measured, a condition is violated, or the replicas differ.
ExitCode give_report(const workloads::BenchmarkReport& report, const std::string& json_path);

// Writes the text unless the path is empty, and says on standard error where it lies.
base::Result<void> write_report(const std::string& path, const std::string& text);

}  // namespace diptych::cli
