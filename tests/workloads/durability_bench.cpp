// What durability costs TPC-C's full mix through the whole dispatcher: clients, batches, log,
// replica.
//
// Databases with a log of each kind take turns in one process, in slices of kSliceSeconds; a round
// is a slice of each, and begins with another one each time. In a slice only one database has
// calls; it ends when all are answered and the replica shows them. The clients' first
// kRampSeconds, and the first kWarmRounds, count for nothing. The data has TPC-C's constant size;
// no database makes a checkpoint but in log_checkpoints.
//
//   log_calls        none, none again (in another copy of the data: the noise), a log of calls
//   log_updates      the same with a log of updates
//   log_half_load    none and calls, at half of the rate that each had in the warm rounds
//   log_checkpoints  one database with a log of calls, without and with a checkpoint of that rate:
//                    slices are as long as a checkpoint, that of the round's other slice, or the
//                    last one's. At rate 0, `again`: the other slice has none either (the noise)
//
// NAME_tps              calls that ended a second: the median of the rounds
// NAME, NAME_25, _75    the ratio to the first one's rate: median and quartiles of the rounds'
// NAME_p50_ms, _p99_ms  latency, of all rounds' calls
// NAME_round_ms, _worst_ms  the p99 of a round: the median one, and the worst one's
//
// build/release/tests/workloads_bench --benchmark_filter=log_calls/warehouses:10

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.h"
#include "base/clock.h"
#include "dispatcher/database.h"
#include "tests/temporary_directory.h"
#include "tests/workloads/turns.h"
#include "workloads/drivers/open_loop_driver.h"
#include "workloads/drivers/transaction_driver.h"
#include "workloads/session.h"

namespace diptych::workloads {
namespace {

using dispatcher::Histogram;
using dispatcher::LogMode;

constexpr uint32_t kLogClients = 1024;
constexpr double kSliceSeconds = 1;
constexpr double kRampSeconds = 0.1;
constexpr size_t kLogWarmRounds = 2;

void sleep_seconds(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

struct Slice {
  double calls_per_second = 0;
  Histogram latency_ns;
};

// What is told of its rounds.
struct Rounds {
  std::vector<double> calls_per_second;
  std::vector<double> p99_ms;
  Histogram latency_ns;

  void add(const Slice& slice) {
    calls_per_second.push_back(slice.calls_per_second);
    p99_ms.push_back(static_cast<double>(slice.latency_ns.quantile(0.99)) * 1e-6);
    latency_ns.merge(slice.latency_ns);
  }
  void tell(benchmark::State& state, const std::string& name) const {
    state.counters[name + "_tps"] = quantile(calls_per_second, 0.5);
    state.counters[name + "_p50_ms"] = static_cast<double>(latency_ns.quantile(0.5)) * 1e-6;
    state.counters[name + "_p99_ms"] = static_cast<double>(latency_ns.quantile(0.99)) * 1e-6;
    state.counters[name + "_round_ms"] = quantile(p99_ms, 0.5);
    state.counters[name + "_worst_ms"] = quantile(p99_ms, 1);
  }
};

class LoggedTpcc {
 public:
  LoggedTpcc(LogMode log, int64_t warehouses, double checkpoint_mib_per_second = 0)
      : warehouses_(static_cast<int32_t>(warehouses)) {
    BenchmarkOptions options;
    options.warehouses = static_cast<uint32_t>(warehouses);
    options.transaction_clients = kLogClients;
    options.size = SizePolicy::kConstant;
    options.log = log;
    options.checkpoint_log_bytes = 0;
    options.checkpoint_mib_per_second = checkpoint_mib_per_second;
    options.keep_path = directory_.path() + "/db";
    auto session = Session::open(options, never_, [](const std::string&, double) {});
    DIPTYCH_CHECK(session.ok(), "an empty directory takes the database");
    session_ = std::move(*session);
  }
  ~LoggedTpcc() { static_cast<void>(session_->database()->discard()); }
  LoggedTpcc(const LoggedTpcc&) = delete;
  LoggedTpcc& operator=(const LoggedTpcc&) = delete;

  dispatcher::Database* database() { return session_->database(); }

  // Counts for as long as `measured` takes, with as many calls as the clients make.
  Slice at_full_load(const std::function<void()>& measured) {
    PhaseSwitch phase;
    TransactionDriver driver(database(), session_->procedures(), kLogClients, warehouses_, ++seed_,
                             &phase);
    const double seconds = drive(&driver, &phase, measured);
    uint64_t ended = 0;
    Slice slice;
    for (const CallStatistics& statistics : driver.statistics()) {
      DIPTYCH_CHECK(statistics.failed == 0, "TPC-C's calls fail only where they ask to");
      ended += statistics.completed + statistics.aborted;
      slice.latency_ns.merge(statistics.latency_ns);
    }
    slice.calls_per_second = static_cast<double>(ended) / seconds;
    return slice;
  }

  Slice at_rate(double calls_per_second, const std::function<void()>& measured) {
    PhaseSwitch phase;
    OpenLoopDriver driver(database(), session_->procedures(),
                          {.calls_per_second = calls_per_second,
                           .queue_requests = dispatcher::DatabaseOptions().queue_requests,
                           .warehouses = warehouses_,
                           .seed = ++seed_},
                          &phase);
    const double seconds = drive(&driver, &phase, measured);
    const OpenLoopStatistics& counted = driver.statistics();
    DIPTYCH_CHECK(counted.failed == 0, "TPC-C's calls fail only where they ask to");
    return {.calls_per_second = static_cast<double>(counted.answered) / seconds,
            .latency_ns = counted.latency_ns};
  }

 private:
  template <class Driver>
  double drive(Driver* driver, PhaseSwitch* phase, const std::function<void()>& measured) {
    driver->start();
    sleep_seconds(kRampSeconds);
    phase->set(Phase::kMeasure);
    const uint64_t begin_ns = base::steady_ns();
    measured();
    phase->set(Phase::kCooldown);
    const double seconds = base::seconds_since(begin_ns);
    phase->set(Phase::kStop);
    driver->join();
    const auto shown = database()->query("SELECT r_regionkey FROM region");
    DIPTYCH_CHECK(shown.ok(), "the replica shows what was answered");
    return seconds;
  }

  const StopFlag never_{false};
  const diptych::test::TemporaryDirectory directory_;
  const int32_t warehouses_;
  uint64_t seed_ = 0;
  std::unique_ptr<Session> session_;
};

struct Contender {
  std::string name;
  std::function<Slice()> run;
  Rounds rounds;
};

void take_turns(benchmark::State& state, std::vector<Contender> contenders) {
  size_t round = 0;
  for (auto _ : state) {
    const uint64_t begin_ns = base::steady_ns();
    for (size_t i = 0; i < contenders.size(); ++i) {
      Contender& contender = contenders[(round + i) % contenders.size()];
      contender.rounds.add(contender.run());
    }
    ++round;
    state.SetIterationTime(base::seconds_since(begin_ns));
  }
  const Rounds& first = contenders.front().rounds;
  for (const Contender& contender : contenders) {
    contender.rounds.tell(state, contender.name);
    if (&contender.rounds == &first) continue;
    tell_ratio(state, contender.name, first.calls_per_second, contender.rounds.calls_per_second);
  }
}

void for_a_slice() {
  sleep_seconds(kSliceSeconds);
}

void compare_logs(benchmark::State& state, LogMode log, const char* name) {
  LoggedTpcc none(LogMode::kNone, state.range(0));
  LoggedTpcc again(LogMode::kNone, state.range(0));
  LoggedTpcc logged(log, state.range(0));
  std::vector<Contender> contenders;
  const auto add = [&](const char* of, LoggedTpcc* tpcc) {
    contenders.push_back({of, [tpcc] { return tpcc->at_full_load(for_a_slice); }, {}});
  };
  add("none", &none);
  add("again", &again);
  add(name, &logged);
  for (size_t i = 0; i < kLogWarmRounds; ++i) {
    for (const Contender& contender : contenders) contender.run();
  }
  take_turns(state, std::move(contenders));
}

void log_calls(benchmark::State& state) {
  compare_logs(state, LogMode::kCommand, "calls");
}

void log_updates(benchmark::State& state) {
  compare_logs(state, LogMode::kPhysical, "updates");
}

void log_half_load(benchmark::State& state) {
  LoggedTpcc none(LogMode::kNone, state.range(0));
  LoggedTpcc calls(LogMode::kCommand, state.range(0));
  std::vector<Contender> contenders;
  const auto add = [&](const char* name, LoggedTpcc* tpcc) {
    std::vector<double> full;
    for (size_t i = 0; i < kLogWarmRounds; ++i) {
      full.push_back(tpcc->at_full_load(for_a_slice).calls_per_second);
    }
    const double half = quantile(full, 0.5) / 2;
    contenders.push_back({name, [tpcc, half] { return tpcc->at_rate(half, for_a_slice); }, {}});
  };
  add("none", &none);
  add("calls", &calls);
  take_turns(state, std::move(contenders));
}

void log_checkpoints(benchmark::State& state) {
  const int64_t mib_per_second = state.range(1);
  LoggedTpcc tpcc(LogMode::kCommand, state.range(0), static_cast<double>(mib_per_second));
  double seconds = kSliceSeconds;
  const auto with = [&] {
    return tpcc.at_full_load([&] {
      const uint64_t begin_ns = base::steady_ns();
      DIPTYCH_CHECK(tpcc.database()->checkpoint().ok(), "the directory takes a checkpoint");
      seconds = base::seconds_since(begin_ns);
    });
  };
  const auto without = [&] { return tpcc.at_full_load([&] { sleep_seconds(seconds); }); };
  for (size_t i = 0; i < kLogWarmRounds; ++i) with();
  std::vector<Contender> contenders;
  contenders.push_back({"without", without, {}});
  if (mib_per_second != 0) {
    contenders.push_back({"with", with, {}});
  } else {
    contenders.push_back({"again", without, {}});
  }
  take_turns(state, std::move(contenders));
  state.counters["slice_seconds"] = seconds;
}

void in_rounds_of_slices(benchmark::internal::Benchmark* benchmark) {
  benchmark->Iterations(17)->UseManualTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(log_calls)->ArgName("warehouses")->Arg(2)->Arg(10)->Apply(in_rounds_of_slices);
BENCHMARK(log_updates)->ArgName("warehouses")->Arg(2)->Arg(10)->Apply(in_rounds_of_slices);
BENCHMARK(log_half_load)->ArgName("warehouses")->Arg(2)->Arg(10)->Apply(in_rounds_of_slices);

void in_rounds_of_checkpoints(benchmark::internal::Benchmark* benchmark) {
  benchmark->Iterations(13)->UseManualTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(log_checkpoints)
    ->ArgNames({"warehouses", "MiB_s"})
    ->ArgsProduct({{2, 4}, {0, 32, 64}})
    ->Apply(in_rounds_of_checkpoints);

}  // namespace
}  // namespace diptych::workloads
