// The soak: what a database meets in a long life, all at once and of constant size. TPC-C; the 22
// queries of CH; a join that takes too long, in the long lane; loads of a batch of rows each, and
// transactions that erase an old batch; a table and an index now and then; checkpoints; backups.
//
// A batch of rows is there with all of its rows, or with none. Batches are loaded and erased in the
// order of their numbers, so that what is there are all from one to another. So are tables made and
// dropped: a life first ends what the one before it had begun.

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
    for (size_t i = 0; i < kThingsMax; ++i) {
      newest_[i] = std::max(newest_[i], told.newest[i]);
      asked_[i] = std::max(asked_[i], told.asked[i]);
    }
    if (auto checked = check_tables(findings); !checked) return checked;
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
        board->ask(kSoakErasures, first);
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
    return load_rows(table_, rows);
  }

  Result<void> run_checkpoints(uint64_t seed, AckBoard* board) {
    std::mt19937_64 random(seed);
    while (true) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 3000));
      if (auto done = database_->checkpoint(); !done) return done;
      board->count(kSoakCheckpoints);
    }
  }

  // At least one, so that the last that is whole is never far behind. One that is being removed has
  // another name: what has the name is whole.
  Result<void> run_backups(uint64_t seed, AckBoard* board) {
    namespace fs = std::filesystem;
    std::mt19937_64 random(seed);
    const std::string making = backup_ + ".new";
    const std::string going = backup_ + ".old";
    while (true) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 10'000));
      for (const std::string& left : {making, going}) fs::remove_all(left);
      board->begin_backup();
      if (auto done = database_->backup(making); !done) return done.error();
      if (fs::exists(backup_)) fs::rename(backup_, going);
      fs::rename(making, backup_);
      board->end_backup();
      board->count(kSoakBackups);
    }
  }

  // They have the numbers that follow that of `loaded`. What the last life may have left half done
  // comes first: its newest table, and then all that are to be dropped.
  Result<void> make_tables(AckBoard* board) {
    const base::Catalog& catalog = database_->catalog();
    const int64_t first = int64_t{table_.value} + 1;
    auto number = static_cast<int64_t>(catalog.table_count());
    auto oldest = first;
    while (oldest < number && catalog.find_table(fmt::format("t{}", oldest)) == nullptr) ++oldest;
    if (number > first) {
      if (auto ended = make_table(number - 1); !ended) return ended;
    }
    for (;; ++number) {
      if (auto made = make_table(number); !made) return made;
      board->count(kSoakTables, number);
      for (; oldest <= number - kTablesKept; ++oldest) {
        board->ask(kSoakDrops, oldest);
        auto dropped = database_->execute_ddl(fmt::format("DROP TABLE t{}", oldest));
        if (!dropped) return dropped;
        board->count(kSoakDrops, oldest);
      }
      std::this_thread::sleep_for(kTablePause);
    }
  }

  // What of it is missing: each statement is whole, and so is the load, but not all together.
  Result<void> make_table(int64_t number) {
    const std::string name = fmt::format("t{}", number);
    const bool is_new = database_->catalog().find_table(name) == nullptr;
    auto made = database_->execute_ddl(
        fmt::format("CREATE TABLE IF NOT EXISTS t{0} (a INT NOT NULL PRIMARY KEY, b VARCHAR(20)); "
                    "CREATE INDEX IF NOT EXISTS t{0}_b ON t{0} (b, a);",
                    number));
    if (!made) return made;
    // A new one needs no query, which would wait for those that run.
    if (!is_new) {
      auto there = first_integer(database_, "SELECT count(*) FROM " + name);
      if (!there) return there.error();
      if (*there != 0) return {};
    }
    std::vector<MadeRow> rows;
    for (int32_t a = 0; a < kMadeRows; ++a) rows.push_back({a, base::Varchar<20>("made")});
    return load_rows(database_->catalog().find_table(name)->id, rows);
  }

  // In one batch.
  template <typename Row>
  Result<void> load_rows(base::TableId table, const std::vector<Row>& rows) {
    bool given = false;
    auto loaded = database_->load(table, [&]() -> Result<dispatcher::RowBatch> {
      if (std::exchange(given, true)) return dispatcher::RowBatch{};
      return dispatcher::RowBatch{reinterpret_cast<const std::byte*>(rows.data()), rows.size()};
    });
    return loaded ? Result<void>() : loaded.error();
  }

  // One whose making was answered is whole until a DROP is asked for, and gone once that is
  // answered. In between it may be gone or whole.
  Result<void> check_tables(Findings* findings) {
    const auto lose = [&](const std::string& what) {
      ++findings->lost;
      findings->words.push_back(what);
    };
    for (int64_t number = int64_t{table_.value} + 1; number <= newest_[kSoakTables]; ++number) {
      const auto* const table = database_->catalog().find_table(fmt::format("t{}", number));
      if (table == nullptr) {
        if (number > asked_[kSoakDrops]) lose(fmt::format("table t{} is not there", number));
        continue;
      }
      if (number <= newest_[kSoakDrops]) {
        lose(fmt::format("table t{} is there, and was dropped", number));
        continue;
      }
      auto rows = first_integer(database_, fmt::format("SELECT count(*) FROM t{}", number));
      if (!rows) return rows.error();
      if (table->indexes.size() == 2 && *rows == kMadeRows) continue;
      lose(fmt::format("table t{} has {} indexes and {} rows", number, table->indexes.size(),
                       *rows));
    }
    return {};
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
    if (first > asked_[kSoakErasures] + 1) {
      ++findings->lost;
      findings->words.push_back(fmt::format("batch {} is the first, {} was the last to be erased",
                                            first, asked_[kSoakErasures]));
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
  std::array<int64_t, kThingsMax> asked_ = {};   // ever
  base::TableId table_;
  dispatcher::ProcedureRef<EraseBatch, Nothing> erase_;
};

}  // namespace

std::unique_ptr<Workload> make_soak(const std::string& backup) {
  return std::make_unique<SoakWorkload>(backup);
}

}  // namespace diptych::crash
