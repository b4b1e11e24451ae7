#include <array>
#include <span>

#include "workloads/tpcc/procedures.h"

namespace diptych::workloads::tpcc {
namespace {

using base::Result;
using dispatcher::AccessPlan;
using dispatcher::RowHandle;
using dispatcher::ScanStep;
using dispatcher::set;
using dispatcher::Transaction;

constexpr size_t kOrdersMax = 2 * kDistricts;  // two of a district in the constant-size variant

// An order on its way to its customer.
struct Parcel {
  int32_t d_id;
  int32_t o_id;
  int32_t c_id;
  Money total;  // of the lines
};

// Takes the district's oldest order off the waiting ones; gives its number, or 0 where none waits.
Result<int32_t> take_oldest(Transaction& txn, const Tables& tables, int32_t w_id, int32_t d_id) {
  RowHandle oldest{};
  int32_t o_id = 0;
  auto found =
      txn.scan<&NewOrder::no_o_id>(tables.neworder_pkey, prefix(tables.neworder_pkey, w_id, d_id),
                                   {.limit = 1}, [&](const RowHandle& handle, int32_t no_o_id) {
                                     oldest = handle;
                                     o_id = no_o_id;
                                     return ScanStep::kStop;
                                   });
  if (!found) return found.error();
  if (*found == 0) return 0;
  auto waiting = txn.claim<NewOrder, &NewOrder::no_o_id>(oldest);
  if (!waiting) return waiting.error();
  txn.erase(*waiting);
  return o_id;
}

// The oldest order of each district, in `parcels`; gives how many.
Result<size_t> take_orders(Transaction& txn, const Tables& tables, SizePolicy size, int32_t w_id,
                           std::span<Parcel> parcels) {
  size_t count = 0;
  for (int32_t d_id = 1; d_id <= kDistricts; ++d_id) {
    auto oldest = take_oldest(txn, tables, w_id, d_id);
    if (!oldest) return oldest.error();
    if (*oldest == 0) continue;
    parcels[count++] = {d_id, *oldest, 0, {}};
    if (size != SizePolicy::kConstant) continue;
    auto next = txn.get<&District::d_next_o_id>(tables.district_pkey, w_id, d_id);
    if (!next) return next.error();
    if (*next - *oldest - 1 <= kInitialNewOrders) continue;
    oldest = take_oldest(txn, tables, w_id, d_id);
    if (!oldest) return oldest.error();
    if (*oldest != 0) parcels[count++] = {d_id, *oldest, 0, {}};
  }
  return count;
}

Result<void> note_carrier(Transaction& txn, const Tables& tables, const DeliveryArguments& input,
                          Parcel* parcel) {
  auto order = txn.get_for_update<&Order::o_c_id>(tables.orders_pkey, input.w_id, parcel->d_id,
                                                  parcel->o_id);
  if (!order) return order.error();
  txn.update(*order, set<&Order::o_carrier_id>(input.o_carrier_id));
  parcel->c_id = order->values;
  return {};
}

// Marks the order's lines as delivered, and adds up their amounts.
Result<void> deliver_lines(Transaction& txn, const Tables& tables, int32_t w_id, Parcel* parcel) {
  RowHandle lines[kOrderLinesMax];
  size_t count = 0;
  auto scanned = txn.scan<&OrderLine::ol_amount>(
      tables.orderline_pkey, prefix(tables.orderline_pkey, w_id, parcel->d_id, parcel->o_id),
      {.limit = kOrderLinesMax}, [&](const RowHandle& handle, const Money& amount) {
        lines[count++] = handle;
        parcel->total.units += amount.units;
        return ScanStep::kContinue;
      });
  if (!scanned) return scanned.error();
  for (size_t i = 0; i < count; ++i) {
    auto line = txn.claim<OrderLine, &OrderLine::ol_number>(lines[i]);
    if (!line) return line.error();
    txn.update(*line, set<&OrderLine::ol_delivery_d>(txn.now()));
  }
  return {};
}

Result<void> charge_customer(Transaction& txn, const Tables& tables, int32_t w_id,
                             const Parcel& parcel) {
  auto customer = txn.get_for_update<&Customer::c_balance, &Customer::c_delivery_cnt>(
      tables.customer_pkey, w_id, parcel.d_id, parcel.c_id);
  if (!customer) return customer.error();
  const auto& [balance, delivery_cnt] = customer->values;
  txn.update(*customer, set<&Customer::c_balance>({balance.units + parcel.total.units}),
             set<&Customer::c_delivery_cnt>(delivery_cnt + 1));
  return {};
}

}  // namespace

// All districts go through a step together, so that what the next one reads comes meanwhile.
Result<DeliveryReply> delivery(Transaction& txn, const Tables& tables, SizePolicy size,
                               const DeliveryArguments& input) {
  std::array<Parcel, kOrdersMax> taken;
  auto count = take_orders(txn, tables, size, input.w_id, taken);
  if (!count) return count.error();
  const auto parcels = std::span(taken).first(*count);

  AccessPlan orders = txn.make_plan();
  for (const Parcel& parcel : parcels) {
    orders.row<&Order::o_c_id, &Order::o_carrier_id>(tables.orders_pkey, input.w_id, parcel.d_id,
                                                     parcel.o_id);
    orders.range<&OrderLine::ol_amount, &OrderLine::ol_delivery_d>(
        tables.orderline_pkey, kOrderLinesMax, input.w_id, parcel.d_id, parcel.o_id);
  }
  orders.fetch_rows();
  AccessPlan customers = txn.make_plan();
  for (Parcel& parcel : parcels) {
    if (auto noted = note_carrier(txn, tables, input, &parcel); !noted) return noted.error();
    customers.row<&Customer::c_balance, &Customer::c_delivery_cnt>(tables.customer_pkey, input.w_id,
                                                                   parcel.d_id, parcel.c_id);
  }
  customers.fetch_rows();
  DeliveryReply reply{};
  for (Parcel& parcel : parcels) {
    if (auto lines = deliver_lines(txn, tables, input.w_id, &parcel); !lines) return lines.error();
    reply.newest[parcel.d_id - 1] = parcel.o_id;
    ++reply.delivered;
  }
  for (const Parcel& parcel : parcels) {
    auto charged = charge_customer(txn, tables, input.w_id, parcel);
    if (!charged) return charged.error();
  }
  return reply;
}

}  // namespace diptych::workloads::tpcc
