#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "base/counted.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/file.h"
#include "cli/option_values.h"
#include "cli/progress_line.h"
#include "dispatcher/database.h"
#include "dispatcher/database_files.h"

namespace diptych::cli {
namespace {

constexpr const char* kInitExamples =
    "  diptych init shop --schema shop.sql\n"
    "  diptych init /var/lib/diptych/shop --schema shop.sql && diptych load ...\n\n"
    "Foreign keys are declared for joins and are not enforced.\n";

// All or nothing: where a statement fails, what was created at PATH is removed again. A database
// without tables, as an init that was killed leaves it, counts as none.
class InitCommand : public Command {
 public:
  explicit InitCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  // What the script makes in a new database, which is closed then; `made` says how much.
  ExitCode create_tables(dispatcher::Database* database, const std::string& script,
                         std::string* made) const;

  std::string path_;
  std::string schema_path_;
  uint32_t block_rows_ = storage::kBlockRowsDefault;
};

// An init that was killed leaves a database without tables: its files are removed. What may be in
// them but a table comes after one.
void remove_empty_database(const std::string& path) {
  const auto found = dispatcher::open_directory(path, dispatcher::OpenMode::kOpen);
  if (found && found->manifest && found->manifest->ddl.empty()) {
    dispatcher::remove_database_files(path);
  }
}

}  // namespace

InitCommand::InitCommand(CLI::App& parent)
    : Command(parent, "init", "Make a new database from a schema in SQL", kInitExamples) {
  app()
      .add_option("PATH", path_, "Directory of the new database")
      ->required()
      ->check(new_directory())
      ->type_name("");
  app()
      .add_option("--schema", schema_path_,
                  "Script of CREATE TABLE, CREATE INDEX and CREATE VIEW statements")
      ->required()
      ->check(input_file())
      ->type_name("FILE.sql");
  app()
      .add_option("--block-rows", block_rows_,
                  "Rows of a compressed block, a power of two from 1024 to 262144; default 65536")
      ->transform(number_between(storage::kBlockRowsMin, storage::kBlockRowsMax))
      ->check(power_of_two())
      ->option_text("N");
}

ExitCode InitCommand::create_tables(dispatcher::Database* database, const std::string& script,
                                    std::string* made) const {
  const std::string name = input_name(schema_path_);
  if (auto created = database->execute_ddl(script); !created) {
    // Of the disk: all statements ran, and closing saves again.
    const bool ran =
        created.code() == base::ErrorCode::kNoSpace || created.code() == base::ErrorCode::kIo;
    if (!ran) return fail_statement(created.error().within(name));
  }
  size_t tables = 0;
  for ([[maybe_unused]] const base::TableSchema& table : database->catalog().tables()) ++tables;
  if (tables == 0) {
    return fail(
        {base::ErrorCode::kInvalidArgument, name + ": there is no CREATE TABLE statement in it"});
  }
  *made = base::counted(tables, "table");
  const size_t views = database->catalog().views().size();
  if (views != 0) *made += " and " + base::counted(views, "view");
  const auto closed = database->close();
  if (closed) return ExitCode::kFine;
  return fail(closed.error().within("nothing was made: the database could not be saved"));
}

ExitCode InitCommand::run() {
  const auto script = read_file(schema_path_);
  if (!script) return fail(script.error());
  const ProgressLine progress("creating " + path_);
  const dispatcher::DatabaseOptions options{
      .path = path_, .mode = dispatcher::OpenMode::kCreate, .block_rows = block_rows_};
  auto database = dispatcher::Database::open(options);
  if (!database && database.code() == base::ErrorCode::kAlreadyExists) {
    remove_empty_database(path_);
    database = dispatcher::Database::open(options);
  }
  if (!database) return fail(database.error());
  std::string made;
  const ExitCode code = create_tables(database->get(), *script, &made);
  if (code != ExitCode::kFine) {
    static_cast<void>((*database)->discard());
    return code;
  }
  return print_done(fmt::format("created {} with {}\n", path_, made));
}

std::unique_ptr<Command> make_init_command(CLI::App& parent) {
  return std::make_unique<InitCommand>(parent);
}

}  // namespace diptych::cli
