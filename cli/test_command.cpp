#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/counted.h"
#include "cli/command.h"
#include "cli/commands.h"
#include "cli/file.h"
#include "cli/option_values.h"
#include "cli/output.h"
#include "cli/test_runner.h"
#include "cli/test_script.h"

namespace diptych::cli {
namespace {

constexpr const char* kTestExamples =
    "  diptych test tests/sql/*.slt\n\n"
    "The files' format is sqllogictest's, as sqlite and DuckDB have it. CREATE, DROP, TRUNCATE\n"
    "and INSERT of values or of a query's rows change the database; every other statement is a\n"
    "query. Records between mode skip and mode unskip are skipped, as are those of require, of\n"
    "any other mode and of what only other programs do (restart, sleep), and counted apart.\n";

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

base::Result<TestOutcome> run_script(const std::string& path, uint32_t threads) {
  const auto text = read_file(path);
  if (!text) return text.error();
  const auto records = parse_test_script(*text);
  if (!records) return records.error().within(input_name(path));
  auto runner = TestRunner::open(threads, folder_of(path));
  if (!runner) return runner.error();
  return runner->run(*records);
}

class TestCommand : public Command {
 public:
  explicit TestCommand(CLI::App& parent);
  ExitCode run() override;

 private:
  std::vector<std::string> files_;
  uint32_t threads_ = 0;
};

}  // namespace

TestCommand::TestCommand(CLI::App& parent)
    : Command(parent, "test", "Run SQL test scripts (sqllogictest)", kTestExamples) {
  app()
      .add_option("FILE", files_, "Scripts; - is standard input")
      ->required()
      ->check(input_file())
      ->type_name("");
  app()
      .add_option("--threads", threads_, "Threads that run queries; default one per OLAP core")
      ->transform(number_between(uint32_t{1}, dispatcher::kThreadsMax))
      ->option_text("N");
}

ExitCode TestCommand::run() {
  size_t records = 0;
  size_t failed = 0;
  size_t broken = 0;
  size_t skipped = 0;
  std::string text;
  for (const std::string& path : files_) {
    const auto outcome = run_script(path, threads_);
    if (!outcome) {
      ++broken;
      fail(outcome.error());
      continue;
    }
    records += outcome->records;
    failed += outcome->failures.size();
    skipped += outcome->skipped.size();
    for (const TestFailure& record : outcome->skipped) {
      text += fmt::format("{}:{}: skipped: {}\n", input_name(path), record.line, record.what);
    }
    for (const TestFailure& failure : outcome->failures) {
      text += fmt::format("{}:{}:\n{}\n", input_name(path), failure.line, failure.what);
    }
  }
  text += fmt::format("{}, {}, {} failed", base::counted(files_.size(), "file"),
                      base::counted(records, "record"), failed);
  if (skipped > 0) text += fmt::format(", {} skipped", skipped);
  if (broken > 0) text += fmt::format(", {} could not be run", base::counted(broken, "file"));
  const ExitCode printed = print_result(text + "\n");
  return failed == 0 && broken == 0 ? printed : ExitCode::kFailed;
}

std::unique_ptr<Command> make_test_command(CLI::App& parent) {
  return std::make_unique<TestCommand>(parent);
}

}  // namespace diptych::cli
