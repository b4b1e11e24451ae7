#include "workloads/tpcc/inputs.h"

namespace diptych::workloads::tpcc {

std::string_view transaction_name(TransactionType type) {
  static constexpr std::string_view kNames[kTransactionTypes] = {
      "NewOrder", "Payment", "OrderStatus", "Delivery", "StockLevel"};
  return kNames[static_cast<size_t>(type)];
}

TransactionType InputGenerator::draw_type() {
  const int32_t drawn = random_.between(1, 100);
  if (drawn <= 45) return TransactionType::kNewOrder;
  if (drawn <= 88) return TransactionType::kPayment;
  if (drawn <= 92) return TransactionType::kOrderStatus;
  if (drawn <= 96) return TransactionType::kDelivery;
  return TransactionType::kStockLevel;
}

int32_t InputGenerator::other_warehouse(int32_t w_id) {
  if (warehouses_ == 1) return w_id;
  const int32_t drawn = random_.between(1, warehouses_ - 1);
  return drawn < w_id ? drawn : drawn + 1;
}

int32_t InputGenerator::customer() {
  return random_.non_uniform(1023, kCustomerConstant, 1, kCustomers);
}

void InputGenerator::draw_customer(int32_t* c_id, base::Varchar<16>* c_last) {
  if (random_.percent(60)) {
    *c_id = 0;
    *c_last = last_name(random_.non_uniform(255, kLastNameConstantRun, 0, kLastNames - 1));
  } else {
    *c_id = customer();
    *c_last = base::Varchar<16>{};
  }
}

NewOrderArguments InputGenerator::new_order() {
  NewOrderArguments input{};
  input.w_id = warehouse();
  input.d_id = district();
  input.c_id = customer();
  input.line_count = random_.between(kOrderLinesMin, kOrderLinesMax);
  for (int32_t i = 0; i < input.line_count; ++i) {
    NewOrderArguments::Line& line = input.lines[i];
    line.i_id = random_.non_uniform(8191, kItemConstant, 1, kItems);
    line.supply_w_id = random_.percent(1) ? other_warehouse(input.w_id) : input.w_id;
    line.quantity = random_.between(1, 10);
  }
  if (random_.percent(1)) input.lines[input.line_count - 1].i_id = kItems + 1;
  return input;
}

PaymentArguments InputGenerator::payment() {
  PaymentArguments input{};
  input.w_id = warehouse();
  input.d_id = district();
  input.c_w_id = input.w_id;
  input.c_d_id = input.d_id;
  if (random_.percent(15)) {
    input.c_w_id = other_warehouse(input.w_id);
    input.c_d_id = district();
  }
  draw_customer(&input.c_id, &input.c_last);
  input.h_amount = {random_.between(100, 500'000)};
  return input;
}

OrderStatusArguments InputGenerator::order_status() {
  OrderStatusArguments input{};
  input.w_id = warehouse();
  input.d_id = district();
  draw_customer(&input.c_id, &input.c_last);
  return input;
}

DeliveryArguments InputGenerator::delivery() {
  DeliveryArguments input{};
  input.w_id = warehouse();
  input.o_carrier_id = random_.between(1, 10);
  return input;
}

StockLevelArguments InputGenerator::stock_level() {
  StockLevelArguments input{};
  input.w_id = warehouse();
  input.d_id = district();
  input.threshold = random_.between(10, 20);
  return input;
}

}  // namespace diptych::workloads::tpcc
