// diptych verify PATH: whether a database's files are intact: manifest, every chunk, every frame of
// the log. Nothing is changed.
//
// It exits with 1 where something is damaged. A log that ends within a group is not: that is what
// a crash leaves.

#pragma once

#include <string>

#include "cli/command.h"

namespace diptych::cli {

class VerifyCommand : public Command {
 public:
  explicit VerifyCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  std::string path_;
};

}  // namespace diptych::cli
