// diptych bench tpcc: TPC-C alone, in memory: the transaction side and what exporting costs it.

#pragma once

#include <string>

#include "cli/command.h"
#include "workloads/benchmark.h"

namespace diptych::cli {

class BenchTpccCommand : public Command {
 public:
  explicit BenchTpccCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  workloads::BenchmarkOptions options_;
  bool constant_size_ = false;
  std::string json_path_;
  std::string metrics_path_;
};

}  // namespace diptych::cli
