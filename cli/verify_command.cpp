#include "cli/verify_command.h"

#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/inspection_report.h"
#include "cli/option_values.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "dispatcher/database_inspection.h"
#include "dispatcher/log_inspection.h"

namespace diptych::cli {
namespace {

constexpr const char* kVerifyExamples =
    "  diptych verify shop\n\n"
    "Reads every chunk and every frame of the log. The database must not be open. Exits with 1\n"
    "where something is damaged.\n";

std::string log_text(const dispatcher::LogInspection& log) {
  if (log.transactions == 0) return "log: nothing to replay\n";
  std::string text = fmt::format(
      "log: {} transaction{} to replay, up to version {}, in {} file{} of {} bytes; procedures: "
      "{}\n",
      log.transactions, log.transactions == 1 ? "" : "s", log.last.value, log.files,
      log.files == 1 ? "" : "s", log.bytes, fmt::join(log.procedures, ", "));
  return text;
}

}  // namespace

VerifyCommand::VerifyCommand(CLI::App& parent)
    : Command(parent, "verify", "Check a database's files, every byte", kVerifyExamples) {
  app()
      .add_option("PATH", path_, "Directory of the database")
      ->required()
      ->check(existing_directory())
      ->type_name("");
}

ExitCode VerifyCommand::run() {
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
  std::string text = fmt::format(
      "saved: version {}, {} chunk{} read, {} damaged\n", log->saved.value, inspection->chunks_read,
      inspection->chunks_read == 1 ? "" : "s", inspection->damaged.size());
  text += log_text(*log);
  if (!log->torn_tail.empty()) {
    text +=
        fmt::format("log: ends within a group that nobody was told of ({}); it will be cut off\n",
                    log->torn_tail);
  }
  const ExitCode printed = print_result(text);
  return inspection->damaged.empty() ? printed : ExitCode::kFailed;
}

}  // namespace diptych::cli
