// diptych bench recovery: how long a database takes to run again, and how fast its log is replayed.

#pragma once

#include <string>

#include "cli/command.h"
#include "workloads/recovery.h"

namespace diptych::cli {

class BenchRecoveryCommand : public Command {
 public:
  explicit BenchRecoveryCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  workloads::RecoveryOptions options_;
  std::string json_path_;
};

}  // namespace diptych::cli
