#include <algorithm>
#include <string>

#include "cli/bench_options.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/file.h"
#include "cli/html_report.h"
#include "cli/option_values.h"
#include "workloads/isolation.h"

namespace diptych::cli {
namespace {

constexpr const char* kIsolationExamples =
    "  diptych bench isolation --warehouses 4 --seconds 5 --html isolation.html\n"
    "  diptych bench isolation --warehouses 10 --seconds 10 --transaction-clients 0,1,16,64 \\\n"
    "      --query-clients 0,1,8 --json isolation.json\n\n"
    "A 0 in both lists makes the cells of one side alone, against which losses are counted.\n"
    "The page needs no network. Exits with 1 if the replicas differ or a consistency\n"
    "condition is violated.\n";

class BenchIsolationCommand : public Command {
 public:
  explicit BenchIsolationCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  workloads::IsolationOptions options_;
  std::string json_path_;
  std::string html_path_;
};

}  // namespace

BenchIsolationCommand::BenchIsolationCommand(CLI::App& parent)
    : Command(parent, "isolation",
              "What each side loses to the other, over a grid of clients (performance, not "
              "transaction levels)",
              kIsolationExamples) {
  add_warehouses(app(), &options_.warehouses);
  add_seconds(app(), &options_.seconds, "Seconds measured per cell; default 5",
              &options_.warmup_seconds, "Seconds before each cell; default 1");
  add_client_counts(app(), "--transaction-clients", "Rows of the grid; default 0,1,8,64", 0,
                    &options_.transaction_clients);
  add_client_counts(app(), "--query-clients", "Columns of the grid; default 0,1,4,16", 0,
                    &options_.query_clients);
  add_queries(app(), &options_.queries);
  add_placement(app(), &options_.placement);
  add_seed(app(), &options_.seed);
  add_json(app(), &json_path_);
  add_output(app(), "--html", "Write the report as a page with plots", &html_path_);
}

ExitCode BenchIsolationCommand::run() {
  std::sort(options_.transaction_clients.begin(), options_.transaction_clients.end());
  std::sort(options_.query_clients.begin(), options_.query_clients.end());
  if (options_.transaction_clients.back() == 0 && options_.query_clients.back() == 0) {
    return wrong_usage("--transaction-clients and --query-clients are both 0: nothing would run");
  }
  if (is_one_file(json_path_, html_path_)) {
    return wrong_usage("--json and --html name the same file");
  }
  const auto report = run_with_progress(workloads::run_isolation, options_);
  if (!report) return fail(report.error());
  base::Result<void> page;
  if (!html_path_.empty()) {
    page = write_report(html_path_, to_html(*report, workloads::to_json(*report)));
  }
  const ExitCode given = give_report(*report, json_path_, "cells that did not run are left out");
  return page ? given : fail(page.error());
}

std::unique_ptr<Command> make_bench_isolation_command(CLI::App& parent) {
  return std::make_unique<BenchIsolationCommand>(parent);
}

}  // namespace diptych::cli
