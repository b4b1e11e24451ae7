// diptych init PATH --schema FILE.sql: a new database with the tables of a script.
//
// All or nothing: where a statement fails, what was created at PATH is removed again.

#pragma once

#include <cstdint>
#include <string>

#include "cli/command.h"
#include "dispatcher/database.h"

namespace diptych::cli {

class InitCommand : public Command {
 public:
  explicit InitCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  // Tables of the script in a new database, which is closed then; `tables` is how many.
  ExitCode create_tables(dispatcher::Database* database, const std::string& script,
                         size_t* tables) const;

  std::string path_;
  std::string schema_path_;
  uint32_t block_rows_ = storage::kBlockRowsDefault;
};

}  // namespace diptych::cli
