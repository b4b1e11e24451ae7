// What counts as read when a serializable transaction commits, step by step: transaction 0 reads,
// another changes something and commits, transaction 0 writes an entry and commits, or conflicts.

#include <stdexcept>
#include <tuple>

#include "tests/oltp/schedule.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;

template <class Value>
Result<void> without_value(const Result<Value>& result) {
  if (!result) return result.error();
  return {};
}

class SerializableStress : public ::testing::Test {
 protected:
  SerializableStress() {
    for (int64_t id = 1; id <= 5; ++id) {
      EXPECT_TRUE(bank.put(id, 7, "row " + std::to_string(id), 10 * id, "note"));
    }
  }

  // Whether transaction 0 does, or else conflicts.
  bool commits(const Schedule::Step& read, const Schedule::Step& change,
               const Schedule::Step& write) {
    Schedule schedule(2);
    schedule.begin(0).begin(1).step(0, read).step(1, change).end(1).step(0, write).end(0);
    const auto outcomes = schedule.run(&bank);
    EXPECT_TRUE(outcomes[1]) << outcomes[1].error().to_string();
    bank.expect_replica_agrees();
    EXPECT_TRUE(outcomes[0] || outcomes[0].code() == ErrorCode::kConflict);
    return static_cast<bool>(outcomes[0]);
  }
  bool commits(const Schedule::Step& read, const Schedule::Step& change) {
    return commits(read, change, [this](Transaction& txn) { return add_entry(txn); });
  }

  Result<void> add_entry(Transaction& txn) {
    return without_value(txn.insert(bank.entry, Entry{++entries_, 1, {}}));
  }
  Schedule::Step update(int64_t id, int64_t balance) {
    return [this, id, balance](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update(bank.account_pkey, id);
      if (!row) return row.error();
      txn.update(*row, set<&Account::balance>(balance));
      return {};
    };
  }
  Schedule::Step rename(int64_t id, std::string name) {
    return [this, id, name](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update(bank.account_pkey, id);
      if (!row) return row.error();
      txn.update(*row, set<&Account::name>(std::string_view(name)));
      return {};
    };
  }
  Schedule::Step erase(int64_t id) {
    return [this, id](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update(bank.account_pkey, id);
      if (!row) return row.error();
      txn.erase(*row);
      return {};
    };
  }
  Schedule::Step insert(int64_t id, int64_t balance) {
    return [this, id, balance](Transaction& txn) {
      const std::string name = "row " + std::to_string(id);
      return without_value(txn.insert(
          bank.account, Account{id, 7, std::string_view(name), balance, std::string_view("new")}));
    };
  }
  Schedule::Step read(int64_t id) {
    return [this, id](Transaction& txn) -> Result<void> {
      auto row = txn.get(bank.account_pkey, id);
      EXPECT_TRUE(row || row.code() == ErrorCode::kNotFound);
      return {};
    };
  }
  // Visits as many rows of branch 7, in the order of their balances.
  Schedule::Step scan(Direction direction, uint64_t limit, uint64_t stop_after) {
    return [this, direction, limit, stop_after](Transaction& txn) {
      uint64_t visited = 0;
      return without_value(txn.scan<&Account::id>(
          bank.account_balance, prefix(bank.account_balance, 7), {direction, limit},
          [&](const RowHandle&, int64_t) {
            return ++visited == stop_after ? ScanStep::kStop : ScanStep::kContinue;
          }));
    };
  }

  static constexpr uint64_t kAll = UINT64_MAX;
  Bank bank{3, 0, 60'000'000'000, IsolationLevel::kSerializable};

 private:
  int64_t entries_ = 0;
};

TEST_F(SerializableStress, ARowThatWasReadAndChangedIsAConflict) {
  EXPECT_FALSE(commits(read(1), update(1, 11)));
  EXPECT_FALSE(commits(read(2), erase(2)));
  EXPECT_FALSE(commits(read(3), rename(3, "other")));
  EXPECT_TRUE(commits(read(3), update(4, 41)));
  const auto read_each = [&](Transaction& txn) {
    const std::tuple<int64_t> keys[] = {{1}, {4}, {99}};
    return txn.get_each<&Account::balance>(bank.account_pkey, keys, [](size_t, int64_t) {});
  };
  EXPECT_FALSE(commits(read_each, update(4, 42)));
  EXPECT_FALSE(commits(read_each, insert(99, 990)));
  EXPECT_TRUE(commits(read_each, update(5, 51)));
}

TEST_F(SerializableStress, AChangeCountsForTheColumnGroupsThatWereRead) {
  ASSERT_TRUE(bank.run([&](Transaction& txn) {
    return without_value(
        txn.insert(bank.parcel, Parcel{1, 5, 10, 100, std::string_view("fragile"), {}}));
  }));
  const Schedule::Step read_weight = [&](Transaction& txn) {
    return without_value(txn.get<&Parcel::weight>(bank.parcel_pkey, 1));
  };
  const Schedule::Step read_weights_of_shelf = [&](Transaction& txn) {
    return without_value(
        txn.scan<&Parcel::weight>(bank.parcel_shelf, prefix(bank.parcel_shelf, 5), {},
                                  [](const RowHandle&, int64_t) { return ScanStep::kContinue; }));
  };
  const Schedule::Step read_all = [&](Transaction& txn) {
    return without_value(txn.get(bank.parcel_pkey, 1));
  };
  const Schedule::Step write_price = [&](Transaction& txn) -> Result<void> {
    auto row = txn.get_for_update<&Parcel::price>(bank.parcel_pkey, 1);
    if (!row) return row.error();
    txn.update(*row, set<&Parcel::price>(row->values + 1));
    return {};
  };
  const Schedule::Step write_weight = [&](Transaction& txn) -> Result<void> {
    auto row = txn.get_for_update<&Parcel::weight>(bank.parcel_pkey, 1);
    if (!row) return row.error();
    txn.update(*row, set<&Parcel::weight>(row->values + 1));
    return {};
  };
  for (const auto& read_one_group : {read_weight, read_weights_of_shelf}) {
    EXPECT_TRUE(commits(read_one_group, write_price));
    EXPECT_FALSE(commits(read_one_group, write_weight));
  }
  EXPECT_FALSE(commits(read_all, write_price));
  EXPECT_FALSE(commits(read_all, write_weight));
  // The key is of none of the groups, and says which rows were read.
  const Schedule::Step move = [&](Transaction& txn) -> Result<void> {
    auto row = txn.get_for_update<&Parcel::shelf>(bank.parcel_pkey, 1);
    if (!row) return row.error();
    txn.update(*row, set<&Parcel::shelf>(row->values + 1));
    return {};
  };
  EXPECT_FALSE(commits(read_weights_of_shelf, move));
}

// The second scan's range lies within the first one's, which has read other columns of it.
TEST_F(SerializableStress, APoppedRangeThatAnotherCoversCountsForItsOwnColumnGroups) {
  constexpr int64_t kPopped = 2 * IndexCursor::kGroupMax;  // a group of entries, and more
  ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    for (int64_t id = 1; id <= kPopped + 1; ++id) {
      auto row = txn.insert(bank.parcel, Parcel{id, 5, 10, 100, std::string_view("note"), {}});
      if (!row) return row.error();
    }
    return {};
  }));
  const auto shelf = prefix(bank.parcel_shelf, 5);
  const auto pop_and_look = [&](bool at_price) -> Schedule::Step {
    return [&, at_price](Transaction& txn) -> Result<void> {
      std::vector<RowHandle> popped;
      const auto pop = [&](const RowHandle& handle, int64_t id) {
        if (id <= kPopped) popped.push_back(handle);
        return ScanStep::kContinue;
      };
      const auto look = [](const RowHandle&, int64_t) { return ScanStep::kStop; };
      const auto& index = bank.parcel_shelf;
      if (auto all = txn.scan<&Parcel::id>(index, shelf, {}, pop); !all) return all.error();
      for (const RowHandle& handle : popped) txn.erase(*txn.claim<Parcel>(handle));
      if (auto done = txn.scan<&Parcel::weight>(index, shelf, {}, look); !done) return done.error();
      return without_value(at_price ? txn.scan<&Parcel::price>(index, shelf, {}, look)
                                    : txn.scan<&Parcel::weight>(index, shelf, {}, look));
    };
  };
  const Schedule::Step write_price = [&](Transaction& txn) -> Result<void> {
    auto row = txn.get_for_update<&Parcel::price>(bank.parcel_pkey, kPopped + 1);
    if (!row) return row.error();
    txn.update(*row, set<&Parcel::price>(row->values + 1));
    return {};
  };
  EXPECT_FALSE(commits(pop_and_look(true), write_price));
  EXPECT_TRUE(commits(pop_and_look(false), write_price));
}

TEST_F(SerializableStress, AKeyThatWasNotFoundAndIsThereIsAConflict) {
  EXPECT_FALSE(commits(read(6), insert(6, 60)));
  EXPECT_TRUE(commits(read(8), insert(7, 70)));
  const auto by_name = [&](Transaction& txn) -> Result<void> {
    auto row = txn.get<&Account::id>(bank.account_name, base::Varchar<16>("nobody"));
    EXPECT_EQ(row.code(), ErrorCode::kNotFound);
    return {};
  };
  EXPECT_TRUE(commits(by_name, rename(2, "somebody")));
  EXPECT_FALSE(commits(by_name, rename(1, "nobody")));
}

TEST_F(SerializableStress, AnInsertThatWasRefusedHasReadTheRowInItsWay) {
  const auto refused = [&](Transaction& txn) -> Result<void> {
    EXPECT_EQ(insert(1, 0)(txn).code(), ErrorCode::kAlreadyExists);
    return {};
  };
  EXPECT_TRUE(commits(refused, update(2, 21)));
  EXPECT_FALSE(commits(refused, erase(1)));
}

TEST_F(SerializableStress, AKeyThatWasInsertedAndErasedAgainWasFoundFree) {
  const auto come_and_go = [&](Transaction& txn) -> Result<void> {
    EXPECT_TRUE(insert(6, 60)(txn));
    return erase(6)(txn);
  };
  EXPECT_TRUE(commits(come_and_go, insert(7, 70)));
  EXPECT_FALSE(commits(come_and_go, insert(6, 60)));
}

TEST_F(SerializableStress, ARangeCountsAsFarAsItWasScanned) {
  // The balances are 10, 20, 30, 40 and 50; each scan ends at 20, or at 40 from behind.
  const Schedule::Step scans[] = {
      scan(Direction::kForward, 2, kAll), scan(Direction::kForward, kAll, 2),
      scan(Direction::kBackward, 2, kAll), scan(Direction::kBackward, kAll, 2)};
  int64_t id = 10;
  for (size_t i = 0; i < std::size(scans); ++i) {
    const bool forward = i < 2;
    EXPECT_TRUE(commits(scans[i], insert(++id, 30))) << i;
    EXPECT_TRUE(commits(scans[i], insert(++id, forward ? 60 : 1))) << i;
    EXPECT_FALSE(commits(scans[i], insert(++id, forward ? 15 : 45))) << i;
    EXPECT_TRUE(bank.run(erase(id)));
    EXPECT_TRUE(bank.run(erase(id - 1)));
  }
  EXPECT_FALSE(commits(scan(Direction::kForward, kAll, kAll), insert(99, 60)));
  EXPECT_FALSE(commits(scan(Direction::kForward, 2, kAll), erase(1)));
}

// Where the next key is not one more in the last byte alone.
TEST_F(SerializableStress, ARangeCountsUpToAKeyWhoseLastBytesAreTheGreatest) {
  int64_t parcels = 0;
  const auto put_on = [&](int64_t shelf) -> Schedule::Step {
    return [&, shelf](Transaction& txn) {
      return without_value(
          txn.insert(bank.parcel, Parcel{++parcels, shelf, 1, 1, std::string_view("new"), {}}));
    };
  };
  const auto scan_up_to = [&](int64_t last) -> Schedule::Step {
    return [&, last](Transaction& txn) {
      return without_value(txn.scan<&Parcel::shelf>(
          bank.parcel_shelf, KeyRange(), {}, [&](const RowHandle&, int64_t shelf) {
            return shelf < last ? ScanStep::kContinue : ScanStep::kStop;
          }));
    };
  };
  for (const int64_t shelf : {int64_t{1}, int64_t{255}, int64_t{65535}, INT64_MAX}) {
    ASSERT_TRUE(bank.run(put_on(shelf)));
  }
  for (const int64_t last : {255, 65535}) {
    EXPECT_FALSE(commits(scan_up_to(last), put_on(last - 1)));
    EXPECT_TRUE(commits(scan_up_to(last), put_on(last + 1)));
  }
  EXPECT_FALSE(commits(scan_up_to(INT64_MAX), put_on(INT64_MAX - 1)));
}

TEST_F(SerializableStress, RowsThatLeaveARangeOrChangeInItCount) {
  const auto whole = scan(Direction::kForward, kAll, kAll);
  EXPECT_FALSE(commits(whole, update(1, 99)));
  EXPECT_FALSE(commits(whole, rename(2, "other")));
  EXPECT_FALSE(commits(whole, erase(3)));
  const auto other_branch = [&](Transaction& txn) {
    return without_value(
        txn.scan<&Account::id>(bank.account_branch, prefix(bank.account_branch, 8), {},
                               [](const RowHandle&, int64_t) { return ScanStep::kContinue; }));
  };
  EXPECT_TRUE(commits(other_branch, update(4, 7)));
}

TEST_F(SerializableStress, AScanThatThrewHasReadItsWholeRange) {
  const auto thrown = [&](Transaction& txn) -> Result<void> {
    try {
      auto scanned = txn.scan<&Account::id>(
          bank.account_balance, prefix(bank.account_balance, 7), {},
          [](const RowHandle&, int64_t) -> ScanStep { throw std::runtime_error("first row"); });
      ADD_FAILURE() << "it throws";
    } catch (const std::runtime_error&) {
    }
    return {};
  };
  EXPECT_FALSE(commits(thrown, insert(6, 60)));
}

TEST_F(SerializableStress, WhoChangesNothingIsNotChecked) {
  const auto nothing = [](Transaction&) -> Result<void> { return {}; };
  EXPECT_TRUE(commits(read(1), update(1, 11), nothing));
  const auto claim = [&](Transaction& txn) {
    return without_value(txn.get_for_update(bank.account_pkey, int64_t{2}));
  };
  EXPECT_TRUE(commits(read(1), update(1, 12), claim));
  const auto insert_and_erase = [&](Transaction& txn) -> Result<void> {
    EXPECT_TRUE(insert(9, 90)(txn));
    return erase(9)(txn);
  };
  EXPECT_TRUE(commits(read(1), update(1, 13), insert_and_erase));
  // What the claim let go can be written.
  EXPECT_TRUE(bank.run(update(2, 22)));
}

TEST_F(SerializableStress, OwnWritesAndRunsThatWereRolledBackAreNoConflict) {
  const auto own = [&](Transaction& txn) -> Result<void> {
    EXPECT_TRUE(read(1)(txn));
    EXPECT_TRUE(update(1, 11)(txn));
    EXPECT_TRUE(insert(6, 60)(txn));
    EXPECT_TRUE(scan(Direction::kForward, kAll, kAll)(txn));
    return read(6)(txn);
  };
  const auto nothing = [](Transaction&) -> Result<void> { return {}; };
  EXPECT_TRUE(commits(own, nothing));

  Schedule schedule(2);
  schedule.begin(0).begin(1).step(0, read(1)).step(1, update(1, 12));
  schedule.step(1, [](Transaction& txn) -> Result<void> { return txn.abort("asked for"); });
  schedule.end(1).step(0, [&](Transaction& txn) { return add_entry(txn); }).end(0);
  EXPECT_TRUE(schedule.run(&bank)[0]);
}

// The reader commits first: it is the writer that comes later.
TEST_F(SerializableStress, ARowThatAnotherOwnsIsNoConflictForItsReader) {
  Schedule schedule(2);
  schedule.begin(0).begin(1).step(0, read(1)).step(1, update(1, 11));
  schedule.step(0, [&](Transaction& txn) { return add_entry(txn); }).end(0).end(1);
  const auto outcomes = schedule.run(&bank);
  EXPECT_TRUE(outcomes[0]);
  EXPECT_TRUE(outcomes[1]);
}

TEST_F(SerializableStress, AChangeIsFoundBehindALaterClaim) {
  Schedule schedule(3);
  schedule.begin(0).begin(1).step(0, read(1)).step(1, update(1, 11)).end(1);
  schedule.begin(2).step(2, update(1, 12));
  schedule.step(0, [&](Transaction& txn) { return add_entry(txn); }).end(0).end(2);
  const auto outcomes = schedule.run(&bank);
  EXPECT_EQ(outcomes[0].code(), ErrorCode::kConflict);
  EXPECT_TRUE(outcomes[1] && outcomes[2]);
}

TEST(IsolationOfAProcedureStress, GoesBeforeTheEngines) {
  struct Order {
    int64_t reads;
    int64_t writes;
  };
  for (const IsolationLevel engine_level :
       {IsolationLevel::kSnapshot, IsolationLevel::kSerializable}) {
    Bank bank(2, 0, 60'000'000'000, engine_level);
    for (int64_t id = 1; id <= 2; ++id) ASSERT_TRUE(bank.put(id, 7, std::to_string(id), 50));
    // Write skew: each reads, waits until both have, and writes what the other has read.
    const auto committed = [&](std::optional<IsolationLevel> level) {
      std::atomic<int> readers{0};
      const auto body = [&](Transaction& txn, const Order& order) -> Result<Nothing> {
        auto balance = txn.get<&Account::balance>(bank.account_pkey, order.reads);
        if (!balance) return balance.error();
        ++readers;
        while (readers < 2) std::this_thread::yield();
        auto row = txn.get_for_update<&Account::balance>(bank.account_pkey, order.writes);
        if (!row) return row.error();
        txn.update(*row, set<&Account::balance>(*balance + 1));
        return Nothing{};
      };
      const auto procedure = bank.engine->register_procedure(
          define_procedure<Order, Nothing>("skew", body, {.access = {}, .isolation = level}));
      const Order orders[] = {{1, 2}, {2, 1}};
      Request requests[2];
      for (size_t i = 0; i < 2; ++i) {
        requests[i].procedure = procedure;
        requests[i].arguments = std::as_bytes(std::span(&orders[i], 1));
      }
      Request* const batch[] = {&requests[0], &requests[1]};
      EXPECT_TRUE(bank.engine->run_batch(batch).again.empty());
      return (requests[0].outcome ? 1 : 0) + (requests[1].outcome ? 1 : 0);
    };
    EXPECT_EQ(committed({}), engine_level == IsolationLevel::kSnapshot ? 2 : 1);
    EXPECT_EQ(committed(IsolationLevel::kSnapshot), 2);
    EXPECT_EQ(committed(IsolationLevel::kSerializable), 1);
  }
}

// One worker: transactions run one after the other, and none conflicts.
TEST(SerializableWithOneWorker, NothingConflicts) {
  Bank bank(1, 0, 60'000'000'000, IsolationLevel::kSerializable);
  for (int64_t id = 1; id <= 2; ++id) ASSERT_TRUE(bank.put(id, 7, std::to_string(id), 50));
  const auto skew = [&](int64_t reads, int64_t writes) {
    return [&bank, reads, writes](Transaction& txn) -> Result<void> {
      auto balance = txn.get<&Account::balance>(bank.account_pkey, reads);
      if (!balance) return balance.error();
      auto row = txn.get_for_update<&Account::balance>(bank.account_pkey, writes);
      if (!row) return row.error();
      txn.update(*row, set<&Account::balance>(*balance + 1));
      return {};
    };
  };
  for (const auto& call : bank.run_all({skew(1, 2), skew(2, 1)})) EXPECT_TRUE(call.outcome());
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    EXPECT_EQ(*txn.get<&Account::balance>(bank.account_pkey, 1), 52);
    return {};
  }));
}

}  // namespace
}  // namespace diptych::oltp::test
