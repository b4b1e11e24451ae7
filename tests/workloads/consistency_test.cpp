// The twelve conditions hold after loading, and each can fail, on both replicas.

#include "workloads/tpcc/consistency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/workloads/loaded_session.h"

namespace diptych::workloads::tpcc {
namespace {

using base::Result;
using dispatcher::Nothing;
using dispatcher::set;
using dispatcher::Transaction;

struct Mutation {
  int32_t condition;
};

// Breaks one condition, each in a district of its own where it is about a district.
class Mutator {
 public:
  Mutator(Transaction& txn, const Tables& tables) : txn_(txn), tables_(tables) {}

  Result<void> apply(SizePolicy size, int32_t condition) {
    return size == SizePolicy::kConstant && condition >= 8 ? apply_constant(condition)
                                                           : apply_growing(condition);
  }

 private:
  Result<void> apply_growing(int32_t condition) {
    switch (condition) {
      case 1: return change<&Warehouse::w_ytd>(tables_.warehouse_pkey, cent_more, 1);
      case 2: return change<&District::d_next_o_id>(tables_.district_pkey, one_more, 1, 1);
      case 3: return remove<&NewOrder::no_o_id>(tables_.neworder_pkey, 1, 2, 2500);
      case 4: return remove<&OrderLine::ol_number>(tables_.orderline_pkey, 1, 3, 100, 2);
      case 5: return change<&Order::o_carrier_id>(tables_.orders_pkey, carried, 1, 4, 2999);
      case 6: return change<&Order::o_ol_cnt>(tables_.orders_pkey, one_more, 1, 5, 50);
      case 7:
        return change<&OrderLine::ol_delivery_d>(tables_.orderline_pkey, delivered, 1, 6, 2999, 1);
      case 8:
        return change<&History::h_amount>(tables_.history_pkey, cent_less, history_id(1, 1, 5, 1));
      case 9: return change<&District::d_ytd>(tables_.district_pkey, cent_less, 1, 7);
      case 10: return change<&Customer::c_balance>(tables_.customer_pkey, cent_more, 1, 8, 9);
      case 11: return change<&Customer::c_delivery_cnt>(tables_.customer_pkey, one_more, 1, 9, 9);
      default: return change<&Customer::c_ytd_payment>(tables_.customer_pkey, cent_more, 1, 10, 9);
    }
  }

  // Those that a size which stays has otherwise.
  Result<void> apply_constant(int32_t condition) {
    switch (condition) {
      case 8: return change<&History::h_amount>(tables_.history_pkey, more, history_id(1, 1, 5, 1));
      case 9: return change<&District::d_ytd>(tables_.district_pkey, cent_less, 1, 7);
      case 10:
        return change<&History::h_amount>(tables_.history_pkey, more, history_id(1, 8, 9, 1));
      case 11: return remove<&Order::o_id>(tables_.orders_pkey, 1, 9, 100);
      default: return change<&Customer::c_ytd_payment>(tables_.customer_pkey, cent_less, 1, 10, 9);
    }
  }

  static int32_t one_more(int32_t value) { return value + 1; }
  template <uint8_t P>
  static base::Decimal<P, 2> plus(base::Decimal<P, 2> value, int64_t cents) {
    return {value.units + cents};
  }
  static constexpr auto cent_more = [](auto value) { return plus(value, 1); };
  static constexpr auto more = [](auto value) { return plus(value, 100); };
  static constexpr auto cent_less = [](auto value) { return plus(value, -1); };
  static base::Nullable<int32_t> carried(const base::Nullable<int32_t>&) { return 3; }
  static base::Nullable<base::Timestamp> delivered(const base::Nullable<base::Timestamp>&) {
    return base::Timestamp{1};
  }

  template <auto Column, class Index, class Change, class... Key>
  Result<void> change(const Index& index, Change changed, Key... key) {
    auto row = txn_.get_for_update<Column>(index, key...);
    if (!row) return row.error();
    txn_.update(*row, set<Column>(changed(row->values)));
    return {};
  }
  template <auto Column, class Index, class... Key>
  Result<void> remove(const Index& index, Key... key) {
    auto row = txn_.get_for_update<Column>(index, key...);
    if (!row) return row.error();
    txn_.erase(*row);
    return {};
  }

  Transaction& txn_;
  const Tables& tables_;
};

class ConsistencyOfSize : public testing::TestWithParam<SizePolicy> {};

INSTANTIATE_TEST_SUITE_P(Sizes, ConsistencyOfSize,
                         testing::Values(SizePolicy::kGrowing, SizePolicy::kConstant),
                         [](const auto& test) {
                           return test.param == SizePolicy::kGrowing ? "Growing" : "Constant";
                         });

TEST_P(ConsistencyOfSize, EachConditionHoldsAfterLoadingAndReportsABrokenRowOnBothReplicas) {
  const SizePolicy size = GetParam();
  auto session = loaded_session(small_options(21, size));
  ASSERT_NE(session, nullptr);
  dispatcher::Database* const database = session->database();
  expect_clean(session->verify(kNeverStop, ignore_progress));

  const Tables tables = session->tables();
  auto mutate = database->register_procedure<Mutation, Nothing>(
      "mutate", [tables, size](Transaction& txn, const Mutation& mutation) -> Result<Nothing> {
        auto done = Mutator(txn, tables).apply(size, mutation.condition);
        if (!done) return done.error();
        return Nothing{};
      });
  ASSERT_TRUE(mutate) << mutate.error().to_string();
  ConsistencyReport before;
  // Conditions 1, 8 and 9 compare sums of the same money: 8 goes first, as its mutant must be seen
  // before that of 1 breaks it too, and they move money in directions that do not cancel out. An
  // order that goes (11) goes last: its lines are then counted one by one, or together.
  for (const int32_t condition : {8, 1, 2, 3, 4, 5, 6, 7, 9, 10, 12, 11}) {
    auto mutated = database->call(*mutate, {condition}).get();
    ASSERT_TRUE(mutated) << condition << ": " << mutated.error().to_string();
    auto olap = check_olap_consistency(database, size, kNeverStop);
    ASSERT_TRUE(olap) << olap.error().to_string();
    auto primary = session->check_oltp(kNeverStop);
    ASSERT_TRUE(primary) << primary.error().to_string();
    EXPECT_GT(olap->violations[condition - 1], before.violations[condition - 1]) << condition;
    EXPECT_GT(primary->violations[condition - 1], before.violations[condition - 1]) << condition;
    if (size == SizePolicy::kGrowing || condition != 11) {
      EXPECT_EQ(olap->violations, primary->violations)
          << "both replicas see the same after mutant " << condition;
    }
    before = *olap;
  }
  const Checks broken = session->verify(kNeverStop, ignore_progress);
  EXPECT_EQ(broken.consistency_violations, 24U) << "twelve conditions on two replicas";
  EXPECT_EQ(broken.replica_differences, 0U) << "mutants are transactions: they are propagated";
}

// Rows that no known key leads to.
struct Stray {
  int32_t table;
};

Result<void> insert_stray(Transaction& txn, const Tables& tables, int32_t table) {
  constexpr int32_t kNoDistrict = kDistricts + 1;
  const auto inserted = [](auto row) -> Result<void> {
    if (!row) return row.error();
    return {};
  };
  switch (table) {
    case 0: {
      History row{};
      row.h_id = history_id(1, 1, 5, 1000);
      return inserted(txn.insert(tables.history, row));
    }
    case 1: {
      Order row{};
      row.o_w_id = 1;
      row.o_d_id = kNoDistrict;
      return inserted(txn.insert(tables.orders, row));
    }
    case 2: {
      NewOrder row{};
      row.no_w_id = 1;
      row.no_d_id = kNoDistrict;
      return inserted(txn.insert(tables.neworder, row));
    }
    default: {
      OrderLine row{};
      row.ol_w_id = 1;
      row.ol_d_id = kNoDistrict;
      return inserted(txn.insert(tables.orderline, row));
    }
  }
}

TEST_P(ConsistencyOfSize, RowsThatNoKnownKeyLeadsToViolateACondition) {
  const SizePolicy size = GetParam();
  auto session = loaded_session(small_options(22, size));
  ASSERT_NE(session, nullptr);
  const Tables tables = session->tables();
  auto insert = session->database()->register_procedure<Stray, Nothing>(
      "stray", [tables](Transaction& txn, const Stray& stray) -> Result<Nothing> {
        auto done = insert_stray(txn, tables, stray.table);
        if (!done) return done.error();
        return Nothing{};
      });
  ASSERT_TRUE(insert) << insert.error().to_string();
  const std::string names[] = {"history", "orders", "neworder", "orderline"};
  const int conditions[] = {8, 5, 5, 4};
  for (int32_t table = 0; table < 4; ++table) {
    SCOPED_TRACE(names[table]);
    const auto before = session->check_oltp(kNeverStop);
    ASSERT_TRUE(before) << before.error().to_string();
    ASSERT_TRUE(session->database()->call(*insert, {table}).get());
    const auto found = session->check_oltp(kNeverStop);
    ASSERT_TRUE(found) << found.error().to_string();
    const int condition = conditions[table];
    EXPECT_EQ(found->violations[condition - 1], before->violations[condition - 1] + 1);
    EXPECT_THAT(found->first, testing::Contains(testing::HasSubstr("rows in " + names[table])));
  }
}

TEST(Consistency, EveryConditionHasAQueryForBothSizePolicies) {
  for (int condition = 1; condition <= kConditions; ++condition) {
    EXPECT_FALSE(condition_query(condition, SizePolicy::kGrowing).empty());
    EXPECT_FALSE(condition_query(condition, SizePolicy::kConstant).empty());
    EXPECT_EQ(condition_query(condition, SizePolicy::kGrowing) ==
                  condition_query(condition, SizePolicy::kConstant),
              condition <= 7);
  }
}

}  // namespace
}  // namespace diptych::workloads::tpcc
