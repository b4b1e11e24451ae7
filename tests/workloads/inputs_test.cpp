// What the driver enters: shares and ranges of clause 2.

#include "workloads/tpcc/inputs.h"

#include <gtest/gtest.h>

#include "tests/workloads/expect_share.h"

namespace diptych::workloads::tpcc {
namespace {

using test::expect_share;

constexpr int kDraws = 100'000;

TEST(Inputs, TheMixIsTheStandardOne) {
  InputGenerator inputs(1, 4);
  int64_t seen[kTransactionTypes] = {};
  for (int i = 0; i < kDraws; ++i) ++seen[static_cast<size_t>(inputs.draw_type())];
  const double shares[kTransactionTypes] = {0.45, 0.43, 0.04, 0.04, 0.04};
  for (size_t i = 0; i < kTransactionTypes; ++i) expect_share(seen[i], kDraws, shares[i]);
}

TEST(Inputs, OneNewOrderOfAHundredRollsBackAndOneLineOfAHundredIsRemote) {
  InputGenerator inputs(2, 4);
  int64_t rollbacks = 0;
  int64_t lines = 0;
  int64_t remote = 0;
  for (int i = 0; i < kDraws; ++i) {
    const NewOrderArguments input = inputs.new_order();
    ASSERT_GE(input.line_count, kOrderLinesMin);
    ASSERT_LE(input.line_count, kOrderLinesMax);
    for (int32_t k = 0; k < input.line_count; ++k) {
      const auto& line = input.lines[k];
      ++lines;
      if (line.supply_w_id != input.w_id) ++remote;
      ASSERT_GE(line.supply_w_id, 1);
      ASSERT_LE(line.supply_w_id, 4);
      ASSERT_GE(line.quantity, 1);
      ASSERT_LE(line.quantity, 10);
      if (line.i_id > kItems) {
        ASSERT_EQ(k, input.line_count - 1) << "only the last line has an unused item";
        ++rollbacks;
      }
    }
  }
  expect_share(rollbacks, kDraws, 0.01);
  expect_share(remote, lines, 0.01);
}

TEST(Inputs, PaymentsAreRemoteWithFifteenPercentAndByNameWithSixty) {
  InputGenerator inputs(3, 4);
  int64_t remote = 0;
  int64_t by_name = 0;
  for (int i = 0; i < kDraws; ++i) {
    const PaymentArguments input = inputs.payment();
    if (input.c_w_id != input.w_id) {
      ++remote;
    } else {
      ASSERT_EQ(input.c_d_id, input.d_id);
    }
    if (input.c_id == 0) {
      ++by_name;
      ASSERT_GT(input.c_last.size, 0);
    } else {
      ASSERT_LE(input.c_id, kCustomers);
    }
    ASSERT_GE(input.h_amount.units, 100);
    ASSERT_LE(input.h_amount.units, 500'000);
  }
  expect_share(remote, kDraws, 0.15);
  expect_share(by_name, kDraws, 0.60);
}

TEST(Inputs, OneWarehouseHasNoOther) {
  InputGenerator inputs(4, 1);
  for (int i = 0; i < 1000; ++i) {
    const NewOrderArguments order = inputs.new_order();
    for (int32_t k = 0; k < order.line_count; ++k) EXPECT_EQ(order.lines[k].supply_w_id, 1);
    EXPECT_EQ(inputs.payment().c_w_id, 1);
  }
}

TEST(Inputs, SameSeedGivesTheSameInputs) {
  InputGenerator a(5, 4);
  InputGenerator b(5, 4);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(a.draw_type(), b.draw_type());
    EXPECT_EQ(a.new_order().lines[0].i_id, b.new_order().lines[0].i_id);
    EXPECT_EQ(a.payment().h_amount.units, b.payment().h_amount.units);
  }
}

}  // namespace
}  // namespace diptych::workloads::tpcc
