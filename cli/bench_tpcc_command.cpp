#include "cli/bench_tpcc_command.h"

#include "cli/bench_options.h"

namespace diptych::cli {
namespace {

constexpr const char* kTpccExamples =
    "  diptych bench tpcc --warehouses 10 --seconds 30\n"
    "  diptych bench tpcc --warehouses 10 --seconds 30 --export off\n"
    "  diptych bench tpcc --warehouses 4 --workers 2 --seconds 10 --json tpcc.json\n\n"
    "Exits with 1 where a consistency condition is violated or the replicas differ.\n";

}  // namespace

BenchTpccCommand::BenchTpccCommand(CLI::App& parent)
    : Command(parent, "tpcc", "TPC-C: the transaction side alone", kTpccExamples) {
  add_warehouses(app(), &options_.warehouses);
  app()
      .add_option("--clients", options_.transaction_clients, "Closed-loop clients; default 32")
      ->check(CLI::Range(uint32_t{1}, kClientsMax))
      ->option_text("N");
  add_seconds(app(), &options_.seconds, &options_.warmup_seconds);
  app()
      .add_option("--isolation", isolation_, "snapshot or serializable; default snapshot")
      ->check(CLI::IsMember({"snapshot", "serializable"}))
      ->option_text("LEVEL");
  app()
      .add_option("--export", export_, "on or off: export updates to the replica; default on")
      ->check(CLI::IsMember({"on", "off"}))
      ->option_text("on|off");
  app()
      .add_option("--log", log_, "none, command or physical; default none")
      ->check(CLI::IsMember({"none", "command", "physical"}))
      ->option_text("LOG");
  app().add_flag("--constant-size", constant_size_, "New-Order deletes an old order");
  add_placement(app(), &options_.placement);
  add_seed(app(), &options_.seed);
  add_keep(app(), &options_.keep_path);
  add_output(app(), "--json", "Write the report as JSON", &json_path_);
}

ExitCode BenchTpccCommand::run() {
  if (isolation_ != "snapshot") {
    return wrong_usage("--isolation serializable is not supported yet; use snapshot");
  }
  if (log_ != "none") {
    return wrong_usage(fmt::format("--log {} is not supported yet; use none", log_));
  }
  options_.query_clients = 0;
  options_.export_updates = export_ == "on";
  options_.size =
      constant_size_ ? workloads::SizePolicy::kConstant : workloads::SizePolicy::kGrowing;
  return run_and_report(options_, json_path_);
}

}  // namespace diptych::cli
