// diptych restore DIR PATH [--vid V]: a new database at PATH from the backup in DIR, as of its
// newest version or an older one. The backup stays as it is.

#pragma once

#include <cstdint>
#include <string>

#include "cli/command.h"

namespace diptych::cli {

class RestoreCommand : public Command {
 public:
  explicit RestoreCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  std::string directory_;
  std::string path_;
  uint64_t vid_ = 0;
  CLI::Option* vid_option_;
};

}  // namespace diptych::cli
