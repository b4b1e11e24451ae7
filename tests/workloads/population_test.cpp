// The population's distributions and rules (clause 4.3.3), at one warehouse, without a database.

#include "workloads/tpcc/population.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "tests/workloads/expect_share.h"

namespace diptych::workloads::tpcc {
namespace {

using test::expect_share;

constexpr uint64_t kSeed = 7;
const Population kPopulation(kSeed, 1);

TextPool& pool() {
  static TextPool shared(kRowTextBytesMax);
  shared.clear();
  return shared;
}

TEST(Population, SameSeedGivesTheSameRows) {
  const Population again(kSeed, 1);
  const Population other(kSeed + 1, 1);
  int different = 0;
  for (int32_t i = 1; i <= 100; ++i) {
    EXPECT_EQ(kPopulation.item(i).i_data, again.item(i).i_data);
    EXPECT_EQ(kPopulation.stock(1, i).s_quantity, again.stock(1, i).s_quantity);
    EXPECT_EQ(kPopulation.order_line(1, 1, i, 1).ol_i_id, again.order_line(1, 1, i, 1).ol_i_id);
    if (kPopulation.item(i).i_data != other.item(i).i_data) ++different;
  }
  EXPECT_EQ(kPopulation.order_customers(1, 3), again.order_customers(1, 3));
  EXPECT_GT(different, 95);
}

TEST(Population, OneItemOfTenIsOriginal) {
  int64_t items = 0;
  int64_t stocks = 0;
  for (int32_t i = 1; i <= kItems; ++i) {
    const auto original = [](const base::Varchar<50>& data) {
      EXPECT_GE(data.size, 26);
      EXPECT_LE(data.size, 50);
      return data.view().find("ORIGINAL") != std::string_view::npos ? 1 : 0;
    };
    items += original(kPopulation.item(i).i_data);
    stocks += original(kPopulation.stock(1, i).s_data);
  }
  expect_share(items, kItems, 0.1);
  expect_share(stocks, kItems, 0.1);
}

TEST(Population, ItemsAndStockKeepTheirRanges) {
  std::set<int32_t> prices;
  for (int32_t i = 1; i <= kItems; ++i) {
    const Item item = kPopulation.item(i);
    EXPECT_GE(item.i_price.units, 100);
    EXPECT_LE(item.i_price.units, 10'000);
    EXPECT_GE(item.i_name.size, 14);
    const Stock stock = kPopulation.stock(1, i);
    EXPECT_GE(stock.s_quantity, 10);
    EXPECT_LE(stock.s_quantity, 100);
    EXPECT_EQ(stock.s_dist_01.size, 24);
    EXPECT_EQ(stock.s_ytd + stock.s_order_cnt + stock.s_remote_cnt, 0);
    prices.insert(static_cast<int32_t>(item.i_price.units));
  }
  EXPECT_EQ(*prices.begin(), 100);
  EXPECT_EQ(*prices.rbegin(), 10'000);
}

TEST(Population, CustomersFollowTheSpecification) {
  int64_t bad = 0;
  std::set<std::string> names;
  std::set<char> states;
  for (int32_t c_id = 1; c_id <= kCustomers; ++c_id) {
    const Customer row = kPopulation.customer(1, 2, c_id, &pool());
    if (row.c_credit.view() == "BC") ++bad;
    if (c_id <= kLastNames) {
      EXPECT_EQ(row.c_last, last_name(c_id - 1));
      names.insert(std::string(row.c_last.view()));
    }
    states.insert(row.c_state.bytes[0]);
    EXPECT_EQ(row.c_middle.view(), "OE");
    EXPECT_EQ(row.c_zip.view().substr(4), "11111");
    EXPECT_EQ(row.c_balance.units, -1000);
    EXPECT_EQ(row.c_ytd_payment.units, 1000);
    EXPECT_EQ(row.c_payment_cnt, 1);
    EXPECT_GE(row.c_data.size, 300U);
    EXPECT_LE(row.c_data.size, 500U);
    EXPECT_LE(row.c_discount.units, 5000);
  }
  expect_share(bad, kCustomers, 0.1);
  EXPECT_EQ(names.size(), 1000U);
  EXPECT_EQ(states.size(), 62U) << "the first character of c_state names one of 62 nations";
}

TEST(Population, LastNamesAreSyllables) {
  EXPECT_EQ(last_name(0).view(), "BARBARBAR");
  EXPECT_EQ(last_name(371).view(), "PRICALLYOUGHT");
  EXPECT_EQ(last_name(999).view(), "EINGEINGEING");
}

TEST(Population, OrdersArePermutedCustomersAndTheNewestAreUndelivered) {
  const std::vector<int32_t> customers = kPopulation.order_customers(1, 1);
  std::vector<int32_t> sorted = customers;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int32_t> all(kCustomers);
  std::iota(all.begin(), all.end(), 1);
  EXPECT_EQ(sorted, all);
  EXPECT_NE(customers, all);
  int64_t lines = 0;
  std::set<int32_t> counts;
  for (int32_t o_id = 1; o_id <= kInitialOrders; ++o_id) {
    const Order order = kPopulation.order(1, 1, o_id, customers[o_id - 1]);
    EXPECT_EQ(order.o_carrier_id.is_null, o_id >= kFirstUndelivered);
    if (order.o_carrier_id.has_value()) {
      EXPECT_GE(*order.o_carrier_id, 1);
      EXPECT_LE(*order.o_carrier_id, 10);
    }
    EXPECT_EQ(order.o_all_local, 1);
    counts.insert(order.o_ol_cnt);
    lines += order.o_ol_cnt;
    for (int32_t number = 1; number <= order.o_ol_cnt; ++number) {
      const OrderLine line = kPopulation.order_line(1, 1, o_id, number);
      EXPECT_EQ(line.ol_delivery_d.is_null, o_id >= kFirstUndelivered);
      EXPECT_EQ(line.ol_amount.units == 0, o_id < kFirstUndelivered);
      EXPECT_LE(line.ol_amount.units, 999'999);
      EXPECT_EQ(line.ol_quantity, 5);
      EXPECT_EQ(line.ol_supply_w_id, 1);
      EXPECT_GE(line.ol_i_id, 1);
      EXPECT_LE(line.ol_i_id, kItems);
      if (line.ol_delivery_d.has_value()) {
        EXPECT_EQ(*line.ol_delivery_d, order.o_entry_d);
      }
    }
  }
  EXPECT_EQ(counts.size(), 11U);
  EXPECT_EQ(*counts.begin(), kOrderLinesMin);
  EXPECT_EQ(*counts.rbegin(), kOrderLinesMax);
  EXPECT_NEAR(static_cast<double>(lines) / kInitialOrders, 10.0, 0.3);
}

TEST(Population, NuRandHasTheSpecifiedDistribution) {
  // The exact probabilities, by enumeration of both draws, against 400,000 samples.
  constexpr int32_t kA = 255;
  constexpr int32_t kSamples = 400'000;
  std::vector<double> expected(kLastNames);
  for (int32_t a = 0; a <= kA; ++a) {
    for (int32_t x = 0; x < kLastNames; ++x) {
      expected[((a | x) + kLastNameConstantRun) % kLastNames] += 1.0 / (256.0 * kLastNames);
    }
  }
  std::vector<int64_t> seen(kLastNames);
  Random random(kSeed);
  for (int32_t i = 0; i < kSamples; ++i) {
    ++seen[random.non_uniform(kA, kLastNameConstantRun, 0, kLastNames - 1)];
  }
  double chi_square = 0;
  for (int32_t i = 0; i < kLastNames; ++i) {
    const double mean = expected[i] * kSamples;
    if (mean == 0) {
      EXPECT_EQ(seen[i], 0);
      continue;
    }
    chi_square +=
        (static_cast<double>(seen[i]) - mean) * (static_cast<double>(seen[i]) - mean) / mean;
  }
  // 999 degrees of freedom: mean 999, standard deviation 45.
  EXPECT_LT(chi_square, 999 + 5 * 45);
  EXPECT_GT(chi_square, 999 - 5 * 45 - 999 * 0.5);
}

TEST(Population, NationsAreTheCodesOfTheAlphanumerics) {
  std::set<int32_t> keys;
  std::set<std::string> names;
  std::set<int32_t> regions;
  for (int32_t i = 0; i < kNations; ++i) {
    const Nation nation = kPopulation.nation(i, &pool());
    EXPECT_TRUE(std::isalnum(nation.n_nationkey)) << nation.n_nationkey;
    keys.insert(nation.n_nationkey);
    names.insert(std::string(nation.n_name.view()));
    regions.insert(nation.n_regionkey);
  }
  EXPECT_EQ(keys.size(), 62U);
  EXPECT_EQ(names.size(), 62U);
  EXPECT_EQ(regions.size(), 5U);
  EXPECT_TRUE(names.contains("Germany"));
  EXPECT_TRUE(names.contains("Cambodia"));
}

TEST(Population, FiveSuppliersOfTenThousandHaveComplaints) {
  int complaints = 0;
  int recommends = 0;
  for (int32_t key = 0; key < kSuppliers; ++key) {
    const Supplier supplier = kPopulation.supplier(key, &pool());
    const std::string_view comment = supplier.su_comment.view();
    const size_t customer = comment.find("Customer");
    if (customer == std::string_view::npos) continue;
    if (comment.find("Complaints", customer) != std::string_view::npos) ++complaints;
    if (comment.find("Recommends", customer) != std::string_view::npos) ++recommends;
  }
  EXPECT_EQ(complaints, 5);
  EXPECT_EQ(recommends, 5);
}

TEST(Population, HistoryIdsAreUniqueOverCustomersAndPayments) {
  std::set<int64_t> ids;
  for (int32_t w_id = 1; w_id <= 2; ++w_id) {
    for (int32_t d_id = 1; d_id <= kDistricts; ++d_id) {
      for (const int32_t c_id : {1, 2, 2999, 3000}) {
        for (const int32_t payment : {1, 2, 1 << 20}) {
          EXPECT_TRUE(ids.insert(history_id(w_id, d_id, c_id, payment)).second);
        }
      }
    }
  }
  EXPECT_GT(history_id(100'000, 10, 3000, (1 << kPaymentNumberBits) - 1), 0);
}

}  // namespace
}  // namespace diptych::workloads::tpcc
