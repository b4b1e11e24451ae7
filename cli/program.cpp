#include "cli/program.h"

#include <algorithm>
#include <csignal>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"

namespace diptych::cli {
namespace {

constexpr const char* kFooter =
    "Examples:\n"
    "  diptych init shop --schema shop.sql\n"
    "  diptych ddl shop -c \"CREATE INDEX by_day ON orders (o_date)\"\n"
    "  diptych load shop orders orders.csv\n"
    "  diptych query shop -c \"SELECT count(*) FROM orders\"\n"
    "  diptych call shop --procedures shop.so order 17 3\n"
    "  diptych inspect shop --verify\n"
    "  diptych backup shop shop-monday\n"
    "  diptych bench ch --warehouses 10 --transaction-clients 32 --query-clients 8 --seconds 30\n\n"
    "Each subcommand has its own --help. Exit codes: 0 if all is well; 1 if the work failed, or a\n"
    "check found violations or differences; 2 if the command line is wrong. docs/operations.md\n"
    "explains backups, memory, and what to do when a database does not open.\n";

constexpr const char* kHint = "Run with --help for more information.";

constexpr const char* kBenchFooter =
    "Examples:\n"
    "  diptych bench tpcc --warehouses 10 --seconds 30\n"
    "  diptych bench ch --warehouses 10 --transaction-clients 32 --query-clients 8 --seconds 30\n"
    "  diptych bench isolation --warehouses 4 --seconds 5 --html isolation.html\n"
    "  diptych bench propagation --warehouses 4\n"
    "  diptych bench scan --warehouses 10\n"
    "  diptych bench queries --warehouses 10 --threads 2\n"
    "  diptych bench recovery --warehouses 10\n"
    "  diptych bench overload --warehouses 2\n\n"
    "If transactions ran, TPC-C's consistency conditions are checked at the end, and the two\n"
    "replicas are compared. docs/benchmark-reports.md explains the reports.\n";

// What is wrong with arguments that nothing takes: where a subcommand is missing, it is the first.
std::string unexpected(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  const std::string first = app.remaining(true).front();
  std::string known;
  for (const CLI::App* child : at->get_subcommands([](const CLI::App*) { return true; })) {
    known += (known.empty() ? "" : ", ") + child->get_name();
  }
  if (known.empty() || first.starts_with('-')) return fmt::format("not expected: {}", first);
  return fmt::format("unknown subcommand \"{}\"; there are {}", first, known);
}

// Whether help is asked for somewhere. Of `call`, -h may begin an argument of the procedure's.
bool asks_for_help(std::span<const char* const> arguments) {
  const bool call = arguments.size() > 1 && std::string_view(arguments[1]) == "call";
  return std::any_of(arguments.begin(), arguments.end(), [call](std::string_view argument) {
    return argument == "--help" || (argument == "-h" && !call);
  });
}

// Help and version are results; help whatever else is wrong.
ExitCode end_of_parse(const CLI::App& app, const CLI::ParseError& error,
                      std::span<const char* const> arguments) {
  if (error.get_exit_code() != 0 && asks_for_help(arguments)) return print_result(app.help());
  if (error.get_exit_code() != 0) {
    const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    return wrong_usage(fmt::format("{}\n{}", extra ? unexpected(app) : error.what(), kHint));
  }
  std::ostringstream text;
  app.exit(error, text, text);
  return print_result(text.str());
}

// Where "--" stands among the arguments of `call`, or their end. What follows are a procedure's,
// whatever they look like; CLI11 would take them for the program's own.
int end_of_options(int argument_count, const char* const* arguments) {
  const std::span all(arguments, static_cast<size_t>(argument_count));
  if (all.size() < 2 || std::string_view(all[1]) != "call") return argument_count;
  const auto end = std::find(all.begin(), all.end(), std::string_view("--"));
  return static_cast<int>(end - all.begin());
}

ExitCode run_parsed(const std::vector<std::unique_ptr<Command>>& commands) {
  for (const auto& command : commands) {
    if (command->chosen()) return command->run();
  }
  return wrong_usage(fmt::format("a subcommand is required\n{}", kHint));
}

ExitCode parse_and_run(int argument_count, const char* const* arguments) {
  CLI::App app("Diptych: a database for transactions and analytics at once.", "diptych");
  app.set_version_flag("--version", DIPTYCH_VERSION);
  // None at all is our own error below: CLI11's would come before it names an unknown one.
  app.require_subcommand(0, 1);
  app.footer(kFooter);
  app.get_formatter()->column_width(34);
  const int end = end_of_options(argument_count, arguments);
  std::vector<std::string> behind_options(arguments + std::min(end + 1, argument_count),
                                          arguments + argument_count);
  std::vector<std::unique_ptr<Command>> commands;
  for (const auto make :
       {make_init_command, make_ddl_command, make_load_command, make_query_command}) {
    commands.push_back(make(app));
  }
  commands.push_back(make_call_command(app, std::move(behind_options)));
  for (const auto make : {make_inspect_command, make_test_command, make_verify_command,
                          make_checkpoint_command, make_backup_command, make_restore_command}) {
    commands.push_back(make(app));
  }
  CLI::App* bench = app.add_subcommand("bench", "Run a benchmark");
  bench->require_subcommand(0, 1);
  bench->footer(kBenchFooter);
  for (const auto make :
       {make_bench_tpcc_command, make_bench_ch_command, make_bench_isolation_command,
        make_bench_propagation_command, make_bench_scan_command, make_bench_queries_command,
        make_bench_recovery_command, make_bench_overload_command}) {
    commands.push_back(make(*bench));
  }
  try {
    app.parse(end, arguments);
  } catch (const CLI::ParseError& error) {
    return end_of_parse(app, error, {arguments, static_cast<size_t>(end)});
  }
  return run_parsed(commands);
}

}  // namespace

ExitCode run_program(int argument_count, const char* const* arguments) {
  occupy_standard_descriptors();
  // A file that may not grow is an error of the write, which is told, and not the program's end.
  std::signal(SIGXFSZ, SIG_IGN);
  // So is a pipe whose reader has gone: what was begun is still saved.
  std::signal(SIGPIPE, SIG_IGN);
  // Diptych throws nothing; the libraries below it may, when memory runs out.
  try {
    return parse_and_run(argument_count, arguments);
  } catch (const std::bad_alloc&) {
    say("diptych: out of memory\n");
  } catch (const std::exception& error) {
    // In pieces, since to format them may throw again.
    for (const char* piece : {"diptych: ", error.what(), "\n"}) say(piece);
  }
  return ExitCode::kFailed;
}

}  // namespace diptych::cli
