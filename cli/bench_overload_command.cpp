#include <string>

#include "cli/bench_options.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/option_values.h"
#include "workloads/overload.h"

namespace diptych::cli {
namespace {

constexpr double kTimeoutMsMax = 86'400'000;

constexpr const char* kOverloadExamples =
    "  diptych bench overload --warehouses 2\n"
    "  diptych bench overload --warehouses 2 --queue 4096 --timeout 5 --json overload.json\n"
    "  diptych bench overload --warehouses 2 --keep /tmp/kept --log command\n\n"
    "Finds the rate that the database sustains, then offers 0.5, 0.9, 1 and 2 times as much in an\n"
    "open loop. Exits with 1 if a call fails other than by being refused or late, a\n"
    "consistency condition is violated or the replicas differ afterwards.\n";

class BenchOverloadCommand : public Command {
 public:
  explicit BenchOverloadCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  workloads::OverloadOptions options_;
  std::string json_path_;
};

}  // namespace

BenchOverloadCommand::BenchOverloadCommand(CLI::App& parent)
    : Command(parent, "overload", "More calls than can be taken", kOverloadExamples) {
  add_warehouses(app(), &options_.warehouses);
  app()
      .add_option("--queue", options_.queue_requests,
                  "Calls that are admitted and not answered, at most; default 1024")
      ->transform(number_between(uint32_t{1}, dispatcher::kQueueMax))
      ->option_text("N");
  app()
      .add_option("--timeout", options_.timeout_ms,
                  "Milliseconds after which a call that waits is not run; default no limit")
      ->transform(number_between(0.001, kTimeoutMsMax))
      ->option_text("MS");
  add_seconds(app(), &options_.seconds, "Seconds measured of each load; default 3",
              &options_.warmup_seconds, "Seconds before measuring; default 0.5");
  add_isolation(app(), &options_.isolation);
  add_log(app(), &options_.log);
  add_keep(app(), &options_.keep_path);
  add_placement(app(), &options_.placement);
  add_seed(app(), &options_.seed);
  add_json(app(), &json_path_);
}

ExitCode BenchOverloadCommand::run() {
  if (const auto wrong = wrong_log(options_.log, options_.keep_path)) return wrong_usage(*wrong);
  const auto report = run_with_progress(workloads::run_overload, options_);
  if (!report) return fail(report.error());
  return give_report(*report, json_path_, "the figures are of the loads so far");
}

std::unique_ptr<Command> make_bench_overload_command(CLI::App& parent) {
  return std::make_unique<BenchOverloadCommand>(parent);
}

}  // namespace diptych::cli
