#include "workloads/tpcc/loader.h"

#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "workloads/tpcc/population.h"

namespace diptych::workloads::tpcc {
namespace {

using base::ErrorCode;
using base::Result;
using dispatcher::RowBatch;

constexpr size_t kBatchRows = 2048;

// One load: what is the same for all tables.
class Loader {
 public:
  Loader(const LoadTable& load_table, int32_t warehouses, const StopFlag& stop,
         const Progress& progress)
      : load_table_(load_table),
        stop_(stop),
        progress_(progress),
        rows_expected_(static_cast<double>(warehouses) * 499'000 + kItems + kSuppliers) {}

  // next(Row*, TextPool*) makes the next row, or says that there is none.
  template <class Row, class Next>
  Result<void> table(std::string_view name, dispatcher::TableRef<Row> table, Next next) {
    TextPool pool(kBatchRows * kRowTextBytesMax);
    std::vector<Row> rows(kBatchRows);
    const auto next_batch = [&]() -> Result<RowBatch> {
      if (stopped(stop_)) {
        return base::Error(ErrorCode::kCancelled, fmt::format("stopped while loading {}", name));
      }
      pool.clear();
      size_t count = 0;
      while (count < kBatchRows && next(&rows[count], &pool)) ++count;
      rows_done_ += static_cast<double>(count);
      progress_(fmt::format("loading {}", name), rows_done_ / rows_expected_);
      return RowBatch{reinterpret_cast<const std::byte*>(rows.data()), count};
    };
    auto loaded = load_table_(table.table, next_batch);
    if (loaded) return {};
    if (loaded.code() == ErrorCode::kCancelled) return loaded.error();
    return loaded.error().within(fmt::format("loading table {}", name));
  }

  // make(index, TextPool*) gives the row for index 0 to count - 1.
  template <class Row, class Make>
  Result<void> counted(std::string_view name, dispatcher::TableRef<Row> ref, int64_t count,
                       Make make) {
    int64_t index = 0;
    return table(name, ref, [&, count](Row* row, TextPool* pool) {
      if (index == count) return false;
      *row = make(index++, pool);
      return true;
    });
  }

 private:
  const LoadTable& load_table_;
  const StopFlag& stop_;
  const Progress& progress_;
  double rows_expected_;
  double rows_done_ = 0;
};

// Where a district's position in the database lies, from 0.
struct Place {
  int32_t w_id, d_id;
  explicit Place(int64_t position)
      : w_id(static_cast<int32_t>(position / kDistricts) + 1),
        d_id(static_cast<int32_t>(position % kDistricts) + 1) {}
};

Result<void> load_shared(Loader* loader, const Tables& tables, const Population& population) {
  if (auto done = loader->counted("region", tables.region, kRegions,
                                  [&](int64_t i, TextPool* pool) {
                                    return population.region(static_cast<int32_t>(i), pool);
                                  });
      !done) {
    return done;
  }
  if (auto done = loader->counted("nation", tables.nation, kNations,
                                  [&](int64_t i, TextPool* pool) {
                                    return population.nation(static_cast<int32_t>(i), pool);
                                  });
      !done) {
    return done;
  }
  if (auto done = loader->counted("supplier", tables.supplier, kSuppliers,
                                  [&](int64_t i, TextPool* pool) {
                                    return population.supplier(static_cast<int32_t>(i), pool);
                                  });
      !done) {
    return done;
  }
  return loader->counted("item", tables.item, kItems, [&](int64_t i, TextPool*) {
    return population.item(static_cast<int32_t>(i) + 1);
  });
}

Result<void> load_warehouses(Loader* loader, const Tables& tables, const Population& population) {
  const int64_t warehouses = population.warehouses();
  if (auto done = loader->counted(
          "warehouse", tables.warehouse, warehouses,
          [&](int64_t i, TextPool*) { return population.warehouse(static_cast<int32_t>(i) + 1); });
      !done) {
    return done;
  }
  if (auto done = loader->counted(
          "district", tables.district, warehouses * kDistricts,
          [&](int64_t i, TextPool*) { return population.district(Place(i).w_id, Place(i).d_id); });
      !done) {
    return done;
  }
  return loader->counted("stock", tables.stock, warehouses * kItems, [&](int64_t i, TextPool*) {
    return population.stock(static_cast<int32_t>(i / kItems) + 1,
                            static_cast<int32_t>(i % kItems) + 1);
  });
}

Result<void> load_customers(Loader* loader, const Tables& tables, const Population& population) {
  const int64_t customers = int64_t{population.warehouses()} * kDistricts * kCustomers;
  if (auto done = loader->counted("customer", tables.customer, customers,
                                  [&](int64_t i, TextPool* pool) {
                                    const Place place(i / kCustomers);
                                    return population.customer(
                                        place.w_id, place.d_id,
                                        static_cast<int32_t>(i % kCustomers) + 1, pool);
                                  });
      !done) {
    return done;
  }
  return loader->counted("history", tables.history, customers, [&](int64_t i, TextPool*) {
    const Place place(i / kCustomers);
    return population.history(place.w_id, place.d_id, static_cast<int32_t>(i % kCustomers) + 1);
  });
}

Result<void> load_orders(Loader* loader, const Tables& tables, const Population& population) {
  const int64_t districts = int64_t{population.warehouses()} * kDistricts;
  std::vector<int32_t> customers;
  if (auto done = loader->counted(
          "orders", tables.orders, districts * kInitialOrders,
          [&](int64_t i, TextPool*) {
            const Place place(i / kInitialOrders);
            const auto order = static_cast<int32_t>(i % kInitialOrders);
            if (order == 0) customers = population.order_customers(place.w_id, place.d_id);
            return population.order(place.w_id, place.d_id, order + 1, customers[order]);
          });
      !done) {
    return done;
  }
  if (auto done = loader->counted("neworder", tables.neworder, districts * kInitialNewOrders,
                                  [&](int64_t i, TextPool*) {
                                    const Place place(i / kInitialNewOrders);
                                    NewOrder row{};
                                    row.no_o_id = kFirstUndelivered +
                                                  static_cast<int32_t>(i % kInitialNewOrders);
                                    row.no_d_id = place.d_id;
                                    row.no_w_id = place.w_id;
                                    return row;
                                  });
      !done) {
    return done;
  }
  int64_t order = 0;
  int32_t number = 0;
  return loader->table("orderline", tables.orderline, [&](OrderLine* row, TextPool*) {
    if (order == districts * kInitialOrders) return false;
    const Place place(order / kInitialOrders);
    const auto o_id = static_cast<int32_t>(order % kInitialOrders) + 1;
    *row = population.order_line(place.w_id, place.d_id, o_id, ++number);
    if (number == population.order_line_count(place.w_id, place.d_id, o_id)) {
      number = 0;
      ++order;
    }
    return true;
  });
}

}  // namespace

Result<void> load(const LoadTable& load_table, const Tables& tables, uint64_t seed,
                  int32_t warehouses, const StopFlag& stop, const Progress& progress) {
  const Population population(seed, warehouses);
  Loader loader(load_table, warehouses, stop, progress);
  for (auto* step : {&load_shared, &load_warehouses, &load_customers, &load_orders}) {
    if (auto done = step(&loader, tables, population); !done) return done;
  }
  return {};
}

Result<void> load(dispatcher::Database* database, const Tables& tables, uint64_t seed,
                  int32_t warehouses, const StopFlag& stop, const Progress& progress) {
  const auto load_table = [database](base::TableId table, const NextRows& next) -> Result<void> {
    if (auto loaded = database->load(table, next); !loaded) return loaded.error();
    return {};
  };
  return load(load_table, tables, seed, warehouses, stop, progress);
}

}  // namespace diptych::workloads::tpcc
