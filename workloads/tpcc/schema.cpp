#include "workloads/tpcc/schema.h"

#include <optional>

#include "workloads/embedded_files.h"

namespace diptych::workloads::tpcc {
namespace {

using base::Error;
using base::Result;

// Binds refs one after the other and remembers the first failure.
class Binder {
 public:
  explicit Binder(const dispatcher::Database& database) : database_(database) {}

  template <class Row>
  void table(std::string_view name, dispatcher::TableRef<Row>* out) {
    take(database_.bind_table<Row>(name), out);
  }
  template <auto... Members>
  void index(std::string_view name, dispatcher::IndexRef<Members...>* out) {
    take(database_.bind_index<Members...>(name), out);
  }
  const std::optional<Error>& failure() const { return failure_; }

 private:
  template <class Ref>
  void take(Result<Ref> bound, Ref* out) {
    if (bound) {
      *out = *bound;
    } else if (!failure_) {
      failure_ = bound.error();
    }
  }

  const dispatcher::Database& database_;
  std::optional<Error> failure_;
};

}  // namespace

std::string_view schema_script() {
  return embedded_file("tpcc/schema.sql");
}

Result<Tables> create_tables(dispatcher::Database* database) {
  if (auto created = database->execute_ddl(schema_script()); !created) {
    return created.error().within("creating the TPC-C tables");
  }
  return bind_tables(*database);
}

Result<Tables> bind_tables(const dispatcher::Database& database) {
  Tables tables;
  Binder bind(database);
  bind.table("region", &tables.region);
  bind.table("nation", &tables.nation);
  bind.table("supplier", &tables.supplier);
  bind.table("warehouse", &tables.warehouse);
  bind.table("district", &tables.district);
  bind.table("customer", &tables.customer);
  bind.table("history", &tables.history);
  bind.table("item", &tables.item);
  bind.table("stock", &tables.stock);
  bind.table("orders", &tables.orders);
  bind.table("neworder", &tables.neworder);
  bind.table("orderline", &tables.orderline);
  bind.index("warehouse_pkey", &tables.warehouse_pkey);
  bind.index("district_pkey", &tables.district_pkey);
  bind.index("customer_pkey", &tables.customer_pkey);
  bind.index("customer_by_name", &tables.customer_by_name);
  bind.index("history_pkey", &tables.history_pkey);
  bind.index("item_pkey", &tables.item_pkey);
  bind.index("stock_pkey", &tables.stock_pkey);
  bind.index("orders_pkey", &tables.orders_pkey);
  bind.index("orders_by_customer", &tables.orders_by_customer);
  bind.index("neworder_pkey", &tables.neworder_pkey);
  bind.index("orderline_pkey", &tables.orderline_pkey);
  if (bind.failure()) return *bind.failure();
  return tables;
}

}  // namespace diptych::workloads::tpcc
