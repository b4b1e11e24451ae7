#include "cli/bench_options.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "cli/file.h"
#include "cli/option_values.h"
#include "cli/output.h"

namespace diptych::cli {
namespace {

using base::Result;

constexpr double kSecondsMax = 7 * 86'400;
constexpr double kWarehouseBytes = 300e6;  // in both replicas, once loaded
constexpr double kGigabyte = 1e9;

// What the system says that a process can get without swapping; infinite where it does not say.
double memory_available() {
  constexpr std::string_view kKey = "MemAvailable:";
  constexpr double kKibibyte = 1024;
  const auto text = read_file("/proc/meminfo");
  const size_t at = text ? text->find(kKey) : std::string::npos;
  if (at == std::string::npos) return INFINITY;
  return std::strtod(text->c_str() + at + kKey.size(), nullptr) * kKibibyte;
}

void add_core_list(CLI::App& app, const std::string& name, const std::string& what,
                   std::vector<uint32_t>* cores) {
  app.add_option_function<std::string>(
         name,
         [name, cores](const std::string& text) {
           auto parsed = base::parse_core_list(text);
           if (!parsed) throw CLI::ValidationError(name, parsed.error().message);
           *cores = *parsed;
         },
         what)
      ->type_name("LIST");
}

}  // namespace

void add_warehouses(CLI::App& app, uint32_t* warehouses) {
  const auto fits = [](std::string& text) -> std::string {
    const double wanted = std::stod(text) * kWarehouseBytes / kGigabyte;
    const double available = memory_available() / kGigabyte;
    if (wanted <= available) return {};
    return fmt::format("{} of them take about {:.1f} GB, and {:.1f} GB of memory are available",
                       text, wanted, available);
  };
  app.add_option("--warehouses", *warehouses, "TPC-C warehouses, 300 MB each at first; default 1")
      ->check(CLI::Validator(fits, ""))
      ->transform(number_between(uint32_t{1}, workloads::kWarehousesMax))
      ->option_text("W");
}

void add_seconds(CLI::App& app, double* seconds, const std::string& seconds_what,
                 double* warmup_seconds, const std::string& warmup_what) {
  app.add_option("--seconds", *seconds, seconds_what)
      ->transform(number_between(0.001, kSecondsMax))
      ->option_text("S");
  app.add_option("--warmup", *warmup_seconds, warmup_what)
      ->transform(number_between(0.0, kSecondsMax))
      ->option_text("S");
}

void add_seed(CLI::App& app, uint64_t* seed) {
  app.add_option("--seed", *seed, "Seed of all random choices; default 42")
      ->transform(number_between(uint64_t{0}, UINT64_MAX))
      ->option_text("N");
}

void add_queries(CLI::App& app, workloads::QuerySet* queries) {
  add_choice<workloads::QuerySet>(
      app, "--queries",
      std::string("ch: the 22 CH-benCHmark queries; templates: the 14 of the BatchDB paper; "
                  "grouped: these with a GROUP BY each; default ") +
          (*queries == workloads::QuerySet::kCh ? "ch" : "templates"),
      {{"ch", workloads::QuerySet::kCh},
       {"templates", workloads::QuerySet::kTemplates},
       {"grouped", workloads::QuerySet::kGrouped}},
      queries)
      ->option_text("SET");
}

void add_isolation(CLI::App& app, dispatcher::IsolationLevel* level) {
  using dispatcher::IsolationLevel;
  add_choice<IsolationLevel>(
      app, "--isolation", "Of the transactions: snapshot or serializable; default snapshot",
      {{"snapshot", IsolationLevel::kSnapshot}, {"serializable", IsolationLevel::kSerializable}},
      level)
      ->option_text("LEVEL");
}

void add_placement(CLI::App& app, base::PlacementOptions* placement) {
  app.add_option("--workers", placement->oltp_workers,
                 "Threads that run transactions; default one per OLTP core")
      ->transform(number_between(uint32_t{1}, oltp::kWorkersMax))
      ->option_text("N");
  app.add_option("--threads", placement->olap_threads,
                 "Threads that run queries; default one per OLAP core")
      ->transform(number_between(uint32_t{1}, dispatcher::kThreadsMax))
      ->option_text("N");
  add_core_list(app, "--oltp-cores", "Cores of the transaction side, e.g. 0-3,8",
                &placement->oltp_cores);
  add_core_list(app, "--olap-cores", "Cores of the query side, e.g. 4-7", &placement->olap_cores);
  app.callback([placement] {
    const auto placed = base::place(base::Topology::detect(), *placement);
    if (!placed) throw CLI::ValidationError(placed.error().message);
  });
}

void add_client_counts(CLI::App& app, const std::string& name, const std::string& what,
                       uint32_t low, std::vector<uint32_t>* counts) {
  const auto read = [name, low, counts](const std::string& text) {
    counts->clear();
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find(',', at), text.size());
      std::string item = text.substr(at, end - at);
      if (const auto wrong = number_between(low, workloads::kClientsMax)(item); !wrong.empty()) {
        throw CLI::ValidationError(name, wrong);
      }
      const auto count = static_cast<uint32_t>(std::stoul(item));
      if (std::find(counts->begin(), counts->end(), count) != counts->end()) {
        throw CLI::ValidationError(name, fmt::format("{} is named twice", count));
      }
      counts->push_back(count);
      at = end + 1;
    }
  };
  app.add_option_function<std::string>(name, read, what)->option_text("LIST");
}

void add_keep(CLI::App& app, std::string* path) {
  app.add_option("--keep", *path, "New directory where the database is kept; default: in memory")
      ->check(new_directory())
      ->option_text("PATH");
}

void add_log(CLI::App& app, dispatcher::LogMode* log) {
  using dispatcher::LogMode;
  add_choice<LogMode>(
      app, "--log", "With --keep: command, physical or none; default none",
      {{"command", LogMode::kCommand}, {"physical", LogMode::kPhysical}, {"none", LogMode::kNone}},
      log)
      ->option_text("LOG");
}

std::optional<std::string> wrong_log(dispatcher::LogMode log, const std::string& keep_path) {
  if (log == dispatcher::LogMode::kNone || !keep_path.empty()) return std::nullopt;
  return "--log: a database in memory has none; give --keep";
}

void add_output(CLI::App& app, const std::string& name, const std::string& what,
                std::string* path) {
  app.add_option(name, *path, what)->check(output_file())->option_text("FILE");
}

void add_json(CLI::App& app, std::string* path) {
  const CLI::Validator output = output_file();
  app.add_option("--json", *path, "Write the report as JSON; - prints it in place of the table")
      ->check([output](const std::string& given) {
        return given == kStandardOutput ? std::string() : output(given);
      })
      ->option_text("FILE");
}

Result<void> write_report(const std::string& path, const std::string& text) {
  if (path.empty()) return {};
  if (auto written = write_file(path, text); !written) return written;
  say(fmt::format("wrote {}\n", path));
  return {};
}

Result<void> print_report(const std::string& json_path, const std::string& json,
                          const std::string& table) {
  if (json_path == kStandardOutput) return print(json);
  auto written = write_report(json_path, json);
  if (const auto printed = print(table); written) written = printed;
  return written;
}

ExitCode give_report(const workloads::BenchmarkReport& report, const std::string& json_path) {
  const bool measured = report.measured_seconds > 0;
  const ExitCode given =
      give_report(report, json_path,
                  measured ? "the figures are of the time so far" : "nothing was measured yet");
  return measured ? given : ExitCode::kFailed;
}

ExitCode run_and_report(const workloads::BenchmarkOptions& options, const std::string& json_path,
                        const std::string& metrics_path) {
  if (is_one_file(json_path, metrics_path)) {
    return wrong_usage("--json and --metrics name the same file");
  }
  const auto report = run_with_progress(workloads::run_benchmark, options);
  if (!report) return fail(report.error());
  const auto written = write_report(metrics_path, report->metrics_text);
  const ExitCode given = give_report(*report, json_path);
  return written ? given : fail(written.error());
}

}  // namespace diptych::cli
