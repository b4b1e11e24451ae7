// diptych checkpoint PATH: saves a database as of now, so that no log has to be replayed; of one
// that was not closed, the log is replayed first.

#pragma once

#include <string>
#include <vector>

#include "cli/command.h"

namespace diptych::cli {

class CheckpointCommand : public Command {
 public:
  explicit CheckpointCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  std::string path_;
  std::vector<std::string> libraries_;
  size_t memory_bytes_max_ = 0;
};

}  // namespace diptych::cli
