// Procedures: the five transactions of TPC-C (clause 2) as stored procedures.
//
// Inputs are drawn by the driver (tpcc/inputs.h); a procedure draws nothing, so it replays exactly.
// Reads and writes name their columns, so that undo, redo and export stay field by field.
//
// SizePolicy::kConstant keeps the database at its loaded size (BatchDB, section 8.4):
//   NewOrder   deletes the district's oldest order, d_next_o_id - 3000, with its lines (and its
//              neworder row, should it still be there).
//   Payment    deletes the customer's previous history row: each customer keeps one.
//   Delivery   delivers a second order in a district where more than 900 wait; the standard mix
//              delivers 0.9 of the orders that it makes, and neworder would grow.

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string_view>

#include "base/result.h"
#include "base/types.h"
#include "dispatcher/database.h"
#include "workloads/session_options.h"
#include "workloads/tpcc/rows.h"

namespace diptych::workloads::tpcc {

struct NewOrderArguments {
  struct Line {
    int32_t i_id;
    int32_t supply_w_id;
    int32_t quantity;
  };
  int32_t w_id;
  int32_t d_id;
  int32_t c_id;
  int32_t line_count;
  std::array<Line, kOrderLinesMax> lines;
};

struct NewOrderReply {
  struct Line {
    base::Varchar<24> i_name;
    int32_t s_quantity;
    char brand_generic;  // 'B' where item and stock are ORIGINAL, else 'G'
    Money i_price;
    Money ol_amount;
  };
  int32_t o_id;
  base::Varchar<16> c_last;
  base::Char<2> c_credit;
  Rate c_discount;
  Rate w_tax;
  Rate d_tax;
  base::Timestamp o_entry_d;
  Money total_amount;
  std::array<Line, kOrderLinesMax> lines;
};

// A customer is named by c_id or, where c_id is 0, by last name.
struct PaymentArguments {
  int32_t w_id;
  int32_t d_id;
  int32_t c_w_id;
  int32_t c_d_id;
  int32_t c_id;
  base::Varchar<16> c_last;
  Money h_amount;
};

struct Address {
  base::Varchar<20> street_1;
  base::Varchar<20> street_2;
  base::Varchar<20> city;
  base::Char<2> state;
  base::Char<9> zip;
};

inline constexpr uint32_t kDataBytesShown = 200;  // of c_data, to the terminal

// What clause 2.5.3.3 shows.
struct PaymentReply {
  int64_t h_id;
  base::Timestamp h_date;
  Address warehouse;
  Address district;
  int32_t c_id;
  base::Varchar<16> c_first;
  base::Char<2> c_middle;
  base::Varchar<16> c_last;
  Address customer;
  base::Char<16> c_phone;
  base::Timestamp c_since;
  base::Char<2> c_credit;
  Money c_credit_lim;
  Rate c_discount;
  Money c_balance;
  uint32_t c_data_bytes;  // 0 where the credit is good
  std::array<char, kDataBytesShown> c_data;
};

struct OrderStatusArguments {
  int32_t w_id;
  int32_t d_id;
  int32_t c_id;
  base::Varchar<16> c_last;
};

struct OrderStatusReply {
  struct Line {
    int32_t ol_i_id;
    int32_t ol_supply_w_id;
    int32_t ol_quantity;
    Money ol_amount;
    base::Nullable<base::Timestamp> ol_delivery_d;
  };
  int32_t c_id;
  base::Varchar<16> c_first;
  base::Char<2> c_middle;
  base::Varchar<16> c_last;
  Money c_balance;
  int32_t o_id;  // 0: in a constant-size database the customer may have no order left
  base::Timestamp o_entry_d;
  base::Nullable<int32_t> o_carrier_id;
  int32_t line_count;
  std::array<Line, kOrderLinesMax> lines;
};

struct DeliveryArguments {
  int32_t w_id;
  int32_t o_carrier_id;
};

struct DeliveryReply {
  int32_t delivered;                       // orders, over all districts
  std::array<int32_t, kDistricts> newest;  // o_id delivered last in each district; 0: none waited
};

struct StockLevelArguments {
  int32_t w_id;
  int32_t d_id;
  int32_t threshold;
};

struct StockLevelReply {
  int32_t low_stock;
};

struct Procedures {
  dispatcher::ProcedureRef<NewOrderArguments, NewOrderReply> new_order;
  dispatcher::ProcedureRef<PaymentArguments, PaymentReply> payment;
  dispatcher::ProcedureRef<OrderStatusArguments, OrderStatusReply> order_status;
  dispatcher::ProcedureRef<DeliveryArguments, DeliveryReply> delivery;
  dispatcher::ProcedureRef<StockLevelArguments, StockLevelReply> stock_level;
};

// The names of those that change something: new_order, payment and delivery; with kConstant, where
// they do something else, new_order_constant and so on. So a log says which ones it calls.
using ChangingNames = std::array<std::string_view, 3>;
ChangingNames changing_names(SizePolicy size);

// Under these names, order_status and stock_level.
base::Result<Procedures> register_procedures(dispatcher::Database* database, const Tables& tables,
                                             SizePolicy size);
// The same where there is only an engine: `take` is given each definition and says its id.
using RegisterDefinition =
    std::function<base::Result<base::ProcedureId>(dispatcher::ProcedureDefinition)>;
base::Result<Procedures> register_procedures(const RegisterDefinition& take, const Tables& tables,
                                             SizePolicy size);

// The bodies.
base::Result<NewOrderReply> new_order(dispatcher::Transaction& txn, const Tables& tables,
                                      SizePolicy size, const NewOrderArguments& input);
base::Result<PaymentReply> payment(dispatcher::Transaction& txn, const Tables& tables,
                                   SizePolicy size, const PaymentArguments& input);
base::Result<OrderStatusReply> order_status(dispatcher::Transaction& txn, const Tables& tables,
                                            const OrderStatusArguments& input);
base::Result<DeliveryReply> delivery(dispatcher::Transaction& txn, const Tables& tables,
                                     SizePolicy size, const DeliveryArguments& input);
base::Result<StockLevelReply> stock_level(dispatcher::Transaction& txn, const Tables& tables,
                                          const StockLevelArguments& input);

// What Payment shows or changes of every customer. Not c_data, more than half of the row, which it
// wants of the bad ones only.
template <auto... Columns>
struct ColumnList {};
using PayingColumns =
    ColumnList<&Customer::c_id, &Customer::c_first, &Customer::c_middle, &Customer::c_last,
               &Customer::c_street_1, &Customer::c_street_2, &Customer::c_city, &Customer::c_state,
               &Customer::c_zip, &Customer::c_phone, &Customer::c_since, &Customer::c_credit,
               &Customer::c_credit_lim, &Customer::c_discount, &Customer::c_balance,
               &Customer::c_ytd_payment, &Customer::c_payment_cnt>;

struct NamedCustomer {
  dispatcher::RowHandle handle;
  int32_t c_id;
};
// A customer by last name: of n, ordered by first name, the one at n/2 rounded up (clause 2.5.2.2).
// kNotFound: nobody has the name.
base::Result<NamedCustomer> customer_by_name(dispatcher::Transaction& txn, const Tables& tables,
                                             int32_t w_id, int32_t d_id,
                                             const base::Varchar<16>& c_last);

}  // namespace diptych::workloads::tpcc
