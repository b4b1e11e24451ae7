// diptych bench scan: how fast the columnar replica is scanned, from memory or from the disk.

#pragma once

#include <string>

#include "cli/command.h"
#include "workloads/scan.h"

namespace diptych::cli {

class BenchScanCommand : public Command {
 public:
  explicit BenchScanCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  workloads::ScanOptions options_;
  std::string json_path_;
};

}  // namespace diptych::cli
