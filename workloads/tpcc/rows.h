// Rows of the TPC-C and CH-benCHmark tables as C++ structs, and the refs that procedures use.
//
// Each struct is its table's row, byte for byte (checked when bound); tpcc/schema.sql is the DDL.
//
// h_id       history has no key in the specification. h_id = customer number * 2^28 + the payment's
//            number among the customer's payments (c_payment_cnt after it; 1 for the loaded row).
//            Payment claims the customer's row and counts it up, so h_id is unique, the same on
//            replay, and costs no shared counter.

#pragma once

#include <cstdint>

#include "base/row_binding.h"
#include "base/types.h"
#include "dispatcher/database.h"

namespace diptych::workloads::tpcc {

using Money = base::Decimal<12, 2>;
// What was paid to a warehouse or district. The specification asks for 12 digits at least, which
// some 4 million payments exceed: a few minutes at full speed.
using YearToDate = base::Decimal<15, 2>;
using Rate = base::Decimal<4, 4>;  // taxes and discounts

inline constexpr int32_t kDistricts = 10;           // per warehouse
inline constexpr int32_t kCustomers = 3000;         // per district
inline constexpr int32_t kItems = 100'000;          // and stock rows per warehouse
inline constexpr int32_t kInitialOrders = 3000;     // per district, one per customer
inline constexpr int32_t kFirstUndelivered = 2101;  // the newest 900 orders are not delivered
inline constexpr int32_t kInitialNewOrders = kInitialOrders - kFirstUndelivered + 1;
inline constexpr int32_t kOrderLinesMin = 5;
inline constexpr int32_t kOrderLinesMax = 15;
inline constexpr int32_t kSuppliers = 10'000;
inline constexpr int32_t kNations = 62;
inline constexpr int32_t kRegions = 5;
inline constexpr int kPaymentNumberBits = 28;

constexpr int64_t history_id(int32_t w_id, int32_t d_id, int32_t c_id, int32_t payment_number) {
  const int64_t customer = (int64_t{w_id} * kDistricts + d_id - 1) * kCustomers + c_id - 1;
  return (customer << kPaymentNumberBits) | payment_number;
}

struct Region {
  int32_t r_regionkey;
  base::Varchar<25> r_name;
  base::Varchar<152> r_comment;
};
BOOST_DESCRIBE_STRUCT(Region, (), (r_regionkey, r_name, r_comment))

struct Nation {
  int32_t n_nationkey;
  base::Varchar<25> n_name;
  int32_t n_regionkey;
  base::Varchar<152> n_comment;
};
BOOST_DESCRIBE_STRUCT(Nation, (), (n_nationkey, n_name, n_regionkey, n_comment))

struct Supplier {
  int32_t su_suppkey;
  base::Varchar<25> su_name;
  base::Varchar<40> su_address;
  int32_t su_nationkey;
  base::Varchar<15> su_phone;
  Money su_acctbal;
  base::Varchar<101> su_comment;
};
BOOST_DESCRIBE_STRUCT(Supplier, (),
                      (su_suppkey, su_name, su_address, su_nationkey, su_phone, su_acctbal,
                       su_comment))

struct Warehouse {
  int32_t w_id;
  base::Varchar<10> w_name;
  base::Varchar<20> w_street_1;
  base::Varchar<20> w_street_2;
  base::Varchar<20> w_city;
  base::Char<2> w_state;
  base::Char<9> w_zip;
  Rate w_tax;
  YearToDate w_ytd;
};
BOOST_DESCRIBE_STRUCT(Warehouse, (),
                      (w_id, w_name, w_street_1, w_street_2, w_city, w_state, w_zip, w_tax, w_ytd))

struct District {
  int32_t d_id;
  int32_t d_w_id;
  base::Varchar<10> d_name;
  base::Varchar<20> d_street_1;
  base::Varchar<20> d_street_2;
  base::Varchar<20> d_city;
  base::Char<2> d_state;
  base::Char<9> d_zip;
  Rate d_tax;
  YearToDate d_ytd;
  int32_t d_next_o_id;
};
BOOST_DESCRIBE_STRUCT(District, (),
                      (d_id, d_w_id, d_name, d_street_1, d_street_2, d_city, d_state, d_zip, d_tax,
                       d_ytd, d_next_o_id))

struct Customer {
  int32_t c_id;
  int32_t c_d_id;
  int32_t c_w_id;
  base::Varchar<16> c_first;
  base::Char<2> c_middle;
  base::Varchar<16> c_last;
  base::Varchar<20> c_street_1;
  base::Varchar<20> c_street_2;
  base::Varchar<20> c_city;
  base::Char<2> c_state;
  base::Char<9> c_zip;
  base::Char<16> c_phone;
  base::Timestamp c_since;
  base::Char<2> c_credit;
  Money c_credit_lim;
  Rate c_discount;
  Money c_balance;
  Money c_ytd_payment;
  int32_t c_payment_cnt;
  int32_t c_delivery_cnt;
  base::Varchar<500> c_data;
};
BOOST_DESCRIBE_STRUCT(Customer, (),
                      (c_id, c_d_id, c_w_id, c_first, c_middle, c_last, c_street_1, c_street_2,
                       c_city, c_state, c_zip, c_phone, c_since, c_credit, c_credit_lim, c_discount,
                       c_balance, c_ytd_payment, c_payment_cnt, c_delivery_cnt, c_data))

struct History {
  int64_t h_id;
  int32_t h_c_id;
  int32_t h_c_d_id;
  int32_t h_c_w_id;
  int32_t h_d_id;
  int32_t h_w_id;
  base::Timestamp h_date;
  Money h_amount;
  base::Varchar<24> h_data;
};
BOOST_DESCRIBE_STRUCT(History, (),
                      (h_id, h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data))

struct Item {
  int32_t i_id;
  int32_t i_im_id;
  base::Varchar<24> i_name;
  Money i_price;
  base::Varchar<50> i_data;
};
BOOST_DESCRIBE_STRUCT(Item, (), (i_id, i_im_id, i_name, i_price, i_data))

struct Stock {
  int32_t s_i_id;
  int32_t s_w_id;
  int32_t s_quantity;
  int32_t s_ytd;
  int32_t s_order_cnt;
  int32_t s_remote_cnt;
  base::Varchar<50> s_data;
  base::Char<24> s_dist_01;
  base::Char<24> s_dist_02;
  base::Char<24> s_dist_03;
  base::Char<24> s_dist_04;
  base::Char<24> s_dist_05;
  base::Char<24> s_dist_06;
  base::Char<24> s_dist_07;
  base::Char<24> s_dist_08;
  base::Char<24> s_dist_09;
  base::Char<24> s_dist_10;
};
BOOST_DESCRIBE_STRUCT(Stock, (),
                      (s_i_id, s_w_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_data,
                       s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05, s_dist_06, s_dist_07,
                       s_dist_08, s_dist_09, s_dist_10))

struct Order {
  int32_t o_id;
  int32_t o_d_id;
  int32_t o_w_id;
  int32_t o_c_id;
  base::Timestamp o_entry_d;
  base::Nullable<int32_t> o_carrier_id;
  int32_t o_ol_cnt;
  int32_t o_all_local;
};
BOOST_DESCRIBE_STRUCT(Order, (),
                      (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_carrier_id, o_ol_cnt,
                       o_all_local))

struct NewOrder {
  int32_t no_o_id;
  int32_t no_d_id;
  int32_t no_w_id;
};
BOOST_DESCRIBE_STRUCT(NewOrder, (), (no_o_id, no_d_id, no_w_id))

struct OrderLine {
  int32_t ol_o_id;
  int32_t ol_d_id;
  int32_t ol_w_id;
  int32_t ol_number;
  int32_t ol_i_id;
  int32_t ol_supply_w_id;
  base::Nullable<base::Timestamp> ol_delivery_d;
  int32_t ol_quantity;
  Money ol_amount;
  base::Char<24> ol_dist_info;
};
BOOST_DESCRIBE_STRUCT(OrderLine, (),
                      (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_delivery_d,
                       ol_quantity, ol_amount, ol_dist_info))

// Tables and indexes of one database. Plain ids: copied freely, valid while the database is open.
struct Tables {
  dispatcher::TableRef<Region> region;
  dispatcher::TableRef<Nation> nation;
  dispatcher::TableRef<Supplier> supplier;
  dispatcher::TableRef<Warehouse> warehouse;
  dispatcher::TableRef<District> district;
  dispatcher::TableRef<Customer> customer;
  dispatcher::TableRef<History> history;
  dispatcher::TableRef<Item> item;
  dispatcher::TableRef<Stock> stock;
  dispatcher::TableRef<Order> orders;
  dispatcher::TableRef<NewOrder> neworder;
  dispatcher::TableRef<OrderLine> orderline;

  dispatcher::IndexRef<&Warehouse::w_id> warehouse_pkey;
  dispatcher::IndexRef<&District::d_w_id, &District::d_id> district_pkey;
  dispatcher::IndexRef<&Customer::c_w_id, &Customer::c_d_id, &Customer::c_id> customer_pkey;
  dispatcher::IndexRef<&Customer::c_w_id, &Customer::c_d_id, &Customer::c_last, &Customer::c_first>
      customer_by_name;
  dispatcher::IndexRef<&History::h_id> history_pkey;
  dispatcher::IndexRef<&Item::i_id> item_pkey;
  dispatcher::IndexRef<&Stock::s_w_id, &Stock::s_i_id> stock_pkey;
  dispatcher::IndexRef<&Order::o_w_id, &Order::o_d_id, &Order::o_id> orders_pkey;
  dispatcher::IndexRef<&Order::o_w_id, &Order::o_d_id, &Order::o_c_id, &Order::o_id>
      orders_by_customer;
  dispatcher::IndexRef<&NewOrder::no_w_id, &NewOrder::no_d_id, &NewOrder::no_o_id> neworder_pkey;
  dispatcher::IndexRef<&OrderLine::ol_w_id, &OrderLine::ol_d_id, &OrderLine::ol_o_id,
                       &OrderLine::ol_number>
      orderline_pkey;
};

}  // namespace diptych::workloads::tpcc
