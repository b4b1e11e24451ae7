// diptych bench overload: what becomes of calls when more come than the database can take.

#pragma once

#include <string>

#include "cli/command.h"
#include "workloads/overload.h"

namespace diptych::cli {

class BenchOverloadCommand : public Command {
 public:
  explicit BenchOverloadCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  workloads::OverloadOptions options_;
  std::string json_path_;
};

}  // namespace diptych::cli
