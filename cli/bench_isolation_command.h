// diptych bench isolation: a grid of transaction clients by query clients: what each side loses to
// the other, and how fresh the queries' data is.

#pragma once

#include <string>

#include "cli/command.h"
#include "workloads/benchmark.h"

namespace diptych::cli {

class BenchIsolationCommand : public Command {
 public:
  explicit BenchIsolationCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  workloads::IsolationOptions options_;
  std::string json_path_;
  std::string html_path_;
};

}  // namespace diptych::cli
