#include <optional>
#include <string>

#include "cli/bench_options.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/inspection_report.h"
#include "cli/option_values.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "dispatcher/database_inspection.h"
#include "dispatcher/log_inspection.h"

namespace diptych::cli {
namespace {

constexpr const char* kInspectExamples =
    "  diptych inspect shop\n"
    "  diptych inspect shop --verify\n"
    "  diptych inspect shop --json shop.json\n"
    "  diptych inspect shop --schema > shop.sql\n\n"
    "The database must not be open. A ratio is compressed bytes by uncompressed ones, which count\n"
    "numbers with the width of their type, texts with 4 bytes more than they have, and null bits.\n"
    "Exits with 1 if a chunk or the log is damaged.\n";

class InspectCommand : public Command {
 public:
  explicit InspectCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  std::string path_;
  bool verify_ = false;
  bool schema_ = false;
  std::string json_path_;
};

}  // namespace

InspectCommand::InspectCommand(CLI::App& parent)
    : Command(parent, "inspect", "Show what a database's files hold", kInspectExamples) {
  add_database_path(app(), &path_);
  app().add_flag("--verify", verify_, "Read every chunk and check it");
  add_json(app(), &json_path_);
  app()
      .add_flag("--schema", schema_, "Print the DDL that makes tables, indexes and views")
      ->excludes("--verify")
      ->excludes("--json");
}

ExitCode InspectCommand::run() {
  if (schema_) {
    const auto script = dispatcher::schema_script(path_);
    return script ? print_result(*script) : fail(script.error());
  }
  const auto verify = verify_ ? dispatcher::Verify::kYes : dispatcher::Verify::kNo;
  const std::string what = (verify_ ? "verifying " : "reading ") + path_;
  std::optional<ProgressLine> progress(what);
  const auto inspection = dispatcher::inspect_database(
      path_, verify, [&](double done) { progress->update(what, done); });
  if (!inspection) return fail(inspection.error());
  progress->update("reading the log", -1);
  const auto log = dispatcher::inspect_log(path_);
  progress.reset();
  const uint64_t logged = log ? log->transactions : 0;
  const auto written = print_report(json_path_, to_json(path_, *inspection, logged) + "\n",
                                    to_table(path_, *inspection, logged));
  if (!written) return fail(written.error());
  if (!log) return fail(log.error());
  if (inspection->damaged.empty()) return ExitCode::kFine;
  say(damage_text(*inspection));
  return ExitCode::kFailed;
}

std::unique_ptr<Command> make_inspect_command(CLI::App& parent) {
  return std::make_unique<InspectCommand>(parent);
}

}  // namespace diptych::cli
