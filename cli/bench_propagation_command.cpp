#include <string>

#include "cli/bench_options.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/option_values.h"
#include "workloads/propagation.h"

namespace diptych::cli {
namespace {

constexpr uint64_t kTransactionsMax = 1'000'000'000;
constexpr uint64_t kRoundMax = 200'000;  // some 400 MB of updates that wait

constexpr const char* kPropagationExamples =
    "  diptych bench propagation --warehouses 10\n"
    "  diptych bench propagation --warehouses 10 --mode row --json row.json\n"
    "  diptych bench propagation --warehouses 10 --blocks plain\n"
    "  diptych bench propagation --warehouses 4 --round 1000 --constant-size\n\n"
    "Time is the CPU time of the thread that applies. Making the updates is not counted, and\n"
    "compaction in between, which makes and freezes blocks, has lines of its own.\n"
    "Exits with 1 if a consistency condition is violated or the replicas differ.\n";

class BenchPropagationCommand : public Command {
 public:
  explicit BenchPropagationCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  workloads::PropagationOptions options_;
  bool constant_size_ = false;
  std::string json_path_;
};

}  // namespace

BenchPropagationCommand::BenchPropagationCommand(CLI::App& parent)
    : Command(parent, "propagation", "What applying updates to the replica costs",
              kPropagationExamples) {
  using dispatcher::BlockForm;
  using dispatcher::ExportMode;
  add_warehouses(app(), &options_.warehouses);
  add_choice<ExportMode>(app(), "--mode",
                         "field: updates name the columns that changed; row: whole rows; "
                         "default field",
                         {{"field", ExportMode::kColumns}, {"row", ExportMode::kRows}},
                         &options_.mode)
      ->option_text("field|row");
  add_choice<BlockForm>(app(), "--blocks",
                        "compressed: rows at rest are compressed, and updated so; plain: as they "
                        "are, for comparison; default compressed",
                        {{"compressed", BlockForm::kCompressed}, {"plain", BlockForm::kPlain}},
                        &options_.blocks)
      ->option_text("compressed|plain");
  app()
      .add_option("--transactions", options_.transactions,
                  "Transactions applied in all; default 1000000")
      ->transform(number_between(uint64_t{1}, kTransactionsMax))
      ->option_text("N");
  app()
      .add_option("--round", options_.round_transactions,
                  "Transactions applied in one go; default 10000")
      ->transform(number_between(uint64_t{1}, kRoundMax))
      ->option_text("N");
  app()
      .add_option("--clients", options_.transaction_clients, "Closed-loop clients; default 32")
      ->transform(number_between(uint32_t{1}, workloads::kClientsMax))
      ->option_text("N");
  app().add_flag("--constant-size", constant_size_, "New-Order deletes an old order");
  add_seed(app(), &options_.seed);
  add_json(app(), &json_path_);
}

ExitCode BenchPropagationCommand::run() {
  if (constant_size_) options_.size = workloads::SizePolicy::kConstant;
  const auto report = run_with_progress(workloads::run_propagation, options_);
  if (!report) return fail(report.error());
  return give_report(*report, json_path_, "the figures are of the rounds so far");
}

std::unique_ptr<Command> make_bench_propagation_command(CLI::App& parent) {
  return std::make_unique<BenchPropagationCommand>(parent);
}

}  // namespace diptych::cli
