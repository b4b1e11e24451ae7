// Whole transactions through Engine::run_batch, 512 a batch: what reads, updates and inserts cost,
// with and without export; many rows, one by one and by get_each, of both kinds of index; and
// loading. Items are transactions, or rows for load and many_rows.

#include <array>
#include <memory>
#include <tuple>
#include <vector>

#include <benchmark/benchmark.h>

#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::Result;

constexpr int32_t kRows = 100'000;
constexpr size_t kBatch = 512;

struct Item {
  int32_t warehouse;
  int32_t item;
  int64_t quantity;
  base::Varchar<50> data;
  base::Varchar<24> first;
  base::Varchar<24> second;
};
BOOST_DESCRIBE_STRUCT(Item, (), (warehouse, item, quantity, data, first, second))

struct Arguments {
  int32_t first;
};

enum class Work { kRead, kUpdate, kInsertErase };

class Shop {
 public:
  explicit Shop(bool exports, base::IndexKind kind = base::IndexKind::kHash) {
    base::TableSchema schema = schema_of<Item>("item");
    schema.indexes = {index("item_pkey", kind, base::Uniqueness::kUnique, {0, 1})};
    EXPECT_TRUE(catalog.add_table(std::move(schema)));
    EngineOptions options;
    options.export_updates = exports;
    options.batch_time_max_ns = 1'000'000'000;
    engine = std::make_unique<Engine>(&catalog, options, &queue);
    table = *bind_table<Item>(catalog, "item");
    by_key = *bind_index<&Item::warehouse, &Item::item>(catalog, "item_pkey");
  }

  void load(int32_t count = kRows) {
    std::vector<Item> rows(static_cast<size_t>(count));
    for (int32_t i = 0; i < count; ++i) {
      rows[static_cast<size_t>(i)] = {1,
                                      i,
                                      100,
                                      std::string_view("some data"),
                                      std::string_view("first"),
                                      std::string_view("second")};
    }
    bool done = false;
    const auto next = [&] {
      if (std::exchange(done, true)) return RowBatch();
      return RowBatch{reinterpret_cast<const std::byte*>(rows.data()), rows.size()};
    };
    auto loaded = engine->load(table.table, next, nullptr);
    EXPECT_TRUE(loaded);
    drain();
  }

  void drain() { queue.recycle(queue.collect().sets); }

  // Ten rows, scattered: the procedure of each kind of work.
  template <Work kWork>
  Result<Nothing> run(Transaction& txn, const Arguments& args) {
    for (int32_t i = 0; i < 10; ++i) {
      const auto item = static_cast<int32_t>(
          (static_cast<uint32_t>(args.first) + static_cast<uint32_t>(i) * 7919) % kRows);
      if constexpr (kWork == Work::kRead) {
        auto quantity = txn.get<&Item::quantity>(by_key, 1, item);
        if (!quantity) return quantity.error();
      } else {
        auto row = txn.get_for_update<&Item::quantity>(by_key, 1, item);
        if (!row) return row.error();
        if constexpr (kWork == Work::kUpdate) {
          txn.update(*row, set<&Item::quantity>(row->values + 1));
        } else {
          txn.erase(*row);
          auto inserted = txn.insert(table, Item{1, item, 1, {}, {}, {}});
          if (!inserted) return inserted.error();
        }
      }
    }
    return Nothing{};
  }

  base::Catalog catalog;
  propagation::UpdateQueue queue;
  std::unique_ptr<Engine> engine;
  TableRef<Item> table;
  IndexRef<&Item::warehouse, &Item::item> by_key;
};

template <Work kWork>
void ten_rows(benchmark::State& state) {
  Shop shop(state.range(0) != 0);
  shop.load();
  const auto procedure = shop.engine->register_procedure(define_procedure<Arguments, Nothing>(
      "work", [&](Transaction& txn, const Arguments& args) { return shop.run<kWork>(txn, args); }));
  std::vector<Arguments> arguments(kBatch);
  std::vector<Request> requests(kBatch);
  std::vector<Request*> batch;
  for (size_t i = 0; i < kBatch; ++i) {
    requests[i].procedure = procedure;
    requests[i].arguments = std::as_bytes(std::span(&arguments[i], 1));
    batch.push_back(&requests[i]);
  }
  uint32_t seed = 1;
  uint64_t committed = 0;
  for (auto _ : state) {
    for (Arguments& args : arguments) {
      args.first = static_cast<int32_t>((seed = seed * 1664525 + 1013904223) % kRows);
    }
    committed += shop.engine->run_batch(batch).committed;
    shop.drain();
  }
  state.SetItemsProcessed(static_cast<int64_t>(committed));
}
BENCHMARK(ten_rows<Work::kRead>)->Name("read_ten_rows")->ArgName("export")->Arg(0)->Arg(1);
BENCHMARK(ten_rows<Work::kUpdate>)->Name("update_ten_rows")->ArgName("export")->Arg(0)->Arg(1);
BENCHMARK(ten_rows<Work::kInsertErase>)
    ->Name("erase_insert_ten_rows")
    ->ArgName("export")
    ->Arg(0)
    ->Arg(1);

// 64 scattered rows a transaction, of so many.
void many_rows(benchmark::State& state) {
  constexpr int32_t kWanted = 64;
  Shop shop(false, state.range(0) != 0 ? base::IndexKind::kOrdered : base::IndexKind::kHash);
  const auto rows = static_cast<uint32_t>(state.range(2));
  shop.load(static_cast<int32_t>(rows));
  const bool together = state.range(1) != 0;
  int64_t sum = 0;
  const auto body = [&](Transaction& txn, const Arguments& args) -> Result<Nothing> {
    std::array<std::tuple<int32_t, int32_t>, kWanted> keys;
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto at = static_cast<uint32_t>(args.first) + static_cast<uint32_t>(i) * 7919'003;
      keys[i] = {1, static_cast<int32_t>(at % rows)};
    }
    if (together) {
      auto read = txn.get_each<&Item::quantity>(shop.by_key, keys,
                                                [&](size_t, int64_t quantity) { sum += quantity; });
      if (!read) return read.error();
      return Nothing{};
    }
    for (const auto& [warehouse, item] : keys) {
      auto quantity = txn.get<&Item::quantity>(shop.by_key, warehouse, item);
      if (!quantity) return quantity.error();
      sum += *quantity;
    }
    return Nothing{};
  };
  Arguments args{};
  Request request;
  request.procedure =
      shop.engine->register_procedure(define_procedure<Arguments, Nothing>("many_rows", body));
  request.arguments = std::as_bytes(std::span(&args, 1));
  uint32_t seed = 1;
  for (auto _ : state) {
    args.first = static_cast<int32_t>((seed = seed * 1664525 + 1013904223) % rows);
    Request* const batch[] = {&request};
    shop.engine->run_batch(batch);
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(state.iterations() * kWanted);
}
BENCHMARK(many_rows)
    ->ArgNames({"ordered", "together", "rows"})
    ->ArgsProduct({{0, 1}, {0, 1}, {100'000, 3'000'000}});

void load_rows(benchmark::State& state) {
  for (auto _ : state) {
    Shop shop(true);
    shop.load();
  }
  state.SetItemsProcessed(state.iterations() * kRows);
}
BENCHMARK(load_rows);

}  // namespace
}  // namespace diptych::oltp::test
