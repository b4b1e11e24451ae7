// The soak: what a database meets in a long life, all at once and of constant size. TPC-C; the 22
// queries of CH; a join that takes too long, in the long lane; loads of a batch of rows each, and
// transactions that erase an old batch; a table and an index now and then; checkpoints; backups.
//
// A batch of rows is there with all of its rows, or with none. Batches are loaded and erased in the
// order of their numbers, so that what is there are all from one to another.

#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <thread>

#include <boost/describe.hpp>
#include <fmt/format.h>

#include "tests/crash/workload.h"
#include "workloads/queries/catalog.h"

namespace diptych::crash {
namespace {

using base::ErrorCode;
using base::Result;
using dispatcher::Database;
using dispatcher::Nothing;
using dispatcher::Transaction;

constexpr int32_t kBatchRows = 2000;
constexpr int32_t kBatchesKept = 3;
constexpr std::chrono::seconds kTablePause{20};
constexpr int64_t kTablesKept = 5;  // of those that are made
constexpr int32_t kMadeRows = 2000;
constexpr uint64_t kLongQueryNs = 100'000'000;
constexpr uint64_t kLongTimeoutNs = 3'000'000'000;

struct LoadedRow {
  int32_t batch = 0;
  int32_t number = 0;
  base::Varchar<40> text;
};
BOOST_DESCRIBE_STRUCT(LoadedRow, (), (batch, number, text))

struct MadeRow {
  int32_t a = 0;
  base::Nullable<base::Varchar<20>> b;
};
BOOST_DESCRIBE_STRUCT(MadeRow, (), (a, b))

struct EraseBatch {
  int32_t batch = 0;
};
BOOST_DESCRIBE_STRUCT(EraseBatch, (), (batch))

Result<int64_t> first_integer(Database* database, const std::string& sql) {
  auto result = database->query(sql);
  if (!result) return result.error();
  const base::Value& value = result->rows.at(0).at(0);
  return base::is_null(value) ? 0 : std::get<int64_t>(value);
}

class SoakWorkload : public Workload {
 public:
  explicit SoakWorkload(std::string backup) : backup_(std::move(backup)) {}

  Result<void> create(Database* database) override {
    if (auto created = tpcc_->create(database); !created) return created;
    return database->execute_ddl(
        "CREATE TABLE loaded (batch INT NOT NULL, number INT NOT NULL, text VARCHAR(40) NOT NULL, "
        "PRIMARY KEY (batch, number)) WITH (primary_index = ordered);");
  }

  Result<void> attach(Database* database) override {
    database_ = database;
    if (auto attached = tpcc_->attach(database); !attached) return attached;
    auto table = database->bind_table<LoadedRow>("loaded");
    if (!table) return table.error();
    table_ = table->table;
    auto by_key = database->bind_index<&LoadedRow::batch, &LoadedRow::number>("loaded_pkey");
    if (!by_key) return by_key.error();
    auto erase = database->register_procedure<EraseBatch, Nothing>(
        "erase_batch",
        [by_key = *by_key](Transaction& txn, const EraseBatch& order) -> Result<Nothing> {
          for (int32_t number = 0; number < kBatchRows; ++number) {
            auto row = txn.get_for_update(by_key, order.batch, number);
            if (!row) return row.error();
            txn.erase(*row);
          }
          return Nothing{};
        });
    if (!erase) return erase.error();
    erase_ = *erase;
    return {};
  }

  Result<void> run_client(size_t client, uint64_t seed, AckBoard* board) override {
    return tpcc_->run_client(client, seed, board);
  }

  size_t beside() const override { return kSoakThreads; }
  Result<void> run_beside(size_t which, uint64_t seed, AckBoard* board) override {
    switch (which) {
      case kSoakQueries: return run_queries(board);
      case kSoakLongQueries: return run_long_queries(board);
      case kSoakLoads: return run_loads(board);
      case kSoakCheckpoints: return run_checkpoints(seed, board);
      case kSoakBackups: return run_backups(seed, board);
      default: return make_tables(board);
    }
  }

  Result<void> check(const Told& told, Findings* findings) override {
    if (auto checked = tpcc_->check(told, findings); !checked) return checked;
    for (size_t i = 0; i < kThingsMax; ++i) newest_[i] = std::max(newest_[i], told.newest[i]);
    check_tables(findings);
    return check_batches(findings);
  }

  dispatcher::DatabaseOptions options() const override {
    dispatcher::DatabaseOptions options = tpcc_->options();
    options.long_query_ns = kLongQueryNs;
    return options;
  }
  uint64_t milliseconds_max() const override { return 30'000; }

 private:
  Result<void> run_queries(AckBoard* board) {
    std::vector<std::string> texts;
    for (const workloads::NamedQuery& query : workloads::catalog(workloads::QuerySet::kCh)) {
      texts.emplace_back(query.text);
    }
    while (true) {
      for (const auto& result : database_->query_batch(texts)) {
        if (!result) return result.error();
        board->count(kSoakQueries);
      }
    }
  }

  // Ends by its timeout, if the process lives so long.
  Result<void> run_long_queries(AckBoard* board) {
    while (true) {
      auto running = database_->start_query(
          "SELECT count(*) FROM orderline a JOIN orderline b ON a.ol_d_id = b.ol_d_id "
          "WHERE a.ol_amount < b.ol_amount",
          {.timeout_ns = kLongTimeoutNs});
      if (!running) return running.error();
      const auto result = running->get();
      if (!result && result.code() != ErrorCode::kDeadlineExceeded) return result.error();
      board->count(kSoakLongQueries);
    }
  }

  Result<void> run_loads(AckBoard* board) {
    auto newest = first_integer(database_, "SELECT max(batch) FROM loaded");
    auto oldest = first_integer(database_, "SELECT min(batch) FROM loaded");
    if (!newest || !oldest) return newest ? oldest.error() : newest.error();
    auto first = static_cast<int32_t>(*oldest);
    for (auto batch = static_cast<int32_t>(*newest) + 1;; ++batch) {
      if (auto loaded = load(batch); !loaded) return loaded;
      board->count(kSoakLoads, batch);
      for (; first <= batch - kBatchesKept; ++first) {
        const auto erased = database_->call(erase_, {first}).get();
        if (!erased && erased.code() != ErrorCode::kNotFound) return erased.error();
        if (erased) board->count(kSoakErasures, first);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }

  Result<void> load(int32_t batch) {
    std::vector<LoadedRow> rows;
    for (int32_t number = 0; number < kBatchRows; ++number)
      rows.push_back({batch, number, {"loaded"}});
    bool given = false;
    auto loaded = database_->load(table_, [&]() -> Result<dispatcher::RowBatch> {
      if (std::exchange(given, true)) return dispatcher::RowBatch{};
      return dispatcher::RowBatch{reinterpret_cast<const std::byte*>(rows.data()), rows.size()};
    });
    if (!loaded) return loaded.error();
    return {};
  }

  Result<void> run_checkpoints(uint64_t seed, AckBoard* board) {
    std::mt19937_64 random(seed);
    while (true) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 3000));
      if (auto done = database_->checkpoint(); !done) return done;
      board->count(kSoakCheckpoints);
    }
  }

  // At least one, so that the last that is whole is never far behind.
  Result<void> run_backups(uint64_t seed, AckBoard* board) {
    namespace fs = std::filesystem;
    std::mt19937_64 random(seed);
    const std::string making = backup_ + ".new";
    while (true) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 10'000));
      fs::remove_all(making);
      board->begin_backup();
      if (auto done = database_->backup(making); !done) return done.error();
      fs::remove_all(backup_);
      fs::rename(making, backup_);
      board->end_backup();
      board->count(kSoakBackups);
    }
  }

  Result<void> make_tables(AckBoard* board) {
    while (true) {
      const auto number = static_cast<int64_t>(database_->catalog().table_count());
      auto made = database_->execute_ddl(fmt::format(
          "CREATE TABLE t{0} (a INT NOT NULL PRIMARY KEY, b VARCHAR(20)); CREATE INDEX t{0}_b ON "
          "t{0} (b, a);",
          number));
      if (!made) return made;
      board->count(kSoakTables, number);
      if (auto loaded = load_made(number); !loaded) return loaded;
      auto dropped =
          database_->execute_ddl(fmt::format("DROP TABLE IF EXISTS t{}", number - kTablesKept));
      if (!dropped) return dropped;
      std::this_thread::sleep_for(kTablePause);
    }
  }

  Result<void> load_made(int64_t number) {
    std::vector<MadeRow> rows;
    for (int32_t a = 0; a < kMadeRows; ++a) rows.push_back({a, base::Varchar<20>("made")});
    bool given = false;
    auto loaded = database_->load(
        database_->catalog().find_table(fmt::format("t{}", number))->id,
        [&]() -> Result<dispatcher::RowBatch> {
          if (std::exchange(given, true)) return dispatcher::RowBatch{};
          return dispatcher::RowBatch{reinterpret_cast<const std::byte*>(rows.data()), rows.size()};
        });
    return loaded ? Result<void>() : loaded.error();
  }

  // They have the numbers that follow that of `loaded`. One of which nobody was told may have no
  // index: each statement is whole, not both. Nor is it known of the next two to go whether they
  // have, of a backup before which more came than its count says.
  void check_tables(Findings* findings) {
    const base::Catalog& catalog = database_->catalog();
    const auto last = newest_[kSoakTables];
    for (int64_t number = int64_t{table_.value} + 1; number <= last; ++number) {
      const base::TableSchema* const table = catalog.find_table(fmt::format("t{}", number));
      const int64_t age = last - number;
      if (age == kTablesKept || age == kTablesKept - 1) continue;
      const bool should_be_there = age < kTablesKept;
      const bool is_whole = table != nullptr && (age != 0 || table->indexes.size() == 2);
      if (should_be_there ? is_whole : table == nullptr) continue;
      ++findings->lost;
      findings->words.push_back(
          fmt::format("table t{} {}", number,
                      should_be_there ? "or its index is not there" : "is there, and was dropped"));
    }
  }

  Result<void> check_batches(Findings* findings) {
    auto batches = database_->query("SELECT batch, count(*) FROM loaded GROUP BY batch");
    if (!batches) return batches.error();
    std::map<int64_t, int64_t> rows;
    for (const auto& row : batches->rows) {
      rows[std::get<int64_t>(row[0])] = std::get<int64_t>(row[1]);
    }
    const int64_t last = std::max(newest_[kSoakLoads], rows.empty() ? 0 : rows.rbegin()->first);
    const int64_t first = rows.empty() ? newest_[kSoakErasures] + 1 : rows.begin()->first;
    if (first <= newest_[kSoakErasures]) {
      ++findings->lost;
      findings->words.push_back(fmt::format("batch {} is there, {} and those before were erased",
                                            first, newest_[kSoakErasures]));
    }
    // One erasure may have come that nobody was told of.
    if (first > newest_[kSoakErasures] + 2) {
      ++findings->lost;
      findings->words.push_back(fmt::format(
          "batch {} is the first, {} and those before were erased", first, newest_[kSoakErasures]));
    }
    newest_[kSoakErasures] = std::max(newest_[kSoakErasures], first - 1);
    for (int64_t batch = first; batch <= last; ++batch) {
      const int64_t there = rows[batch];
      if (there == kBatchRows) continue;
      ++(there == 0 ? findings->lost : findings->half_done);
      findings->words.push_back(fmt::format("batch {} has {} rows", batch, there));
    }
    return {};
  }

  const std::unique_ptr<Workload> tpcc_ = make_tpcc(workloads::SizePolicy::kConstant);
  Database* database_ = nullptr;
  const std::string backup_;
  std::array<int64_t, kThingsMax> newest_ = {};  // ever acknowledged
  base::TableId table_;
  dispatcher::ProcedureRef<EraseBatch, Nothing> erase_;
};

}  // namespace

std::unique_ptr<Workload> make_soak(const std::string& backup) {
  return std::make_unique<SoakWorkload>(backup);
}

}  // namespace diptych::crash
