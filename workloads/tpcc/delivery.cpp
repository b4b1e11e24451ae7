#include "workloads/tpcc/procedures.h"

namespace diptych::workloads::tpcc {
namespace {

using base::Result;
using dispatcher::RowHandle;
using dispatcher::ScanStep;
using dispatcher::set;
using dispatcher::Transaction;

// Marks the order's lines as delivered; gives the sum of their amounts.
Result<Money> deliver_lines(Transaction& txn, const Tables& tables, int32_t w_id, int32_t d_id,
                            int32_t o_id) {
  RowHandle lines[kOrderLinesMax];
  size_t count = 0;
  Money total{};
  auto scanned = txn.scan<&OrderLine::ol_amount>(
      tables.orderline_pkey, prefix(tables.orderline_pkey, w_id, d_id, o_id),
      {.limit = kOrderLinesMax}, [&](const RowHandle& handle, const Money& amount) {
        lines[count++] = handle;
        total.units += amount.units;
        return ScanStep::kContinue;
      });
  if (!scanned) return scanned.error();
  for (size_t i = 0; i < count; ++i) {
    auto line = txn.claim<OrderLine, &OrderLine::ol_number>(lines[i]);
    if (!line) return line.error();
    txn.update(*line, set<&OrderLine::ol_delivery_d>(txn.now()));
  }
  return total;
}

// Delivers the district's oldest waiting order; gives its number, or 0 where none waits.
Result<int32_t> deliver_oldest(Transaction& txn, const Tables& tables,
                               const DeliveryArguments& input, int32_t d_id) {
  RowHandle oldest{};
  int32_t o_id = 0;
  auto found = txn.scan<&NewOrder::no_o_id>(
      tables.neworder_pkey, prefix(tables.neworder_pkey, input.w_id, d_id), {.limit = 1},
      [&](const RowHandle& handle, int32_t no_o_id) {
        oldest = handle;
        o_id = no_o_id;
        return ScanStep::kStop;
      });
  if (!found) return found.error();
  if (*found == 0) return 0;
  auto waiting = txn.claim<NewOrder, &NewOrder::no_o_id>(oldest);
  if (!waiting) return waiting.error();
  txn.erase(*waiting);

  auto order = txn.get_for_update<&Order::o_c_id>(tables.orders_pkey, input.w_id, d_id, o_id);
  if (!order) return order.error();
  txn.update(*order, set<&Order::o_carrier_id>(input.o_carrier_id));
  auto total = deliver_lines(txn, tables, input.w_id, d_id, o_id);
  if (!total) return total.error();

  auto customer = txn.get_for_update<&Customer::c_balance, &Customer::c_delivery_cnt>(
      tables.customer_pkey, input.w_id, d_id, order->values);
  if (!customer) return customer.error();
  const auto& [balance, delivery_cnt] = customer->values;
  txn.update(*customer, set<&Customer::c_balance>({balance.units + total->units}),
             set<&Customer::c_delivery_cnt>(delivery_cnt + 1));
  return o_id;
}

}  // namespace

Result<DeliveryReply> delivery(Transaction& txn, const Tables& tables, SizePolicy size,
                               const DeliveryArguments& input) {
  DeliveryReply reply{};
  for (int32_t d_id = 1; d_id <= kDistricts; ++d_id) {
    auto delivered = deliver_oldest(txn, tables, input, d_id);
    if (!delivered) return delivered.error();
    if (*delivered != 0 && size == SizePolicy::kConstant) {
      auto next = txn.get<&District::d_next_o_id>(tables.district_pkey, input.w_id, d_id);
      if (!next) return next.error();
      if (*next - *delivered - 1 > kInitialNewOrders) {
        ++reply.delivered;
        delivered = deliver_oldest(txn, tables, input, d_id);
        if (!delivered) return delivered.error();
      }
    }
    reply.newest[d_id - 1] = *delivered;
    if (*delivered != 0) ++reply.delivered;
  }
  return reply;
}

}  // namespace diptych::workloads::tpcc
