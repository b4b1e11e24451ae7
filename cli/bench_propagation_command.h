// diptych bench propagation: what it costs the replica to apply TPC-C's updates, by step and table.

#pragma once

#include <string>

#include "cli/command.h"
#include "workloads/benchmark.h"

namespace diptych::cli {

class BenchPropagationCommand : public Command {
 public:
  explicit BenchPropagationCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  workloads::PropagationOptions options_;
  bool constant_size_ = false;
  std::string json_path_;
};

}  // namespace diptych::cli
