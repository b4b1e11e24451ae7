#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/value.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/open_database.h"
#include "cli/option_values.h"
#include "cli/progress_line.h"
#include "cli/result_printer.h"
#include "dispatcher/database.h"

namespace diptych::cli {
namespace {

using dispatcher::ProcedureDescription;
using dispatcher::QueryResult;

constexpr const char* kCallExamples =
    "  diptych call bank --procedures bank.so transfer 1 2 12.50\n"
    "  diptych call bank --procedures bank.so --list\n"
    "  diptych call bank --procedures bank.so statement 1 --format json\n"
    "  diptych call bank --procedures bank.so -- open_account 3 7 --Ada-- 50\n\n"
    "Arguments are values as in SQL, without quotes: 17 -0.50 2026-11-21 \"Ada Lovelace\". After\n"
    "--, nothing is taken for an option. There is no server: the command opens the database\n"
    "itself, and only one process can have it open at a time.\n";

// A procedure's name where it is not found: those that there are.
std::string names(const std::vector<ProcedureDescription>& procedures) {
  std::string text;
  for (const ProcedureDescription& each : procedures) {
    text += (text.empty() ? "" : ", ") + each.name;
  }
  return text.empty() ? "none" : text;
}

// "from BIGINT, to BIGINT, amount DECIMAL(15,2)"; what may be NULL is marked.
std::string in_words(const std::vector<base::BoundColumn>& columns) {
  std::string text;
  for (const base::BoundColumn& column : columns) {
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", column.name, column.type.to_string(),
                        column.nullability == base::Nullability::kNullable ? " NULL" : "");
  }
  return text;
}

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
  size_t data_memory_bytes_max_ = 0;
  std::vector<std::string> libraries_;
  std::string name_;
  std::string null_ = "NULL";
  bool list_ = false;
  ResultFormat format_ = ResultFormat::kTable;
};

}  // namespace

CallCommand::CallCommand(CLI::App& parent, std::vector<std::string> behind_options)
    : Command(parent, "call", "Call a stored procedure from a library", kCallExamples),
      behind_options_(std::move(behind_options)) {
  add_database_path(app(), &path_);
  app().add_option("NAME", name_, "Procedure to call; its arguments follow")->type_name("");
  // The arguments are what is left: CLI11 would take a negative number for an option, and -hans for
  // -h.
  app().allow_extras();
  app().set_help_flag("--help", "Print this help message and exit");
  add_procedures_option(app(), &libraries_)->required();
  app().add_flag("--list", list_, "List the procedures with their arguments and replies");
  add_memory_option(app(), &memory_bytes_max_);
  add_data_memory_option(app(), &data_memory_bytes_max_);
  app().add_option("--null", null_, "How NULL is written; default NULL")->option_text("TEXT");
  add_choice<ResultFormat>(
      app(), "--format", "table, csv or json; default table",
      {{"table", ResultFormat::kTable}, {"csv", ResultFormat::kCsv}, {"json", ResultFormat::kJson}},
      &format_)
      ->option_text("FORMAT");
}

std::string CallCommand::in_format(const QueryResult& result) const {
  switch (format_) {
    case ResultFormat::kTable: return whole_text(to_table, result);
    case ResultFormat::kCsv: return whole_text(to_csv, result);
    case ResultFormat::kJson: break;
  }
  return whole_text(to_json, result) + "\n";
}

QueryResult CallCommand::list(const std::vector<ProcedureDescription>& procedures) const {
  QueryResult result;
  for (const char* name : {"procedure", "arguments", "reply", "module"}) {
    result.columns.push_back({name, {.kind = base::TypeKind::kVarchar}});
  }
  std::vector<std::vector<base::Value>> rows;
  for (const ProcedureDescription& each : procedures) {
    if (!each.by_name) {
      say(
          fmt::format("procedure \"{}\" cannot be called by name: its arguments or its reply have "
                      "no SQL types\n",
                      each.name));
    }
    rows.push_back({each.name, in_words(each.arguments), in_words(each.reply), each.module});
  }
  result.rows = dispatcher::ResultRows(dispatcher::ResultTable(result.columns, rows));
  return result;
}

base::Result<QueryResult> CallCommand::call(dispatcher::Database* database,
                                            const std::vector<ProcedureDescription>& procedures,
                                            const std::vector<std::string>& arguments) const {
  const auto found = std::find_if(procedures.begin(), procedures.end(),
                                  [&](const auto& each) { return each.name == name_; });
  if (found == procedures.end()) {
    return base::Error(base::ErrorCode::kNotFound,
                       fmt::format("no procedure \"{}\"; there are: {}", name_, names(procedures)));
  }
  std::vector<base::Value> values;
  for (const std::string& argument : arguments) {
    values.push_back(argument == null_ ? base::Value() : base::Value(argument));
  }
  const uint64_t begin_ns = base::steady_ns();
  auto reply = database->call_by_name(name_, values);
  const uint64_t spent_ns = base::steady_ns() - begin_ns;
  if (!reply) {
    base::Error error = reply.error();
    if (values.size() != found->arguments.size()) {
      error.message += fmt::format("\n{} takes: {}", name_, in_words(found->arguments));
    }
    return error;
  }
  QueryResult result;
  result.execute_ns = spent_ns;
  for (const base::BoundColumn& column : found->reply) {
    result.columns.push_back({column.name, column.type});
  }
  std::vector<std::vector<base::Value>> rows;
  if (!reply->empty()) rows.push_back(std::move(*reply));
  result.rows = dispatcher::ResultRows(dispatcher::ResultTable(result.columns, rows));
  return result;
}

ExitCode CallCommand::run() {
  std::vector<std::string> arguments = app().remaining();
  for (const std::string& argument : arguments) {
    if (argument.starts_with("--")) {
      return wrong_usage(
          fmt::format("not expected: {}; behind -- it is an argument, as anything is", argument));
    }
  }
  auto behind = behind_options_.begin();
  if (name_.empty() && behind != behind_options_.end()) name_ = *behind++;
  arguments.insert(arguments.end(), behind, behind_options_.end());
  if (list_ && !name_.empty()) {
    return wrong_usage("give the NAME of a procedure, or --list, and not both");
  }
  if (!list_ && name_.empty()) return wrong_usage("give the NAME of a procedure, or --list");
  ProgressLine progress("opening " + path_);
  const auto database = open_database({.path = path_,
                                       .mode = dispatcher::OpenMode::kOpen,
                                       .olap_memory_bytes_max = memory_bytes_max_,
                                       .data_memory_bytes_max = data_memory_bytes_max_},
                                      &progress, libraries_);
  if (!database) return fail(database.error());
  const auto procedures = (*database)->procedures();
  if (!procedures) return fail(procedures.error());
  const auto result = list_ ? base::Result<QueryResult>(list(*procedures))
                            : call(database->get(), *procedures, arguments);
  const auto closed = (*database)->close();
  if (!result) fail(result.error());
  if (!closed) return fail(closed.error());
  if (!result) return ExitCode::kFailed;
  const bool nothing = result->columns.empty() && format_ != ResultFormat::kJson;
  const ExitCode code = print_result(nothing ? std::string() : in_format(*result));
  if (!list_) {
    say(fmt::format("{}: {:.2f} ms\n", name_, static_cast<double>(result->execute_ns) / 1e6));
  }
  return code;
}

std::unique_ptr<Command> make_call_command(CLI::App& parent,
                                           std::vector<std::string> behind_options) {
  return std::make_unique<CallCommand>(parent, std::move(behind_options));
}

}  // namespace diptych::cli
