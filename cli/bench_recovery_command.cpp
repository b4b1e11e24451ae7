#include <string>

#include "cli/bench_options.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/option_values.h"
#include "workloads/recovery.h"

namespace diptych::cli {
namespace {

constexpr double kRecoverySecondsMax = 3600;

constexpr const char* kRecoveryExamples =
    "  diptych bench recovery --warehouses 10\n"
    "  diptych bench recovery --warehouses 4 --seconds 10 --json recovery.json\n\n"
    "A loaded database is opened with cold files. Then TPC-C runs with a log, the database is\n"
    "left as a crash would leave it, and its log is replayed. Exits with 1 if a consistency\n"
    "condition is violated or the replicas differ afterwards.\n";

class BenchRecoveryCommand : public Command {
 public:
  explicit BenchRecoveryCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  workloads::RecoveryOptions options_;
  std::string json_path_;
};

}  // namespace

BenchRecoveryCommand::BenchRecoveryCommand(CLI::App& parent)
    : Command(parent, "recovery", "How fast a database runs again", kRecoveryExamples) {
  add_warehouses(app(), &options_.warehouses);
  app()
      .add_option("--clients", options_.transaction_clients, "Closed-loop clients; default 256")
      ->transform(number_between(uint32_t{1}, workloads::kClientsMax))
      ->option_text("N");
  app()
      .add_option("--seconds", options_.seconds, "Seconds that transactions run; default 5")
      ->transform(number_between(0.001, kRecoverySecondsMax))
      ->option_text("S");
  app()
      .add_option("--path", options_.path,
                  "New directory where the database stays; default: one that is removed")
      ->check(new_directory())
      ->option_text("PATH");
  add_isolation(app(), &options_.isolation);
  using dispatcher::LogMode;
  add_choice<LogMode>(app(), "--log", "command or physical: what is replayed; default command",
                      {{"command", LogMode::kCommand}, {"physical", LogMode::kPhysical}},
                      &options_.log)
      ->option_text("LOG");
  add_placement(app(), &options_.placement);
  add_seed(app(), &options_.seed);
  add_json(app(), &json_path_);
}

ExitCode BenchRecoveryCommand::run() {
  const auto report = run_with_progress(workloads::run_recovery, options_);
  if (!report) return fail(report.error());
  return give_report(*report, json_path_, "what was not reached is 0");
}

std::unique_ptr<Command> make_bench_recovery_command(CLI::App& parent) {
  return std::make_unique<BenchRecoveryCommand>(parent);
}

}  // namespace diptych::cli
