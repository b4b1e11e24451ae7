#include <string>

#include "cli/bench_options.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/option_values.h"
#include "workloads/scan.h"

namespace diptych::cli {
namespace {

constexpr double kScanSecondsMax = 3600;

constexpr const char* kScanExamples =
    "  diptych bench scan --warehouses 10\n"
    "  diptych bench scan --warehouses 10 --cold --json cold.json\n\n"
    "From memory, numbers are summed and texts compared in four stages: frozen; after half of the\n"
    "rows were updated with values of their block; after updates with new values (\"extended\");\n"
    "and frozen again. Each is compared with how fast the same threads read plain memory. "
    "Encoding\n"
    "all blocks with one thread is measured too. With --cold, all blocks are read from disk with "
    "a\n"
    "small memory, in turns with raw reads of the same chunks.\n";

class BenchScanCommand : public Command {
 public:
  explicit BenchScanCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  workloads::ScanOptions options_;
  std::string json_path_;
};

}  // namespace

BenchScanCommand::BenchScanCommand(CLI::App& parent)
    : Command(parent, "scan", "How fast columns are scanned", kScanExamples) {
  add_warehouses(app(), &options_.warehouses);
  app().add_flag("--cold", options_.cold, "From disk, with little memory");
  app().add_flag("--settled", options_.settled,
                 "Cold: of columns that have settled, in frames of zstd");
  app()
      .add_option("--path", options_.path,
                  "Cold: new directory where the database stays; default: one that is removed")
      ->check(new_directory())
      ->option_text("PATH");
  app()
      .add_option("--seconds", options_.seconds, "Seconds of each measurement; default 1")
      ->transform(number_between(0.001, kScanSecondsMax))
      ->option_text("S");
  add_mebibytes(app(), "--memory", "Cold: MiB of columns in memory; default 128",
                &options_.memory_bytes_max);
  add_placement(app(), &options_.placement);
  add_seed(app(), &options_.seed);
  add_json(app(), &json_path_);
}

ExitCode BenchScanCommand::run() {
  if (!options_.cold && !options_.path.empty()) {
    return wrong_usage("--path is for --cold: otherwise the database is in memory");
  }
  if (!options_.cold && options_.settled) {
    return wrong_usage("--settled is for --cold: what settles is read from disk");
  }
  if (!options_.cold && app().count("--memory") != 0) {
    return wrong_usage("--memory is for --cold: otherwise all columns are in memory");
  }
  const auto report = run_with_progress(workloads::run_scan, options_);
  if (!report) return fail(report.error());
  const ExitCode given = give_report(*report, json_path_, "the figures are of the columns so far");
  if (report->cold && !report->clean()) {
    say("most of what was scanned fits into memory: give more warehouses\n");
  }
  return given;
}

std::unique_ptr<Command> make_bench_scan_command(CLI::App& parent) {
  return std::make_unique<BenchScanCommand>(parent);
}

}  // namespace diptych::cli
