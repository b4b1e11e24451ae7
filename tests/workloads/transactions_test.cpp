// Each transaction's effects against a naive reference over the population.

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/workloads/loaded_session.h"
#include "workloads/tpcc/population.h"
#include "workloads/tpcc/procedures.h"

namespace diptych::workloads::tpcc {
namespace {

constexpr uint64_t kTransactionSeed = 11;

class Transactions : public ::testing::Test {
 protected:
  void SetUp() override {
    session_ = loaded_session(small_options(kTransactionSeed));
    ASSERT_NE(session_, nullptr);
  }
  template <class Procedure>
  auto call(const Procedure& procedure, const typename Procedure::Arguments& arguments) {
    return session_->database()->call(procedure, arguments).get();
  }
  template <class... Parts>
  int64_t ask(fmt::format_string<Parts...> sql, Parts&&... parts) {
    return integer(session_.get(), fmt::format(sql, std::forward<Parts>(parts)...));
  }
  // c_id of the customer that clause 2.5.2.2 picks for a name, from the population.
  int32_t middle_customer(int32_t d_id, const base::Varchar<16>& last) {
    std::vector<std::pair<std::string, int32_t>> named;
    TextPool pool(kRowTextBytesMax);
    for (int32_t c_id = 1; c_id <= kCustomers; ++c_id) {
      pool.clear();
      const Customer row = population_.customer(1, d_id, c_id, &pool);
      if (row.c_last == last) named.emplace_back(row.c_first.view(), c_id);
    }
    std::sort(named.begin(), named.end());
    return named[(named.size() + 1) / 2 - 1].second;
  }

  const Population population_{kTransactionSeed, 1};
  std::unique_ptr<Session> session_;
};

NewOrderArguments order_of(std::initializer_list<NewOrderArguments::Line> lines) {
  NewOrderArguments input{};
  input.w_id = 1;
  input.d_id = 3;
  input.c_id = 42;
  for (const auto& line : lines) input.lines[input.line_count++] = line;
  return input;
}

TEST_F(Transactions, NewOrderWritesTheOrderItsLinesAndTheStock) {
  // One item twice: the second line sees what the first took.
  const auto input = order_of({{10, 1, 4}, {20, 1, 10}, {10, 1, 7}, {30, 1, 1}, {40, 1, 2}});
  auto reply = call(session_->procedures().new_order, input);
  ASSERT_TRUE(reply) << reply.error().to_string();
  EXPECT_EQ(reply->o_id, 3001);
  EXPECT_EQ(ask("select d_next_o_id from district where d_id = 3"), 3002);
  EXPECT_EQ(ask("select count(*) from orders where o_d_id = 3 and o_id = 3001 and o_c_id = 42 and "
                "o_ol_cnt = 5 and o_all_local = 1 and o_carrier_id is null"),
            1);
  EXPECT_EQ(ask("select count(*) from neworder where no_d_id = 3 and no_o_id = 3001"), 1);

  std::map<int32_t, Stock> stock;
  int64_t total = 0;
  for (int32_t i = 0; i < input.line_count; ++i) {
    const auto& line = input.lines[i];
    Stock& row = stock.try_emplace(line.i_id, population_.stock(1, line.i_id)).first->second;
    row.s_quantity -= line.quantity;
    if (row.s_quantity < 10) row.s_quantity += 91;
    row.s_ytd += line.quantity;
    ++row.s_order_cnt;
    const int64_t amount = line.quantity * population_.item(line.i_id).i_price.units;
    total += amount;
    EXPECT_EQ(reply->lines[i].ol_amount.units, amount);
    EXPECT_EQ(reply->lines[i].s_quantity, row.s_quantity);
    EXPECT_EQ(ask("select ol_amount from orderline where ol_d_id = 3 and ol_o_id = 3001 and "
                  "ol_number = {} and ol_i_id = {} and ol_quantity = {} and ol_delivery_d is null "
                  "and ol_dist_info = '{}'",
                  i + 1, line.i_id, line.quantity, row.s_dist_03.view()),
              amount);
  }
  for (const auto& [i_id, row] : stock) {
    EXPECT_EQ(ask("select count(*) from stock where s_i_id = {} and s_quantity = {} and s_ytd = {} "
                  "and s_order_cnt = {} and s_remote_cnt = 0",
                  i_id, row.s_quantity, row.s_ytd, row.s_order_cnt),
              1);
  }
  TextPool pool(kRowTextBytesMax);
  const Customer customer = population_.customer(1, 3, 42, &pool);
  const int64_t taxes =
      population_.warehouse(1).w_tax.units + population_.district(1, 3).d_tax.units;
  EXPECT_EQ(reply->total_amount.units,
            total * (10'000 - customer.c_discount.units) / 10'000 * (10'000 + taxes) / 10'000);
  EXPECT_EQ(reply->c_last, customer.c_last);
}

// With a second warehouse, whose stock and customers are remote.
TEST(RemoteTransactions, AnOrderTakesFromAndAPaymentComesFromAnotherWarehouse) {
  BenchmarkOptions options = small_options(kTransactionSeed);
  options.warehouses = 2;
  const auto session = loaded_session(options);
  ASSERT_NE(session, nullptr);
  const auto ask = [&](const std::string& sql) { return integer(session.get(), sql); };
  const auto input = order_of({{10, 2, 4}, {20, 1, 10}, {30, 1, 3}, {40, 1, 1}, {50, 1, 2}});
  const auto ordered = session->database()->call(session->procedures().new_order, input).get();
  ASSERT_TRUE(ordered) << ordered.error().to_string();
  EXPECT_EQ(ask("select o_all_local from orders where o_w_id = 1 and o_d_id = 3 and o_id = 3001"),
            0);
  EXPECT_EQ(ask("select ol_supply_w_id from orderline where ol_w_id = 1 and ol_d_id = 3 and "
                "ol_o_id = 3001 and ol_number = 1"),
            2);
  EXPECT_EQ(ask("select sum(s_remote_cnt) from stock"), 1);
  EXPECT_EQ(ask("select count(*) from stock where s_w_id = 2 and s_i_id = 10 and s_remote_cnt = 1 "
                "and s_order_cnt = 1 and s_ytd = 4"),
            1);
  EXPECT_EQ(ask("select sum(s_order_cnt) from stock where s_w_id = 1"), 4);

  const PaymentArguments payment{1, 2, 2, 5, 77, {}, {12'345}};
  const auto paid = session->database()->call(session->procedures().payment, payment).get();
  ASSERT_TRUE(paid) << paid.error().to_string();
  EXPECT_EQ(ask("select w_ytd from warehouse where w_id = 1"), 30'000'000 + 12'345);
  EXPECT_EQ(ask("select w_ytd from warehouse where w_id = 2"), 30'000'000);
  EXPECT_EQ(ask("select c_balance from customer where c_w_id = 2 and c_d_id = 5 and c_id = 77"),
            -1000 - 12'345);
  EXPECT_EQ(ask("select count(*) from history where h_w_id = 1 and h_d_id = 2 and h_c_w_id = 2 "
                "and h_c_d_id = 5 and h_c_id = 77 and h_amount = 123.45"),
            1);
  expect_clean(session->verify(kNeverStop, ignore_progress));
}

TEST_F(Transactions, ARolledBackNewOrderLeavesNoTrace) {
  const auto counts = [&] {
    return std::vector<int64_t>{
        ask("select count(*) from orders"),       ask("select count(*) from neworder"),
        ask("select count(*) from orderline"),    ask("select sum(s_ytd + s_order_cnt) from stock"),
        ask("select sum(s_quantity) from stock"), ask("select sum(d_next_o_id) from district")};
  };
  const auto before = counts();
  auto reply =
      call(session_->procedures().new_order,
           order_of({{10, 1, 4}, {20, 1, 10}, {30, 1, 3}, {40, 1, 1}, {kItems + 1, 1, 1}}));
  ASSERT_FALSE(reply);
  EXPECT_EQ(reply.code(), base::ErrorCode::kAborted);
  EXPECT_EQ(counts(), before);
  EXPECT_EQ(session_->database()->metrics().transactions_aborted, 1U);
  expect_clean(session_->verify(kNeverStop, ignore_progress));
}

TEST_F(Transactions, PaymentMovesTheAmountOnceEverywhere) {
  PaymentArguments input{};
  input.w_id = 1;
  input.d_id = 2;
  input.c_w_id = 1;
  input.c_d_id = 5;
  input.c_last = last_name(333);
  input.h_amount = {12'345};
  const int32_t c_id = middle_customer(5, input.c_last);
  auto reply = call(session_->procedures().payment, input);
  ASSERT_TRUE(reply) << reply.error().to_string();
  EXPECT_EQ(reply->c_id, c_id);
  TextPool pool(kRowTextBytesMax);
  const Customer customer = population_.customer(1, 5, c_id, &pool);
  EXPECT_EQ(reply->c_first, customer.c_first);
  EXPECT_EQ(reply->c_middle, customer.c_middle);
  EXPECT_EQ(reply->c_last, input.c_last);
  EXPECT_EQ(reply->customer.street_1, customer.c_street_1);
  EXPECT_EQ(reply->customer.street_2, customer.c_street_2);
  EXPECT_EQ(reply->customer.city, customer.c_city);
  EXPECT_EQ(reply->customer.state, customer.c_state);
  EXPECT_EQ(reply->customer.zip, customer.c_zip);
  EXPECT_EQ(reply->c_phone, customer.c_phone);
  EXPECT_EQ(reply->c_since, customer.c_since);
  EXPECT_EQ(reply->c_credit, customer.c_credit);
  EXPECT_EQ(reply->c_credit_lim, customer.c_credit_lim);
  EXPECT_EQ(reply->c_discount, customer.c_discount);
  EXPECT_GE(reply->h_date, kTimeOrigin);
  EXPECT_EQ(reply->c_data_bytes > 0, customer.c_credit.view() == "BC");
  EXPECT_EQ(reply->c_balance.units, -1000 - 12'345);
  EXPECT_EQ(reply->h_id, history_id(1, 5, c_id, 2));
  EXPECT_EQ(ask("select w_ytd from warehouse"), 30'000'000 + 12'345);
  EXPECT_EQ(ask("select d_ytd from district where d_id = 2"), 3'000'000 + 12'345);
  EXPECT_EQ(ask("select sum(d_ytd) from district"), 30'000'000 + 12'345);
  EXPECT_EQ(ask("select c_balance from customer where c_d_id = 5 and c_id = {} and "
                "c_payment_cnt = 2 and c_ytd_payment = 133.45",
                c_id),
            -13'345);
  EXPECT_EQ(ask("select h_amount from history where h_id = {} and h_w_id = 1 and h_d_id = 2 and "
                "h_c_d_id = 5 and h_c_id = {} and h_data = '{}    {}'",
                reply->h_id, c_id, population_.warehouse(1).w_name.view(),
                population_.district(1, 2).d_name.view()),
            12'345);
}

TEST_F(Transactions, PaymentOfABadCustomerGoesInFrontOfTheData) {
  TextPool pool(kRowTextBytesMax);
  int32_t c_id = 1;
  Customer row = population_.customer(1, 1, c_id, &pool);
  while (row.c_credit.view() != "BC") {
    pool.clear();
    row = population_.customer(1, 1, ++c_id, &pool);
  }
  PaymentArguments input{1, 1, 1, 1, c_id, {}, {50'007}};
  auto reply = call(session_->procedures().payment, input);
  ASSERT_TRUE(reply) << reply.error().to_string();
  auto data = session_->database()->query(
      fmt::format("select c_data from customer where c_d_id = 1 and c_id = {}", c_id));
  ASSERT_TRUE(data) << data.error().to_string();
  const std::string expected =
      (fmt::format("{} 1 1 1 1 500.07|", c_id) + std::string(row.c_data.view())).substr(0, 500);
  EXPECT_EQ(std::get<std::string>(data->rows[0][0]), expected);
  EXPECT_EQ(std::string_view(reply->c_data.data(), reply->c_data_bytes),
            expected.substr(0, kDataBytesShown));
}

TEST_F(Transactions, OrderStatusReadsTheCustomersNewestOrder) {
  const auto customers = population_.order_customers(1, 4);
  const int32_t c_id = customers[2999];
  auto before = call(session_->procedures().order_status, {1, 4, c_id, {}});
  ASSERT_TRUE(before) << before.error().to_string();
  EXPECT_EQ(before->o_id, 3000);
  EXPECT_TRUE(before->o_carrier_id.is_null);
  ASSERT_EQ(before->line_count, population_.order_line_count(1, 4, 3000));
  for (int32_t i = 0; i < before->line_count; ++i) {
    const OrderLine line = population_.order_line(1, 4, 3000, i + 1);
    EXPECT_EQ(before->lines[i].ol_i_id, line.ol_i_id);
    EXPECT_EQ(before->lines[i].ol_amount, line.ol_amount);
    EXPECT_EQ(before->lines[i].ol_delivery_d, line.ol_delivery_d);
  }
  TextPool pool(kRowTextBytesMax);
  const Customer customer = population_.customer(1, 4, c_id, &pool);
  EXPECT_EQ(before->c_first, customer.c_first);
  EXPECT_EQ(before->c_middle, customer.c_middle);
  EXPECT_EQ(before->c_last, customer.c_last);
  EXPECT_EQ(before->c_balance, customer.c_balance);
  const base::Varchar<16> name = last_name(77);
  auto named = call(session_->procedures().order_status, {1, 4, 0, name});
  ASSERT_TRUE(named) << named.error().to_string();
  EXPECT_EQ(named->c_id, middle_customer(4, name));
}

TEST_F(Transactions, DeliveryDeliversTheOldestOrderOfEachDistrict) {
  auto reply = call(session_->procedures().delivery, {1, 7});
  ASSERT_TRUE(reply) << reply.error().to_string();
  EXPECT_EQ(reply->delivered, kDistricts);
  for (int32_t d_id = 1; d_id <= kDistricts; ++d_id) {
    EXPECT_EQ(reply->newest[d_id - 1], kFirstUndelivered);
    const int32_t c_id = population_.order_customers(1, d_id)[kFirstUndelivered - 1];
    const int32_t lines = population_.order_line_count(1, d_id, kFirstUndelivered);
    int64_t amount = 0;
    for (int32_t i = 1; i <= lines; ++i) {
      amount += population_.order_line(1, d_id, kFirstUndelivered, i).ol_amount.units;
    }
    EXPECT_EQ(ask("select c_balance from customer where c_d_id = {} and c_id = {} and "
                  "c_delivery_cnt = 1",
                  d_id, c_id),
              amount - 1000);
    EXPECT_EQ(ask("select count(*) from orderline where ol_d_id = {} and ol_o_id = {} and "
                  "ol_delivery_d is not null",
                  d_id, kFirstUndelivered),
              lines);
  }
  EXPECT_EQ(ask("select count(*) from neworder where no_o_id = {}", kFirstUndelivered), 0);
  EXPECT_EQ(
      ask("select count(*) from orders where o_id = {} and o_carrier_id = 7", kFirstUndelivered),
      kDistricts);
}

TEST_F(Transactions, StockLevelCountsDistinctLowItemsOfTheLastTwentyOrders) {
  std::set<int32_t> items;
  for (int32_t o_id = 2981; o_id <= 3000; ++o_id) {
    for (int32_t i = 1; i <= population_.order_line_count(1, 6, o_id); ++i) {
      items.insert(population_.order_line(1, 6, o_id, i).ol_i_id);
    }
  }
  for (const int32_t threshold : {10, 15, 20, 101}) {
    const auto low = std::count_if(items.begin(), items.end(), [&](int32_t i_id) {
      return population_.stock(1, i_id).s_quantity < threshold;
    });
    auto reply = call(session_->procedures().stock_level, {1, 6, threshold});
    ASSERT_TRUE(reply) << reply.error().to_string();
    EXPECT_EQ(reply->low_stock, low) << threshold;
  }
}

}  // namespace
}  // namespace diptych::workloads::tpcc
