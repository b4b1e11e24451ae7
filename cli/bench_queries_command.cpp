#include <string>

#include "cli/bench_options.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/option_values.h"
#include "workloads/query_benchmark.h"

namespace diptych::cli {
namespace {

constexpr const char* kQueriesExamples =
    "  diptych bench queries --warehouses 10 --threads 2\n"
    "  diptych bench queries --warehouses 10 --threads 2 --queries templates --clients 1,16,256\n"
    "  diptych bench queries --warehouses 10 --aged --json aged.json\n\n"
    "Without --clients, the CH queries run one at a time, in several rounds. With it, that many\n"
    "clients ask at once, each its next query when the last one is answered. --aged first runs\n"
    "TPC-C, until half as many order lines have been added as were loaded.\n";

class BenchQueriesCommand : public Command {
 public:
  explicit BenchQueriesCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  workloads::QueryBenchmarkOptions options_;
  std::string json_path_;
};

}  // namespace

BenchQueriesCommand::BenchQueriesCommand(CLI::App& parent)
    : Command(parent, "queries", "How fast queries are answered, alone and by the hundred",
              kQueriesExamples) {
  add_warehouses(app(), &options_.warehouses);
  add_queries(app(), &options_.queries);
  add_client_counts(
      app(), "--clients",
      "Closed-loop clients; several numbers are measured one after the other; default: CH queries "
      "alone, templates with 1",
      1, &options_.clients);
  add_seconds(app(), &options_.seconds, "Seconds measured, for each number of clients; default 5",
              &options_.warmup_seconds, "Closed loop: seconds with one client before; default 0.5");
  app().add_flag("--aged", options_.aged, "After an hour's worth of transactions");
  add_placement(app(), &options_.placement);
  add_seed(app(), &options_.seed);
  add_keep(app(), &options_.keep_path);
  add_json(app(), &json_path_);
}

ExitCode BenchQueriesCommand::run() {
  const auto report = run_with_progress(workloads::run_queries, options_);
  if (!report) return fail(report.error());
  return give_report(*report, json_path_, "the figures are of the time so far");
}

std::unique_ptr<Command> make_bench_queries_command(CLI::App& parent) {
  return std::make_unique<BenchQueriesCommand>(parent);
}

}  // namespace diptych::cli
