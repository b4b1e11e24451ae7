// Metrics: one registry, three faces, and a page that lists what there is.

#include <algorithm>
#include <chrono>
#include <fstream>
#include <future>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "dispatcher/metric_registry.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

// As docs/metrics.md has it.
std::string documented(const MetricDefinition& metric) {
  std::string name = fmt::format("`{}`", metric.name);
  if (!metric.label.empty()) name += fmt::format(" by `{}`", metric.label);
  return fmt::format("| {} | {} | {} | {} |", name, metric_kind_name(metric.kind), metric.unit,
                     metric.help);
}

std::unique_ptr<Bank> busy_bank(int32_t accounts) {
  auto bank = Bank::open({.partitions = 2});
  bank->fill(accounts);
  for (int32_t i = 0; i + 1 < accounts; ++i) {
    EXPECT_TRUE(bank->database->call(bank->transfer, {i, i + 1, 100}).get());
  }
  EXPECT_EQ(bank->database->call(bank->transfer, {0, 1, 1'000'000}).get().code(),
            base::ErrorCode::kAborted);
  EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), accounts);
  return bank;
}

double metric(Database* database, const std::string& name, const std::string& label) {
  auto result = database->query(
      "SELECT value FROM diptych_metrics WHERE name = $1 AND coalesce(label, '') = $2",
      {name, label});
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  EXPECT_EQ(result->rows.size(), 1u) << name << " " << label;
  return result->rows.empty() ? -1 : std::get<double>(result->rows[0][0]);
}

TEST(MetricRegistry, NamesAreUniqueAndEndInTheirUnit) {
  std::set<std::string_view> names;
  for (const MetricDefinition& metric : metric_definitions()) {
    EXPECT_TRUE(names.insert(metric.name).second) << metric.name;
    EXPECT_TRUE(metric.name.starts_with("diptych_")) << metric.name;
    EXPECT_EQ(metric.name.ends_with("_total"), metric.kind == MetricKind::kCounter) << metric.name;
    for (const char* unit : {"seconds", "bytes"}) {
      const bool named =
          metric.name.ends_with(unit) || metric.name.ends_with(fmt::format("{}_total", unit));
      EXPECT_EQ(named, metric.unit == unit) << metric.name;
    }
    EXPECT_EQ(metric.histogram != nullptr, metric.kind == MetricKind::kHistogram) << metric.name;
    EXPECT_NE(metric.histogram != nullptr, metric.number != nullptr) << metric.name;
    EXPECT_EQ(metric.label.empty(), metric.label_values.empty()) << metric.name;
    EXPECT_FALSE(metric.help.empty()) << metric.name;
  }
}

TEST(MetricRegistry, TheDocumentListsWhatThereIs) {
  std::ifstream file(std::string(DIPTYCH_SOURCE_DIR) + "/docs/metrics.md");
  ASSERT_TRUE(file.is_open());
  std::vector<std::string> listed;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("| `diptych_")) listed.push_back(line);
  }
  std::vector<std::string> wanted;
  for (const MetricDefinition& metric : metric_definitions()) wanted.push_back(documented(metric));
  ASSERT_EQ(listed.size(), wanted.size());
  for (size_t i = 0; i < listed.size(); ++i) EXPECT_EQ(listed[i], wanted[i]);
}

TEST(MetricRegistry, LabelsNameEachPartOfMemoryAndEachError) {
  for (const MetricDefinition& metric : metric_definitions()) {
    std::set<std::string_view> values(metric.label_values.begin(), metric.label_values.end());
    EXPECT_EQ(values.size(), metric.label_values.size()) << metric.name;
    EXPECT_EQ(values.count("unknown error"), 0u) << "kErrorCodes is the number of codes";
  }
}

TEST(Metrics, StructSqlAndTextAgreeOnWhatHappened) {
  auto bank = busy_bank(50);
  Database& database = *bank->database;
  const Metrics metrics = database.metrics();
  EXPECT_EQ(metrics.transactions_committed, 49u);
  EXPECT_EQ(metrics.transactions_aborted, 1u);
  EXPECT_EQ(metrics.calls_failed[static_cast<size_t>(base::ErrorCode::kAborted)], 1u);
  EXPECT_EQ(metrics.batch_calls.sum(), 50u + metrics.conflicts);
  EXPECT_EQ(metrics.batch_calls.count(), metrics.transaction_batches);
  EXPECT_EQ(metric(&database, "diptych_transactions_committed_total", ""), 49);
  EXPECT_EQ(metric(&database, "diptych_calls_failed_total", "aborted"), 1);
  EXPECT_EQ(metric(&database, "diptych_calls_failed_total", "conflict"), 0);
  EXPECT_EQ(metric(&database, "diptych_transaction_batch_calls", "sum"), 50);
  EXPECT_GE(metric(&database, "diptych_call_wait_seconds", "p99"),
            metric(&database, "diptych_call_wait_seconds", "p50"));
  const std::string text = database.metrics_text();
  EXPECT_NE(text.find("\ndiptych_transactions_committed_total 49\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\ndiptych_calls_failed_total{reason=\"aborted\"} 1\n"), std::string::npos);
}

// A call whose time is over when the load lets its batch pass.
TEST(Metrics, ABatchThatDidNotRunIsNone) {
  const auto bank = Bank::open({});
  Database& database = *bank->database;
  std::promise<void> holds;
  std::promise<void> may_end;
  auto loaded = std::async(std::launch::async, [&] {
    return database.load(bank->accounts.table, [&]() -> RowBatch {
      holds.set_value();
      may_end.get_future().wait();
      return {};
    });
  });
  holds.get_future().wait();
  auto late = database.call(bank->bump, {.id = 1, .balance = {}}, {.timeout_ns = 1'000'000});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  may_end.set_value();
  EXPECT_EQ(late.get().code(), base::ErrorCode::kDeadlineExceeded);
  EXPECT_TRUE(loaded.get().ok());
  const Metrics metrics = database.metrics();
  EXPECT_EQ(metrics.transaction_batches, 0u);
  EXPECT_EQ(metrics.batch_calls.count(), 0u);
  EXPECT_EQ(metrics.batch_ns.count(), 0u);
  EXPECT_EQ(metrics.call_wait_ns.count(), 0u);
}

TEST(Metrics, CompactionIsAPartOfEachRunOfTheApplier) {
  const auto bank = busy_bank(200);
  const Metrics metrics = bank->database->metrics();
  EXPECT_GT(metrics.apply_runs, 0u);
  EXPECT_EQ(metrics.compact_ns.count(), metrics.apply_runs);
  EXPECT_GT(metrics.compact_ns.sum(), 0u);
  EXPECT_LT(metrics.compact_ns.sum(), metrics.apply_ns.sum());
}

TEST(Metrics, PartsOfMemoryAreThereAndSumUpToTheSides) {
  auto bank = busy_bank(3000);
  const Metrics metrics = bank->database->metrics();
  EXPECT_GT(metrics.memory.rows, 3000 * sizeof(Account));
  EXPECT_GT(metrics.memory.indexes, 3000 * sizeof(int32_t));
  EXPECT_GT(metrics.memory.undo, 0u);
  EXPECT_GT(metrics.memory.replica.page_bytes + metrics.memory.replica.block_bytes,
            3000 * sizeof(int32_t));
  EXPECT_GT(metrics.memory.replica_indexes, 0u);
  EXPECT_EQ(metrics.olap_memory_bytes,
            metrics.memory.replica.memory_bytes() + metrics.memory.replica_indexes);
  EXPECT_EQ(metric(bank->database.get(), "diptych_memory_bytes", "rows"),
            static_cast<double>(metrics.memory.rows));
}

TEST(Metrics, TheBacklogIsWhatTheReplicaDoesNotShow) {
  auto bank = Bank::open({.partitions = 2, .apply_interval_ns = 3'600'000'000'000});
  bank->fill(2);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(bank->database->call(bank->transfer, {0, 1, 1}).get());
  }
  Metrics behind = bank->database->metrics();
  EXPECT_EQ(behind.backlog_vids(), 5u);
  EXPECT_GT(behind.backlog_ns, 0u);
  EXPECT_GT(behind.pending_update_bytes, 0u);
  EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), 2);  // brings it up to date
  behind = bank->database->metrics();
  EXPECT_EQ(behind.backlog_vids(), 0u);
  EXPECT_EQ(behind.backlog_ns, 0u);
  EXPECT_EQ(behind.pending_update_bytes, 0u);
}

TEST(Metrics, TheSystemTableWorksInJoinsFiltersAndGroupings) {
  auto bank = busy_bank(3);
  auto joined = bank->database->query(
      "SELECT m.kind, count(*) FROM diptych_metrics AS m JOIN account AS a ON a.id = 1 "
      "WHERE m.unit = 'bytes' AND m.value >= 0 GROUP BY m.kind ORDER BY m.kind");
  ASSERT_TRUE(joined.ok()) << joined.error().to_string();
  ASSERT_EQ(joined->rows.size(), 2u);
  EXPECT_EQ(base::to_string(joined->rows[0][0]), "counter");
  EXPECT_EQ(base::to_string(joined->rows[1][0]), "gauge");
  auto all = bank->database->query("SELECT * FROM diptych_metrics ORDER BY name, label");
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->columns.size(), metric_columns().size());
  EXPECT_EQ(all->rows.size(), metric_rows(Metrics()).size());
  auto wrong = bank->database->query("SELECT 1 FROM diptych_metric");
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("diptych_metrics"), std::string::npos)
      << wrong.error().to_string();
}

TEST(Metrics, NoTableTakesTheNameOfTheSystemTable) {
  auto bank = Bank::open({});
  for (const char* const name : {"diptych_metrics", "\"diptych_metrics\"", "DIPTYCH_METRICS"}) {
    const auto refused = bank->database->execute_ddl(
        fmt::format("CREATE TABLE {} (id INT NOT NULL, PRIMARY KEY (id))", name));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().sqlstate(), "42939") << refused.error().to_string();
  }
  EXPECT_GT(*bank->number("SELECT count(*) FROM diptych_metrics"), 0);
}

// What a scraper of Prometheus' format requires: HELP and TYPE before the samples of each name,
// buckets that only grow, and the last one the count.
TEST(Metrics, TheTextIsWhatPrometheusReads) {
  auto bank = busy_bank(20);
  std::istringstream text(bank->database->metrics_text());
  std::map<std::string, std::string> types;
  std::map<std::string, double> last_bucket;
  std::string sampled;
  size_t samples = 0;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("# HELP ")) continue;
    if (line.starts_with("# TYPE ")) {
      const size_t space = line.rfind(' ');
      types[line.substr(7, space - 7)] = line.substr(space + 1);
      continue;
    }
    ++samples;
    const size_t end = line.find_first_of("{ ");
    std::string name = line.substr(0, end);
    const double value = std::stod(line.substr(line.rfind(' ') + 1));
    EXPECT_GE(value, 0) << line;
    for (const std::string suffix : {"_bucket", "_sum", "_count"}) {
      const std::string base_name =
          name.substr(0, name.size() - std::min(name.size(), suffix.size()));
      if (!name.ends_with(suffix) || types[base_name] != "histogram") continue;
      if (suffix == "_bucket") {
        EXPECT_GE(value, last_bucket[base_name]) << line;
        last_bucket[base_name] = value;
      } else if (suffix == "_count") {
        EXPECT_EQ(value, last_bucket[base_name]) << line;
      }
      name = base_name;
      break;
    }
    EXPECT_EQ(types.count(name), 1u) << line;
  }
  EXPECT_EQ(types.size(), metric_definitions().size());
  EXPECT_GT(samples, types.size());
}

TEST(MetricsStress, AreReadWhileEverythingRuns) {
  auto bank = Bank::open({.partitions = 2});
  bank->fill(10);
  std::atomic<bool> stop{false};
  std::thread reader([&] {
    // relaxed: only ends the loop.
    while (!stop.load(std::memory_order_relaxed)) {
      EXPECT_FALSE(bank->database->metrics_text().empty());
      EXPECT_TRUE(bank->database->query("SELECT sum(value) FROM diptych_metrics").ok());
    }
  });
  for (int i = 0; i < 300; ++i) {
    EXPECT_TRUE(bank->database->call(bank->transfer, {i % 10, (i + 1) % 10, 1}).get());
  }
  // relaxed: as above.
  stop.store(true, std::memory_order_relaxed);
  reader.join();
}

}  // namespace
}  // namespace diptych::dispatcher
