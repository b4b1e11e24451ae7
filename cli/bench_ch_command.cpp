#include <string>

#include "cli/bench_options.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/option_values.h"
#include "workloads/benchmark.h"

namespace diptych::cli {
namespace {

constexpr const char* kChExamples =
    "  diptych bench ch --warehouses 10 --transaction-clients 32 --query-clients 8 --seconds 30\n"
    "  diptych bench ch --warehouses 4 --transaction-clients 0 --query-clients 4 --seconds 10\n"
    "  diptych bench ch --warehouses 10 --transaction-clients 64 --query-clients 16 \\\n"
    "      --seconds 60 --queries templates --constant-size --json ch.json\n\n"
    "Afterwards TPC-C's consistency conditions are checked on both replicas, and every row of\n"
    "every table is compared between them. Exits with 1 if anything is wrong.\n";

class BenchChCommand : public Command {
 public:
  explicit BenchChCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  workloads::BenchmarkOptions options_;
  bool constant_size_ = false;
  std::string json_path_;
  std::string metrics_path_;
};

}  // namespace

BenchChCommand::BenchChCommand(CLI::App& parent)
    : Command(parent, "ch", "CH-benCHmark: transactions and queries at once", kChExamples) {
  constexpr uint32_t kQueryClients = 4;
  options_.query_clients = kQueryClients;
  add_warehouses(app(), &options_.warehouses);
  app()
      .add_option("--transaction-clients", options_.transaction_clients,
                  "Closed-loop clients that run transactions; default 32")
      ->transform(number_between(uint32_t{0}, workloads::kClientsMax))
      ->option_text("T");
  app()
      .add_option("--query-clients", options_.query_clients,
                  "Closed-loop clients that run queries; default 4")
      ->transform(number_between(uint32_t{0}, workloads::kClientsMax))
      ->option_text("A");
  add_seconds(app(), &options_.seconds, "Seconds measured; default 10", &options_.warmup_seconds,
              "Seconds before measuring; default 1");
  add_queries(app(), &options_.queries);
  add_isolation(app(), &options_.isolation);
  app().add_flag("--constant-size", constant_size_,
                 "New-Order deletes an old order, so that the data stays the same size");
  add_placement(app(), &options_.placement);
  add_seed(app(), &options_.seed);
  add_keep(app(), &options_.keep_path);
  add_json(app(), &json_path_);
  add_metrics_option(app(), &metrics_path_);
}

ExitCode BenchChCommand::run() {
  if (options_.transaction_clients == 0 && options_.query_clients == 0) {
    return wrong_usage("--transaction-clients and --query-clients are both 0: nothing would run");
  }
  options_.size =
      constant_size_ ? workloads::SizePolicy::kConstant : workloads::SizePolicy::kGrowing;
  return run_and_report(options_, json_path_, metrics_path_);
}

std::unique_ptr<Command> make_bench_ch_command(CLI::App& parent) {
  return std::make_unique<BenchChCommand>(parent);
}

}  // namespace diptych::cli
