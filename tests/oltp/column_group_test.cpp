// Column groups of a row: what one transaction, and two on two workers, may do with them.

#include <gmock/gmock.h>

#include "tests/oltp/engine_fixture.h"
#include "tests/oltp/turns.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;
using ::testing::HasSubstr;
using namespace std::string_view_literals;

Parcel first_parcel() {
  return {1, 7, 20, 30, "fragile"sv, {}};
}

// Adds to one column, claiming its group alone.
template <auto Column>
Result<void> add_to(const Bank& bank, Transaction& txn, int64_t id, int64_t amount) {
  auto row = txn.get_for_update<Column>(bank.parcel_pkey, id);
  if (!row) return row.error();
  txn.update(*row, set<Column>(row->values + amount));
  return {};
}

class ColumnGroup : public ::testing::TestWithParam<uint32_t> {
 protected:
  ColumnGroup() : bank(GetParam(), 0) {
    EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      EXPECT_TRUE(txn.insert(bank.parcel, first_parcel()));
      return {};
    }));
    bank.replica.take_log();
  }

  Bank bank;
};

TEST_P(ColumnGroup, ATransactionSeesItsOwnGroupsAndTheOthers) {
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    EXPECT_TRUE(add_to<&Parcel::weight>(bank, txn, 1, 5));
    auto row = txn.get(bank.parcel_pkey, 1);
    EXPECT_EQ(row->weight, 25);
    EXPECT_EQ(row->shelf, 7);
    EXPECT_EQ(row->price, 30);
    EXPECT_EQ(row->note.view(), "fragile");
    EXPECT_TRUE(row->stops.is_null);
    auto found = txn.find<&Parcel::note, &Parcel::weight>(bank.parcel_pkey, 1);
    EXPECT_EQ(std::get<0>(found->values).view(), "fragile");
    EXPECT_EQ(std::get<1>(found->values), 25);
    EXPECT_EQ(txn.find(bank.parcel_pkey, 2).code(), ErrorCode::kNotFound);
    auto claimed = txn.claim<Parcel, &Parcel::price>(found->handle);
    EXPECT_EQ(claimed->values, 30);
    return {};
  }));
  bank.expect_replica_agrees();
}

TEST_P(ColumnGroup, WritesOfSeveralGroupsAreExportedAsOneRecord) {
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    EXPECT_TRUE(add_to<&Parcel::price>(bank, txn, 1, 5));
    EXPECT_TRUE(add_to<&Parcel::shelf>(bank, txn, 1, 1));
    auto row = txn.get_for_update(bank.parcel_pkey, 1);
    txn.update(*row, set<&Parcel::stops>(3), set<&Parcel::note>("a longer note than before"sv),
               set<&Parcel::shelf>(9));
    return {};
  }));
  EXPECT_EQ(bank.replica.take_log(), std::vector<std::string>{"update 1 3 4 5"});
  bank.expect_replica_agrees();
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    auto claimed = txn.get_for_update<&Parcel::weight>(bank.parcel_pkey, 1);
    EXPECT_TRUE(claimed);
    return add_to<&Parcel::price>(bank, txn, 1, 5);
  }));
  EXPECT_EQ(bank.replica.take_log(), std::vector<std::string>{"update 3"});
  bank.expect_replica_agrees();
}

TEST_P(ColumnGroup, ARollbackRestoresEachGroup) {
  const TableText before = bank.rows(bank.parcel.table);
  const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
    EXPECT_TRUE(add_to<&Parcel::weight>(bank, txn, 1, 5));
    auto row = txn.get_for_update(bank.parcel_pkey, 1);
    txn.update(*row, set<&Parcel::note>("another"sv), set<&Parcel::shelf>(8));
    txn.update(*row, set<&Parcel::stops>(2));
    EXPECT_TRUE(txn.insert(bank.parcel, Parcel{2, 8, 1, 1, ""sv, 1}));
    return txn.abort("no");
  });
  EXPECT_EQ(outcome.code(), ErrorCode::kAborted);
  EXPECT_EQ(bank.rows(bank.parcel.table), before);
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    EXPECT_EQ(txn.get(bank.parcel_pkey, 2).code(), ErrorCode::kNotFound);
    return add_to<&Parcel::weight>(bank, txn, 1, 1);
  }));
  bank.expect_replica_agrees();
}

TEST_P(ColumnGroup, AnEraseTakesTheGroupsThatWereNotClaimed) {
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    auto row = txn.get_for_update<&Parcel::weight>(bank.parcel_pkey, 1);
    txn.update(*row, set<&Parcel::weight>(1));
    txn.erase(*row);
    EXPECT_EQ(txn.get(bank.parcel_pkey, 1).code(), ErrorCode::kNotFound);
    EXPECT_EQ(txn.get<&Parcel::price>(bank.parcel_pkey, 1).code(), ErrorCode::kNotFound);
    return {};
  }));
  EXPECT_EQ(bank.replica.take_log(), std::vector<std::string>{"delete"});
  bank.expect_replica_agrees();
  // Its slot is used again.
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    auto row = txn.insert(bank.parcel, first_parcel());
    auto claimed = txn.claim<Parcel, &Parcel::price>(*row);
    txn.update(*claimed, set<&Parcel::price>(99), set<&Parcel::weight>(98));
    return {};
  }));
  EXPECT_EQ(bank.replica.take_log(), std::vector<std::string>{"insert"});
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    EXPECT_EQ(txn.get(bank.parcel_pkey, 1)->price, 99);
    EXPECT_EQ(txn.get(bank.parcel_pkey, 1)->weight, 98);
    return {};
  }));
  bank.expect_replica_agrees();
}

TEST_P(ColumnGroup, AnInsertThatIsErasedOrRefusedLeavesNothing) {
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    auto row = txn.insert(bank.parcel, Parcel{2, 8, 1, 1, "x"sv, 1});
    auto claimed = txn.claim<Parcel, &Parcel::weight>(*row);
    txn.erase(*claimed);
    EXPECT_EQ(txn.insert(bank.parcel, first_parcel()).code(), ErrorCode::kAlreadyExists);
    return add_to<&Parcel::weight>(bank, txn, 1, 1);
  }));
  EXPECT_EQ(bank.replica.take_log(), std::vector<std::string>{"update 2"});
  bank.expect_replica_agrees();
}

TEST_P(ColumnGroup, AColumnWhoseGroupIsNotClaimedIsNotWritten) {
  const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
    auto row = txn.get_for_update<&Parcel::weight>(bank.parcel_pkey, 1);
    txn.update(*row, set<&Parcel::weight>(1), set<&Parcel::note>("x"sv));
    return {};
  });
  EXPECT_EQ(outcome.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(outcome.error().message,
              HasSubstr("table \"parcel\": column note is written after this transaction has "
                        "claimed its column group; the claim names other columns"));
  const auto unclaimed = bank.run([&](Transaction& txn) -> Result<void> {
    auto found = txn.find<&Parcel::weight>(bank.parcel_pkey, 1);
    const Claimed<Parcel, int64_t> made_up{found->handle, 0};
    txn.update(made_up, set<&Parcel::weight>(1));
    return {};
  });
  EXPECT_THAT(unclaimed.error().message, HasSubstr("neither claimed nor inserted"));
  const auto erased = bank.run([&](Transaction& txn) -> Result<void> {
    auto row = txn.get_for_update<&Parcel::weight>(bank.parcel_pkey, 1);
    txn.erase(*row);
    EXPECT_EQ((txn.claim<Parcel, &Parcel::price>(row->handle).code()), ErrorCode::kInvalidArgument);
    return {};
  });
  EXPECT_THAT(erased.error().message, HasSubstr("a row is not used after it was erased"));
  EXPECT_EQ(bank.rows(bank.parcel.table), bank.replica.table(bank.parcel.table.value));
}

INSTANTIATE_TEST_SUITE_P(Workers, ColumnGroup, ::testing::Values(1, 2));

class ColumnGroupStress : public ::testing::Test {
 protected:
  ColumnGroupStress() {
    EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      EXPECT_TRUE(txn.insert(bank.parcel, first_parcel()));
      return {};
    }));
  }

  // The first transaction is at its claims while the second one runs; then it commits.
  std::vector<Bank::Call> run_while_claimed(const Bank::Body& first, const Bank::Body& second) {
    return bank.run_all({[&](Transaction& txn) -> Result<void> {
                           auto done = first(txn);
                           turns.pass(1);
                           turns.await(2);
                           return done;
                         },
                         [&](Transaction& txn) -> Result<void> {
                           turns.await(1);
                           auto done = second(txn);
                           turns.pass(2);
                           return done;
                         }});
  }
  // The second transaction takes its snapshot, the first one commits, the second one goes on.
  std::vector<Bank::Call> run_after_commit(const Bank::Body& first, const Bank::Body& second) {
    return bank.run_all({[&](Transaction& txn) -> Result<void> {
                           turns.await(1);
                           return first(txn);
                         },
                         [&](Transaction& txn) -> Result<void> {
                           turns.pass(1);
                           await_commit_after(bank, txn);
                           return second(txn);
                         }});
  }
  template <auto Column>
  Bank::Body adds(int64_t amount) {
    return [this, amount](Transaction& txn) { return add_to<Column>(bank, txn, 1, amount); };
  }
  Bank::Body erases() {
    return [this](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update<&Parcel::weight>(bank.parcel_pkey, 1);
      if (!row) return row.error();
      txn.erase(*row);
      return {};
    };
  }
  Bank::Body claims_all() {
    return [this](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update(bank.parcel_pkey, 1);
      if (!row) return row.error();
      txn.update(*row, set<&Parcel::stops>(1));
      return {};
    };
  }
  static void expect_second_conflicts(const std::vector<Bank::Call>& calls) {
    EXPECT_TRUE(calls[0].outcome());
    ASSERT_FALSE(calls[1].outcome());
    EXPECT_EQ(calls[1].outcome().code(), ErrorCode::kConflict);
  }
  static void expect_both_commit(const std::vector<Bank::Call>& calls) {
    EXPECT_TRUE(calls[0].outcome());
    EXPECT_TRUE(calls[1].outcome());
  }

  Bank bank{2, 0};
  Turns turns;
};

TEST_F(ColumnGroupStress, WritersOfDifferentGroupsBothCommit) {
  expect_both_commit(run_while_claimed(adds<&Parcel::weight>(1), adds<&Parcel::price>(2)));
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    EXPECT_EQ(txn.get(bank.parcel_pkey, 1)->weight, 21);
    EXPECT_EQ(txn.get(bank.parcel_pkey, 1)->price, 32);
    return {};
  }));
  bank.expect_replica_agrees();
}

TEST_F(ColumnGroupStress, AWriterOfAGroupThatWasNotWrittenSinceItsSnapshotCommits) {
  expect_both_commit(run_after_commit(adds<&Parcel::shelf>(1), adds<&Parcel::price>(2)));
  bank.expect_replica_agrees();
}

TEST_F(ColumnGroupStress, WritersOfOneGroupConflictWhileItIsOwned) {
  expect_second_conflicts(run_while_claimed(adds<&Parcel::weight>(1), adds<&Parcel::weight>(2)));
}

TEST_F(ColumnGroupStress, WritersOfOneGroupConflictAfterItsCommit) {
  expect_second_conflicts(run_after_commit(adds<&Parcel::weight>(1), adds<&Parcel::weight>(2)));
}

TEST_F(ColumnGroupStress, AWriteOfAGroupConflictsWithAnEraseUnderWay) {
  expect_second_conflicts(run_while_claimed(erases(), adds<&Parcel::price>(1)));
  bank.expect_replica_agrees();
}

TEST_F(ColumnGroupStress, AWriteOfAGroupConflictsWithAnEraseAfterItsSnapshot) {
  expect_second_conflicts(run_after_commit(erases(), adds<&Parcel::price>(1)));
  bank.expect_replica_agrees();
}

TEST_F(ColumnGroupStress, AnEraseConflictsWithAWriteOfAnyGroup) {
  expect_second_conflicts(run_while_claimed(adds<&Parcel::price>(1), erases()));
  bank.expect_replica_agrees();
}

TEST_F(ColumnGroupStress, AnEraseConflictsWithAWriteOfAnyGroupAfterItsSnapshot) {
  expect_second_conflicts(run_after_commit(adds<&Parcel::price>(1), erases()));
  bank.expect_replica_agrees();
}

TEST_F(ColumnGroupStress, AClaimOfTheWholeRowConflictsWithAClaimOfAnyGroup) {
  expect_second_conflicts(run_while_claimed(adds<&Parcel::price>(1), claims_all()));
}

TEST_F(ColumnGroupStress, AClaimOfAGroupConflictsWithAClaimOfTheWholeRow) {
  expect_second_conflicts(run_while_claimed(claims_all(), adds<&Parcel::price>(1)));
}

// The claims that a conflict found no use for are given back.
TEST_F(ColumnGroupStress, AConflictLeavesTheOtherGroupsFree) {
  const auto calls = run_while_claimed(adds<&Parcel::price>(1), erases());
  expect_second_conflicts(calls);
  expect_both_commit(bank.run_all({adds<&Parcel::weight>(1), adds<&Parcel::shelf>(1)}));
  EXPECT_TRUE(bank.run(claims_all()));
  EXPECT_TRUE(bank.run(erases()));
  bank.expect_replica_agrees();
}

TEST_F(ColumnGroupStress, AKeyIsTakenWhateverIsDoneToOtherGroups) {
  const auto calls =
      run_while_claimed(adds<&Parcel::price>(1), [&](Transaction& txn) -> Result<void> {
        EXPECT_EQ(txn.insert(bank.parcel, first_parcel()).code(), ErrorCode::kAlreadyExists);
        return {};
      });
  expect_both_commit(calls);
}

TEST_F(ColumnGroupStress, AnInsertOfAKeyConflictsWhileItsRowIsWritten) {
  const auto calls =
      run_while_claimed(adds<&Parcel::shelf>(1), [&](Transaction& txn) -> Result<void> {
        EXPECT_EQ(txn.insert(bank.parcel, first_parcel()).code(), ErrorCode::kConflict);
        return {};
      });
  expect_second_conflicts(calls);
}

TEST_F(ColumnGroupStress, ASnapshotSeesEachGroupAsItWas) {
  const auto expect_row = [&](Transaction& txn) {
    auto row = txn.get(bank.parcel_pkey, 1);
    EXPECT_EQ(row->weight, 20);
    EXPECT_EQ(row->price, 30);
    EXPECT_EQ(row->note.view(), "fragile");
    EXPECT_EQ(*txn.get<&Parcel::weight>(bank.parcel_pkey, 1), 20);
    EXPECT_EQ(*txn.get<&Parcel::price>(bank.parcel_pkey, 1), 30);
  };
  const auto calls =
      bank.run_all({[&](Transaction& txn) -> Result<void> {
                      turns.await(1);
                      auto row =
                          txn.get_for_update<&Parcel::weight, &Parcel::price>(bank.parcel_pkey, 1);
                      txn.update(*row, set<&Parcel::weight>(1), set<&Parcel::note>("new"sv));
                      turns.pass(2);
                      turns.await(3);
                      return {};
                    },
                    [&](Transaction& txn) -> Result<void> {
                      expect_row(txn);
                      turns.pass(1);
                      turns.await(2);
                      expect_row(txn);  // owned by the other one
                      turns.pass(3);
                      await_commit_after(bank, txn);
                      expect_row(txn);  // committed since
                      // Its own write of one group, between older versions of the others.
                      EXPECT_TRUE(add_to<&Parcel::shelf>(bank, txn, 1, 1));
                      expect_row(txn);
                      EXPECT_EQ(txn.get(bank.parcel_pkey, 1)->shelf, 8);
                      return {};
                    }});
  expect_both_commit(calls);
  bank.expect_replica_agrees();
}

TEST_F(ColumnGroupStress, ASnapshotStillSeesARowThatIsErased) {
  const auto calls = run_after_commit(erases(), [&](Transaction& txn) -> Result<void> {
    auto row = txn.get(bank.parcel_pkey, 1);
    EXPECT_TRUE(row);
    EXPECT_EQ(row->price, 30);
    EXPECT_EQ(*txn.get<&Parcel::weight>(bank.parcel_pkey, 1), 20);
    return {};
  });
  expect_both_commit(calls);
}

TEST_F(ColumnGroupStress, ASnapshotDoesNotSeeARowThatIsInsertedLater) {
  const auto calls = run_after_commit(
      [&](Transaction& txn) -> Result<void> {
        EXPECT_TRUE(txn.insert(bank.parcel, Parcel{2, 8, 1, 1, "x"sv, 1}));
        return {};
      },
      [&](Transaction& txn) -> Result<void> {
        EXPECT_EQ(txn.get<&Parcel::price>(bank.parcel_pkey, 2).code(), ErrorCode::kNotFound);
        EXPECT_EQ(txn.get_for_update<&Parcel::price>(bank.parcel_pkey, 2).code(),
                  ErrorCode::kNotFound);
        return {};
      });
  expect_both_commit(calls);
}

}  // namespace
}  // namespace diptych::oltp::test
