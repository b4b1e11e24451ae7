#include "workloads/tpcc/procedures.h"

#include <boost/container/small_vector.hpp>

namespace diptych::workloads::tpcc {

using base::Result;
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

Result<Procedures> register_procedures(dispatcher::Database* database, const Tables& tables,
                                       SizePolicy size) {
  auto registered_new_order = database->register_procedure<NewOrderArguments, NewOrderReply>(
      "new_order", [tables, size](Transaction& txn, const NewOrderArguments& input) {
        return new_order(txn, tables, size, input);
      });
  if (!registered_new_order) return registered_new_order.error();
  auto registered_payment = database->register_procedure<PaymentArguments, PaymentReply>(
      "payment", [tables, size](Transaction& txn, const PaymentArguments& input) {
        return payment(txn, tables, size, input);
      });
  if (!registered_payment) return registered_payment.error();
  auto registered_status = database->register_procedure<OrderStatusArguments, OrderStatusReply>(
      "order_status", [tables](Transaction& txn, const OrderStatusArguments& input) {
        return order_status(txn, tables, input);
      });
  if (!registered_status) return registered_status.error();
  auto registered_delivery = database->register_procedure<DeliveryArguments, DeliveryReply>(
      "delivery", [tables, size](Transaction& txn, const DeliveryArguments& input) {
        return delivery(txn, tables, size, input);
      });
  if (!registered_delivery) return registered_delivery.error();
  auto registered_level = database->register_procedure<StockLevelArguments, StockLevelReply>(
      "stock_level", [tables](Transaction& txn, const StockLevelArguments& input) {
        return stock_level(txn, tables, input);
      });
  if (!registered_level) return registered_level.error();
  return Procedures{*registered_new_order, *registered_payment, *registered_status,
                    *registered_delivery, *registered_level};
}

}  // namespace diptych::workloads::tpcc
