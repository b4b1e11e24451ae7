// diptych inspect PATH: what a database's files hold, and, with --verify, whether they are intact.
//
// It exits with 1 where a chunk is damaged.

#pragma once

#include <string>

#include "cli/command.h"

namespace diptych::cli {

class InspectCommand : public Command {
 public:
  explicit InspectCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  std::string path_;
  bool verify_ = false;
  std::string json_path_;
};

}  // namespace diptych::cli
