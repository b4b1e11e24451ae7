#include "cli/bench_scan_command.h"

#include <optional>

#include "cli/bench_options.h"
#include "cli/option_values.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "cli/signal_stop.h"

namespace diptych::cli {
namespace {

constexpr double kScanSecondsMax = 3600;

constexpr const char* kScanExamples =
    "  diptych bench scan --warehouses 10\n"
    "  diptych bench scan --warehouses 10 --cold --json cold.json\n\n"
    "From memory: 4-byte columns are summed, frozen, after half of the rows were updated, and\n"
    "frozen again, beside what the same threads read of plain memory. Cold: all blocks are read\n"
    "from disk with a small memory, beside raw reads of the same chunks.\n";

}  // namespace

BenchScanCommand::BenchScanCommand(CLI::App& parent)
    : Command(parent, "scan", "How fast columns are scanned", kScanExamples) {
  add_warehouses(app(), &options_.warehouses);
  app().add_flag("--cold", options_.cold, "From disk, with little memory");
  app()
      .add_option("--path", options_.path,
                  "Cold: new directory where the database stays; default: one that is removed")
      ->check(new_directory())
      ->option_text("PATH");
  app()
      .add_option("--seconds", options_.seconds, "Seconds of each measurement; default 1")
      ->transform(number_between(0.001, kScanSecondsMax))
      ->option_text("S");
  add_placement(app(), &options_.placement);
  add_seed(app(), &options_.seed);
  add_output(app(), "--json", "Write the report as JSON", &json_path_);
}

ExitCode BenchScanCommand::run() {
  if (!options_.cold && !options_.path.empty()) {
    return wrong_usage("--path is for --cold: otherwise the database is in memory");
  }
  const SignalStop stop;
  std::optional<ProgressLine> progress("starting");
  const auto report = workloads::run_scan(
      options_, stop.flag(),
      [&](const std::string& what, double done) { progress->update(what, done); });
  progress.reset();
  if (!report) return fail(report.error());
  auto written = write_report(json_path_, workloads::to_json(*report) + "\n");
  if (const auto printed = print(workloads::to_table(*report)); written) written = printed;
  if (report->interrupted) say("interrupted: the figures are of the columns so far\n");
  if (report->cold && !report->clean()) {
    say("most of what was scanned fits into memory: give more warehouses\n");
  }
  if (!written) return fail(written.error());
  return report->clean() ? ExitCode::kFine : ExitCode::kFailed;
}

}  // namespace diptych::cli
