#include "workloads/scan.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "base/clock.h"
#include "workloads/fio.h"
#include "workloads/tpcc/loader.h"
#include "workloads/tpcc/population.h"
#include "workloads/tpcc/schema.h"

namespace diptych::workloads {
namespace {

using base::Result;
using dispatcher::ScanMeasurement;

constexpr const char* kFirstTable = "orderline";
constexpr const char* kFirstColumn = "ol_i_id";
constexpr uint64_t kApplyNever = 86'400'000'000'000;  // a day, in nanoseconds

struct Candidate {
  base::TableId table;
  base::ColumnId column;
  std::string table_name;
  std::string column_name;
  std::string form;
  dispatcher::ColumnForms forms;
};

// The form of most blocks.
std::string main_form(const dispatcher::ColumnForms& forms) {
  const auto most = std::max_element(
      forms.blocks.begin(), forms.blocks.end(),
      [](const auto& left, const auto& right) { return left.second < right.second; });
  return most == forms.blocks.end() ? std::string() : most->first;
}

bool is_four_bytes(const base::DataType& type) {
  return type.kind == base::TypeKind::kInt || type.kind == base::TypeKind::kDate;
}

// kFirstColumn, and for each other form the column with most rows that has it.
std::vector<Candidate> choose_columns(const base::Catalog& catalog,
                                      const ScanMeasurement& measurement) {
  std::map<std::string, Candidate> by_form;
  std::vector<Candidate> chosen;
  for (const base::TableSchema& table : catalog.tables()) {
    for (uint16_t c = 0; c < table.columns.size(); ++c) {
      const base::ColumnSchema& column = table.columns[c];
      if (!is_four_bytes(column.type)) continue;
      Candidate one{table.id, base::ColumnId(c), table.name, column.name, {}, {}};
      one.forms = measurement.forms(table.id, one.column);
      one.form = main_form(one.forms);
      if (table.name == kFirstTable && column.name == kFirstColumn) {
        chosen.push_back(one);
      } else if (!one.form.empty()) {
        Candidate& best = by_form[one.form];
        if (one.forms.rows > best.forms.rows) best = std::move(one);
      }
    }
  }
  for (auto& [form, candidate] : by_form) {
    if (chosen.empty() || form != chosen.front().form) chosen.push_back(std::move(candidate));
  }
  return chosen;
}

class WarmScan {
 public:
  WarmScan(dispatcher::Database* database, const ScanOptions& options, ScanReport* report)
      : measurement_(database), options_(options), report_(*report) {
    report_.threads = measurement_.threads();
  }

  Result<void> run(const base::Catalog& catalog, const StopFlag& stop, const Progress& progress) {
    const std::vector<Candidate> chosen = choose_columns(catalog, measurement_);
    for (size_t i = 0; i < chosen.size(); ++i) {
      report_.interrupted = stopped(stop);
      if (report_.interrupted) return {};
      progress("summing " + chosen[i].table_name + "." + chosen[i].column_name,
               static_cast<double>(i) / static_cast<double>(chosen.size()));
      if (auto measured = measure(chosen[i]); !measured) return measured;
    }
    return {};
  }

 private:
  Result<void> measure(const Candidate& chosen) {
    ColumnScan scan;
    scan.table = chosen.table_name;
    scan.column = chosen.column_name;
    scan.form = chosen.form;
    if (auto done = measure_stage(chosen, &scan.frozen); !done) return done;
    const auto updated = measurement_.update_half(chosen.table, chosen.column, options_.seed);
    if (!updated) return updated.error();
    scan.rows_updated = *updated;
    if (auto done = measure_stage(chosen, &scan.updated); !done) return done;
    if (auto done = measurement_.freeze(chosen.table); !done) return done;
    if (auto done = measure_stage(chosen, &scan.frozen_again); !done) return done;
    report_.columns.push_back(std::move(scan));
    return {};
  }

  Result<void> measure_stage(const Candidate& chosen, ColumnScan::Stage* stage) {
    stage->forms = measurement_.forms(chosen.table, chosen.column);
    auto speed = measurement_.sum(chosen.table, chosen.column, options_.seconds);
    if (!speed) return speed.error();
    stage->speed = *speed;
    return {};
  }

  ScanMeasurement measurement_;
  const ScanOptions& options_;
  ScanReport& report_;
};

Result<void> run_cold(dispatcher::Database* database, const ScanOptions& options,
                      const Progress& progress, ScanReport* report) {
  std::vector<base::TableId> tables;
  for (const base::TableSchema& table : database->catalog().tables()) tables.push_back(table.id);
  if (options.settled) {
    ScanMeasurement unsaved(database);
    for (const base::TableId table : tables) {
      progress("settling", -1);
      if (auto settled = unsaved.settle(table); !settled) return settled;
    }
  }
  progress("saving", -1);
  if (auto saved = database->save(); !saved) return saved;
  progress("reading all blocks", -1);
  ScanMeasurement measurement(database);
  report->threads = measurement.threads();
  auto speed = measurement.read_blocks(tables, options.seconds, fio_read);
  if (!speed) return speed.error();
  report->cold = *speed;
  return {};
}

Result<std::unique_ptr<dispatcher::Database>> open(const ScanOptions& options) {
  dispatcher::DatabaseOptions out;
  if (options.cold) {
    out.path = options.path.empty() ? fmt::format("diptych-scan-{}", ::getpid()) : options.path;
    out.mode = dispatcher::OpenMode::kCreate;
    out.olap_memory_bytes_max = options.memory_bytes_max;
    if (options.settled) out.settled = base::Settled::kOn;
  }
  out.placement = options.placement;
  out.apply_interval_ns = kApplyNever;
  out.time_origin = tpcc::kTimeOrigin;
  return dispatcher::Database::open(out);
}

Result<void> load_and_measure(dispatcher::Database* database, const ScanOptions& options,
                              const StopFlag& stop, const Progress& progress, ScanReport* report) {
  const auto tables = tpcc::create_tables(database);
  if (!tables) return tables.error();
  const uint64_t start = base::steady_ns();
  const auto loaded = tpcc::load(database, *tables, options.seed,
                                 static_cast<int32_t>(options.warehouses), stop, progress);
  if (!loaded) return loaded;
  report->load_seconds = static_cast<double>(base::steady_ns() - start) * 1e-9;
  if (options.cold) return run_cold(database, options, progress, report);
  return WarmScan(database, options, report).run(database->catalog(), stop, progress);
}

}  // namespace

Result<ScanReport> run_scan(const ScanOptions& options, const StopFlag& stop,
                            const Progress& progress) {
  if (options.warehouses == 0 || !(options.seconds > 0)) {
    return base::Error(base::ErrorCode::kInvalidArgument,
                       "a scan needs a warehouse, and more than 0 seconds");
  }
  auto database = open(options);
  if (!database) return database.error();
  ScanReport report;
  report.options = options;
  const auto measured = load_and_measure(database->get(), options, stop, progress, &report);
  if (!measured || options.path.empty()) {
    (*database)->discard();
  } else if (auto closed = (*database)->close(); !closed) {
    return closed.error();
  }
  if (!measured) return measured.error();
  return report;
}

}  // namespace diptych::workloads
