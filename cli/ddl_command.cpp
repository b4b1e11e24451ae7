#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
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
    "  diptych ddl shop -c \"TRUNCATE staged_orders\"\n\n"
    "docs/sql.md describes CREATE and DROP of tables, indexes and views, and TRUNCATE; there is no "
    "ALTER.\n"
    "If a statement fails, those before it stay.\n";

// nullptr: it is not there, or another one of that name.
const base::TableSchema* same_table(const base::TableSchema& table, const base::Catalog& catalog) {
  const base::TableSchema* const found = catalog.find_table(table.name);
  return found != nullptr && found->id == table.id ? found : nullptr;
}

// What one catalog has and the other has not, a line each.
std::string listed(std::string_view what, const base::Catalog& catalog,
                   const base::Catalog& other) {
  std::string lines;
  for (const base::TableSchema& table : catalog.tables()) {
    const base::TableSchema* const there = same_table(table, other);
    if (there == nullptr) lines += fmt::format("{} table {}\n", what, table.name);
    // The primary key's is the table's first, and goes without saying.
    for (size_t i = 1; i < table.indexes.size(); ++i) {
      const base::IndexSchema& index = table.indexes[i];
      const bool is_there = there != nullptr && std::ranges::count(there->indexes, index.id,
                                                                   &base::IndexSchema::id) != 0;
      if (!is_there) lines += fmt::format("{} index {} on {}\n", what, index.name, table.name);
    }
  }
  for (const base::Catalog::ViewPtr& view : catalog.views()) {
    if (other.find_view(view->name) == nullptr) {
      lines += fmt::format("{} view {}\n", what, view->name);
    }
  }
  return lines;
}

std::string replaced_views(const base::Catalog& before, const base::Catalog& after) {
  std::string lines;
  for (const base::Catalog::ViewPtr& view : after.views()) {
    const base::ViewSchema* const earlier = before.find_view(view->name);
    const bool is_other = earlier != nullptr && earlier != view.get();
    if (is_other) lines += fmt::format("replaced view {}\n", view->name);
  }
  return lines;
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
  size_t data_memory_bytes_max_ = 0;
};

}  // namespace

DdlCommand::DdlCommand(CLI::App& parent)
    : Command(parent, "ddl", "Create, drop and empty tables; create and drop indexes and views",
              kDdlExamples) {
  add_database_path(app(), &path_);
  auto* const command =
      app().add_option("-c,--command", command_, "CREATE, DROP and TRUNCATE statements");
  command->option_text("SQL");
  app()
      .add_option("-f,--file", file_, "File of statements; - is standard input")
      ->option_text("FILE.sql")
      ->check(input_file())
      ->excludes(command);
  add_procedures_option(app(), &libraries_);
  add_memory_option(app(), &memory_bytes_max_);
  add_data_memory_option(app(), &data_memory_bytes_max_);
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
                                       .olap_memory_bytes_max = memory_bytes_max_,
                                       .data_memory_bytes_max = data_memory_bytes_max_},
                                      &*progress, libraries_);
  if (!database) return fail(database.error());
  progress->update("running the statements", -1);
  static_cast<void>((*database)->recover());  // or execute_ddl says why not
  const base::Catalog& before = (*database)->catalog();
  const base::Vid vid_before = (*database)->metrics().last_vid;
  const auto done = (*database)->execute_ddl(*script);
  const base::Catalog& after = (*database)->catalog();
  std::string made = listed("dropped", before, after) + replaced_views(before, after) +
                     listed("created", after, before);
  if ((*database)->metrics().last_vid != vid_before) made += "emptied what was to be truncated\n";
  const auto closed = (*database)->close();
  // Else its end would try once more, and have what was told lost.
  if (!closed) static_cast<void>((*database)->discard());
  progress.reset();
  if (!closed && !made.empty()) {
    return fail(closed.error().within("nothing was done: the database could not be saved"));
  }
  if (!done) {
    fail_statement(done.error().within(file_.empty() ? "-c" : input_name(file_)));
    if (closed && !made.empty()) say("Before it, and saved:\n" + made);
  }
  if (!closed) return fail(closed.error());
  if (!done) return ExitCode::kFailed;
  return print_done(made.empty() ? "there was nothing to do\n" : made);
}

std::unique_ptr<Command> make_ddl_command(CLI::App& parent) {
  return std::make_unique<DdlCommand>(parent);
}

}  // namespace diptych::cli
