#include "workloads/tpcc/procedures.h"

#include <algorithm>

#include <boost/container/small_vector.hpp>

namespace diptych::workloads::tpcc {

using base::Result;
using dispatcher::AccessPlan;
using dispatcher::RowHandle;
using dispatcher::ScanStep;
using dispatcher::Transaction;

Result<NamedCustomer> customer_by_name(Transaction& txn, const Tables& tables, int32_t w_id,
                                       int32_t d_id, const base::Varchar<16>& c_last) {
  boost::container::small_vector<NamedCustomer, 64> customers;
  auto scanned = txn.scan<&Customer::c_id>(tables.customer_by_name,
                                           prefix(tables.customer_by_name, w_id, d_id, c_last), {},
                                           [&](const RowHandle& handle, int32_t c_id) {
                                             customers.push_back({handle, c_id});
                                             return ScanStep::kContinue;
                                           });
  if (!scanned) return scanned.error();
  if (customers.empty()) return base::ErrorCode::kNotFound;
  return customers[(customers.size() - 1) / 2];
}

namespace {

// What each transaction will touch; see oltp/access_plan.h.

constexpr size_t kNamesakes = 8;  // 3 customers of a district share a name, on average

// Dist: the s_dist_xx of the order's district.
template <auto Dist>
void plan_stock(AccessPlan& plan, const Tables& tables, const NewOrderArguments::Line& line) {
  plan.row<&Stock::s_quantity, &Stock::s_ytd, &Stock::s_order_cnt, &Stock::s_remote_cnt,
           &Stock::s_data, Dist>(tables.stock_pkey, line.supply_w_id, line.i_id);
}
using PlanStock = void (*)(AccessPlan&, const Tables&, const NewOrderArguments::Line&);
constexpr PlanStock kPlanStock[kDistricts] = {
    &plan_stock<&Stock::s_dist_01>, &plan_stock<&Stock::s_dist_02>, &plan_stock<&Stock::s_dist_03>,
    &plan_stock<&Stock::s_dist_04>, &plan_stock<&Stock::s_dist_05>, &plan_stock<&Stock::s_dist_06>,
    &plan_stock<&Stock::s_dist_07>, &plan_stock<&Stock::s_dist_08>, &plan_stock<&Stock::s_dist_09>,
    &plan_stock<&Stock::s_dist_10>};

auto new_order_access(const Tables& tables) {
  return [tables](const NewOrderArguments& input, AccessPlan& plan) {
    if (input.d_id < 1 || input.d_id > kDistricts) return;
    plan.row<&Warehouse::w_tax>(tables.warehouse_pkey, input.w_id);
    plan.row(tables.district_pkey, input.w_id, input.d_id);
    plan.row<&Customer::c_discount, &Customer::c_last, &Customer::c_credit>(
        tables.customer_pkey, input.w_id, input.d_id, input.c_id);
    const size_t lines = std::min(static_cast<size_t>(input.line_count), input.lines.size());
    for (size_t i = 0; i < lines; ++i) {
      const NewOrderArguments::Line& line = input.lines[i];
      plan.row(tables.item_pkey, line.i_id);
      kPlanStock[input.d_id - 1](plan, tables, line);
    }
    plan.end(tables.neworder_pkey, input.w_id, input.d_id);
    plan.end(tables.orderline_pkey, input.w_id, input.d_id);
  };
}

template <auto... Columns>
void plan_customer(AccessPlan& plan, const Tables& tables, const PaymentArguments& input,
                   ColumnList<Columns...>) {
  if (input.c_id != 0) {
    plan.row<Columns...>(tables.customer_pkey, input.c_w_id, input.c_d_id, input.c_id);
  } else {
    plan.range<Columns...>(tables.customer_by_name, kNamesakes, input.c_w_id, input.c_d_id,
                           input.c_last);
  }
}

auto payment_access(const Tables& tables) {
  return [tables](const PaymentArguments& input, AccessPlan& plan) {
    plan.row(tables.warehouse_pkey, input.w_id);
    plan.row(tables.district_pkey, input.w_id, input.d_id);
    plan_customer(plan, tables, input, PayingColumns());
  };
}

auto order_status_access(const Tables& tables) {
  return [tables](const OrderStatusArguments& input, AccessPlan& plan) {
    if (input.c_id != 0) {
      plan.row<&Customer::c_id, &Customer::c_last, &Customer::c_balance>(
          tables.customer_pkey, input.w_id, input.d_id, input.c_id);
    } else {
      plan.range<&Customer::c_id>(tables.customer_by_name, kNamesakes, input.w_id, input.d_id,
                                  input.c_last);
    }
  };
}

auto delivery_access(const Tables& tables) {
  return [tables](const DeliveryArguments& input, AccessPlan& plan) {
    for (int32_t d_id = 1; d_id <= kDistricts; ++d_id) {
      plan.range(tables.neworder_pkey, 1, input.w_id, d_id);
    }
  };
}

auto stock_level_access(const Tables& tables) {
  return [tables](const StockLevelArguments& input, AccessPlan& plan) {
    plan.row<&District::d_next_o_id>(tables.district_pkey, input.w_id, input.d_id);
  };
}

// A warehouse's transactions meet at its row and its districts'.
template <class Arguments>
uint64_t by_warehouse(const Arguments& input) {
  return static_cast<uint64_t>(input.w_id);
}

}  // namespace

ChangingNames changing_names(SizePolicy size) {
  if (size == SizePolicy::kGrowing) return {"new_order", "payment", "delivery"};
  return {"new_order_constant", "payment_constant", "delivery_constant"};
}

Result<Procedures> register_procedures(const RegisterDefinition& take, const Tables& tables,
                                       SizePolicy size) {
  const auto [new_order_name, payment_name, delivery_name] = changing_names(size);
  auto new_order_id = take(dispatcher::define_procedure<NewOrderArguments, NewOrderReply>(
      std::string(new_order_name),
      [tables, size](Transaction& txn, const NewOrderArguments& input) {
        return new_order(txn, tables, size, input);
      },
      {.access = new_order_access(tables), .partition = by_warehouse<NewOrderArguments>}));
  if (!new_order_id) return new_order_id.error();
  auto payment_id = take(dispatcher::define_procedure<PaymentArguments, PaymentReply>(
      std::string(payment_name),
      [tables, size](Transaction& txn, const PaymentArguments& input) {
        return payment(txn, tables, size, input);
      },
      {.access = payment_access(tables), .partition = by_warehouse<PaymentArguments>}));
  if (!payment_id) return payment_id.error();
  auto status_id = take(dispatcher::define_procedure<OrderStatusArguments, OrderStatusReply>(
      "order_status",
      [tables](Transaction& txn, const OrderStatusArguments& input) {
        return order_status(txn, tables, input);
      },
      {.access = order_status_access(tables), .partition = by_warehouse<OrderStatusArguments>}));
  if (!status_id) return status_id.error();
  auto delivery_id = take(dispatcher::define_procedure<DeliveryArguments, DeliveryReply>(
      std::string(delivery_name),
      [tables, size](Transaction& txn, const DeliveryArguments& input) {
        return delivery(txn, tables, size, input);
      },
      {.access = delivery_access(tables), .partition = by_warehouse<DeliveryArguments>}));
  if (!delivery_id) return delivery_id.error();
  auto level_id = take(dispatcher::define_procedure<StockLevelArguments, StockLevelReply>(
      "stock_level",
      [tables](Transaction& txn, const StockLevelArguments& input) {
        return stock_level(txn, tables, input);
      },
      {.access = stock_level_access(tables), .partition = by_warehouse<StockLevelArguments>}));
  if (!level_id) return level_id.error();
  return Procedures{{*new_order_id}, {*payment_id}, {*status_id}, {*delivery_id}, {*level_id}};
}

Result<Procedures> register_procedures(dispatcher::Database* database, const Tables& tables,
                                       SizePolicy size) {
  return register_procedures(
      [database](dispatcher::ProcedureDefinition definition) {
        return database->register_definition(std::move(definition));
      },
      tables, size);
}

}  // namespace diptych::workloads::tpcc
