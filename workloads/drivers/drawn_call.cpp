#include "workloads/drivers/drawn_call.h"

namespace diptych::workloads {

using tpcc::TransactionType;

void DrawnCall::draw(tpcc::InputGenerator* inputs, const tpcc::Procedures& procedures) {
  type = inputs->draw_type();
  const auto place = [&](auto procedure, auto* in, auto* out, const auto& drawn) {
    *in = drawn;
    request = dispatcher::Request::of(procedure, in, out);
  };
  switch (type) {
    case TransactionType::kNewOrder:
      return place(procedures.new_order, &arguments.new_order, &reply.new_order,
                   inputs->new_order());
    case TransactionType::kPayment:
      return place(procedures.payment, &arguments.payment, &reply.payment, inputs->payment());
    case TransactionType::kOrderStatus:
      return place(procedures.order_status, &arguments.order_status, &reply.order_status,
                   inputs->order_status());
    case TransactionType::kDelivery:
      return place(procedures.delivery, &arguments.delivery, &reply.delivery, inputs->delivery());
    case TransactionType::kStockLevel:
      return place(procedures.stock_level, &arguments.stock_level, &reply.stock_level,
                   inputs->stock_level());
  }
}

}  // namespace diptych::workloads
