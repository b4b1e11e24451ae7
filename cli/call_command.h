// diptych call PATH --procedures LIB.so... [--format table|csv|json] [--null TEXT] NAME [ARG...]
// diptych call PATH --procedures LIB.so... -- NAME [ARG...]
// diptych call PATH --procedures LIB.so... --list
//
// Loads libraries of procedures and calls one of theirs, with arguments as SQL values in text. The
// reply goes to standard output as a result of one row does; the time and errors go to standard
// error. What the call changed is saved before its reply is printed; a call that fails changes
// nothing, and the exit code is then 1.

#pragma once

#include <string>
#include <vector>

#include "base/value.h"
#include "cli/command.h"
#include "cli/result_printer.h"
#include "dispatcher/database.h"

namespace diptych::cli {

class CallCommand : public Command {
 public:
  // `behind_options`: what stands behind "--": no options, whatever they look like.
  CallCommand(CLI::App& parent, std::vector<std::string> behind_options);
  ExitCode run() override;

 private:
  dispatcher::QueryResult list(
      const std::vector<dispatcher::ProcedureDescription>& procedures) const;
  base::Result<dispatcher::QueryResult> call(
      dispatcher::Database* database,
      const std::vector<dispatcher::ProcedureDescription>& procedures,
      const std::vector<std::string>& arguments) const;
  std::string in_format(const dispatcher::QueryResult& result) const;

  const std::vector<std::string> behind_options_;
  std::string path_;
  size_t memory_bytes_max_ = 0;
  std::vector<std::string> libraries_;
  std::string name_;
  std::string null_ = "NULL";
  bool list_ = false;
  ResultFormat format_ = ResultFormat::kTable;
};

}  // namespace diptych::cli
