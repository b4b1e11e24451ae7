// power_cut: cuts the power of a disk at a random moment of a database's life, opens what the disk
// would still have, looks for what is missing, and begins again on that.
//
//   watch ─► open, replay, check ─► clients call; checkpoints, DDL, loads ─► end
//                     power cut: at any moment of it │
//                                                    └─► what is left: the next round's database
//
// Client i adds 1 to its own account and to that account's twin, in one transaction, again and
// again: what it was told is a number. Loads add accounts of their own.

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/describe.hpp>
#include <fmt/format.h>

#include "dispatcher/database.h"
#include "tests/crash/power_cut_disk.h"

namespace diptych::crash {
namespace {

using base::Result;
using dispatcher::Database;
using dispatcher::IndexRef;
using dispatcher::LogMode;
using dispatcher::Nothing;
using dispatcher::Transaction;

constexpr int32_t kCallers = 4;
constexpr int32_t kTwin = 100;
constexpr int32_t kLoaded = 1000;  // accounts of loads from here on

struct Account {
  int32_t id = 0;
  int64_t count = 0;
  base::Varchar<40> text;
};
BOOST_DESCRIBE_STRUCT(Account, (), (id, count, text))

struct Add {
  int32_t id = 0;
};
BOOST_DESCRIBE_STRUCT(Add, (), (id))

struct Arguments {
  uint64_t rounds = 20;
  uint64_t seed = 1;
  std::string directory;
  MissingSync missing = MissingSync::kNone;
};

struct Totals {
  uint64_t acknowledged = 0;
  uint64_t lost = 0;
  uint64_t half_done = 0;
  uint64_t replica_differences = 0;
  uint64_t undecided = 0;
};

// What somebody was told, as the power goes.
struct Told {
  int64_t counts[kCallers] = {};
  int64_t loads = 0;
  int64_t tables = 0;
};

struct Asked {
  std::atomic<int64_t> counts[kCallers] = {};  // writers: the clients; told of
  std::atomic<int64_t> loads{0};               // writer: the thread of loads and DDL
  std::atomic<int64_t> tables{0};              // likewise
  Told now() const {
    Told told;
    for (int32_t i = 0; i < kCallers; ++i) told.counts[i] = counts[i];
    told.loads = loads;
    told.tables = tables;
    return told;
  }
};

// The database and what is done with it until it is told to stop.
class Life {
 public:
  Life(dispatcher::DatabaseOptions options, Told told, Totals* totals, uint64_t seed)
      : options_(std::move(options)), told_(told), totals_(totals), random_(seed) {
    for (int32_t i = 0; i < kCallers; ++i) asked_.counts[i] = told.counts[i];
    asked_.loads = told.loads;
    asked_.tables = told.tables;
  }

  const Asked& asked() const { return asked_; }
  void stop() { stops_ = true; }
  const std::string& failure() const { return failure_; }  // once run() has ended

  void run() {
    if (auto done = live(); !done && !stops_) failure_ = done.error().to_string();
    if (database_ != nullptr) database_->discard();
  }

 private:
  Result<void> live() {
    auto opened = Database::open(options_);
    if (!opened) return fail(opened.error());
    database_ = std::move(*opened);
    if (auto bound = bind(); !bound) return fail(bound.error());
    if (auto recovered = database_->recover(); !recovered) return fail(recovered.error());
    if (auto checked = check(); !checked) return fail(checked.error());
    std::vector<std::thread> threads;
    for (int32_t i = 0; i < kCallers; ++i) threads.emplace_back([this, i] { call(i); });
    threads.emplace_back([this] { change(); });
    for (std::thread& thread : threads) thread.join();
    return {};
  }
  // An error of these counts, also where it comes late.
  Result<void> fail(const base::Error& error) {
    failure_ = error.to_string();
    return error;
  }

  Result<void> bind() {
    auto accounts = database_->bind_table<Account>("account");
    if (!accounts) return accounts.error();
    accounts_ = accounts->table;
    auto by_id = database_->bind_index<&Account::id>("account_pkey");
    if (!by_id) return by_id.error();
    auto add = database_->register_procedure<Add, Nothing>(
        "add", [by_id = *by_id](Transaction& txn, const Add& order) -> Result<Nothing> {
          for (const int32_t id : {order.id, order.id + kTwin}) {
            auto row = txn.get_for_update<&Account::count>(by_id, id);
            if (!row) return row.error();
            txn.update(*row, dispatcher::set<&Account::count>(row->values + 1));
          }
          return Nothing{};
        });
    if (!add) return add.error();
    add_ = *add;
    return {};
  }

  Result<std::string> first_row(const std::string& sql) {
    auto result = database_->query(sql);
    if (!result) return result.error();
    std::string text;
    for (const base::Value& value : result->rows.at(0)) text += base::to_string(value) + " ";
    return text;
  }

  Result<void> check() {
    auto result = database_->query("SELECT id, count FROM account WHERE id < 200 ORDER BY id");
    if (!result) return result.error();
    std::map<int64_t, int64_t> counts;
    for (const auto& row : result->rows) {
      counts[std::get<int64_t>(row[0])] = std::get<int64_t>(row[1]);
    }
    for (int32_t i = 0; i < kCallers; ++i) {
      if (counts[i] < told_.counts[i]) {
        totals_->lost += static_cast<uint64_t>(told_.counts[i] - counts[i]);
      }
      if (counts[i] != counts[i + kTwin]) ++totals_->half_done;
      asked_.counts[i] = counts[i];
    }
    auto loaded = database_->query("SELECT count(*) FROM account WHERE id >= 1000");
    if (!loaded) return loaded.error();
    const auto loads = std::get<int64_t>(loaded->rows[0][0]);
    if (loads % 2 != 0) ++totals_->half_done;
    if (loads / 2 < told_.loads) ++totals_->lost;
    asked_.loads = loads / 2;
    const auto tables = static_cast<int64_t>(database_->catalog().table_count()) - 1;
    if (tables < told_.tables) ++totals_->lost;
    asked_.tables = tables;
    auto compared = database_->compare_replicas();
    if (!compared) return compared.error();
    totals_->replica_differences += compared->differences;
    return {};
  }

  void call(int32_t id) {
    while (!stops_) {
      if (!database_->call(add_, {id}).get()) return;
      ++asked_.counts[id];
    }
  }

  void change() {
    while (!stops_) {
      const uint64_t what = random_() % 8;
      if (what < 5) {
        static_cast<void>(database_->checkpoint());
      } else if (what == 5 && asked_.tables < 20) {
        const int64_t number = asked_.tables;
        const std::string sql =
            fmt::format("CREATE TABLE t{} (a INT NOT NULL PRIMARY KEY)", number);
        if (database_->execute_ddl(sql)) ++asked_.tables;
      } else {
        load();
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(random_() % 5));
    }
  }

  void load() {
    const auto first = static_cast<int32_t>(kLoaded + 2 * asked_.loads);
    const std::vector<Account> rows = {{first, 0, {"loaded"}}, {first + 1, 0, {"loaded"}}};
    bool given = false;
    const auto loaded = database_->load(accounts_, [&]() -> dispatcher::RowBatch {
      if (std::exchange(given, true)) return {};
      return {reinterpret_cast<const std::byte*>(rows.data()), rows.size()};
    });
    if (loaded) ++asked_.loads;
  }

  const dispatcher::DatabaseOptions options_;
  const Told told_;
  Totals* const totals_;
  std::mt19937_64 random_;
  std::unique_ptr<Database> database_;
  base::TableId accounts_;
  dispatcher::ProcedureRef<Add, Nothing> add_;
  Asked asked_;
  std::atomic<bool> stops_{false};
  std::string failure_;
};

class PowerCuts {
 public:
  explicit PowerCuts(const Arguments& arguments) : arguments_(arguments), random_(arguments.seed) {}

  Result<void> create() {
    auto database = Database::open({.path = place(0)});
    if (!database) return database.error();
    auto created = (*database)->execute_ddl(
        "CREATE TABLE account (id INT NOT NULL PRIMARY KEY, count BIGINT NOT NULL, "
        "text VARCHAR(40) NOT NULL)");
    if (!created) return created;
    std::vector<Account> rows;
    for (int32_t i = 0; i < kCallers; ++i) {
      rows.push_back({i, 0, {"own"}});
      rows.push_back({i + kTwin, 0, {"twin"}});
    }
    bool given = false;
    auto loaded = (*database)->load(base::TableId(0), [&]() -> dispatcher::RowBatch {
      if (std::exchange(given, true)) return {};
      return {reinterpret_cast<const std::byte*>(rows.data()), rows.size()};
    });
    if (!loaded) return loaded.error();
    return (*database)->close();
  }

  // False: what is left cannot be used.
  bool run(uint64_t round) {
    PowerCutDisk& disk = PowerCutDisk::instance();
    const std::string at = place(round);
    disk.watch(at, arguments_.missing);
    Life life(options(at), told_, &totals_, random_());
    std::thread living([&] { life.run(); });
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % 150'000));
    const Told told = life.asked().now();  // before the power goes
    disk.cut(place(round + 1), &random_);
    totals_.undecided += disk.undecided();
    life.stop();
    living.join();
    disk.unwatch();
    std::filesystem::remove_all(at);
    for (int32_t i = 0; i < kCallers; ++i) {
      totals_.acknowledged += static_cast<uint64_t>(told.counts[i] - told_.counts[i]);
    }
    told_ = told;
    if (life.failure().empty()) return true;
    std::fputs(
        fmt::format("round {} of seed {}: {}\n", round, arguments_.seed, life.failure()).c_str(),
        stderr);
    return false;
  }

  const Totals& totals() const { return totals_; }

 private:
  std::string place(uint64_t round) const {
    return fmt::format("{}/round{}", arguments_.directory, round);
  }

  dispatcher::DatabaseOptions options(const std::string& path) {
    dispatcher::DatabaseOptions options{.path = path, .mode = dispatcher::OpenMode::kOpen};
    options.placement.oltp_workers = 1 + static_cast<uint32_t>(random_() % 2);
    options.log = random_() % 2 == 0 ? LogMode::kCommand : LogMode::kPhysical;
    options.log_file_bytes = size_t{8 << 10} << random_() % 4;
    const uint64_t checkpoint_bytes[] = {0, 32 << 10, 128 << 10};
    options.checkpoint_log_bytes = checkpoint_bytes[random_() % 3];
    options.checkpoint_interval_ns = random_() % 2 == 0 ? 0 : 1'000'000;
    // With a hook the log is written by calls, which the disk sees, and not through a ring.
    options.faults.before_step = [](storage::FileStep) { return Result<void>(); };
    return options;
  }

  const Arguments arguments_;
  std::mt19937_64 random_;
  Told told_;
  Totals totals_;
};

int run_rounds(Arguments arguments) {
  namespace fs = std::filesystem;
  std::string place = (fs::temp_directory_path() / "diptych-power-XXXXXX").string();
  arguments.directory = ::mkdtemp(place.data());
  PowerCuts cuts(arguments);
  if (auto created = cuts.create(); !created) {
    std::fputs((created.error().to_string() + "\n").c_str(), stderr);
    return 2;
  }
  const Totals& totals = cuts.totals();
  const auto is_clean = [&] {
    return totals.lost == 0 && totals.half_done == 0 && totals.replica_differences == 0;
  };
  uint64_t round = 0;
  bool usable = true;
  while (round < arguments.rounds && usable && is_clean()) usable = cuts.run(round++);
  std::fputs(fmt::format("rounds: {}\nundecided: {}\nacknowledged: {}\nlost: {}\nhalf_done: {}\n"
                         "replica_differences: {}\nunusable: {}\n",
                         round, totals.undecided, totals.acknowledged, totals.lost,
                         totals.half_done, totals.replica_differences, usable ? 0 : 1)
                 .c_str(),
             stdout);
  fs::remove_all(arguments.directory);
  return usable && is_clean() ? 0 : 1;
}

std::optional<MissingSync> missing_sync(const std::string& name) {
  if (name == "log") return MissingSync::kLog;
  if (name == "blocks") return MissingSync::kBlocks;
  if (name == "manifest") return MissingSync::kManifest;
  if (name == "directory") return MissingSync::kDirectory;
  return std::nullopt;
}

}  // namespace
}  // namespace diptych::crash

int main(int argument_count, char** values) {
  diptych::crash::Arguments arguments;
  for (int i = 1; i < argument_count; ++i) {
    const std::string name = values[i];
    const std::string value = i + 1 < argument_count ? values[++i] : "";
    const auto missing = diptych::crash::missing_sync(value);
    if (name == "--rounds") {
      arguments.rounds = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--seed") {
      arguments.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (name == "--missing-sync" && missing) {
      arguments.missing = *missing;
    } else {
      std::fputs(("not expected: " + name + " " + value + "\n").c_str(), stderr);
      return 2;
    }
  }
  return diptych::crash::run_rounds(arguments);
}
