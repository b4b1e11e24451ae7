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
using scan::NewValues;
using scan::ScanMeasurement;
using Predicate = scan::ScanPredicate;

constexpr const char* kFirstTable = "orderline";
constexpr const char* kFirstColumn = "ol_i_id";
constexpr const char* kConstantForm = "constant";
constexpr uint64_t kApplyNever = 86'400'000'000'000;  // a day, in nanoseconds

struct Candidate {
  base::TableId table;
  base::ColumnId column;
  std::string table_name;
  std::string column_name;
  std::string form;
  base::DataType type;
  scan::ColumnForms forms;
};

// The form of most blocks.
std::string main_form(const scan::ColumnForms& forms) {
  const auto most = std::max_element(
      forms.blocks.begin(), forms.blocks.end(),
      [](const auto& left, const auto& right) { return left.second < right.second; });
  return most == forms.blocks.end() ? std::string() : most->first;
}

bool is_four_bytes(const base::DataType& type) {
  return type.kind == base::TypeKind::kInt || type.kind == base::TypeKind::kDate;
}

// What a column's form is measured for; empty: not at all. A text that all rows have answers
// without a look at any.
std::string group_of(const Candidate& one) {
  if (one.form.empty()) return {};
  if (is_four_bytes(one.type)) return one.form;
  if (one.type.kind == base::TypeKind::kDecimal) return "decimal";
  if (one.type.is_string() && one.form != kConstantForm) return "text, " + one.form;
  return {};
}

// kFirstColumn, and for each other group the column with most rows in it.
std::vector<Candidate> choose_columns(const base::Catalog& catalog,
                                      const ScanMeasurement& measurement) {
  std::map<std::string, Candidate> by_group;
  std::vector<Candidate> chosen;
  for (const base::TableSchema& table : catalog.tables()) {
    for (uint16_t c = 0; c < table.columns.size(); ++c) {
      const base::ColumnSchema& column = table.columns[c];
      Candidate one{table.id, base::ColumnId(c), table.name, column.name, {}, column.type, {}};
      one.forms = measurement.forms(table.id, one.column);
      one.form = main_form(one.forms);
      const std::string group = group_of(one);
      if (table.name == kFirstTable && column.name == kFirstColumn) {
        chosen.push_back(one);
      } else if (!group.empty()) {
        Candidate& best = by_group[group];
        if (one.forms.rows > best.forms.rows) best = std::move(one);
      }
    }
  }
  for (auto& [group, candidate] : by_group) {
    if (chosen.empty() || group != chosen.front().form) chosen.push_back(std::move(candidate));
  }
  return chosen;
}

struct Question {
  std::string name;                    // as in SQL; empty: the sum is asked for
  std::optional<Predicate> predicate;  // nothing: the sum
};

// Numbers are summed. All are asked for those in the half around the middle one; texts for those
// that equal it, and that begin as it does. A constant is asked for nothing: its block answers
// without a look at any row, which no block whose rows differ can do.
std::vector<Question> questions_of(const scan::ColumnValues& sample, const std::string& form) {
  const auto around = [](const auto& values) {
    const size_t quarter = values.size() / 4;
    return Predicate::between(values[quarter], values[values.size() - quarter - 1]);
  };
  std::vector<Question> questions;
  if (sample.texts.empty()) {
    questions.push_back({"", std::nullopt});
    if (!sample.numbers.empty() && form != kConstantForm)
      questions.push_back({"BETWEEN", around(sample.numbers)});
    return questions;
  }
  const std::string& middle = sample.texts[sample.texts.size() / 2];
  questions.push_back(
      {"=", Predicate::compare(scan::ScanComparison::kEqual, std::string_view(middle))});
  questions.push_back({"BETWEEN", around(sample.texts)});
  questions.push_back({"LIKE 'x%'", Predicate::prefix(middle.substr(0, 1))});
  return questions;
}

class WarmScan {
 public:
  WarmScan(dispatcher::Database* database, const ScanOptions& options, ScanReport* report)
      : measurement_(database), options_(options), report_(*report) {
    report_.threads = measurement_.threads();
  }

  Result<void> run(const base::Catalog& catalog, const StopFlag& stop, const Progress& progress) {
    if (auto encoded = encode(catalog, stop, progress); !encoded) return encoded;
    const std::vector<Candidate> chosen = choose_columns(catalog, measurement_);
    for (size_t i = 0; i < chosen.size(); ++i) {
      report_.interrupted = stopped(stop);
      if (report_.interrupted) return {};
      progress("scanning " + chosen[i].table_name + "." + chosen[i].column_name,
               static_cast<double>(i) / static_cast<double>(chosen.size()));
      if (auto measured = measure(chosen[i], stop); !measured) return measured;
    }
    report_.interrupted = stopped(stop);
    return {};
  }

 private:
  using Scans = std::vector<ColumnScan>;

  Result<void> encode(const base::Catalog& catalog, const StopFlag& stop,
                      const Progress& progress) {
    progress("encoding", -1);
    for (const base::TableSchema& table : catalog.tables()) {
      if (stopped(stop)) return {};
      const auto speed = measurement_.encode_blocks(table.id);
      if (!speed) return speed.error();
      if (speed->bytes != 0) report_.encoding[table.name] = *speed;
    }
    return {};
  }

  // A column that it is stopped in is left out.
  Result<void> measure(const Candidate& chosen, const StopFlag& stop) {
    const auto sample = measurement_.sample(chosen.table, chosen.column);
    if (!sample) return sample.error();
    const auto bytes = measurement_.value_bytes(chosen.table, chosen.column);
    if (!bytes) return bytes.error();
    const std::vector<Question> questions = questions_of(*sample, chosen.form);
    Scans scans(questions.size());
    const auto measure_all = [&](ColumnScan::Stage ColumnScan::*stage) -> Result<void> {
      for (size_t i = 0; i < questions.size(); ++i) {
        if (stopped(stop)) return base::ErrorCode::kCancelled;
        auto done = measure_stage(chosen, questions[i], *bytes, &(scans[i].*stage));
        if (!done) return done;
      }
      return {};
    };
    const auto update = [&](NewValues values) -> Result<void> {
      const auto rows =
          measurement_.update_half(chosen.table, chosen.column, values, options_.seed);
      if (!rows) return rows.error();
      for (ColumnScan& scan : scans) scan.rows_updated = *rows;
      return {};
    };
    const auto measure_stages = [&]() -> Result<void> {
      if (auto done = measure_all(&ColumnScan::frozen); !done) return done;
      if (auto done = update(NewValues::kOfTheBlock); !done) return done;
      if (auto done = measure_all(&ColumnScan::updated); !done) return done;
      if (auto done = measurement_.freeze(chosen.table); !done) return done;
      if (auto done = update(NewValues::kUnknown); !done) return done;
      if (auto done = measure_all(&ColumnScan::extended); !done) return done;
      if (auto done = measurement_.freeze(chosen.table); !done) return done;
      return measure_all(&ColumnScan::frozen_again);
    };
    if (auto done = measure_stages(); !done) {
      return done.code() == base::ErrorCode::kCancelled ? Result<void>() : done;
    }
    for (size_t i = 0; i < questions.size(); ++i) {
      ColumnScan& scan = scans[i];
      scan.table = chosen.table_name;
      scan.column = chosen.column_name;
      scan.form = chosen.form;
      scan.predicate = questions[i].name;
      report_.columns.push_back(std::move(scan));
    }
    return {};
  }

  Result<void> measure_stage(const Candidate& chosen, const Question& question, uint64_t bytes,
                             ColumnScan::Stage* stage) {
    stage->forms = measurement_.forms(chosen.table, chosen.column);
    const Predicate* const predicate = question.predicate ? &*question.predicate : nullptr;
    auto speed = measurement_.scan(chosen.table, chosen.column, predicate, bytes, options_.seconds);
    if (!speed) return speed.error();
    stage->speed = *speed;
    return {};
  }

  ScanMeasurement measurement_;
  const ScanOptions& options_;
  ScanReport& report_;
};

// Sets `interrupted` where it is stopped before it has read all.
Result<void> run_cold(dispatcher::Database* database, const ScanOptions& options,
                      const StopFlag& stop, const Progress& progress, ScanReport* report) {
  const auto ends = [&] { return report->interrupted = stopped(stop); };
  std::vector<base::TableId> tables;
  for (const base::TableSchema& table : database->catalog().tables()) tables.push_back(table.id);
  if (options.settled) {
    ScanMeasurement unsaved(database);
    for (const base::TableId table : tables) {
      progress("settling", -1);
      if (ends()) return {};
      if (auto settled = unsaved.settle(table); !settled) return settled;
    }
  }
  progress("saving", -1);
  if (ends()) return {};
  if (auto saved = database->save(); !saved) return saved;
  progress("reading all blocks", -1);
  if (ends()) return {};
  ScanMeasurement measurement(database);
  report->threads = measurement.threads();
  const auto any = [](const base::ColumnSchema& /*column*/) { return true; };
  auto speed = measurement.read_blocks(tables, any, options.seconds, fio_read);
  if (!speed) return speed.error();
  report->cold = *speed;
  if (ends()) return {};
  const auto is_integer = [](const base::ColumnSchema& column) {
    return column.type.kind == base::TypeKind::kInt;
  };
  speed = measurement.read_blocks(tables, is_integer, options.seconds, fio_read);
  if (!speed) return speed.error();
  report->cold_integers = *speed;
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
  if (options.cold) return run_cold(database, options, stop, progress, report);
  return WarmScan(database, options, report).run(database->catalog(), stop, progress);
}

}  // namespace

double ColumnScan::slowdown_max() const {
  return std::max(slowdown(updated), slowdown(extended));
}

double ScanReport::slowdown_max() const {
  double most = 0;
  for (const ColumnScan& scan : columns) most = std::max(most, scan.slowdown_max());
  return most;
}

scan::EncodingSpeed ScanReport::encoding_in_all() const {
  scan::EncodingSpeed all;
  for (const auto& [table, speed] : encoding) {
    all.bytes += speed.bytes;
    all.cpu_seconds += speed.cpu_seconds;
  }
  return all;
}

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
    static_cast<void>((*database)->discard());
  } else if (auto closed = (*database)->close(); !closed) {
    static_cast<void>((*database)->discard());
    return closed.error().within("nothing of the database was kept");
  }
  if (!measured) return measured.error();
  return report;
}

}  // namespace diptych::workloads
