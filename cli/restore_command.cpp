#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/counted.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/option_values.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "dispatcher/backup.h"

namespace diptych::cli {
namespace {

constexpr const char* kRestoreExamples =
    "  diptych restore shop-monday shop2\n"
    "  diptych restore shop-monday shop2 --vid 81234\n\n"
    "What the backup's log has is replayed at the first use of the new database, up to and with\n"
    "version V: that needs the procedures that are named (diptych checkpoint PATH --procedures\n"
    "LIB.so). Which versions there are, diptych verify DIR says.\n";

class RestoreCommand : public Command {
 public:
  explicit RestoreCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  std::string directory_;
  std::string path_;
  uint64_t vid_ = 0;
  CLI::Option* vid_option_;
};

}  // namespace

RestoreCommand::RestoreCommand(CLI::App& parent)
    : Command(parent, "restore", "Make a database from a backup", kRestoreExamples) {
  app()
      .add_option("DIR", directory_, "Directory of the backup")
      ->required()
      ->check(existing_directory())
      ->type_name("");
  app()
      .add_option("PATH", path_, "Directory of the new database, new or empty")
      ->required()
      ->check(new_directory())
      ->type_name("");
  vid_option_ = app()
                    .add_option("--vid", vid_, "Version to restore; default: the newest")
                    ->type_name("V")
                    ->transform(number_between<uint64_t>(0, UINT64_MAX));
}

ExitCode RestoreCommand::run() {
  std::optional<ProgressLine> progress("restoring " + path_);
  const auto vid = vid_option_->count() == 0 ? std::nullopt : std::optional(base::Vid(vid_));
  const auto restored = dispatcher::restore_database(directory_, path_, vid, [&](double done) {
    progress->update("restoring " + path_, done);
    return base::Result<void>();
  });
  progress.reset();
  if (!restored) return fail(restored.error());
  std::string text = fmt::format("{} is restored as of version {}, {} bytes\n", path_,
                                 restored->vid.value, restored->bytes);
  if (restored->transactions != 0) {
    text += "its first use replays " + base::counted(restored->transactions, "transaction");
    text += restored->procedures.empty()
                ? "\n"
                : fmt::format("; procedures: {}\n", fmt::join(restored->procedures, ", "));
  }
  return print_done(text);
}

std::unique_ptr<Command> make_restore_command(CLI::App& parent) {
  return std::make_unique<RestoreCommand>(parent);
}

}  // namespace diptych::cli
