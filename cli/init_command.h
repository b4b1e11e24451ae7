// diptych init PATH --schema FILE.sql: a new database with the tables of a script.
//
// All or nothing: where a statement fails, what was created at PATH is removed again.

#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "cli/command.h"
#include "dispatcher/database.h"

namespace diptych::cli {

class InitCommand : public Command {
 public:
  explicit InitCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  base::Result<size_t> create(const std::string& script) const;  // gives the number of tables

  std::string path_;
  std::string schema_path_;
  uint32_t block_rows_ = storage::kBlockRowsDefault;
};

}  // namespace diptych::cli
