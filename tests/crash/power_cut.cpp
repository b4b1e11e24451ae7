// power_cut: cuts the power of a disk, or kills the process, at a random moment of a database's
// life, opens what the disk would still have, looks for what is missing, and begins again on that.
// After a kill that is all that was written, but what was not durable stays so, for a later cut to
// take.
//
//   watch ─► open, replay, check ─► clients call; queries; checkpoints, DDL, loads ─► end
//             power cut, or kill: at any moment of it │
//                                                     └─► what is left: the next round's database
//
// Client i adds 1 to its own account and to that account's twin, in one transaction, again and
// again: what it was told is a number. Loads add accounts of their own, two at a time.
//
// In half of the rounds the disk refuses something before the power goes, a few calls or all for a
// while. Then what is called may fail, and say so (kIo, kNoSpace, and of which file); but queries
// go on as long as the disk can be read, and what was acknowledged, before it or amid it, is there
// afterwards. In half of the rounds the system refuses rings of io_uring, of which nobody is to
// notice anything.

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/describe.hpp>
#include <fmt/format.h>

#include "dispatcher/database.h"
#include "tests/crash/power_cut_disk.h"
#include "tests/crash/power_cut_rings.h"
#include "tests/temporary_directory.h"

namespace diptych::crash {
namespace {

using base::Result;
using dispatcher::Database;
using dispatcher::IndexRef;
using dispatcher::LogMode;
using dispatcher::Transaction;

constexpr int32_t kCallers = 4;
constexpr int32_t kTwin = 100;
constexpr int32_t kLoaded = 1000;      // accounts of loads from here on
constexpr int32_t kSettled = 1 << 20;  // accounts of which a call changes one: in blocks
constexpr int32_t kSettledRows = 4000;
constexpr int64_t kTablesMax = 20;
constexpr uint64_t kMomentUsMax = 250'000;

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

struct Added {
  int64_t count = 0;
};
BOOST_DESCRIBE_STRUCT(Added, (), (count))

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
  uint64_t refused = 0;
};

// Which settled row the call of this number changes, too, of those of its caller.
int32_t settled_of(int32_t caller, int64_t number) {
  constexpr int32_t kRows = kSettledRows / kCallers;
  return kSettled + caller * kRows + static_cast<int32_t>(number * 37 % kRows);
}

// What somebody was told, as the power goes.
struct Told {
  int64_t counts[kCallers] = {};
  std::set<int64_t> loads;
  int64_t tables = 0;  // the last that was made, and those before
};

class Asked {
 public:
  explicit Asked(Told told) : told_(std::move(told)) {}

  void count(int32_t client, int64_t told) {
    const std::lock_guard lock(mutex_);
    told_.counts[client] = told;
  }
  void load(int64_t number) {
    const std::lock_guard lock(mutex_);
    told_.loads.insert(number);
  }
  void table(int64_t number) {
    const std::lock_guard lock(mutex_);
    told_.tables = number;
  }
  Told now() const {
    const std::lock_guard lock(mutex_);
    return told_;
  }

 private:
  mutable std::mutex mutex_;
  Told told_;
};

// The database and what is done with it until it is told to stop.
class Life {
 public:
  // `saves`: checkpoints, DDL and loads are among what is done.
  Life(dispatcher::DatabaseOptions options, Told told, bool saves, Totals* totals, uint64_t seed)
      : options_(std::move(options)),
        told_(told),
        saves_(saves),
        totals_(totals),
        random_(seed),
        asked_(std::move(told)),
        refused_before_(PowerCutDisk::instance().refused()) {}

  const Asked& asked() const { return asked_; }
  // Before the disk does: queries may fail from now on.
  void expect_unreadable() { unreadable_ = true; }
  void stop() { stops_ = true; }
  const std::string& failure() const { return failure_; }  // once run() has ended

  void run() {
    if (auto done = live(); !done) note(done.error());
    if (database_ != nullptr) static_cast<void>(database_->discard());
  }

 private:
  Result<void> live() {
    auto opened = Database::open(options_);
    if (!opened) return opened.error();
    database_ = std::move(*opened);
    if (auto bound = bind(); !bound) return bound;
    if (auto recovered = database_->recover(); !recovered) return recovered.error();
    if (auto checked = check(); !checked) return checked;
    std::vector<std::thread> threads;
    for (int32_t i = 0; i < kCallers; ++i) threads.emplace_back([this, i] { call(i); });
    if (saves_) threads.emplace_back([this] { change(); });
    threads.emplace_back([this] { ask(); });
    for (std::thread& thread : threads) thread.join();
    return {};
  }

  // Where the disk has refused something, that may be said, and nothing else.
  void note(const base::Error& error) {
    const bool says_so =
        error.code == base::ErrorCode::kIo || error.code == base::ErrorCode::kNoSpace;
    // Of which file: a person cannot help it else.
    const bool names_it = error.message.find(options_.path) != std::string::npos;
    const bool may = PowerCutDisk::instance().refused() != refused_before_;
    if (says_so && names_it && may) return;
    note_failure(error.to_string());
  }
  void note_failure(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (failure_.empty()) failure_ = what;
  }

  Result<void> bind() {
    auto accounts = database_->bind_table<Account>("account");
    if (!accounts) return accounts.error();
    accounts_ = accounts->table;
    auto by_id = database_->bind_index<&Account::id>("account_pkey");
    if (!by_id) return by_id.error();
    auto add = database_->register_procedure<Add, Added>(
        "add", [by_id = *by_id](Transaction& txn, const Add& order) -> Result<Added> {
          Added added;
          for (const int32_t id : {order.id, order.id + kTwin}) {
            auto row = txn.get_for_update<&Account::count>(by_id, id);
            if (!row) return row.error();
            added.count = row->values + 1;
            txn.update(*row, dispatcher::set<&Account::count>(added.count));
          }
          auto settled =
              txn.get_for_update<&Account::count>(by_id, settled_of(order.id, added.count));
          if (!settled) return settled.error();
          txn.update(*settled, dispatcher::set<&Account::count>(settled->values + 1));
          return added;
        });
    if (!add) return add.error();
    add_ = *add;
    return {};
  }

  Result<void> check() {
    auto result = database_->query(
        fmt::format("SELECT id, count FROM account WHERE id < {} ORDER BY id", kSettled));
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
    }
    for (const auto& [id, count] : counts) {
      if (id < kLoaded) continue;
      next_load_ = (id - kLoaded) / 2 + 1;
      if (!counts.contains(id ^ 1)) ++totals_->half_done;
    }
    for (const int64_t load : told_.loads) {
      if (!counts.contains(kLoaded + 2 * load)) ++totals_->lost;
    }
    if (static_cast<int64_t>(database_->catalog().table_count()) - 1 < told_.tables) {
      ++totals_->lost;
    }
    if (auto checked = check_settled(counts); !checked) return checked;
    auto compared = database_->compare_replicas();
    if (!compared) return compared.error();
    totals_->replica_differences += compared->differences;
    return {};
  }

  // What lies in blocks, which the calls have changed here and there.
  Result<void> check_settled(std::map<int64_t, int64_t>& counts) {
    std::map<int64_t, int64_t> expected;
    for (int32_t i = 0; i < kSettledRows; ++i) expected[kSettled + i] = i;
    for (int32_t i = 0; i < kCallers; ++i) {
      for (int64_t number = 1; number <= counts[i]; ++number) ++expected[settled_of(i, number)];
    }
    auto result =
        database_->query(fmt::format("SELECT id, count FROM account WHERE id >= {}", kSettled));
    if (!result) return result.error();
    if (result->rows.size() != expected.size()) ++totals_->half_done;
    for (const auto& row : result->rows) {
      if (expected[std::get<int64_t>(row[0])] != std::get<int64_t>(row[1])) ++totals_->half_done;
    }
    return {};
  }

  static void pause() { std::this_thread::sleep_for(std::chrono::milliseconds(1)); }

  void call(int32_t id) {
    while (!stops_) {
      const auto added = database_->call(add_, {id}).get();
      if (added) {
        asked_.count(id, added->count);
        continue;
      }
      note(added.error());
      pause();
    }
  }

  // Both halves of every transaction, of what memory has and of what is read from blocks.
  void ask() {
    const std::string sql = fmt::format(
        "SELECT count(*) FROM account a JOIN account b ON b.id = a.id + {0} "
        "WHERE a.id < {0} AND a.count <> b.count UNION ALL "
        "SELECT count(*) - {1} FROM account WHERE id >= {2} AND text = 'settled' UNION ALL "
        "SELECT ((SELECT sum(count - (id - {2})) FROM account WHERE id >= {2}) - "
        "(SELECT sum(count) FROM account WHERE id < {0}))::bigint",
        kTwin, kSettledRows, kSettled);
    while (!stops_) {
      const bool may_fail = unreadable_;
      const auto result = database_->query(sql);
      if (!result && may_fail) {
        note(result.error());
      } else if (!result) {
        // It may have become so meanwhile.
        if (!unreadable_) note_failure("a query: " + result.error().to_string());
      } else {
        for (const auto& row : result->rows) {
          if (std::get<int64_t>(row[0]) != 0) note_failure("a query sees halves");
        }
      }
      pause();
    }
  }

  void change() {
    while (!stops_) {
      const uint64_t what = random_() % 8;
      const auto number = static_cast<int64_t>(database_->catalog().table_count());
      Result<void> done;
      if (what < 5) {
        done = database_->checkpoint();
      } else if (what == 5 && number <= kTablesMax) {
        done = database_->execute_ddl(
            fmt::format("CREATE TABLE t{} (a INT NOT NULL PRIMARY KEY)", number));
        if (done) asked_.table(number);
      } else {
        done = load(next_load_++);
      }
      if (!done) note(done.error());
      std::this_thread::sleep_for(std::chrono::milliseconds(random_() % 5));
    }
  }

  Result<void> load(int64_t number) {
    const auto first = static_cast<int32_t>(kLoaded + 2 * number);
    const std::vector<Account> rows = {{first, 0, {"loaded"}}, {first + 1, 0, {"loaded"}}};
    bool given = false;
    const auto loaded = database_->load(accounts_, [&]() -> dispatcher::RowBatch {
      if (std::exchange(given, true)) return {};
      return {reinterpret_cast<const std::byte*>(rows.data()), rows.size()};
    });
    if (!loaded) return loaded.error();
    asked_.load(number);
    return {};
  }

  const dispatcher::DatabaseOptions options_;
  const Told told_;
  const bool saves_;
  Totals* const totals_;
  std::mt19937_64 random_;
  std::unique_ptr<Database> database_;
  base::TableId accounts_;
  dispatcher::ProcedureRef<Add, Added> add_;
  Asked asked_;
  int64_t next_load_ = 0;
  const uint64_t refused_before_;
  std::atomic<bool> unreadable_{false};  // writer: who cuts the power, as the next
  std::atomic<bool> stops_{false};
  std::mutex mutex_;
  std::string failure_;
};

class PowerCuts {
 public:
  explicit PowerCuts(const Arguments& arguments) : arguments_(arguments), random_(arguments.seed) {}

  Result<void> create() {
    auto database = Database::open({.path = place(0), .block_rows = 1024});
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
    for (int32_t i = 0; i < kSettledRows; ++i) rows.push_back({kSettled + i, i, {"settled"}});
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
    offer_rings();
    // The log that a killed process left stays needed, as long as nothing is saved.
    const bool saves = !std::exchange(killed_, false) || random_() % 2 == 0;
    Life life(options(at, saves), told_, saves, &totals_, random_());
    const uint64_t refused_before = disk.refused();
    std::thread living([&] { life.run(); });
    const bool must_refuse =
        arguments_.missing == MissingSync::kFailed || arguments_.missing == MissingSync::kRenames;
    if (must_refuse || random_() % 2 == 0) refuse(&life);
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % kMomentUsMax));
    const Told told = life.asked().now();  // before the power goes
    killed_ = random_() % 2 == 0;
    if (killed_) {
      disk.kill(place(round + 1));
    } else {
      disk.cut(place(round + 1), &random_);
    }
    totals_.refused += disk.refused() - refused_before;
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
    say_failure(round, life.failure());
    return false;
  }

  // Opens what the last round left, and only looks at it. False: it cannot be used.
  bool check(uint64_t round) {
    Life life(options(place(round), false), told_, false, &totals_, random_());
    life.stop();
    life.run();
    if (life.failure().empty()) return true;
    say_failure(round, life.failure());
    return false;
  }

  const Totals& totals() const { return totals_; }

 private:
  void say_failure(uint64_t round, const std::string& failure) const {
    const std::string text =
        fmt::format("round {} of seed {}: {}\n", round, arguments_.seed, failure);
    std::fputs(text.c_str(), stderr);
  }

  // A system has rings, or a container's does not let them be made, or it is an old one.
  void offer_rings() {
    constexpr int kErrors[] = {0, 0, EPERM, ENOSYS};
    refuse_rings(kErrors[random_() % std::size(kErrors)]);
  }

  // After a while, for a while or until the power goes.
  void refuse(Life* life) {
    constexpr Refusal kAll[] = {Refusal::kWholeWrites, Refusal::kWrites,  Refusal::kSpace,
                                Refusal::kSyncs,       Refusal::kReads,   Refusal::kNames,
                                Refusal::kNameSpace,   Refusal::kRenames, Refusal::kDirectory,
                                Refusal::kRings};
    Refusal what = kAll[random_() % std::size(kAll)];
    if (arguments_.missing == MissingSync::kFailed) what = Refusal::kSyncs;
    if (arguments_.missing == MissingSync::kRenames) what = Refusal::kRenames;
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % kMomentUsMax));
    if (what == Refusal::kReads) life->expect_unreadable();
    const uint64_t calls[] = {1, 1 + random_() % 20, UINT64_MAX};
    PowerCutDisk& disk = PowerCutDisk::instance();
    disk.refuse(what, calls[random_() % std::size(calls)]);
    if (random_() % 3 == 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(random_() % 50'000));
    disk.refuse(Refusal::kNone, 0);
  }

  std::string place(uint64_t round) const {
    return fmt::format("{}/round{}", arguments_.directory, round);
  }

  dispatcher::DatabaseOptions options(const std::string& path, bool saves) {
    dispatcher::DatabaseOptions options{.path = path, .mode = dispatcher::OpenMode::kOpen};
    options.placement.oltp_workers = 1U << random_() % 3;
    options.isolation = random_() % 2 == 0 ? dispatcher::IsolationLevel::kSnapshot
                                           : dispatcher::IsolationLevel::kSerializable;
    options.olap_memory_bytes_max = random_() % 2 == 0 ? 0 : 64 << 10;  // read again and again
    options.log = random_() % 2 == 0 ? LogMode::kCommand : LogMode::kPhysical;
    options.log_file_bytes = size_t{8 << 10} << random_() % 4;
    const uint64_t checkpoint_bytes[] = {0, 32 << 10, 128 << 10};
    options.checkpoint_log_bytes = checkpoint_bytes[random_() % 3];
    options.checkpoint_interval_ns = random_() % 2 == 0 ? 0 : 1'000'000;
    if (!saves) options.checkpoint_log_bytes = options.checkpoint_interval_ns = 0;
    options.faults.log_by_ring = true;  // where there are rings
    return options;
  }

  const Arguments arguments_;
  std::mt19937_64 random_;
  Told told_;
  bool killed_ = false;  // the last round
  Totals totals_;
};

int run_rounds(Arguments arguments) {
  namespace fs = std::filesystem;
  arguments.directory = test::make_temporary_directory();
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
  if (usable && is_clean()) usable = cuts.check(round);
  std::fputs(
      fmt::format("rounds: {}\nundecided: {}\nrefused: {}\nnames_refused: {}\nring_operations: "
                  "{}\nacknowledged: {}\nlost: {}\nhalf_done: {}\n"
                  "replica_differences: {}\nunusable: {}\n",
                  round, totals.undecided, totals.refused, PowerCutDisk::instance().names_refused(),
                  ring_operations(), totals.acknowledged, totals.lost, totals.half_done,
                  totals.replica_differences, usable ? 0 : 1)
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
  if (name == "failed") return MissingSync::kFailed;
  if (name == "renames") return MissingSync::kRenames;
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
