#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/counted.h"
#include "base/topology.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/file.h"
#include "cli/open_database.h"
#include "cli/option_values.h"
#include "cli/progress_line.h"
#include "cli/result_printer.h"
#include "dispatcher/database.h"

namespace diptych::cli {
namespace {

using base::counted;
using base::Result;
using dispatcher::QueryResult;

constexpr const char* kQueryExamples =
    "  diptych query shop -c \"SELECT count(*) FROM orders\"\n"
    "  diptych query shop -f report.sql --format csv > report.csv\n"
    "  diptych query shop -c \"SELECT * FROM orders WHERE o_id = $1\" --param 7\n"
    "  echo \"SELECT 1; SELECT 2\" | diptych query shop --format json\n\n"
    "All statements run as one batch on one snapshot of the data. There is no server: the command\n"
    "opens the database itself, and only one process can have it open at a time.\n";

// One object per statement, in their order; a failed one's has its error.
void json_of(const std::vector<Result<QueryResult>>& results, const TextSink& sink) {
  sink("[");
  for (size_t i = 0; i < results.size(); ++i) {
    if (i != 0) sink(",\n ");
    if (results[i]) {
      to_json(*results[i], sink);
    } else {
      sink(json_error(results[i].error()));
    }
  }
  sink("]\n");
}

// One CSV per statement, with an empty line between two; a failed one's is empty, so that the n-th
// is the n-th statement's for a script that splits at empty lines (of several lines only texts have
// any).
void csv_of(const std::vector<Result<QueryResult>>& results, const TextSink& sink) {
  for (size_t i = 0; i < results.size(); ++i) {
    if (i != 0) sink("\n");
    if (results[i]) to_csv(*results[i], sink);
  }
}

// For a person: the results that there are, with an empty line between two.
void tables_of(const std::vector<Result<QueryResult>>& results, const TextSink& sink) {
  bool first = true;
  for (const auto& result : results) {
    if (!result) continue;
    if (!std::exchange(first, false)) sink("\n");
    to_table(*result, sink);
  }
}

void text_of(const std::vector<Result<QueryResult>>& results, ResultFormat format,
             const TextSink& sink) {
  switch (format) {
    case ResultFormat::kCsv: return csv_of(results, sink);
    case ResultFormat::kJson: return json_of(results, sink);
    default: return tables_of(results, sink);
  }
}

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

}  // namespace

QueryCommand::QueryCommand(CLI::App& parent)
    : Command(parent, "query", "Run SQL queries as one batch", kQueryExamples) {
  add_database_path(app(), &path_);
  app()
      .add_option("-c,--command", commands_, "Statements; may be given several times")
      ->type_name("SQL")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app()
      .add_option("-f,--file", file_, "File of statements; - is standard input")
      ->type_name("FILE")
      ->check(input_file());
  app()
      .add_option("--param", parameters_,
                  "Value of $1, given again of $2 and so on, in every statement")
      ->type_name("VALUE")
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app()
      .add_option("--null", null_, "How a --param that is NULL is written; default NULL")
      ->option_text("TEXT");
  add_choice<ResultFormat>(
      app(), "--format", "table, csv or json; default table",
      {{"table", ResultFormat::kTable}, {"csv", ResultFormat::kCsv}, {"json", ResultFormat::kJson}},
      &format_)
      ->option_text("FORMAT");
  app()
      .add_option("--threads", threads_, "Threads that run queries; default one per core")
      ->transform(number_between(uint32_t{1}, dispatcher::kThreadsMax))
      ->option_text("N");
  constexpr uint64_t kTimeoutMsMax = 86'400'000;
  app()
      .add_option("--timeout", timeout_ms_,
                  "Milliseconds after which what has not ended fails; default no limit")
      ->transform(number_between(uint64_t{1}, kTimeoutMsMax))
      ->option_text("MS");
  add_memory_option(app(), &memory_bytes_max_);
  add_query_memory_options(app(), &query_bytes_max_, &queries_bytes_max_);
  add_metrics_option(app(), &metrics_path_);
}

std::vector<base::Value> QueryCommand::parameters() const {
  std::vector<base::Value> values;
  for (const std::string& value : parameters_) {
    values.push_back(value == null_ ? base::Value() : base::Value(value));
  }
  return values;
}

Result<std::vector<QueryCommand::Script>> QueryCommand::read_scripts() const {
  std::vector<Script> scripts;
  for (size_t i = 0; i < commands_.size(); ++i) {
    scripts.push_back(
        {commands_[i], commands_.size() == 1 ? "-c" : fmt::format("-c number {}", i + 1)});
  }
  const std::string file(commands_.empty() && file_.empty() ? kStandardInput : file_);
  if (file.empty()) return scripts;
  if (file == kStandardInput && isatty(STDIN_FILENO) != 0) say("SQL statements, then Ctrl-D:\n");
  auto script = read_file(file);
  if (!script) return script.error();
  scripts.push_back({*std::move(script), input_name(file)});
  return scripts;
}

std::vector<QueryCommand::Statement> QueryCommand::statements_of(
    const std::vector<Script>& scripts) {
  std::vector<Statement> statements;
  for (const auto& [text, origin] : scripts) {
    const auto split = olap::split_statements(text);
    if (!split) {
      statements.push_back({.text = text, .origin = origin, .place = {}, .refused = split.error()});
      continue;
    }
    olap::ScriptPlace place;
    const char* at = text.data();
    for (size_t i = 0; i < split->size(); ++i) {
      const std::string_view statement = (*split)[i];
      place = olap::place_after({at, statement.data()}, place);
      at = statement.data();
      statements.push_back(
          {.text = std::string(statement),
           .origin = split->size() == 1 ? origin : fmt::format("{}, statement {}", origin, i + 1),
           .place = place,
           .refused = {}});
    }
  }
  return statements;
}

std::vector<Result<QueryResult>> QueryCommand::results_of(const std::vector<Statement>& statements,
                                                          dispatcher::Database* database) const {
  std::vector<std::string> texts;
  for (const Statement& statement : statements) {
    if (!statement.refused) texts.push_back(statement.text);
  }
  std::vector<Result<QueryResult>> answers;
  if (!texts.empty()) {
    answers = database->query_batch(
        texts, {.parameters = parameters(), .timeout_ns = timeout_ms_ * 1'000'000});
  }
  std::vector<Result<QueryResult>> results;
  size_t answered = 0;
  for (const Statement& statement : statements) {
    if (statement.refused) {
      results.emplace_back(*statement.refused);
    } else if (Result<QueryResult>& answer = answers[answered++]; answer) {
      results.push_back(std::move(answer));
    } else {
      results.emplace_back(olap::error_in_script(answer.error(), statement.text, statement.place));
    }
  }
  return results;
}

ExitCode QueryCommand::print(const std::vector<Statement>& statements,
                             const std::vector<Result<QueryResult>>& results) const {
  ResultOutput output;
  text_of(results, format_, [&output](std::string_view piece) { output.add(piece); });
  ExitCode code = output.end();
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i]) {
      say(fmt::format("{}: {}, {:.2f} ms\n", statements[i].origin,
                      counted(results[i]->rows.size(), "row"),
                      static_cast<double>(results[i]->execute_ns) / 1e6));
    } else {
      code = fail_statement(results[i].error().within(statements[i].origin));
    }
  }
  return code;
}

ExitCode QueryCommand::run() {
  const auto scripts = read_scripts();
  if (!scripts) return fail(scripts.error());
  const std::vector<Statement> statements = statements_of(*scripts);
  if (statements.empty()) return wrong_usage("there is no SQL statement to run");
  if (std::all_of(statements.begin(), statements.end(),
                  [](const Statement& statement) { return statement.refused.has_value(); })) {
    return print(statements, results_of(statements, nullptr));
  }
  std::optional<ProgressLine> progress("opening " + path_);
  dispatcher::DatabaseOptions options{.path = path_, .mode = dispatcher::OpenMode::kOpen};
  options.placement.olap_threads = threads_;
  options.placement.olap_cores = base::cores_for_queries(base::Topology::detect(), threads_);
  options.olap_memory_bytes_max = memory_bytes_max_;
  options.query_memory_bytes_max = query_bytes_max_;
  options.queries_memory_bytes_max = queries_bytes_max_;
  const auto database = open_database(options, &*progress);
  if (!database) return fail(database.error());
  progress->update("running " + counted(statements.size(), "statement"), -1);
  const uint64_t begin_ns = base::steady_ns();
  const auto results = results_of(statements, database->get());
  const double spent_ms = static_cast<double>(base::steady_ns() - begin_ns) * 1e-6;
  progress.reset();
  base::Result<void> written;
  if (!metrics_path_.empty()) written = write_file(metrics_path_, (*database)->metrics_text());
  ExitCode code = print(statements, results);
  say(fmt::format("batch: {}, {:.2f} ms\n", counted(results.size(), "statement"), spent_ms));
  if (!written) code = fail(written.error());
  if (const auto closed = (*database)->close(); !closed) return fail(closed.error());
  return code;
}

std::unique_ptr<Command> make_query_command(CLI::App& parent) {
  return std::make_unique<QueryCommand>(parent);
}

}  // namespace diptych::cli
