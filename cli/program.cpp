#include "cli/program.h"

#include <exception>
#include <memory>
#include <new>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/bench_ch_command.h"
#include "cli/bench_isolation_command.h"
#include "cli/bench_tpcc_command.h"
#include "cli/command.h"
#include "cli/init_command.h"
#include "cli/load_command.h"
#include "cli/query_command.h"

namespace diptych::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  diptych init shop --schema shop.sql\n"
    "  diptych load shop orders orders.csv\n"
    "  diptych query shop -c \"SELECT count(*) FROM orders\"\n"
    "  diptych bench ch --warehouses 10 --transaction-clients 32 --query-clients 8 --seconds 30\n\n"
    "Each subcommand has its own --help. Exit codes: 0 fine; 1 the work failed, or a check found\n"
    "violations or differences; 2 the command line is wrong.\n";

ExitCode run_parsed(const std::vector<std::unique_ptr<Command>>& commands) {
  for (const auto& command : commands) {
    if (command->chosen()) return command->run();
  }
  fmt::print(stderr, "a subcommand is required\nRun with --help for more information.\n");
  return ExitCode::kUsage;
}

ExitCode parse_and_run(int argument_count, const char* const* arguments) {
  CLI::App app("Diptych: a database for transactions and analytics at once.", "diptych");
  app.set_version_flag("--version", DIPTYCH_VERSION);
  // None at all is our own error below: CLI11's would come before it names an unknown one.
  app.require_subcommand(0, 1);
  app.footer(kFooter);
  app.get_formatter()->column_width(34);
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(std::make_unique<InitCommand>(app));
  commands.push_back(std::make_unique<LoadCommand>(app));
  commands.push_back(std::make_unique<QueryCommand>(app));
  CLI::App* bench = app.add_subcommand("bench", "Run a benchmark, in memory");
  bench->require_subcommand(0, 1);
  commands.push_back(std::make_unique<BenchTpccCommand>(*bench));
  commands.push_back(std::make_unique<BenchChCommand>(*bench));
  commands.push_back(std::make_unique<BenchIsolationCommand>(*bench));
  try {
    app.parse(argument_count, arguments);
  } catch (const CLI::ParseError& error) {
    // Prints help or the error; 0 for help and version.
    return app.exit(error) == 0 ? ExitCode::kFine : ExitCode::kUsage;
  }
  return run_parsed(commands);
}

}  // namespace

ExitCode run_program(int argument_count, const char* const* arguments) {
  // Diptych throws nothing; the libraries below it may, when memory runs out.
  try {
    return parse_and_run(argument_count, arguments);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "diptych: out of memory\n");
  } catch (const std::exception& error) {
    fmt::print(stderr, "diptych: {}\n", error.what());
  }
  return ExitCode::kFailed;
}

}  // namespace diptych::cli
