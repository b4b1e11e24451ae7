// crash_rounds: kills a process that runs transactions, at a random moment of its life, opens what
// it left, looks for what is missing, and begins again on the same database.
//
//   parent   spawn child ─► random time ─► SIGKILL ─► open, replay, check ─► close or crash too ─┐
//              ▲───────────────────────────────────────────────────────────────────────────────┘
//   child    open, replay ─► clients call, each notes on the AckBoard what it was told; checkpoints
//
// Each opening, the child's and the parent's, has other options: workers, isolation, sizes of log
// files. A kill may fall into an opening, a replay or a checkpoint as well.
//
// The soak (--seconds) is one life of most of that time, which says again and again what memory the
// process and what space its directory take, and then rounds of shorter ones. Of the last backup
// that a process has made, what is restored is checked likewise.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dispatcher/backup.h"
#include "tests/crash/workload.h"
#include "tests/temporary_directory.h"

namespace diptych::crash {
namespace {

using dispatcher::Database;

constexpr double kLongLifeShare = 0.7;  // of a soak
constexpr uint64_t kSoakKills = 10;     // in the rest of it, or more, if checks took no time
constexpr std::chrono::milliseconds kSamplePause{100};

struct Arguments {
  uint64_t rounds = 20;
  uint64_t seconds = 0;  // of a soak, in place of rounds
  uint64_t seed = 1;
  std::string workload = "bank";
  std::string directory;
  std::string library;
  std::string schema;
  bool child = false;
  bool steady = false;  // the child's: what is measured of it has to be the same throughout
  bool reply_early = false;
  std::string log = "any";
};

struct Totals {
  uint64_t acknowledged = 0;
  uint64_t lost = 0;
  uint64_t half_done = 0;
  uint64_t replica_differences = 0;
  uint64_t replayed = 0;
  uint64_t restored = 0;
  uint64_t errors = 0;
};

std::unique_ptr<Workload> make_workload(const Arguments& arguments) {
  if (arguments.workload == "tpcc") return make_tpcc(workloads::SizePolicy::kGrowing);
  if (arguments.workload == "soak") return make_soak(arguments.directory + "/backup");
  return make_bank(arguments.library, arguments.schema);
}

dispatcher::DatabaseOptions random_options(const Arguments& arguments, const Workload& workload,
                                           const std::string& name, std::mt19937_64* random) {
  dispatcher::DatabaseOptions options = workload.options();
  options.path = arguments.directory + "/" + name;
  const uint32_t workers[] = {1, 1, 2, 4};
  options.placement.oltp_workers = workers[(*random)() % 4];
  options.isolation = (*random)() % 2 == 0 ? dispatcher::IsolationLevel::kSnapshot
                                           : dispatcher::IsolationLevel::kSerializable;
  options.log_file_bytes = size_t{64 << 10} << (*random)() % 8;
  const uint64_t checkpoint_bytes[] = {0, 256 << 10, 1 << 20};
  options.checkpoint_log_bytes = checkpoint_bytes[(*random)() % 3];
  // One after the other where there is a time, and slow enough to be met by the kill.
  const uint64_t checkpoint_ns[] = {0, 1'000'000, 100'000'000};
  options.checkpoint_interval_ns = checkpoint_ns[(*random)() % 3];
  const uint64_t bytes_per_second[] = {0, 256 << 10, 4 << 20};
  options.checkpoint_bytes_per_second = bytes_per_second[(*random)() % 3];
  options.faults.reply_early = arguments.reply_early;
  const bool physical = (*random)() % 2 == 0;
  const bool any = arguments.log == "any";
  options.log = (any && physical) || arguments.log == "physical" ? dispatcher::LogMode::kPhysical
                                                                 : dispatcher::LogMode::kCommand;
  if (arguments.steady) {
    const dispatcher::DatabaseOptions usual;
    options.log_file_bytes = 4 << 20;
    options.checkpoint_log_bytes = 0;  // the workload takes them
    options.checkpoint_interval_ns = 0;
    options.checkpoint_bytes_per_second = usual.checkpoint_bytes_per_second;
  }
  return options;
}

// Until it is killed.
int run_child(const Arguments& arguments) {
  AckBoard board(arguments.directory + "/board", false);
  std::mt19937_64 random(arguments.seed);
  const auto workload = make_workload(arguments);
  auto database = Database::open(random_options(arguments, *workload, "db", &random));
  const auto fail = [&](const base::Error& error) {
    board.fail(error.to_string());
    std::_Exit(3);
  };
  if (!database) fail(database.error());
  if (auto attached = workload->attach(database->get()); !attached) fail(attached.error());
  if (auto recovered = (*database)->recover(); !recovered) fail(recovered.error());
  std::vector<std::thread> threads;
  for (size_t client = 0; client < kClients; ++client) {
    threads.emplace_back([&, client, seed = random()] {
      if (auto ran = workload->run_client(client, seed, &board); !ran) fail(ran.error());
    });
  }
  for (size_t which = 0; which < workload->beside(); ++which) {
    threads.emplace_back([&, which, seed = random()] {
      if (auto ran = workload->run_beside(which, seed, &board); !ran) fail(ran.error());
    });
  }
  const uint64_t pause_ms = random() % 100;
  if (pause_ms < 60 && workload->beside() == 0) {
    threads.emplace_back([&, pause_ms] {
      while (true) {
        std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
        if (auto done = (*database)->checkpoint(); !done) fail(done.error());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::_Exit(5);  // their clients go on until it is killed
}

// Of the process, without what it shares with others: the board. 0: it has ended.
uint64_t resident_bytes(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/statm", process));
  uint64_t size = 0;
  uint64_t resident = 0;
  uint64_t shared = 0;
  file >> size >> resident >> shared;
  return (resident - std::min(shared, resident)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// What the files take, while others may come and go.
uint64_t directory_bytes(const std::string& path) {
  namespace fs = std::filesystem;
  uint64_t bytes = 0;
  std::error_code ignored;
  for (fs::recursive_directory_iterator at(path, ignored), end; at != end; at.increment(ignored)) {
    struct stat status {};
    if (::stat(at->path().c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      bytes += static_cast<uint64_t>(status.st_blocks) * 512;
    }
  }
  return bytes;
}

pid_t spawn_child(const Arguments& arguments, uint64_t seed) {
  std::vector<std::string> words = {
      "/proc/self/exe", "--child",          "--seed",      std::to_string(seed),
      "--workload",     arguments.workload, "--directory", arguments.directory,
      "--library",      arguments.library,  "--schema",    arguments.schema,
      "--log",          arguments.log};
  if (arguments.reply_early) words.emplace_back("--reply-early");
  if (arguments.steady) words.emplace_back("--steady");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::execv(argv[0], argv.data());
    std::_Exit(4);
  }
  return child;
}

class Rounds {
 public:
  explicit Rounds(const Arguments& arguments)
      : arguments_(arguments), random_(arguments.seed), workload_(make_workload(arguments)) {}

  base::Result<void> create() {
    auto database = Database::open(random_options(arguments_, *workload_, "db", &random_));
    if (!database) return database.error();
    if (auto created = workload_->create(database->get()); !created) return created;
    return (*database)->close();
  }

  // False: there is nothing more to be tried on what is left.
  bool run(uint64_t round) {
    uint64_t max_us = workload_->milliseconds_max() * 1000;
    if (arguments_.seconds != 0) {
      const double rest_us = static_cast<double>(arguments_.seconds) * (1 - kLongLifeShare) * 1e6;
      max_us = std::min(max_us, static_cast<uint64_t>(rest_us) / kSoakKills);
    }
    return live(round, std::chrono::microseconds(random_() % max_us), Steady::kNo);
  }
  // The soak's first one.
  bool run_long() {
    const double long_us = static_cast<double>(arguments_.seconds) * kLongLifeShare * 1e6;
    return live(0, std::chrono::microseconds(static_cast<uint64_t>(long_us)), Steady::kYes);
  }

  const Totals& totals() const { return totals_; }
  // Of what went on beside the clients, in words; empty where nothing does.
  std::string beside() const {
    if (workload_->beside() == 0) return "";
    return fmt::format(
        "queries: {}\nlong_queries: {}\nloads: {}\ntables: {}\ncheckpoints: {}\nbackups: {}\n"
        "restored: {}\n",
        beside_[kSoakQueries], beside_[kSoakLongQueries], beside_[kSoakLoads], beside_[kSoakTables],
        beside_[kSoakCheckpoints], beside_[kSoakBackups], totals_.restored);
  }

 private:
  enum class Steady : uint8_t { kNo, kYes };
  enum class AfterCheck : uint8_t { kClose, kDiscard };

  std::string place(const std::string& name) const { return arguments_.directory + "/" + name; }

  bool live(uint64_t round, std::chrono::microseconds life, Steady steady) {
    AckBoard board(place("board"), true);
    Arguments of_child = arguments_;
    of_child.steady = steady == Steady::kYes;
    const pid_t child = spawn_child(of_child, random_());
    if (steady == Steady::kYes) {
      watch(child, life);
    } else {
      std::this_thread::sleep_for(life);
    }
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!board.failure().empty()) return fail(round, "the child: " + board.failure());
    if (!WIFSIGNALED(status)) {
      return fail(round, fmt::format("the child ended with {}", WEXITSTATUS(status)));
    }
    if (WTERMSIG(status) != SIGKILL) {
      return fail(round, fmt::format("the child died of signal {}", WTERMSIG(status)));
    }
    for (size_t client = 0; client < kClients; ++client) {
      totals_.acknowledged += board.acknowledged(client);
    }
    for (size_t kind = 0; kind < workload_->beside(); ++kind) beside_[kind] += board.counted(kind);
    auto checked = check_backup(board, round);
    if (checked) {
      const auto then = random_() % 2 == 0 ? AfterCheck::kClose : AfterCheck::kDiscard;
      checked = check("db", board.told(), round, then);
      if (then == AfterCheck::kClose && arguments_.seconds != 0) {
        say(fmt::format("closed: {}\n", directory_bytes(place("db"))));
      }
    }
    return checked ? true : fail(round, checked.error().to_string());
  }

  // Lets it live for so long, and says what it takes.
  void watch(pid_t child, std::chrono::microseconds life) {
    const auto begin = std::chrono::steady_clock::now();
    while (true) {
      const auto at = std::chrono::duration_cast<std::chrono::microseconds>(
          std::chrono::steady_clock::now() - begin);
      const uint64_t resident = resident_bytes(child);
      if (at >= life || resident == 0) return;
      say(fmt::format("sample: {} {} {}\n", at.count(), resident, directory_bytes(place("db"))));
      std::this_thread::sleep_for(kSamplePause);
    }
  }

  static void say(const std::string& line) {
    std::fputs(line.c_str(), stdout);
    std::fflush(stdout);
  }

  bool fail(uint64_t round, const std::string& what) {
    ++totals_.errors;
    std::fputs(fmt::format("round {} of seed {}: {}\n", round, arguments_.seed, what).c_str(),
               stderr);
    return false;
  }

  // All that was acknowledged before it was begun is in the last backup.
  base::Result<void> check_backup(const AckBoard& board, uint64_t round) {
    namespace fs = std::filesystem;
    if (!fs::exists(place("backup"))) return {};
    auto restored = dispatcher::restore_database(place("backup"), place("restored"), std::nullopt,
                                                 [](double) { return base::Result<void>(); });
    if (!restored) return restored.error();
    auto checked = check("restored", board.told_before_backup(), round, AfterCheck::kDiscard);
    if (!checked) return checked;
    ++totals_.restored;
    for (const char* const name : {"backup", "restored"}) fs::remove_all(place(name));
    return {};
  }

  base::Result<void> check(const std::string& name, const Told& told, uint64_t round,
                           AfterCheck then) {
    auto database = Database::open(random_options(arguments_, *workload_, name, &random_));
    if (!database) return database.error();
    if (auto attached = workload_->attach(database->get()); !attached) return attached;
    auto recovered = (*database)->recover();
    if (!recovered) return recovered.error();
    totals_.replayed += recovered->transactions;
    Findings findings;
    if (auto checked = workload_->check(told, &findings); !checked) return checked;
    auto compared = (*database)->compare_replicas();
    if (!compared) return compared.error();
    totals_.lost += findings.lost;
    totals_.half_done += findings.half_done;
    totals_.replica_differences += compared->differences;
    for (size_t i = 0; i < findings.words.size() && i < 10; ++i) {
      static_cast<void>(fail(round, fmt::format("{}: {}", name, findings.words[i])));
    }
    if (then == AfterCheck::kClose) return (*database)->close();
    static_cast<void>((*database)->discard());
    return {};
  }

  const Arguments arguments_;
  std::mt19937_64 random_;
  const std::unique_ptr<Workload> workload_;
  Totals totals_;
  uint64_t beside_[kThingsMax] = {};
};

int run_rounds(Arguments arguments) {
  namespace fs = std::filesystem;
  if (arguments.directory.empty()) arguments.directory = test::make_temporary_directory();
  fs::create_directories(arguments.directory);
  Rounds rounds(arguments);
  if (auto created = rounds.create(); !created) {
    std::fputs((created.error().to_string() + "\n").c_str(), stderr);
    return 2;
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(arguments.seconds);
  uint64_t round = 0;
  bool usable = true;
  if (arguments.seconds != 0) {
    usable = rounds.run_long();
    ++round;
  }
  const auto goes_on = [&] {
    return arguments.seconds != 0 ? std::chrono::steady_clock::now() < end
                                  : round < arguments.rounds;
  };
  for (; usable && goes_on(); ++round) usable = rounds.run(round);
  const Totals& totals = rounds.totals();
  std::fputs(fmt::format("workload: {}\nrounds: {}\nreplayed: {}\nacknowledged: {}\nlost: {}\n"
                         "half_done: {}\nreplica_differences: {}\n{}",
                         arguments.workload, round, totals.replayed, totals.acknowledged,
                         totals.lost, totals.half_done, totals.replica_differences, rounds.beside())
                 .c_str(),
             stdout);
  const bool clean = totals.errors == 0 && totals.lost == 0 && totals.half_done == 0 &&
                     totals.replica_differences == 0;
  if (clean) {
    fs::remove_all(arguments.directory);
  } else {
    std::fputs(fmt::format("what is left is in {}\n", arguments.directory).c_str(), stderr);
  }
  return clean ? 0 : 1;
}

}  // namespace
}  // namespace diptych::crash

int main(int argument_count, char** values) {
  diptych::crash::Arguments arguments;
  for (int i = 1; i < argument_count; ++i) {
    const std::string name = values[i];
    const auto next = [&] { return i + 1 < argument_count ? std::string(values[++i]) : ""; };
    if (name == "--rounds") {
      arguments.rounds = std::strtoull(next().c_str(), nullptr, 10);
    } else if (name == "--seconds") {
      arguments.seconds = std::strtoull(next().c_str(), nullptr, 10);
    } else if (name == "--seed") {
      arguments.seed = std::strtoull(next().c_str(), nullptr, 10);
    } else if (name == "--workload") {
      arguments.workload = next();
    } else if (name == "--directory") {
      arguments.directory = next();
    } else if (name == "--library") {
      arguments.library = next();
    } else if (name == "--schema") {
      arguments.schema = next();
    } else if (name == "--log") {
      arguments.log = next();
    } else if (name == "--steady") {
      arguments.steady = true;
    } else if (name == "--child") {
      arguments.child = true;
    } else if (name == "--reply-early") {
      arguments.reply_early = true;
    } else {
      std::fputs(("not expected: " + name + "\n").c_str(), stderr);
      return 2;
    }
  }
  return arguments.child ? diptych::crash::run_child(arguments)
                         : diptych::crash::run_rounds(arguments);
}
