// diptych test FILE.slt...: runs test scripts in sqllogictest's format, each on a new database in
// memory, and says what failed: file, line, what was expected and what came.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/command.h"

namespace diptych::cli {

class TestCommand : public Command {
 public:
  explicit TestCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  std::vector<std::string> files_;
  uint32_t threads_ = 0;
};

}  // namespace diptych::cli
