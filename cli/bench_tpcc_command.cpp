#include <string>

#include "cli/bench_options.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/option_values.h"
#include "workloads/benchmark.h"

namespace diptych::cli {
namespace {

constexpr double kCheckpointSecondsMax = 86'400;
constexpr double kCheckpointRateMax = 1'000'000;
constexpr const char* kTpccExamples =
    "  diptych bench tpcc --warehouses 10 --seconds 30\n"
    "  diptych bench tpcc --warehouses 10 --seconds 30 --export off\n"
    "  diptych bench tpcc --warehouses 4 --workers 2 --seconds 10 --json tpcc.json\n"
    "  diptych bench tpcc --warehouses 4 --workers 2 --isolation serializable\n"
    "  diptych bench tpcc --warehouses 4 --keep /tmp/kept --log command --checkpoint-seconds 1\n\n"
    "Exits with 1 if a consistency condition is violated or the replicas differ.\n";

class BenchTpccCommand : public Command {
 public:
  explicit BenchTpccCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  workloads::BenchmarkOptions options_;
  bool constant_size_ = false;
  std::string json_path_;
  std::string metrics_path_;
};

}  // namespace

BenchTpccCommand::BenchTpccCommand(CLI::App& parent)
    : Command(parent, "tpcc", "TPC-C: the transaction side alone", kTpccExamples) {
  add_warehouses(app(), &options_.warehouses);
  app()
      .add_option("--clients", options_.transaction_clients, "Closed-loop clients; default 32")
      ->transform(number_between(uint32_t{1}, workloads::kClientsMax))
      ->option_text("N");
  add_seconds(app(), &options_.seconds, "Seconds measured; default 10", &options_.warmup_seconds,
              "Seconds before measuring; default 1");
  using Choices = std::map<std::string, bool>;
  add_isolation(app(), &options_.isolation);
  add_choice(app(), "--export", "Whether updates are exported to the replica; default on",
             Choices{{"on", true}, {"off", false}}, &options_.export_updates)
      ->option_text("on|off");
  add_log(app(), &options_.log);
  app()
      .add_option("--checkpoint-seconds", options_.checkpoint_seconds,
                  "Seconds from one checkpoint to the next, with --keep; default none")
      ->transform(number_between(0.0, kCheckpointSecondsMax))
      ->option_text("S");
  app()
      .add_option("--checkpoint-rate", options_.checkpoint_mib_per_second,
                  "How fast a checkpoint may write; default 32")
      ->transform(number_between(0.001, kCheckpointRateMax))
      ->option_text("MIB/S");
  app().add_flag("--constant-size", constant_size_, "New-Order deletes an old order");
  add_placement(app(), &options_.placement);
  add_seed(app(), &options_.seed);
  add_keep(app(), &options_.keep_path);
  add_json(app(), &json_path_);
  add_metrics_option(app(), &metrics_path_);
}

ExitCode BenchTpccCommand::run() {
  if (const auto wrong = wrong_log(options_.log, options_.keep_path)) return wrong_usage(*wrong);
  if (options_.checkpoint_seconds != 0 && options_.keep_path.empty()) {
    return wrong_usage("--checkpoint-seconds: a database in memory is not saved; give --keep");
  }
  if (app().count("--checkpoint-rate") != 0 && options_.checkpoint_seconds == 0) {
    return wrong_usage("--checkpoint-rate: no checkpoint is made; give --checkpoint-seconds");
  }
  options_.query_clients = 0;
  options_.size =
      constant_size_ ? workloads::SizePolicy::kConstant : workloads::SizePolicy::kGrowing;
  return run_and_report(options_, json_path_, metrics_path_);
}

std::unique_ptr<Command> make_bench_tpcc_command(CLI::App& parent) {
  return std::make_unique<BenchTpccCommand>(parent);
}

}  // namespace diptych::cli
