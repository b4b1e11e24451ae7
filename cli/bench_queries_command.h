// diptych bench queries: how fast the analytical side answers, each query alone or by the hundred.

#pragma once

#include <string>

#include "cli/command.h"
#include "workloads/query_benchmark.h"

namespace diptych::cli {

class BenchQueriesCommand : public Command {
 public:
  explicit BenchQueriesCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  workloads::QueryBenchmarkOptions options_;
  std::string json_path_;
};

}  // namespace diptych::cli
