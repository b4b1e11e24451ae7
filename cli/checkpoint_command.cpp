#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/counted.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/open_database.h"
#include "cli/option_values.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "dispatcher/database.h"

namespace diptych::cli {
namespace {

constexpr const char* kCheckpointExamples =
    "  diptych checkpoint shop\n"
    "  diptych checkpoint bank --procedures bank.so\n\n"
    "A database that was not closed has a log, which is replayed. Give the libraries that have\n"
    "the procedures it calls; diptych verify names these. TPC-C's own are in the program.\n";

class CheckpointCommand : public Command {
 public:
  explicit CheckpointCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  std::string path_;
  std::vector<std::string> libraries_;
  size_t memory_bytes_max_ = 0;
};

}  // namespace

CheckpointCommand::CheckpointCommand(CLI::App& parent)
    : Command(parent, "checkpoint", "Replay a database's log and save it", kCheckpointExamples) {
  add_database_path(app(), &path_);
  add_procedures_option(app(), &libraries_);
  add_memory_option(app(), &memory_bytes_max_);
}

ExitCode CheckpointCommand::run() {
  std::optional<ProgressLine> progress("opening " + path_);
  const auto database = open_database({.path = path_,
                                       .mode = dispatcher::OpenMode::kOpen,
                                       .olap_memory_bytes_max = memory_bytes_max_,
                                       .checkpoint_bytes_per_second = 0},
                                      &*progress, libraries_);
  if (!database) return fail(database.error());
  progress->update("replaying the log", -1);
  const auto recovered = (*database)->recover();
  if (!recovered) return fail(recovered.error());
  progress->update("saving", -1);
  if (const auto saved = (*database)->checkpoint(); !saved) return fail(saved.error());
  progress.reset();
  const base::Vid vid = (*database)->metrics().replica_vid;
  if (const auto closed = (*database)->close(); !closed) return fail(closed.error());
  return print_done(fmt::format("{} is saved as of version {}; {} replayed\n", path_, vid.value,
                                base::counted(recovered->transactions, "transaction")));
}

std::unique_ptr<Command> make_checkpoint_command(CLI::App& parent) {
  return std::make_unique<CheckpointCommand>(parent);
}

}  // namespace diptych::cli
