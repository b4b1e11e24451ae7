#include "workloads/tpcc/procedures.h"

namespace diptych::workloads::tpcc {
namespace {

using base::Result;
using dispatcher::Direction;
using dispatcher::RowHandle;
using dispatcher::ScanStep;
using dispatcher::Transaction;

Result<void> read_customer(Transaction& txn, const Tables& tables,
                           const OrderStatusArguments& input, OrderStatusReply* reply) {
  reply->c_id = input.c_id;
  if (input.c_id == 0) {
    auto named = customer_by_name(txn, tables, input.w_id, input.d_id, input.c_last);
    if (!named) return named.error();
    reply->c_id = named->c_id;
  }
  auto customer =
      txn.get<&Customer::c_first, &Customer::c_middle, &Customer::c_last, &Customer::c_balance>(
          tables.customer_pkey, input.w_id, input.d_id, reply->c_id);
  if (!customer) return customer.error();
  std::tie(reply->c_first, reply->c_middle, reply->c_last, reply->c_balance) = *customer;
  return {};
}

}  // namespace

Result<OrderStatusReply> order_status(Transaction& txn, const Tables& tables,
                                      const OrderStatusArguments& input) {
  OrderStatusReply reply{};
  if (auto read = read_customer(txn, tables, input, &reply); !read) return read.error();
  auto newest = txn.scan<&Order::o_id, &Order::o_entry_d, &Order::o_carrier_id>(
      tables.orders_by_customer,
      prefix(tables.orders_by_customer, input.w_id, input.d_id, reply.c_id),
      {.direction = Direction::kBackward, .limit = 1}, [&](const RowHandle&, const auto& order) {
        std::tie(reply.o_id, reply.o_entry_d, reply.o_carrier_id) = order;
        return ScanStep::kStop;
      });
  if (!newest) return newest.error();
  if (*newest == 0) return reply;
  auto lines = txn.scan<&OrderLine::ol_i_id, &OrderLine::ol_supply_w_id, &OrderLine::ol_quantity,
                        &OrderLine::ol_amount, &OrderLine::ol_delivery_d>(
      tables.orderline_pkey, prefix(tables.orderline_pkey, input.w_id, input.d_id, reply.o_id),
      {.limit = kOrderLinesMax}, [&](const RowHandle&, const auto& line) {
        auto& out = reply.lines[reply.line_count++];
        std::tie(out.ol_i_id, out.ol_supply_w_id, out.ol_quantity, out.ol_amount,
                 out.ol_delivery_d) = line;
        return ScanStep::kContinue;
      });
  if (!lines) return lines.error();
  return reply;
}

}  // namespace diptych::workloads::tpcc
