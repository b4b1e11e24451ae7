#include "workloads/session.h"

#include <algorithm>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "base/clock.h"
#include "workloads/tpcc/loader.h"
#include "workloads/tpcc/population.h"
#include "workloads/tpcc/schema.h"

namespace diptych::workloads {
namespace {

using base::ErrorCode;
using base::Result;

constexpr size_t kWordsMax = 20;

Result<void> check_options(const SessionOptions& options) {
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
  if (!options.export_updates && options.query_clients > 0) {
    return wrong("queries need exported updates: the replica stays empty without them");
  }
  return {};
}

dispatcher::DatabaseOptions database_options(const SessionOptions& options) {
  dispatcher::DatabaseOptions out;
  out.path = options.keep_path;
  out.mode = dispatcher::OpenMode::kCreate;
  out.log = options.log;
  out.checkpoint_log_bytes = options.checkpoint_log_bytes;
  out.checkpoint_interval_ns = static_cast<uint64_t>(options.checkpoint_seconds * 1e9);
  if (options.checkpoint_mib_per_second != 0) {
    out.checkpoint_bytes_per_second =
        static_cast<uint64_t>(options.checkpoint_mib_per_second * 0x1p20);
  }
  out.placement = options.placement;
  out.export_updates = options.export_updates;
  out.export_mode = options.export_mode;
  out.blocks = options.blocks;
  if (options.apply_interval_ns != 0) out.apply_interval_ns = options.apply_interval_ns;
  if (options.push_limit_ns != 0) out.push_limit_ns = options.push_limit_ns;
  out.isolation = options.isolation;
  out.time_origin = tpcc::kTimeOrigin;
  // The consistency check reads every row in one transaction.
  out.operations_max = std::numeric_limits<uint64_t>::max();
  out.queue_requests = options.queue_requests != 0
                           ? options.queue_requests
                           : std::max(out.queue_requests, options.transaction_clients);
  out.queue_queries = std::max(out.queue_queries, options.query_clients);
  return out;
}

void add_words(const std::string& words, std::vector<std::string>* list) {
  if (list->size() < kWordsMax) list->push_back(words);
}

// Adds what was found, or why it could not be checked; false where the check was stopped.
bool add_consistency(std::string_view side, const Result<tpcc::ConsistencyReport>& checked,
                     uint64_t* violated, Checks* checks) {
  if (!checked) {
    if (checked.code() == ErrorCode::kCancelled) return false;
    ++*violated;
    add_words(fmt::format("{}: {}", side, checked.error().to_string()), &checks->violations);
    return true;
  }
  *violated += checked->conditions_violated();
  for (const std::string& words : checked->first) {
    add_words(fmt::format("{}: {}", side, words), &checks->violations);
  }
  return true;
}

// Of a database that was discarded.
std::string left_at(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path + "/manifest.json", ignored) ? "what was saved before is left"
                                                                   : "nothing of it was kept";
}

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const SessionOptions& options, const StopFlag& stop,
                                               const Progress& progress) {
  if (auto checked = check_options(options); !checked) return checked.error();
  auto database = dispatcher::Database::open(database_options(options));
  if (!database) return database.error();
  std::unique_ptr<Session> session(new Session());
  session->options_ = options;
  session->database_ = std::move(*database);
  if (auto prepared = session->prepare(stop, progress); !prepared) {
    static_cast<void>(session->database_->discard());
    return prepared.error();
  }
  return session;
}

Result<void> Session::prepare(const StopFlag& stop, const Progress& progress) {
  if (auto created = tpcc::create_tables(database_.get()); !created) return created.error();
  if (auto attached = attach(); !attached) return attached;
  try_queries();
  const uint64_t begin = base::steady_ns();
  auto loaded = tpcc::load(database_.get(), tables_, options_.seed,
                           static_cast<int32_t>(options_.warehouses), stop, progress);
  load_seconds_ = static_cast<double>(base::steady_ns() - begin) * 1e-9;
  return loaded;
}

Result<std::unique_ptr<Session>> Session::reopen(const SessionOptions& options) {
  dispatcher::DatabaseOptions existing = database_options(options);
  existing.mode = dispatcher::OpenMode::kOpen;
  auto database = dispatcher::Database::open(existing);
  if (!database) return database.error();
  std::unique_ptr<Session> session(new Session());
  session->options_ = options;
  session->database_ = std::move(*database);
  if (auto attached = session->attach(); !attached) return attached.error();
  return session;
}

Result<void> Session::attach() {
  auto tables = tpcc::bind_tables(*database_);
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

Result<tpcc::ConsistencyReport> Session::check_oltp(const StopFlag& stop) const {
  return consistency_.check(static_cast<int32_t>(options_.warehouses), options_.size, stop);
}

Checks Session::verify(const StopFlag& stop_flag, const Progress& progress) const {
  static const StopFlag never{false};
  const StopFlag& stop = stopped(stop_flag) ? never : stop_flag;
  Checks checks;
  uint64_t violated = 0;
  progress("checking consistency on the OLTP replica", -1);
  if (!add_consistency("OLTP replica", check_oltp(stop), &violated, &checks)) return checks;
  if (options_.export_updates) {
    progress("checking consistency on the OLAP replica", -1);
    const auto olap = tpcc::check_olap_consistency(database_.get(), options_.size, stop);
    if (!add_consistency("OLAP replica", olap, &violated, &checks)) return checks;
  }
  checks.consistency_violations = violated;
  if (!options_.export_updates) return checks;
  progress("comparing the replicas", -1);
  if (stopped(stop)) return checks;
  const auto compared = database_->compare_replicas();
  checks.replica_differences = compared ? compared->differences : 1;
  if (!compared) {
    add_words(compared.error().to_string(), &checks.differences);
    return checks;
  }
  for (const dispatcher::ReplicaDifference& difference : compared->first) {
    add_words(fmt::format("table {}, row {}: {}", difference.table, difference.row_id.value,
                          difference.what),
              &checks.differences);
  }
  return checks;
}

Checks Session::finish(const StopFlag& stop, const Progress& progress) {
  if (const auto open = database_->row_count(base::TableId(0));
      !open && open.code() == ErrorCode::kClosed) {
    Checks given_up;
    given_up.close_error = "its log waited for space on the disk; " + left_at(options_.keep_path);
    return given_up;
  }
  Checks checks = verify(stop, progress);
  progress("closing the database", -1);
  checks.close_error = close_or_discard(database_.get(), options_.keep_path, options_.log);
  return checks;
}

std::string close_or_discard(dispatcher::Database* database, const std::string& path,
                             dispatcher::LogMode log) {
  const auto closed = database->close();
  if (closed) return {};
  if (!path.empty() && log != dispatcher::LogMode::kNone) {
    return closed.error().to_string() + "; the database is left with its log, which has the rest";
  }
  // Else its files would be there, without what the transactions did since the load.
  static_cast<void>(database->discard());
  return closed.error().to_string() + (path.empty() ? "" : "; " + left_at(path));
}

void Session::report_size(BenchmarkReport* report) const {
  const dispatcher::Metrics metrics = database_->metrics();
  report->oltp_bytes = metrics.oltp_memory_bytes;
  report->olap_bytes = metrics.olap_memory_bytes;
  report->metrics_text = database_->metrics_text();
  for (const base::TableSchema& table : database_->catalog().tables()) {
    if (auto rows = database_->row_count(table.id)) report->table_rows[table.name] = *rows;
  }
}

}  // namespace diptych::workloads
