// Rows that come, go and grow, by Engine::run_batch without export: what they leave behind, and
// what long replies cost.
//
//   task_queue      put one, take the oldest, of 100,000, in turns; so many workers. Items: taken
//   count_purged    of 2 M rows 98 % are erased in key order, and the rest counted by the index;
//                   `purged:0`: as many rows in a new table. Items: rows that are left
//   scan_10_purged  the same, ten rows in key order from a random one on. Items: scans
//   growing_texts   50,000 texts grow from 30 to 1,022 bytes in steps of 32, and then all are set
//                   to 100 bytes. grown_MB, shrunk_MB: memory of long strings; items: updates
//   reply_of_4_kb   in a struct of 60 KB, or as a Text. Items: calls

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "base/check.h"
#include "base/thread.h"
#include "base/topology.h"
#include "oltp/engine.h"
#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::Result;

constexpr int64_t kCalls = 512;  // a batch

struct Sheet {
  int64_t id;
  int64_t number;
  base::Text body;
};
BOOST_DESCRIBE_STRUCT(Sheet, (), (id, number, body))

struct From {
  int64_t id;
  int64_t end;
};

// An engine with one table of sheets. The leader is the thread that makes it.
class Pile {
 public:
  explicit Pile(uint32_t workers = 1, base::IndexKind kind = base::IndexKind::kOrdered) {
    base::TableSchema schema = schema_of<Sheet>("sheet");
    schema.indexes = {index("sheet_pkey", kind, base::Uniqueness::kUnique, {0})};
    DIPTYCH_CHECK(catalog_.add_table(std::move(schema)).ok(), "an empty catalog takes a table");
    // Asked once: later the calling thread may use the first core only.
    static const base::Topology machine = base::Topology::detect();
    EngineOptions options;
    options.placement.threads = workers;
    options.placement.cores = machine.nodes.front().cores;
    options.export_updates = false;
    options.batch_time_max_ns = 1'000'000'000;
    options.spin = workers <= options.placement.cores.size() ? base::SpinPolicy::kBriefly
                                                             : base::SpinPolicy::kNever;
    base::pin_this_thread(std::span(options.placement.cores).first(1));
    engine = std::make_unique<Engine>(&catalog_, options, nullptr);
    table = *bind_table<Sheet>(catalog_, "sheet");
    by_id = *bind_index<&Sheet::id>(catalog_, "sheet_pkey");
  }

  // Rows whose ids are [0, rows) times `step`.
  void load(int64_t rows, int64_t step = 1, std::string_view body = {}) {
    std::vector<Sheet> batch;
    int64_t next_row = 0;
    const auto next = [&] {
      batch.clear();
      for (; batch.size() < 10'000 && next_row < rows; ++next_row) {
        batch.push_back({next_row * step, next_row, body});
      }
      return RowBatch{reinterpret_cast<const std::byte*>(batch.data()), batch.size()};
    };
    DIPTYCH_CHECK(engine->load(table.table, next, nullptr).ok(), "the rows have keys of their own");
  }

  template <class Reply, class Body>
  base::ProcedureId define(const char* name, const Body& body) {
    return engine->register_procedure(define_procedure<From, Reply>(name, body));
  }

  static Request request(base::ProcedureId procedure, const From& arguments) {
    Request request;
    request.procedure = procedure;
    request.arguments = std::as_bytes(std::span(&arguments, 1));
    return request;
  }

  // Until all have ended.
  void run(std::vector<Request>* requests) {
    std::vector<Request*> batch;
    for (Request& request : *requests) batch.push_back(&request);
    while (!batch.empty()) batch = engine->run_batch(batch).again;
  }
  void run(base::ProcedureId procedure, const From& arguments) {
    std::vector<Request> requests = {request(procedure, arguments)};
    run(&requests);
    DIPTYCH_CHECK(requests[0].outcome.ok(), "nothing refuses it");
  }

  std::unique_ptr<Engine> engine;
  TableRef<Sheet> table;
  IndexRef<&Sheet::id> by_id;

 private:
  base::Catalog catalog_;
};

Result<Nothing> take_oldest(Transaction& txn, const Pile& pile) {
  bool taken = false;
  auto scanned = txn.scan<&Sheet::id>(pile.by_id, prefix(pile.by_id), {.limit = 1},
                                      [&](const RowHandle& handle, int64_t) {
                                        auto claimed = txn.claim<Sheet, &Sheet::id>(handle);
                                        if (!claimed) return ScanStep::kStop;
                                        txn.erase(*claimed);
                                        taken = true;
                                        return ScanStep::kContinue;
                                      });
  if (!scanned) return scanned.error();
  if (!taken) return txn.abort("the queue is never empty");
  return Nothing{};
}

void task_queue(benchmark::State& state) {
  constexpr int64_t kTasks = 100'000;
  Pile pile(static_cast<uint32_t>(state.range(0)));
  pile.load(kTasks);
  const auto put =
      pile.define<Nothing>("put", [&](Transaction& txn, const From& from) -> Result<Nothing> {
        auto inserted = txn.insert(pile.table, Sheet{from.id, 0, {}});
        if (!inserted) return inserted.error();
        return Nothing{};
      });
  const auto take = pile.define<Nothing>(
      "take", [&](Transaction& txn, const From&) { return take_oldest(txn, pile); });
  std::vector<From> tasks(kCalls);
  std::vector<Request> requests;
  for (size_t i = 0; i < tasks.size(); ++i) {
    requests.push_back(Pile::request(i % 2 == 0 ? put : take, tasks[i]));
  }
  int64_t newest = kTasks;
  for (auto _ : state) {
    for (From& task : tasks) task.id = newest++;
    pile.run(&requests);
  }
  for (const Request& request : requests) {
    DIPTYCH_CHECK(request.outcome.ok(), "each call ends after its conflicts");
  }
  state.SetItemsProcessed(state.iterations() * kCalls / 2);
}
BENCHMARK(task_queue)->ArgName("workers")->Arg(1)->Arg(2)->UseRealTime();

// Of 2 M rows that every 50th is left of; or as many new ones with the same keys.
constexpr int64_t kSheets = 2'000'000;
constexpr int64_t kLeftOf = 50;
constexpr int64_t kLeft = kSheets / kLeftOf;

void purge(Pile* pile) {
  const auto erase_range = pile->define<Nothing>(
      "erase_range", [=](Transaction& txn, const From& from) -> Result<Nothing> {
        auto scanned = txn.scan<&Sheet::id>(
            pile->by_id, between(pile->by_id, std::tuple(from.id), std::tuple(from.end)), {},
            [&](const RowHandle& handle, int64_t id) {
              if (id % kLeftOf == 0) return ScanStep::kContinue;
              auto claimed = txn.claim<Sheet, &Sheet::id>(handle);
              if (!claimed) return ScanStep::kStop;
              txn.erase(*claimed);
              return ScanStep::kContinue;
            });
        if (!scanned) return scanned.error();
        return Nothing{};
      });
  constexpr int64_t kRange = 1000;
  for (int64_t id = 0; id < kSheets; id += kRange) {
    pile->run(erase_range, {id, id + kRange});
  }
  DIPTYCH_CHECK(pile->engine->row_count(pile->table.table) == kLeft, "each range is erased whole");
}

std::unique_ptr<Pile> purged_or_new(const benchmark::State& state) {
  auto pile = std::make_unique<Pile>();
  const bool purged = state.range(0) != 0;
  purged ? pile->load(kSheets) : pile->load(kLeft, kLeftOf);
  if (purged) purge(pile.get());
  return pile;
}

void count_purged(benchmark::State& state) {
  const auto pile = purged_or_new(state);
  const auto count =
      pile->define<int64_t>("count", [&](Transaction& txn, const From&) -> Result<int64_t> {
        int64_t rows = 0;
        auto scanned = txn.scan<&Sheet::id>(pile->by_id, prefix(pile->by_id), {},
                                            [&](const RowHandle&, int64_t) {
                                              ++rows;
                                              return ScanStep::kContinue;
                                            });
        if (!scanned) return scanned.error();
        if (rows != kLeft) return txn.abort("rows are missing");
        return rows;
      });
  for (auto _ : state) pile->run(count, {});
  state.SetItemsProcessed(state.iterations() * kLeft);
}
BENCHMARK(count_purged)->ArgName("purged")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void scan_10_purged(benchmark::State& state) {
  const auto pile = purged_or_new(state);
  const auto scan_10 =
      pile->define<int64_t>("scan_10", [&](Transaction& txn, const From& from) -> Result<int64_t> {
        int64_t sum = 0;
        auto scanned = txn.scan<&Sheet::number>(
            pile->by_id, between(pile->by_id, std::tuple(from.id), std::tuple(kSheets)),
            {.limit = 10}, [&](const RowHandle&, int64_t number) {
              sum += number;
              return ScanStep::kContinue;
            });
        if (!scanned) return scanned.error();
        return sum;
      });
  std::vector<From> from(kCalls);
  std::vector<Request> requests;
  for (const From& each : from) requests.push_back(Pile::request(scan_10, each));
  uint64_t seed = 1;
  for (auto _ : state) {
    for (From& each : from) {
      seed = seed * 6364136223846793005 + 1442695040888963407;
      each.id = static_cast<int64_t>((seed >> 33) % kSheets);
    }
    pile->run(&requests);
  }
  state.SetItemsProcessed(state.iterations() * kCalls);
}
BENCHMARK(scan_10_purged)->ArgName("purged")->Arg(0)->Arg(1);

void growing_texts(benchmark::State& state) {
  constexpr int64_t kTexts = 50'000;
  int64_t updates = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto pile = std::make_unique<Pile>(1, base::IndexKind::kHash);
    const std::string letters(1024, 'a');
    const auto set_length = pile->define<Nothing>(
        "set_length", [&](Transaction& txn, const From& from) -> Result<Nothing> {
          auto claimed = txn.get_for_update<&Sheet::id>(pile->by_id, from.id);
          if (!claimed) return claimed.error();
          txn.update(*claimed,
                     set<&Sheet::body>(std::string_view(letters).substr(0, size_t(from.end))));
          return Nothing{};
        });
    const auto set_all = [&](int64_t bytes) {
      std::vector<From> texts(kCalls);
      for (int64_t id = 0; id < kTexts;) {
        std::vector<Request> requests;
        for (; requests.size() < texts.size() && id < kTexts; ++id, ++updates) {
          From& text = texts[requests.size()];
          text = {id, bytes};
          requests.push_back(Pile::request(set_length, text));
        }
        pile->run(&requests);
      }
    };
    const auto megabytes = [&] {
      return static_cast<double>(pile->engine->metrics().string_bytes) / (1 << 20);
    };
    pile->load(kTexts, 1, std::string_view(letters).substr(0, 30));
    state.ResumeTiming();
    for (int64_t bytes = 62; bytes <= 1022; bytes += 32) set_all(bytes);
    state.counters["grown_MB"] = megabytes();
    set_all(100);
    state.counters["shrunk_MB"] = megabytes();
    state.PauseTiming();
    pile.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(updates);
}
BENCHMARK(growing_texts)->Unit(benchmark::kMillisecond);

struct WholeReply {
  uint32_t size;
  char body[60'000];
};
struct TextReply {
  base::Text body;
};
BOOST_DESCRIBE_STRUCT(TextReply, (), (body))

template <class Reply>
void reply_of_4_kb(benchmark::State& state) {
  constexpr int64_t kRows = 1000;
  Pile pile(1, base::IndexKind::kHash);
  const std::string body(4096, 'a');
  pile.load(kRows, 1, body);
  const auto read =
      pile.define<Reply>("read", [&](Transaction& txn, const From& from) -> Result<Reply> {
        auto text = txn.get<&Sheet::body>(pile.by_id, from.id);
        if (!text) return text.error();
        if constexpr (std::is_same_v<Reply, TextReply>) {
          return Reply{*text};
        } else {
          Reply reply;
          reply.size = text->size;
          std::memcpy(reply.body, text->data, text->size);
          return reply;
        }
      });
  std::vector<From> from(kCalls);
  const auto replies = std::make_unique<Reply[]>(kCalls);
  std::vector<Request> requests;
  for (size_t i = 0; i < from.size(); ++i) {
    from[i].id = static_cast<int64_t>(i * 7919 % kRows);
    requests.push_back(Pile::request(read, from[i]));
    requests.back().reply = std::as_writable_bytes(std::span(&replies[i], 1));
  }
  for (auto _ : state) pile.run(&requests);
  for (const Request& request : requests) DIPTYCH_CHECK(request.outcome.ok(), "each row is there");
  state.SetItemsProcessed(state.iterations() * kCalls);
}
BENCHMARK(reply_of_4_kb<WholeReply>);
BENCHMARK(reply_of_4_kb<TextReply>);

}  // namespace
}  // namespace diptych::oltp::test
