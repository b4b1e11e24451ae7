// Exit codes: what a script learns from the program.

#pragma once

namespace diptych::cli {

enum class ExitCode : int {
  kFine = 0,
  kFailed = 1,  // the work failed, or a check found violations or differences
  kUsage = 2,   // the command line is wrong; nothing was begun
};

}  // namespace diptych::cli
