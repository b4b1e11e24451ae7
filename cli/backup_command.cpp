#include <optional>
#include <string>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/option_values.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "dispatcher/backup.h"

namespace diptych::cli {
namespace {

constexpr const char* kBackupExamples =
    "  diptych backup shop shop-monday\n"
    "  diptych verify shop-monday\n"
    "  diptych restore shop-monday shop2\n\n"
    "The database must not be open (a program that has it open calls Database::backup). No\n"
    "procedures are needed. DIR must be new or empty; the copy is read again and checked.\n";

class BackupCommand : public Command {
 public:
  explicit BackupCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  std::string path_;
  std::string directory_;
};

}  // namespace

BackupCommand::BackupCommand(CLI::App& parent)
    : Command(parent, "backup", "Copy a database to another directory", kBackupExamples) {
  add_database_path(app(), &path_);
  app()
      .add_option("DIR", directory_, "Directory of the backup, new or empty")
      ->required()
      ->check(new_directory())
      ->type_name("");
}

ExitCode BackupCommand::run() {
  std::optional<ProgressLine> progress("backing up " + path_);
  const auto backup = dispatcher::backup_database(path_, directory_, [&](double done) {
    progress->update("backing up " + path_, done);
    return base::Result<void>();
  });
  progress.reset();
  if (!backup) return fail(backup.error());
  return print_done(fmt::format("{} is backed up to {}: versions {} to {}, {} bytes\n", path_,
                                directory_, backup->first.value, backup->last.value,
                                backup->bytes));
}

std::unique_ptr<Command> make_backup_command(CLI::App& parent) {
  return std::make_unique<BackupCommand>(parent);
}

}  // namespace diptych::cli
