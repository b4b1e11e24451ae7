// Inputs: what a terminal enters (clauses 2.4.1 to 2.8.1), drawn by the driver.
//
// The mix is the standard one: 45 % New-Order, 43 % Payment, 4 % each of Order-Status, Delivery and
// Stock-Level. One New-Order of a hundred asks for an item that does not exist and rolls back; an
// order line comes from another warehouse with 1 %, a paying customer with 15 %; customers are
// named by last name with 60 %.
// Where we differ: a terminal has no home warehouse; each call draws one, so that any number of
// clients loads all warehouses alike (BatchDB, section 8.1, has up to 2,000 clients on any scale).

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "workloads/tpcc/procedures.h"
#include "workloads/tpcc/random.h"

namespace diptych::workloads::tpcc {

enum class TransactionType : uint8_t { kNewOrder, kPayment, kOrderStatus, kDelivery, kStockLevel };
inline constexpr size_t kTransactionTypes = 5;
std::string_view transaction_name(TransactionType type);  // "NewOrder", "Payment", ...

// Room for the input or the output of any of the five.
union AnyArguments {
  NewOrderArguments new_order;
  PaymentArguments payment;
  OrderStatusArguments order_status;
  DeliveryArguments delivery;
  StockLevelArguments stock_level;
  AnyArguments() : stock_level{} {}
};
union AnyReply {
  NewOrderReply new_order;
  PaymentReply payment;
  OrderStatusReply order_status;
  DeliveryReply delivery;
  StockLevelReply stock_level;
  AnyReply() : stock_level{} {}
};

class InputGenerator {
 public:
  InputGenerator(uint64_t seed, int32_t warehouses) : random_(seed), warehouses_(warehouses) {}

  TransactionType draw_type();
  NewOrderArguments new_order();
  PaymentArguments payment();
  OrderStatusArguments order_status();
  DeliveryArguments delivery();
  StockLevelArguments stock_level();

 private:
  int32_t warehouse() { return random_.between(1, warehouses_); }
  int32_t other_warehouse(int32_t w_id);  // w_id itself where there is no other
  int32_t district() { return random_.between(1, kDistricts); }
  int32_t customer();
  // Either c_id or, with 60 %, c_last.
  void draw_customer(int32_t* c_id, base::Varchar<16>* c_last);

  Random random_;
  int32_t warehouses_;
};

}  // namespace diptych::workloads::tpcc
