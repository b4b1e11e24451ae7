// TPC-C's full mix through Engine::run_batch alone: no dispatcher, no clients' threads, no log, no
// applier. In each benchmark two settings of the core take turns in one process, so that the
// machine's drift is in both, and their ratio is told.
//
//   export         one worker: without and with updates exported
//   plans          one worker: without and with the procedures' access declarations; plans that a
//                  procedure makes on its way are in both
//   serializable   so many workers: snapshot and serializable, on one copy of the data
//   workers        one worker and so many, both without export
//   same           one setting twice, in two copies of the data: the noise of all of these
//
// The data has TPC-C's constant size. An iteration is a round: kRoundCalls calls in each of the two
// settings, the first one first in every second round. Only run_batch is timed. In between, calls
// are drawn, and what was exported is collected and given back, as the applier does when it has
// read it. The first kWarmRounds count for nothing.
//
// first_tps, second_tps  calls that ended (committed, or rolled back as 1 % of the New-Orders ask
//                        to be) a second: medians of the rounds
// ratio                  of the second to the first: the median of the rounds'; ratio_25, ratio_75
//                        are the quartiles
// conflicts              runs of the second that were repeated, of a thousand calls
//
// build/release/tests/workloads_bench --benchmark_filter=core_export/20

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/thread.h"
#include "base/topology.h"
#include "dispatcher/database.h"
#include "oltp/engine.h"
#include "propagation/export/update_queue.h"
#include "tests/workloads/turns.h"
#include "workloads/drivers/drawn_call.h"
#include "workloads/tpcc/loader.h"
#include "workloads/tpcc/population.h"
#include "workloads/tpcc/procedures.h"
#include "workloads/tpcc/schema.h"

namespace diptych::workloads {
namespace {

using base::Result;
using oltp::IsolationLevel;

constexpr size_t kBatchCalls = 512;
constexpr size_t kRoundCalls = 32 * kBatchCalls;
constexpr size_t kWarmRounds = 4;
constexpr int kRounds = 40;
constexpr uint64_t kSeed = 42;

struct CoreSetting {
  uint32_t workers = 1;
  bool exports = false;
  bool plans = true;
};

struct Round {
  uint64_t ns = 0;
  uint64_t ended = 0;
  uint64_t conflicts = 0;
  double calls_per_second() const {
    return static_cast<double>(ended) / (static_cast<double>(ns) * 1e-9);
  }
};

// Asked once: later the calling thread is the leader, and may use the first core only.
const base::Topology::Node& first_node() {
  static const base::Topology machine = base::Topology::detect();
  return machine.nodes.front();
}

// A loaded engine with TPC-C's procedures at both levels. The leader is the thread that makes it.
class Core {
 public:
  Core(const CoreSetting& setting, int32_t warehouses)
      : catalog_of_(*dispatcher::Database::open({})), inputs_(kSeed, warehouses) {
    auto tables = tpcc::create_tables(catalog_of_.get());
    DIPTYCH_CHECK(tables.ok(), "an empty database takes the tables");
    const base::Topology::Node& node = first_node();
    oltp::EngineOptions options;
    options.placement.threads = setting.workers;
    options.placement.cores = node.cores;
    options.placement.node = node.id;
    options.export_updates = setting.exports;
    options.spin = setting.workers <= options.placement.cores.size() ? base::SpinPolicy::kBriefly
                                                                     : base::SpinPolicy::kNever;
    base::pin_this_thread(std::span(options.placement.cores).first(1));
    engine_ = std::make_unique<oltp::Engine>(&catalog_of_->catalog(), options, &queue_);
    for (const auto level : {IsolationLevel::kSnapshot, IsolationLevel::kSerializable}) {
      const auto take = [&](oltp::ProcedureDefinition procedure) -> Result<base::ProcedureId> {
        procedure.isolation = level;
        if (!setting.plans) procedure.access = nullptr;
        return engine_->register_procedure(std::move(procedure));
      };
      procedures_[static_cast<size_t>(level)] =
          *tpcc::register_procedures(take, *tables, SizePolicy::kConstant);
    }
    load(*tables, warehouses);
    for (DrawnCall& call : calls_) free_.push_back(&call);
  }

  Round run(IsolationLevel level) {
    const tpcc::Procedures& procedures = procedures_[static_cast<size_t>(level)];
    Round round;
    // Calls that a batch gives back are first in the next one.
    std::vector<oltp::Request*> batch;
    for (size_t drawn = 0; drawn < kRoundCalls || !batch.empty();) {
      for (; batch.size() < kBatchCalls && drawn < kRoundCalls; ++drawn) {
        batch.push_back(draw(procedures));
      }
      const uint64_t begin_ns = base::steady_ns();
      oltp::BatchReport report = engine_->run_batch(batch);
      round.ns += base::steady_ns() - begin_ns;
      round.ended += report.committed + report.aborted;
      round.conflicts += report.conflicts;
      give_back(batch, report.again);
      batch = std::move(report.again);
      queue_.recycle(queue_.collect().sets);
    }
    return round;
  }

  void check() const { engine_->check_indexes(); }

 private:
  void load(const tpcc::Tables& tables, int32_t warehouses) {
    const auto load_table = [&](base::TableId table, const tpcc::NextRows& next) -> Result<void> {
      if (auto loaded = engine_->load(table, next, nullptr); !loaded) return loaded.error();
      return {};
    };
    const StopFlag never{false};
    const auto loaded =
        tpcc::load(load_table, tables, kSeed, warehouses, never, [](const std::string&, double) {});
    DIPTYCH_CHECK(loaded.ok(), "an empty engine takes the population");
  }

  oltp::Request* draw(const tpcc::Procedures& procedures) {
    DIPTYCH_CHECK(!free_.empty(), "a batch has no more calls than there are");
    DrawnCall* const call = free_.back();
    free_.pop_back();
    call->draw(&inputs_, procedures);
    call->request.context = call;
    call->request.now = {tpcc::kTimeOrigin.micros + ++clock_us_};
    return &call->request;
  }

  void give_back(std::span<oltp::Request* const> batch, std::span<oltp::Request* const> again) {
    for (oltp::Request* const request : batch) {
      if (std::find(again.begin(), again.end(), request) != again.end()) continue;
      DIPTYCH_CHECK(request->outcome || request->outcome.code() == base::ErrorCode::kAborted,
                    "TPC-C's calls fail only where they ask to");
      free_.push_back(static_cast<DrawnCall*>(request->context));
    }
  }

  std::unique_ptr<dispatcher::Database> catalog_of_;  // it is there for its catalog
  propagation::UpdateQueue queue_;
  std::unique_ptr<oltp::Engine> engine_;
  std::array<tpcc::Procedures, 2> procedures_;  // [IsolationLevel]
  tpcc::InputGenerator inputs_;
  int64_t clock_us_ = 0;
  std::array<DrawnCall, kBatchCalls> calls_;
  std::vector<DrawnCall*> free_;
};

// A core at a level.
struct Contender {
  Core* core;
  IsolationLevel level;
  Round run() const { return core->run(level); }
};

void take_turns(benchmark::State& state, const Contender& first, const Contender& second) {
  for (size_t i = 0; i < kWarmRounds; ++i) {
    first.run();
    second.run();
  }
  std::vector<double> first_tps;
  std::vector<double> second_tps;
  uint64_t conflicts = 0;
  uint64_t ended = 0;
  for (auto _ : state) {
    const bool in_order = first_tps.size() % 2 == 0;
    const Round one = (in_order ? first : second).run();
    const Round other = (in_order ? second : first).run();
    const Round& of_first = in_order ? one : other;
    const Round& of_second = in_order ? other : one;
    first_tps.push_back(of_first.calls_per_second());
    second_tps.push_back(of_second.calls_per_second());
    conflicts += of_second.conflicts;
    ended += of_second.ended;
    state.SetIterationTime(static_cast<double>(one.ns + other.ns) * 1e-9);
  }
  state.counters["first_tps"] = quantile(first_tps, 0.5);
  state.counters["second_tps"] = quantile(second_tps, 0.5);
  tell_ratio(state, "ratio", first_tps, second_tps);
  state.counters["conflicts"] = 1000 * static_cast<double>(conflicts) / static_cast<double>(ended);
  first.core->check();
  second.core->check();
}

void compare(benchmark::State& state, const CoreSetting& first, const CoreSetting& second) {
  const auto warehouses = static_cast<int32_t>(state.range(0));
  const auto one = std::make_unique<Core>(first, warehouses);
  const auto other = std::make_unique<Core>(second, warehouses);
  take_turns(state, {one.get(), IsolationLevel::kSnapshot},
             {other.get(), IsolationLevel::kSnapshot});
}

void core_same(benchmark::State& state) {
  compare(state, {}, {});
}

void core_export(benchmark::State& state) {
  compare(state, {}, {.exports = true});
}

void core_plans(benchmark::State& state) {
  compare(state, {.plans = false}, {});
}

void core_workers(benchmark::State& state) {
  compare(state, {}, {.workers = static_cast<uint32_t>(state.range(1))});
}

void core_serializable(benchmark::State& state) {
  const auto core =
      std::make_unique<Core>(CoreSetting{.workers = static_cast<uint32_t>(state.range(1))},
                             static_cast<int32_t>(state.range(0)));
  take_turns(state, {core.get(), IsolationLevel::kSnapshot},
             {core.get(), IsolationLevel::kSerializable});
}

void in_rounds(benchmark::internal::Benchmark* benchmark) {
  benchmark->Iterations(kRounds)->UseManualTime()->Unit(benchmark::kMillisecond);
}
BENCHMARK(core_same)->ArgName("warehouses")->Arg(2)->Arg(10)->Arg(20)->Apply(in_rounds);
BENCHMARK(core_export)->ArgName("warehouses")->Arg(2)->Arg(10)->Arg(20)->Apply(in_rounds);
BENCHMARK(core_plans)->ArgName("warehouses")->Arg(2)->Arg(10)->Arg(20)->Apply(in_rounds);
BENCHMARK(core_serializable)
    ->ArgNames({"warehouses", "workers"})
    ->ArgsProduct({{2, 10, 20}, {1, 2, 8}})
    ->Apply(in_rounds);
BENCHMARK(core_workers)
    ->ArgNames({"warehouses", "workers"})
    ->ArgsProduct({{2, 10, 20}, {2, 8}})
    ->Apply(in_rounds);

}  // namespace
}  // namespace diptych::workloads
