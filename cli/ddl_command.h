// diptych ddl PATH (-c SQL | -f FILE) [--procedures LIB.so]...: adds tables and indexes to a
// database.
//
// The statements run in their order, and what they made is saved before it is printed. Where one
// fails, those before it stay: the error names it, and what was made is said behind it.

#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "dispatcher/database.h"

namespace diptych::cli {

class DdlCommand : public Command {
 public:
  explicit DdlCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  std::string path_;
  std::string command_;
  std::string file_;
  std::vector<std::string> libraries_;
  size_t memory_bytes_max_ = 0;
};

}  // namespace diptych::cli
