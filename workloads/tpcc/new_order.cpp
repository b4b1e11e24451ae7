#include <string_view>
#include <tuple>

#include "workloads/tpcc/procedures.h"

namespace diptych::workloads::tpcc {
namespace {

using base::ErrorCode;
using base::Result;
using dispatcher::Nothing;
using dispatcher::RowHandle;
using dispatcher::ScanStep;
using dispatcher::set;
using dispatcher::Transaction;

struct TakenStock {
  int32_t quantity;  // after
  base::Char<24> dist_info;
  bool original;
};

bool is_original(const base::Varchar<50>& data) {
  return data.view().find("ORIGINAL") != std::string_view::npos;
}

// Takes an item out of a warehouse's stock (clause 2.4.2.2). Dist: the s_dist_xx of the
// order's district.
template <auto Dist>
Result<TakenStock> take_stock(Transaction& txn, const Tables& tables,
                              const NewOrderArguments::Line& line, bool remote) {
  auto stock = txn.get_for_update<&Stock::s_quantity, &Stock::s_ytd, &Stock::s_order_cnt,
                                  &Stock::s_remote_cnt, Dist, &Stock::s_data>(
      tables.stock_pkey, line.supply_w_id, line.i_id);
  if (!stock) return stock.error();
  const auto& [s_quantity, s_ytd, s_order_cnt, s_remote_cnt, dist, data] = stock->values;
  const int32_t rest = s_quantity - line.quantity;
  const int32_t quantity = rest >= 10 ? rest : rest + 91;
  if (remote) {
    txn.update(*stock, set<&Stock::s_quantity>(quantity), set<&Stock::s_ytd>(s_ytd + line.quantity),
               set<&Stock::s_order_cnt>(s_order_cnt + 1),
               set<&Stock::s_remote_cnt>(s_remote_cnt + 1));
  } else {
    txn.update(*stock, set<&Stock::s_quantity>(quantity), set<&Stock::s_ytd>(s_ytd + line.quantity),
               set<&Stock::s_order_cnt>(s_order_cnt + 1));
  }
  return TakenStock{quantity, dist, is_original(data)};
}

using TakeStock = Result<TakenStock> (*)(Transaction&, const Tables&,
                                         const NewOrderArguments::Line&, bool);
constexpr TakeStock kTakeStock[kDistricts] = {
    &take_stock<&Stock::s_dist_01>, &take_stock<&Stock::s_dist_02>, &take_stock<&Stock::s_dist_03>,
    &take_stock<&Stock::s_dist_04>, &take_stock<&Stock::s_dist_05>, &take_stock<&Stock::s_dist_06>,
    &take_stock<&Stock::s_dist_07>, &take_stock<&Stock::s_dist_08>, &take_stock<&Stock::s_dist_09>,
    &take_stock<&Stock::s_dist_10>};

// Makes one line; adds its amount to the reply's total.
Result<void> add_line(Transaction& txn, const Tables& tables, const NewOrderArguments& input,
                      int32_t number, NewOrderReply* reply) {
  const NewOrderArguments::Line& line = input.lines[number - 1];
  auto item = txn.get<&Item::i_price, &Item::i_name, &Item::i_data>(tables.item_pkey, line.i_id);
  if (!item) {
    if (item.code() != ErrorCode::kNotFound) return item.error();
    return txn.abort("item number is not valid");  // clause 2.4.1.4: the 1 % that roll back
  }
  const auto& [price, name, data] = *item;
  auto stock = kTakeStock[input.d_id - 1](txn, tables, line, line.supply_w_id != input.w_id);
  if (!stock) return stock.error();

  OrderLine row{};
  row.ol_o_id = reply->o_id;
  row.ol_d_id = input.d_id;
  row.ol_w_id = input.w_id;
  row.ol_number = number;
  row.ol_i_id = line.i_id;
  row.ol_supply_w_id = line.supply_w_id;
  row.ol_quantity = line.quantity;
  row.ol_amount = {line.quantity * price.units};
  row.ol_dist_info = stock->dist_info;
  if (auto inserted = txn.insert(tables.orderline, row); !inserted) return inserted.error();

  const char brand = is_original(data) && stock->original ? 'B' : 'G';
  reply->lines[number - 1] = {name, stock->quantity, brand, price, row.ol_amount};
  reply->total_amount.units += row.ol_amount.units;
  return {};
}

// The constant-size variant: the order with all that hangs on it, if it is there.
Result<void> drop_order(Transaction& txn, const Tables& tables, int32_t w_id, int32_t d_id,
                        int32_t o_id) {
  auto order = txn.get_for_update<&Order::o_carrier_id>(tables.orders_pkey, w_id, d_id, o_id);
  if (!order) {
    if (order.code() == ErrorCode::kNotFound) return {};
    return order.error();
  }
  txn.erase(*order);
  if (order->values.is_null) {
    auto waiting = txn.get_for_update<&NewOrder::no_o_id>(tables.neworder_pkey, w_id, d_id, o_id);
    if (!waiting) return waiting.error();
    txn.erase(*waiting);
  }
  RowHandle lines[kOrderLinesMax];
  size_t count = 0;
  auto scanned = txn.scan<&OrderLine::ol_number>(
      tables.orderline_pkey, prefix(tables.orderline_pkey, w_id, d_id, o_id),
      {.limit = kOrderLinesMax}, [&](const RowHandle& handle, int32_t) {
        lines[count++] = handle;
        return ScanStep::kContinue;
      });
  if (!scanned) return scanned.error();
  for (size_t i = 0; i < count; ++i) {
    auto line = txn.claim<OrderLine, &OrderLine::ol_number>(lines[i]);
    if (!line) return line.error();
    txn.erase(*line);
  }
  return {};
}

bool all_local(const NewOrderArguments& input) {
  for (int32_t i = 0; i < input.line_count; ++i) {
    if (input.lines[i].supply_w_id != input.w_id) return false;
  }
  return true;
}

// Takes the order's number.
Result<void> open_order(Transaction& txn, const Tables& tables, const NewOrderArguments& input,
                        NewOrderReply* reply) {
  // Claimed is the group of d_next_o_id alone, which no Payment writes.
  auto district = txn.find<&District::d_tax>(tables.district_pkey, input.w_id, input.d_id);
  if (!district) return district.error();
  auto next = txn.claim<District, &District::d_next_o_id>(district->handle);
  if (!next) return next.error();
  reply->d_tax = district->values;
  reply->o_id = next->values;
  reply->o_entry_d = txn.now();
  txn.update(*next, set<&District::d_next_o_id>(reply->o_id + 1));
  // The order is inserted when its lines are done, into a bucket that has come meanwhile.
  txn.make_plan().row<&Order::o_id>(tables.orders_pkey, input.w_id, input.d_id, reply->o_id);
  return {};
}

// The order's rows in orders and neworder.
Result<void> close_order(Transaction& txn, const Tables& tables, const NewOrderArguments& input,
                         const NewOrderReply& reply) {
  Order order{};
  order.o_id = reply.o_id;
  order.o_d_id = input.d_id;
  order.o_w_id = input.w_id;
  order.o_c_id = input.c_id;
  order.o_entry_d = txn.now();
  order.o_ol_cnt = input.line_count;
  order.o_all_local = all_local(input) ? 1 : 0;
  if (auto inserted = txn.insert(tables.orders, order); !inserted) return inserted.error();
  NewOrder waiting{};
  waiting.no_o_id = reply.o_id;
  waiting.no_d_id = input.d_id;
  waiting.no_w_id = input.w_id;
  if (auto inserted = txn.insert(tables.neworder, waiting); !inserted) return inserted.error();
  return {};
}

}  // namespace

Result<NewOrderReply> new_order(Transaction& txn, const Tables& tables, SizePolicy size,
                                const NewOrderArguments& input) {
  if (input.d_id < 1 || input.d_id > kDistricts || input.line_count < 1 ||
      input.line_count > kOrderLinesMax) {
    return base::Error(ErrorCode::kInvalidArgument, "new_order: district or line count");
  }
  NewOrderReply reply{};
  auto w_tax = txn.get<&Warehouse::w_tax>(tables.warehouse_pkey, input.w_id);
  if (!w_tax) return w_tax.error();
  reply.w_tax = *w_tax;
  if (auto opened = open_order(txn, tables, input, &reply); !opened) return opened.error();
  auto customer = txn.get<&Customer::c_discount, &Customer::c_last, &Customer::c_credit>(
      tables.customer_pkey, input.w_id, input.d_id, input.c_id);
  if (!customer) return customer.error();
  std::tie(reply.c_discount, reply.c_last, reply.c_credit) = *customer;

  for (int32_t number = 1; number <= input.line_count; ++number) {
    if (auto added = add_line(txn, tables, input, number, &reply); !added) return added.error();
  }
  if (auto closed = close_order(txn, tables, input, reply); !closed) return closed.error();
  // Clause 2.4.2.2: the total with discount and taxes. Rates have four digits.
  constexpr int64_t kOne = 10'000;
  reply.total_amount.units = reply.total_amount.units * (kOne - reply.c_discount.units) / kOne *
                             (kOne + reply.w_tax.units + reply.d_tax.units) / kOne;
  if (size == SizePolicy::kConstant) {
    if (auto dropped = drop_order(txn, tables, input.w_id, input.d_id, reply.o_id - kInitialOrders);
        !dropped) {
      return dropped.error();
    }
  }
  return reply;
}

}  // namespace diptych::workloads::tpcc
