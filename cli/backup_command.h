// diptych backup PATH DIR: a copy of a database's directory, verified, from which `diptych restore`
// makes a database again. The database need not have been closed, but no process has it open.

#pragma once

#include <string>

#include "cli/command.h"

namespace diptych::cli {

class BackupCommand : public Command {
 public:
  explicit BackupCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  std::string path_;
  std::string directory_;
};

}  // namespace diptych::cli
