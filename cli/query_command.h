// diptych query PATH [-c SQL]... [-f FILE] [--param VALUE]... [--null TEXT]
//                    [--format table|csv|json] [--threads N]
//                    [--timeout MS] [--query-memory MIB] [--queries-memory MIB] [--metrics FILE]
//
// All statements of -c, -f and (if neither is given) standard input run as one batch, on one
// snapshot. Results go to standard output in the order of the statements; times and errors go to
// standard error. A statement that fails does not hold up the others; the exit code is then 1. One
// that has not ended --timeout milliseconds after the batch was begun fails. Each -c, and the file,
// is a text of its own: one that cannot be read as statements (an open quote) fails as one.
//
// The values of --param, in their order, stand for $1, $2 and so on in every statement, as a quoted
// literal would: each is read as the type that its place asks for. One that is --null's text is
// NULL.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/result_printer.h"
#include "dispatcher/database.h"

namespace diptych::cli {

class QueryCommand : public Command {
 public:
  explicit QueryCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  struct Script {
    std::string text;
    std::string origin;  // "-c", a file's name or "standard input"
  };
  struct Statement {
    std::string text;
    std::string origin;  // the script's, and a number
    olap::ScriptPlace place;
    std::optional<base::Error> refused;  // of a whole script: it does not run
  };
  std::vector<base::Value> parameters() const;
  base::Result<std::vector<Script>> read_scripts() const;
  // A script that cannot be split into statements, as behind a quote that stays open, is one that
  // is refused.
  static std::vector<Statement> statements_of(const std::vector<Script>& scripts);
  // One result for each statement, those that are refused included; nothing but them runs without
  // a database.
  std::vector<base::Result<dispatcher::QueryResult>> results_of(
      const std::vector<Statement>& statements, dispatcher::Database* database) const;
  ExitCode print(const std::vector<Statement>& statements,
                 const std::vector<base::Result<dispatcher::QueryResult>>& results) const;

  std::string path_;
  std::vector<std::string> commands_;
  std::string file_;
  std::vector<std::string> parameters_;  // of $1 and so on
  std::string null_ = "NULL";
  ResultFormat format_ = ResultFormat::kTable;
  uint32_t threads_ = 0;
  size_t memory_bytes_max_ = 0;
  size_t query_bytes_max_ = 0;
  size_t queries_bytes_max_ = 0;
  std::string metrics_path_;
  uint64_t timeout_ms_ = 0;
};

}  // namespace diptych::cli
