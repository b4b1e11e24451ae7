#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/counted.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/csv_table.h"
#include "cli/file.h"
#include "cli/identifier.h"
#include "cli/open_database.h"
#include "cli/option_values.h"
#include "cli/progress_line.h"
#include "cli/signal_stop.h"
#include "dispatcher/database.h"

namespace diptych::cli {
namespace {

using base::Error;
using base::ErrorCode;
using base::Result;

constexpr const char* kLoadExamples =
    "  diptych load shop orders orders.csv\n"
    "  zcat orders.csv.gz | diptych load shop orders -\n"
    "  diptych load shop orders orders.tsv --delimiter $'\\t' --null NA\n"
    "  diptych load shop orders orders.tbl --delimiter '|' --quote none --no-header\n\n"
    "The file's first line names columns of the table, in any order, in quotes or without.\n"
    "--columns names them where the file does not, or in other words; with --no-header alone, a\n"
    "line has all columns in the table's order. Missing columns become NULL. An empty field is\n"
    "NULL, and \"\" is the empty string; with --quote none, \" is a character like others, and so\n"
    "is a backslash, always. If any row is rejected, nothing is loaded. Foreign keys are not\n"
    "enforced. There is no server: the command opens the database itself, and only one process\n"
    "can have it open at a time.\n";

constexpr uint64_t kRowsPerProgress = 4096;

std::string table_names(const base::Catalog& catalog) {
  std::string names;
  for (const base::TableSchema& table : catalog.tables()) {
    names += (names.empty() ? "" : ", ") + table.name;
  }
  return names.empty() ? "none" : names;
}

// One byte that can stand between other text.
bool is_separator(const std::string& text) {
  return text.size() == 1 && (static_cast<unsigned char>(text[0]) & 0x80) == 0 && text != "\n" &&
         text != "\r";
}

std::vector<std::string> names_in(const std::string& text) {
  std::vector<std::string> names(1);
  for (const char c : text) {
    if (c == ',') {
      names.emplace_back();
    } else {
      names.back() += c;
    }
  }
  if (std::find(names.begin(), names.end(), "") != names.end()) {
    throw CLI::ValidationError("--columns", "it is names with commas between them");
  }
  return names;
}

CLI::Validator delimiter_byte() {
  const auto check = [](const std::string& text) -> std::string {
    if (is_separator(text) && text != "\"") return {};
    return "it is one character of ASCII, and no quote or line end";
  };
  return {check, ""};
}

double share(uint64_t part, uint64_t whole) {
  return whole == 0 ? -1 : static_cast<double>(part) / static_cast<double>(whole);
}

class LoadCommand : public Command {
 public:
  explicit LoadCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  base::Result<CsvTable> read_rows(const base::TableSchema& schema, const SignalStop& stop,
                                   ProgressLine* progress) const;
  ExitCode load(dispatcher::Database* database, const base::TableSchema& schema, CsvTable* rows,
                ProgressLine* progress) const;
  void add_format_options();
  // Options that do not go together.
  std::string wrong_format() const;

  std::string path_;
  size_t memory_bytes_max_ = 0;
  size_t data_memory_bytes_max_ = 0;
  std::string table_;
  std::string csv_path_;
  CsvFormat format_;
};

}  // namespace

LoadCommand::LoadCommand(CLI::App& parent)
    : Command(parent, "load", "Load a CSV file into a table", kLoadExamples) {
  add_database_path(app(), &path_);
  app().add_option("TABLE", table_, "Table to load into")->required()->type_name("");
  add_memory_option(app(), &memory_bytes_max_);
  add_data_memory_option(app(), &data_memory_bytes_max_);
  app()
      .add_option("FILE.csv", csv_path_, "CSV file with a header line; - is standard input")
      ->required()
      ->check(input_file())
      ->type_name("");
  add_format_options();
}

void LoadCommand::add_format_options() {
  app()
      .add_option("--delimiter", format_.delimiter, "What stands between fields; default a comma")
      ->check(delimiter_byte())
      ->option_text("C");
  app()
      .add_option("--null", format_.null,
                  "How NULL is written, without quotes; default nothing, an empty field")
      ->option_text("TEXT");
  const auto choose_quote = [this](const std::string& text) {
    if (text != "none" && !is_separator(text)) {
      throw CLI::ValidationError(
          "--quote", "it is one character of ASCII, and no line end; or none, without quotes");
    }
    format_.quote = text == "none" ? std::nullopt : std::optional(text[0]);
  };
  app()
      .add_option_function<std::string>(
          "--quote", choose_quote,
          "What stands around a field that has a delimiter or line end in it; default \". none: "
          "quotes are text")
      ->option_text("C");
  app()
      .add_option_function<std::string>(
          "--columns", [this](const std::string& text) { format_.columns = names_in(text); },
          "The columns of a line's fields; the header, if there is one, is passed over")
      ->option_text("A,B,...");
  app().add_flag_callback(
      "--no-header", [this] { format_.header = HeaderLine::kAbsent; }, "The first line is a row");
}

std::string LoadCommand::wrong_format() const {
  const std::string quote(format_.quote ? 1 : 0, format_.quote.value_or(' '));
  if (quote[0] == format_.delimiter) return "--quote and --delimiter are one character";
  // As COPY: no field could be such a text.
  if (format_.null.find_first_of("\r\n" + quote + format_.delimiter) != std::string::npos) {
    return "--null has no quote, no line end and no --delimiter in it";
  }
  return {};
}

Result<CsvTable> LoadCommand::read_rows(const base::TableSchema& schema, const SignalStop& stop,
                                        ProgressLine* progress) const {
  const auto file = open_file(csv_path_, [&stop] { return stop.stopped(); });
  if (!file) return file.error();
  auto rows = CsvTable::read(
      schema, file->source,
      [&](uint64_t bytes_read) {
        progress->update("reading " + input_name(csv_path_), share(bytes_read, file->bytes));
        return !stop.stopped();
      },
      format_);
  const std::string name = input_name(csv_path_);
  if (stop.stopped()) return Error(ErrorCode::kCancelled, name + ": stopped; nothing was loaded");
  if (!rows) return rows.error().within(name);
  return rows;
}

ExitCode LoadCommand::load(dispatcher::Database* database, const base::TableSchema& schema,
                           CsvTable* rows, ProgressLine* progress) const {
  // One row at a time: where one is refused, it is the last one given.
  uint64_t given = 0;
  const auto count_rows = [&] {
    const auto count = database->row_count(schema.id);
    return count ? *count : 0;
  };
  const uint64_t before = count_rows();
  const auto loaded = database->load(schema.id, [&] {
    if (given % kRowsPerProgress == 0) {
      progress->update("loading " + table_, share(given, rows->row_count()));
      rows->forget_before(given);  // the database has copied them
    }
    if (given == rows->row_count()) return dispatcher::RowBatch{};
    return dispatcher::RowBatch{rows->row(given++), 1};
  });
  // Else they are in memory, and only the save has failed.
  if (!loaded && count_rows() == before) {
    return fail(loaded.error().within(
        fmt::format("{}: nothing was loaded{}", input_name(csv_path_),
                    given == 0 ? "" : fmt::format(": line {}", rows->line(given - 1)))));
  }
  progress->update("saving " + path_, -1);
  if (const auto closed = database->close(); !closed) {
    // Else its end would try once more, and have rows that were told lost.
    static_cast<void>(database->discard());
    return fail(closed.error().within(fmt::format(
        "{}: nothing was loaded: the rows were read, but the database could not be saved",
        input_name(csv_path_))));
  }
  return ExitCode::kFine;
}

ExitCode LoadCommand::run() {
  if (const std::string wrong = wrong_format(); !wrong.empty()) return wrong_usage(wrong);
  const uint64_t begin_ns = base::steady_ns();
  const SignalStop stop;
  ProgressLine progress("opening " + path_);
  const auto database = open_database({.path = path_,
                                       .mode = dispatcher::OpenMode::kOpen,
                                       .olap_memory_bytes_max = memory_bytes_max_,
                                       .data_memory_bytes_max = data_memory_bytes_max_},
                                      &progress);
  if (!database) return fail(database.error());
  const base::Catalog& catalog = (*database)->catalog();
  const base::TableSchema* schema = catalog.find_table(table_);
  if (schema == nullptr) schema = catalog.find_table(folded(table_));
  if (schema == nullptr) {
    return fail({ErrorCode::kNotFound, fmt::format("there is no table \"{}\" in {}; its tables: {}",
                                                   table_, path_, table_names(catalog))});
  }
  auto rows = read_rows(*schema, stop, &progress);
  if (!rows) return fail(rows.error());
  if (rows->rejected_count() > 0) {
    say(fmt::format("{}diptych: {}: nothing was loaded: {} of {} rows were rejected\n",
                    rows->rejections_to_string(), input_name(csv_path_), rows->rejected_count(),
                    rows->rejected_count() + rows->row_count()));
    return ExitCode::kFailed;
  }
  const ExitCode code = load(database->get(), *schema, &*rows, &progress);
  if (code != ExitCode::kFine) return code;
  const double seconds = static_cast<double>(base::steady_ns() - begin_ns) * 1e-9;
  return print_done(fmt::format("loaded {} into {} in {:.2f} s\n",
                                base::counted(rows->row_count(), "row"), schema->name, seconds));
}

std::unique_ptr<Command> make_load_command(CLI::App& parent) {
  return std::make_unique<LoadCommand>(parent);
}

}  // namespace diptych::cli
