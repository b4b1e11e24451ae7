// diptych bench ch: the hybrid CH-benCHmark: TPC-C transactions and analytical queries at once.

#pragma once

#include <string>

#include "cli/command.h"
#include "workloads/benchmark.h"

namespace diptych::cli {

class BenchChCommand : public Command {
 public:
  explicit BenchChCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  workloads::BenchmarkOptions options_;
  bool constant_size_ = false;
  std::string json_path_;
  std::string metrics_path_;
};

}  // namespace diptych::cli
