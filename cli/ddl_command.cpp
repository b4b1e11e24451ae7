#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/commands.h"
#include "cli/file.h"
#include "cli/open_database.h"
#include "cli/option_values.h"
#include "cli/output.h"
#include "cli/progress_line.h"
#include "dispatcher/database.h"

namespace diptych::cli {
namespace {

constexpr const char* kDdlExamples =
    "  diptych ddl shop -c \"CREATE INDEX by_day ON orders (o_date)\"\n"
    "  diptych ddl shop -f more_tables.sql\n\n"
    "docs/sql.md describes CREATE TABLE and CREATE INDEX; there is no DROP and no ALTER. If a\n"
    "statement fails, those before it stay.\n";

// What the newer catalog has and the older has not, a line each.
std::string made_since(const base::Catalog& older, const base::Catalog& newer) {
  std::string made;
  for (const base::TableSchema& table : newer.tables()) {
    const base::TableSchema* before = older.find_table(table.name);
    if (before == nullptr) made += fmt::format("created table {}\n", table.name);
    // The primary key's is the table's first, and goes without saying.
    for (size_t i = before == nullptr ? 1 : before->indexes.size(); i < table.indexes.size(); ++i) {
      made += fmt::format("created index {} on {}\n", table.indexes[i].name, table.name);
    }
  }
  return made;
}

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

}  // namespace

DdlCommand::DdlCommand(CLI::App& parent)
    : Command(parent, "ddl", "Add tables and indexes to a database", kDdlExamples) {
  add_database_path(app(), &path_);
  auto* const command =
      app().add_option("-c,--command", command_, "CREATE TABLE and CREATE INDEX statements");
  command->option_text("SQL");
  app()
      .add_option("-f,--file", file_, "File of statements; - is standard input")
      ->option_text("FILE.sql")
      ->check(input_file())
      ->excludes(command);
  add_procedures_option(app(), &libraries_);
  add_memory_option(app(), &memory_bytes_max_);
}

ExitCode DdlCommand::run() {
  if (command_.empty() && file_.empty()) {
    return wrong_usage("there is no SQL statement to run: give --command or --file");
  }
  const auto script = file_.empty() ? base::Result<std::string>(command_) : read_file(file_);
  if (!script) return fail(script.error());
  std::optional<ProgressLine> progress("opening " + path_);
  const auto database = open_database({.path = path_,
                                       .mode = dispatcher::OpenMode::kOpen,
                                       .olap_memory_bytes_max = memory_bytes_max_},
                                      &*progress, libraries_);
  if (!database) return fail(database.error());
  progress->update("running the statements", -1);
  const base::Catalog& before = (*database)->catalog();
  const auto done = (*database)->execute_ddl(*script);
  const std::string made = made_since(before, (*database)->catalog());
  const auto closed = (*database)->close();
  // Else its end would try once more, and have what was told lost.
  if (!closed) static_cast<void>((*database)->discard());
  progress.reset();
  if (!closed && !made.empty()) {
    return fail(closed.error().within("nothing was made: the database could not be saved"));
  }
  if (!done) {
    fail_statement(done.error().within(file_.empty() ? "-c" : input_name(file_)));
    if (closed && !made.empty()) say("Before it, and saved:\n" + made);
  }
  if (!closed) return fail(closed.error());
  if (!done) return ExitCode::kFailed;
  return print_done(made.empty() ? "there was no statement to run\n" : made);
}

std::unique_ptr<Command> make_ddl_command(CLI::App& parent) {
  return std::make_unique<DdlCommand>(parent);
}

}  // namespace diptych::cli
