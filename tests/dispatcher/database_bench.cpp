// What a call and a query cost on their way through the dispatchers: the procedures do next to
// nothing, so that queues, batches, wake-ups and completions are what is measured.

#include <atomic>
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "dispatcher/database.h"

namespace diptych::dispatcher {
namespace {

using Nothing = oltp::Nothing;

std::unique_ptr<Database> open_database() {
  auto database = *Database::open({});
  auto created = database->execute_ddl("CREATE TABLE t (x INT NOT NULL, PRIMARY KEY (x))");
  if (!created) std::abort();
  return database;
}

ProcedureRef<Nothing, Nothing> register_nothing(Database* database) {
  return *database->register_procedure<Nothing, Nothing>(
      "nothing", [](Transaction&, const Nothing&) -> base::Result<Nothing> { return Nothing{}; });
}

// One client that waits for each reply: two hand-overs between threads a call.
void one_call_at_a_time(benchmark::State& state) {
  auto database = open_database();
  const auto nothing = register_nothing(database.get());
  for (auto _ : state) {
    if (!database->call(nothing, {}).get()) std::abort();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(one_call_at_a_time)->UseRealTime();

// `range` requests in flight, each submitted again by its completion: full batches, no clients.
struct Loop {
  Request request;
  Nothing argument;
  Database* database = nullptr;
  std::atomic<int64_t>* left = nullptr;     // writers: the dispatcher's thread
  std::atomic<int64_t>* running = nullptr;  // writers: the dispatcher's thread

  static void again(Request* request) {
    auto* self = static_cast<Loop*>(request->context);
    // relaxed: only the dispatcher's thread counts while loops run.
    if (self->left->fetch_sub(1, std::memory_order_relaxed) > 0) {
      if (!self->database->submit(request, Admission::kRefuse)) std::abort();
      return;
    }
    // release: pairs with the acquire in wait; the loop is done with its request.
    if (self->running->fetch_sub(1, std::memory_order_release) == 1) self->running->notify_one();
  }
};

void calls_in_flight(benchmark::State& state) {
  constexpr int64_t kCalls = 200'000;
  // Before the database, so that they outlive the completion that rings last.
  std::atomic<int64_t> left{0};
  std::atomic<int64_t> running{0};
  auto database = open_database();
  const auto nothing = register_nothing(database.get());
  std::vector<Loop> loops(static_cast<size_t>(state.range(0)));
  for (auto _ : state) {
    // relaxed: published by submit.
    left.store(kCalls, std::memory_order_relaxed);
    running.store(state.range(0), std::memory_order_relaxed);
    for (Loop& loop : loops) {
      loop.database = database.get();
      loop.left = &left;
      loop.running = &running;
      loop.request.procedure = nothing.id;
      loop.request.arguments = std::as_bytes(std::span(&loop.argument, 1));
      loop.request.context = &loop;
      loop.request.complete = &Loop::again;
      if (!database->submit(&loop.request, Admission::kWait)) std::abort();
    }
    // acquire: pairs with the release in again.
    for (int64_t n = running.load(std::memory_order_acquire); n != 0;) {
      // acquire: likewise.
      running.wait(n, std::memory_order_acquire);
      // acquire: likewise.
      n = running.load(std::memory_order_acquire);
    }
  }
  state.SetItemsProcessed(state.iterations() * kCalls);
}
BENCHMARK(calls_in_flight)->Arg(1)->Arg(64)->Arg(1024)->UseRealTime();

void one_query_at_a_time(benchmark::State& state) {
  auto database = open_database();
  for (auto _ : state) {
    if (!database->query("SELECT 1")) std::abort();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(one_query_at_a_time)->UseRealTime();

}  // namespace
}  // namespace diptych::dispatcher
