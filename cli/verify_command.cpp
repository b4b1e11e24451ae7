#include <optional>
#include <string>

#include <fmt/format.h>

#include "base/counted.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/inspection_report.h"
#include "cli/option_values.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "dispatcher/backup.h"
#include "dispatcher/database_inspection.h"
#include "dispatcher/log_inspection.h"

namespace diptych::cli {
namespace {

constexpr const char* kVerifyExamples =
    "  diptych verify shop\n\n"
    "Reads every chunk and every frame of the log of a database that is not open, or of a backup,\n"
    "and names the procedures that a replay of the log needs, each with its version and the\n"
    "number of its calls. Exits with 1 if something is damaged or missing, or if a backup was\n"
    "interrupted. What a killed process leaves is no damage: an incomplete\n"
    "group at the end of the log, or a log file that was made ready and never begun.\n";

std::string log_text(const dispatcher::LogInspection& log) {
  if (log.transactions == 0) return "log: nothing to replay\n";
  std::string text = fmt::format("log: {} to replay, up to version {}, in {} of {} bytes\n",
                                 base::counted(log.transactions, "transaction"), log.last.value,
                                 base::counted(log.files, "file"), log.bytes);
  for (const dispatcher::ProcedureToReplay& procedure : log.procedures) {
    text += fmt::format("log: needs procedure \"{}\", version {}, for {}\n", procedure.name,
                        procedure.version, base::counted(procedure.calls, "call"));
  }
  if (log.procedures.empty()) text += "log: needs no procedures\n";
  return text;
}

class VerifyCommand : public Command {
 public:
  explicit VerifyCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  std::string path_;
};

}  // namespace

VerifyCommand::VerifyCommand(CLI::App& parent)
    : Command(parent, "verify", "Check a database's files, every byte", kVerifyExamples) {
  add_database_path(app(), &path_);
}

ExitCode VerifyCommand::run() {
  const auto backup = dispatcher::read_backup(path_);
  if (!backup) return fail(backup.error());
  std::optional<ProgressLine> progress("verifying " + path_);
  const auto inspection = dispatcher::inspect_database(
      path_, dispatcher::Verify::kYes,
      [&](double done) { progress->update("verifying " + path_, done); });
  if (!inspection) return fail(inspection.error());
  progress->update("verifying the log", -1);
  const auto log = dispatcher::inspect_log(path_);
  progress.reset();
  if (!inspection->damaged.empty()) say(damage_text(*inspection));
  if (!log) return fail(log.error());
  std::string text =
      fmt::format("saved: version {}, {} read, {} damaged\n", log->saved.value,
                  base::counted(inspection->chunks_read, "chunk"), inspection->damaged.size());
  text += log_text(*log);
  for (const std::string& path : log->unused) {
    text += fmt::format("log: {} was made ready and never begun; it will be removed\n", path);
  }
  if (!log->torn_tail.empty()) {
    text += fmt::format(
        "log: ends within a group that was not written to its end, or was damaged since ({}); it "
        "will be cut off\n",
        log->torn_tail);
  }
  const bool ends_early = *backup && log->last != (*backup)->last;
  if (*backup) {
    text += fmt::format("backup: can be restored as of versions {} to {}\n", (*backup)->first.value,
                        log->last.value);
  }
  const ExitCode printed = print_result(text);
  if (ends_early) {
    say(
        fmt::format("{}: the log ends with version {} instead of {}; files of it are damaged or "
                    "missing\n",
                    path_, log->last.value, (*backup)->last.value));
  }
  return inspection->damaged.empty() && !ends_early ? printed : ExitCode::kFailed;
}

std::unique_ptr<Command> make_verify_command(CLI::App& parent) {
  return std::make_unique<VerifyCommand>(parent);
}

}  // namespace diptych::cli
