#include "workloads/session.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/clock.h"
#include "workloads/drivers/transaction_driver.h"
#include "workloads/tpcc/loader.h"
#include "workloads/tpcc/population.h"
#include "workloads/tpcc/schema.h"

namespace diptych::workloads {
namespace {

using base::ErrorCode;
using base::Result;

constexpr size_t kWordsMax = 20;
constexpr uint32_t kWarehousesMax = 100'000;
constexpr uint32_t kClientsMax = 1'000'000;

Result<void> check_options(const BenchmarkOptions& options) {
  const auto wrong = [](std::string what) {
    return base::Error(ErrorCode::kInvalidArgument, std::move(what));
  };
  if (options.warehouses < 1 || options.warehouses > kWarehousesMax) {
    return wrong(
        fmt::format("warehouses: {} is not in 1 to {}", options.warehouses, kWarehousesMax));
  }
  if (options.transaction_clients > kClientsMax || options.query_clients > kClientsMax) {
    return wrong(fmt::format("clients: at most {} on each side", kClientsMax));
  }
  if (!(options.seconds > 0)) return wrong("seconds: must be more than 0");
  if (!(options.warmup_seconds >= 0 && options.cooldown_seconds >= 0)) {
    return wrong("warm-up and cool-down: must not be negative");
  }
  if (!options.export_updates && options.query_clients > 0) {
    return wrong("queries need exported updates: the replica stays empty without them");
  }
  return {};
}

dispatcher::DatabaseOptions database_options(const BenchmarkOptions& options) {
  dispatcher::DatabaseOptions out;
  out.path = options.keep_path;
  out.mode = dispatcher::OpenMode::kCreate;
  out.placement = options.placement;
  out.export_updates = options.export_updates;
  out.time_origin = tpcc::kTimeOrigin;
  out.queue_requests = std::max(out.queue_requests, options.transaction_clients);
  return out;
}

void add_words(const std::string& words, std::vector<std::string>* list) {
  if (list->size() < kWordsMax) list->push_back(words);
}

void add_consistency(std::string_view side, const Result<tpcc::ConsistencyReport>& checked,
                     BenchmarkReport* report) {
  if (!checked) {
    ++report->consistency_violations;
    add_words(fmt::format("{}: {}", side, checked.error().to_string()), &report->violations);
    return;
  }
  report->consistency_violations += checked->conditions_violated();
  for (const std::string& words : checked->first) {
    add_words(fmt::format("{}: {}", side, words), &report->violations);
  }
}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const BenchmarkOptions& options,
                                               const StopFlag& stop, const Progress& progress) {
  if (auto checked = check_options(options); !checked) return checked.error();
  auto database = dispatcher::Database::open(database_options(options));
  if (!database) return database.error();
  std::unique_ptr<Session> session(new Session());
  session->options_ = options;
  session->database_ = std::move(*database);
  if (auto prepared = session->prepare(); !prepared) return prepared.error();
  session->try_queries();
  const uint64_t begin = base::steady_ns();
  if (auto loaded = tpcc::load(session->database_.get(), session->tables_, options.seed,
                               static_cast<int32_t>(options.warehouses), stop, progress);
      !loaded) {
    return loaded.error();
  }
  session->load_seconds_ = static_cast<double>(base::steady_ns() - begin) * 1e-9;
  return session;
}

Result<void> Session::prepare() {
  auto tables = tpcc::create_tables(database_.get());
  if (!tables) return tables.error();
  tables_ = *tables;
  auto procedures = tpcc::register_procedures(database_.get(), tables_, options_.size);
  if (!procedures) return procedures.error();
  procedures_ = *procedures;
  auto consistency = tpcc::OltpConsistency::attach(database_.get(), tables_);
  if (!consistency) return consistency.error();
  consistency_ = *consistency;
  return {};
}

void Session::try_queries() {
  tpcc::Random random(options_.seed);
  for (NamedQuery& query : catalog(options_.queries)) {
    auto result = database_->query(instantiate(query.text, &random));
    if (result) {
      queries_.push_back(std::move(query));
    } else {
      unsupported_[query.name] = result.error().to_string();
    }
  }
}

Result<tpcc::ConsistencyReport> Session::check_oltp() const {
  return consistency_.check(static_cast<int32_t>(options_.warehouses), options_.size);
}

void Session::verify(const Progress& progress, BenchmarkReport* report) {
  progress("checking consistency on the OLTP replica", -1);
  add_consistency("OLTP replica", check_oltp(), report);
  if (!options_.export_updates) return;
  progress("checking consistency on the OLAP replica", -1);
  add_consistency("OLAP replica", tpcc::check_olap_consistency(database_.get(), options_.size),
                  report);
  progress("comparing the replicas", -1);
  auto compared = database_->compare_replicas();
  if (!compared) {
    ++report->replica_differences;
    add_words(compared.error().to_string(), &report->differences);
    return;
  }
  report->replica_differences += compared->differences;
  for (const dispatcher::ReplicaDifference& difference : compared->first) {
    add_words(fmt::format("table {}, row {}: {}", difference.table, difference.row_id.value,
                          difference.what),
              &report->differences);
  }
}

void Session::count_rows(BenchmarkReport* report) {
  if (!options_.export_updates) return;
  std::vector<std::string> statements;
  for (const std::string_view table : tpcc::kTableNames) {
    statements.push_back(fmt::format("select count(*) from {}", table));
  }
  const auto results = database_->query_batch(statements);
  for (size_t i = 0; i < results.size(); ++i) {
    if (!results[i] || results[i]->rows.empty()) continue;
    if (const auto* count = std::get_if<int64_t>(&results[i]->rows[0][0])) {
      report->table_rows[std::string(tpcc::kTableNames[i])] = static_cast<uint64_t>(*count);
    }
  }
}

Result<void> Session::close() {
  return database_->close();
}

}  // namespace diptych::workloads
