// What one transaction sees of itself, and what it leaves behind.

#include <stdexcept>

#include <gmock/gmock.h>

#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;
using namespace std::string_view_literals;

TEST(Transaction, InsertedRowsAreReadBackByEveryIndex) {
  Bank bank;
  const std::string note(100, 'n');
  ASSERT_TRUE(bank.put(1, 7, "ann", 50, note));
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    auto row = txn.get(bank.account_pkey, 1);
    EXPECT_EQ(row->balance, 50);
    EXPECT_EQ(row->note.view(), note);
    EXPECT_EQ(*txn.get<&Account::id>(bank.account_name, "ann"sv), 1);
    EXPECT_EQ(txn.get(bank.account_pkey, 2).code(), ErrorCode::kNotFound);
    uint64_t met = 0;
    const auto count = [&](const RowHandle&, const Account&) {
      ++met;
      return ScanStep::kContinue;
    };
    EXPECT_EQ(*txn.scan(bank.account_balance, prefix(bank.account_balance, 7), {}, count), 1u);
    EXPECT_EQ(*txn.scan(bank.account_branch, prefix(bank.account_branch, 7), {}, count), 1u);
    EXPECT_EQ(*txn.scan(bank.account_branch, prefix(bank.account_branch, 8), {}, count), 0u);
    EXPECT_EQ(met, 2u);
    return {};
  }));
  bank.expect_replica_agrees();
}

TEST(Transaction, SeveralUpdatesOfARowAreExportedAsTheUnionOfTheirColumnsOnce) {
  Bank bank;
  ASSERT_TRUE(bank.put(1, 7, "ann", 50, "old"));
  bank.replica.take_log();
  const std::string text = "a longer note than before";
  ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    auto row = txn.get_for_update<&Account::balance>(bank.account_pkey, 1);
    txn.update(*row, set<&Account::balance>(60));
    txn.update(*row, set<&Account::note>(std::string_view(text)));
    txn.update(*row, set<&Account::balance>(61));
    EXPECT_EQ(txn.get(bank.account_pkey, 1)->balance, 61);
    EXPECT_EQ(txn.get(bank.account_pkey, 1)->note.view(), text);
    auto again = txn.get_for_update<&Account::balance>(bank.account_pkey, 1);
    EXPECT_EQ(again->values, 61);
    return {};
  }));
  EXPECT_EQ(bank.replica.take_log(), std::vector<std::string>{"update 3 4"});
  bank.expect_replica_agrees();
}

TEST(Transaction, InsertAndUpdateIsExportedAsOneInsert) {
  Bank bank;
  ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    auto handle = txn.insert(bank.account, Account{1, 7, "ann"sv, 50, "x"sv});
    auto row = txn.claim<Account, &Account::balance>(*handle);
    txn.update(*row, set<&Account::balance>(51), set<&Account::branch>(8));
    EXPECT_EQ(*txn.scan(bank.account_balance, prefix(bank.account_balance, 7), {},
                        [](const RowHandle&, const Account&) { return ScanStep::kContinue; }),
              0u);
    return {};
  }));
  EXPECT_EQ(bank.replica.take_log(), std::vector<std::string>{"insert"});
  bank.expect_replica_agrees();
}

TEST(Transaction, InsertAndEraseLeavesAndExportsNothing) {
  Bank bank;
  ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    auto handle = txn.insert(bank.account, Account{1, 7, "ann"sv, 50, "x"sv});
    auto row = txn.claim<Account>(*handle);
    txn.erase(*row);
    EXPECT_EQ(txn.get(bank.account_pkey, 1).code(), ErrorCode::kNotFound);
    return {};
  }));
  EXPECT_TRUE(bank.replica.take_log().empty());
  EXPECT_EQ(bank.engine->last_vid(), base::Vid(0));
  EXPECT_TRUE(bank.put(1, 7, "ann", 50));
  bank.expect_replica_agrees();
}

// Else each would look at all rows before it that had the key, and the indexes would grow by them.
TEST(Transaction, RowsThatComeAndGoUnderOneKeyLeaveNoEntriesInEachOthersWay) {
  Bank bank;
  ASSERT_TRUE(bank.put(1, 7, "ann", 50));
  const auto come_and_go = [&](int times) {
    return bank.run([&](Transaction& txn) -> Result<void> {
      for (int i = 0; i < times; ++i) {
        auto row = txn.get_for_update(bank.account_pkey, 1);
        if (!row) return row.error();
        txn.erase(*row);
        if (auto again = txn.insert(bank.account, row->values); !again) return again.error();
        auto entry = txn.insert(bank.entry, Entry{1, 1, {}});
        if (!entry) return entry.error();
        txn.erase(*txn.claim<Entry>(*entry));
      }
      return {};
    });
  };
  ASSERT_TRUE(come_and_go(1));
  const size_t before = bank.engine->metrics().index_bytes;
  ASSERT_TRUE(come_and_go(10'000));
  EXPECT_EQ(bank.engine->metrics().index_bytes, before);
  bank.expect_replica_agrees();
}

TEST(Transaction, EraseAndInsertOfOneKeyIsExportedAsADeleteAndAnInsert) {
  Bank bank;
  ASSERT_TRUE(bank.put(1, 7, "ann", 50));
  bank.replica.take_log();
  ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    auto row = txn.get_for_update(bank.account_pkey, 1);
    txn.update(*row, set<&Account::balance>(1));
    txn.erase(*row);
    EXPECT_EQ(txn.get(bank.account_pkey, 1).code(), ErrorCode::kNotFound);
    EXPECT_TRUE(txn.insert(bank.account, Account{1, 7, "ann"sv, 99, ""sv}));
    EXPECT_EQ(txn.get(bank.account_pkey, 1)->balance, 99);
    return {};
  }));
  EXPECT_EQ(bank.replica.take_log(), (std::vector<std::string>{"delete", "insert"}));
  bank.expect_replica_agrees();
}

TEST(Transaction, RollbackRestoresRowsAndIndexes) {
  Bank bank;
  ASSERT_TRUE(bank.put(1, 7, "ann", 50, "note"));
  const TableText before = bank.rows(bank.account.table);
  auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
    auto row = txn.get_for_update(bank.account_pkey, 1);
    txn.update(*row, set<&Account::name>("bob"sv), set<&Account::branch>(9));
    EXPECT_TRUE(txn.insert(bank.account, Account{2, 7, "cid"sv, 50, ""sv}));
    return txn.abort("changed my mind");
  });
  EXPECT_EQ(outcome.code(), ErrorCode::kAborted);
  EXPECT_EQ(outcome.error().message, "changed my mind");
  EXPECT_EQ(bank.rows(bank.account.table), before);
  EXPECT_TRUE(bank.put(2, 7, "bob", 1));
  bank.expect_replica_agrees();
}

TEST(Transaction, AClaimWithoutAWriteIsNoWrite) {
  Bank bank;
  ASSERT_TRUE(bank.put(1, 7, "ann", 50));
  const auto calls = bank.run_all({[&](Transaction& txn) -> Result<void> {
    EXPECT_TRUE(txn.get_for_update(bank.account_pkey, 1));
    return {};
  }});
  EXPECT_TRUE(calls[0].outcome());
  EXPECT_EQ(calls[0].commit_vid(), base::Vid(0));
  bank.expect_replica_agrees();
}

TEST(Transaction, UniqueKeysAreTakenOncePerIndex) {
  Bank bank;
  ASSERT_TRUE(bank.put(1, 7, "ann", 50));
  EXPECT_EQ(bank.put(1, 7, "bob", 50).code(), ErrorCode::kAlreadyExists);
  EXPECT_EQ(bank.put(2, 7, "ann", 50).code(), ErrorCode::kAlreadyExists);
  EXPECT_TRUE(bank.put(2, 7, "bob", 50));
  const auto rename = bank.run([&](Transaction& txn) -> Result<void> {
    auto row = txn.get_for_update(bank.account_pkey, 2);
    txn.update(*row, set<&Account::name>("ann"sv));
    return {};
  });
  EXPECT_EQ(rename.code(), ErrorCode::kAlreadyExists);
  // A procedure may handle it and go on.
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    auto taken = txn.insert(bank.account, Account{1, 7, "dan"sv, 50, ""sv});
    EXPECT_EQ(taken.code(), ErrorCode::kAlreadyExists);
    auto free = txn.insert(bank.account, Account{3, 7, "dan"sv, 50, ""sv});
    EXPECT_TRUE(free);
    return {};
  }));
  bank.expect_replica_agrees();
}

TEST(Transaction, RenamingThereAndBackInOneBatchKeepsKeysUnique) {
  Bank bank;
  ASSERT_TRUE(bank.put(1, 7, "ann", 50));
  const auto rename = [&](int64_t id, std::string_view name) {
    return [&bank, id, name](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update(bank.account_pkey, id);
      if (!row) return row.error();
      txn.update(*row, set<&Account::name>(name));
      return {};
    };
  };
  const auto insert = [&](Transaction& txn) -> Result<void> {
    auto done = txn.insert(bank.account, Account{2, 7, "ann"sv, 1, ""sv});
    if (!done) return done.error();
    return {};
  };
  const auto calls = bank.run_all({rename(1, "bob"), insert, rename(1, "ann"), rename(2, "cid"),
                                   rename(1, "ann"), rename(2, "ann")});
  EXPECT_TRUE(calls[0].outcome());
  EXPECT_TRUE(calls[1].outcome());
  EXPECT_EQ(calls[2].outcome().code(), ErrorCode::kAlreadyExists);
  EXPECT_TRUE(calls[3].outcome());
  EXPECT_TRUE(calls[4].outcome());
  EXPECT_EQ(calls[5].outcome().code(), ErrorCode::kAlreadyExists);
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    EXPECT_EQ(txn.get(bank.account_name, "ann"sv)->id, 1);
    EXPECT_EQ(txn.get(bank.account_name, "cid"sv)->id, 2);
    EXPECT_FALSE(txn.get(bank.account_name, "bob"sv));
    return {};
  }));
  bank.expect_replica_agrees();
}

TEST(Transaction, ScansGoBothWaysWithinLimitsAndBounds) {
  Bank bank;
  ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    for (int32_t i = 0; i < 300; ++i) {
      EXPECT_TRUE(txn.insert(bank.entry, Entry{i / 100, i % 100, int64_t{i}}));
    }
    return {};
  }));
  ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    const auto collect = [&](const KeyRange& range, const ScanOptions& options) {
      std::vector<int64_t> amounts;
      auto visited =
          txn.scan<&Entry::amount>(bank.entry_pkey, range, options,
                                   [&](const RowHandle&, const base::Nullable<int64_t>& amount) {
                                     amounts.push_back(*amount);
                                     return ScanStep::kContinue;
                                   });
      EXPECT_EQ(*visited, amounts.size());
      return amounts;
    };
    const auto numbers = [](int64_t first, int64_t last) {
      std::vector<int64_t> all;
      for (int64_t i = first; first <= last ? i <= last : i >= last; i += first <= last ? 1 : -1) {
        all.push_back(i);
      }
      return all;
    };
    const auto one = prefix(bank.entry_pkey, 1);
    const auto some = between(bank.entry_pkey, std::tuple(0, 95), std::tuple(1, 4));
    EXPECT_EQ(collect(one, {}), numbers(100, 199));
    EXPECT_EQ(collect(one, {Direction::kBackward}), numbers(199, 100));
    EXPECT_EQ(collect(one, {Direction::kForward, 3}), numbers(100, 102));
    EXPECT_EQ(collect(one, {Direction::kBackward, 1}), numbers(199, 199));
    EXPECT_EQ(collect(some, {}), numbers(95, 104));
    EXPECT_EQ(collect(some, {Direction::kBackward}), numbers(104, 95));
    EXPECT_EQ(collect(KeyRange(), {}), numbers(0, 299));
    EXPECT_EQ(collect(KeyRange(), {Direction::kBackward}), numbers(299, 0));
    EXPECT_TRUE(collect(prefix(bank.entry_pkey, 3), {}).empty());
    EXPECT_TRUE(collect(one, {Direction::kForward, 0}).empty());
    return {};
  }));
}

TEST(Transaction, AScanMayEraseAndInsertWhereItIs) {
  Bank bank;
  ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    for (int32_t i = 0; i < 500; ++i) EXPECT_TRUE(txn.insert(bank.entry, Entry{1, i, int64_t{i}}));
    return {};
  }));
  ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    std::vector<int32_t> met;
    auto visited =
        txn.scan<&Entry::number>(bank.entry_pkey, prefix(bank.entry_pkey, 1), {},
                                 [&](const RowHandle& handle, int32_t number) {
                                   met.push_back(number);
                                   auto row = txn.claim<Entry>(handle);
                                   txn.erase(*row);
                                   EXPECT_TRUE(txn.insert(bank.entry, Entry{0, number, {}}));
                                   return ScanStep::kContinue;
                                 });
    EXPECT_EQ(*visited, 500u);
    EXPECT_TRUE(std::is_sorted(met.begin(), met.end()));
    return {};
  }));
  EXPECT_EQ(bank.engine->row_count(bank.entry.table), 500u);
  bank.expect_replica_agrees();
}

TEST(Transaction, AThrowingProcedureRollsBackAndSaysSo) {
  Bank bank;
  const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
    EXPECT_TRUE(txn.insert(bank.account, Account{1, 7, "ann"sv, 50, ""sv}));
    throw std::runtime_error("boom");
  });
  EXPECT_EQ(outcome.code(), ErrorCode::kAborted);
  EXPECT_EQ(outcome.error().message, "procedure \"script\" threw: boom");
  EXPECT_TRUE(bank.rows(bank.account.table).empty());
}

TEST(Transaction, AConflictOfTheProceduresOwnMakingIsHowItAborts) {
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers);
    int runs = 0;
    const Result<void> outcome = bank.run([&](Transaction&) -> Result<void> {
      ++runs;
      return ErrorCode::kConflict;
    });
    EXPECT_EQ(outcome.code(), ErrorCode::kConflict);
    EXPECT_EQ(runs, 1);
    EXPECT_EQ(bank.engine->metrics().aborted, 1u);
    EXPECT_EQ(bank.engine->metrics().conflicts, 0u);
  }
}

TEST(Transaction, RandomRepeatsForASeed) {
  Bank bank;
  std::vector<uint64_t> drawn;
  const Bank::Body draw = [&](Transaction& txn) -> Result<void> {
    drawn.push_back(txn.random());
    drawn.push_back(txn.random());
    return {};
  };
  ASSERT_TRUE(bank.run(draw));
  ASSERT_TRUE(bank.run(draw));
  EXPECT_EQ(drawn[0], drawn[2]);
  EXPECT_EQ(drawn[1], drawn[3]);
  EXPECT_NE(drawn[0], drawn[1]);
}

// What a procedure must not do costs it the transaction, never the process, even if the procedure
// pays no heed; and nothing of it stays.
void expect_misuse(Bank* bank, const std::function<void(Transaction&)>& mistake,
                   const std::string& message) {
  const TableText before = bank->replica.table(0);
  const auto done = bank->run([&](Transaction& txn) -> Result<void> {
    mistake(txn);
    return {};
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.code(), base::ErrorCode::kInvalidArgument);
  EXPECT_THAT(done.error().message, ::testing::HasSubstr("procedure \"script\""));
  EXPECT_THAT(done.error().message, ::testing::HasSubstr(message));
  EXPECT_EQ(bank->replica.table(0), before);
}

TEST(Misuse, ABindingThatFailsNamesWhatThereIs) {
  Bank bank;
  const auto swapped =
      bind_index<&Account::balance, &Account::branch>(bank.catalog, "account_balance");
  ASSERT_FALSE(swapped.ok());
  EXPECT_EQ(swapped.error().message,
            "index \"account_balance\" is of (branch, balance), asked for with (balance, branch)");
  const auto index = bind_index<&Account::id>(bank.catalog, "ACCOUNT_pkey");
  ASSERT_FALSE(index.ok());
  EXPECT_THAT(index.error().message,
              ::testing::StartsWith("no index \"ACCOUNT_pkey\"; did you mean \"account_pkey\"?"));
  const auto table = bind_table<Account>(bank.catalog, "Account");
  ASSERT_FALSE(table.ok());
  EXPECT_EQ(table.error().to_string(),
            "not found: no table \"Account\"; did you mean \"account\"? DDL makes names lower case "
            "unless they are in quotes");
  EXPECT_EQ(bind_table<Account>(bank.catalog, "acount").error().message, "no table \"acount\"");
}

TEST(Misuse, AnErasedRowIsNotUsed) {
  Bank bank;
  ASSERT_TRUE(bank.put(1, 7, "ann", 50));
  expect_misuse(
      &bank,
      [&](Transaction& txn) {
        auto row = txn.get_for_update(bank.account_pkey, 1);
        txn.erase(*row);
        txn.update(*row, set<&Account::balance>(1));
      },
      "a row is written after this transaction has erased it");
  expect_misuse(
      &bank,
      [&](Transaction& txn) {
        auto row = txn.get_for_update(bank.account_pkey, 1);
        txn.erase(*row);
        txn.erase(*row);
      },
      "a row is written after this transaction has erased it");
}

TEST(Misuse, ARowIsClaimedBeforeItIsWritten) {
  Bank bank;
  ASSERT_TRUE(bank.put(1, 7, "ann", 50));
  Claimed<Account, int64_t> kept;
  ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    kept = *txn.get_for_update<&Account::balance>(bank.account_pkey, 1);
    return {};
  }));
  expect_misuse(
      &bank, [&](Transaction& txn) { txn.update(kept, set<&Account::balance>(1)); },
      "a row handle is used in the transaction that got it");
  expect_misuse(
      &bank, [](Transaction& txn) { txn.erase(Claimed<Account, int64_t>{}); },
      "a row handle is used in the transaction that got it");
  expect_misuse(
      &bank,
      [&](Transaction& txn) {
        const RowHandle found = txn.find<&Account::balance>(bank.account_pkey, 1)->handle;
        txn.update(Claimed<Account, int64_t>{found, 0}, set<&Account::balance>(1));
      },
      "a row is written that this transaction has neither claimed nor inserted");
}

TEST(Misuse, PrimaryKeysStay) {
  Bank bank;
  ASSERT_TRUE(bank.put(1, 7, "ann", 50));
  expect_misuse(
      &bank,
      [&](Transaction& txn) {
        auto row = txn.get_for_update(bank.account_pkey, 1);
        txn.update(*row, set<&Account::balance>(7), set<&Account::id>(2));
      },
      "column id of the primary key cannot be changed");
}

TEST(Misuse, AStringThatIsTooLongForItsColumnIsRefused) {
  Bank bank;
  ASSERT_TRUE(bank.put(1, 7, "ann", 50));
  const std::string fits_inline(16, 'x');
  const std::string fits_outside(100, 'x');
  for (const bool insert : {true, false}) {
    for (const bool outside : {true, false}) {
      const std::string name = outside ? fits_inline : fits_inline + "x";
      const std::string note = outside ? fits_outside + "x" : fits_outside;
      const auto mistake = [&](Transaction& txn) {
        if (insert) {
          EXPECT_FALSE(txn.insert(bank.account, Account{2, 7, {name}, 50, {note}}));
          EXPECT_FALSE(txn.insert(bank.account, Account{3, 7, "eve"sv, 50, ""sv}));
        } else {
          auto row = txn.get_for_update(bank.account_pkey, 1);
          txn.update(*row, set<&Account::name>({name}), set<&Account::note>({note}));
        }
      };
      expect_misuse(&bank, mistake,
                    outside ? "table \"account\", column note: the string is longer than its "
                              "VARCHAR(100)"
                            : "table \"account\", column name: the string is longer than its "
                              "VARCHAR(16)");
    }
  }
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    auto row = txn.insert(bank.account, Account{2, 7, {fits_inline}, 50, {fits_outside}});
    if (!row) return row.error();
    // No row can have a longer key.
    EXPECT_EQ(txn.get(bank.account_name, base::Varchar<16>(fits_inline + "x")).code(),
              base::ErrorCode::kNotFound);
    EXPECT_TRUE(txn.get(bank.account_name, base::Varchar<16>(fits_inline)));
    return {};
  }));
}

TEST(Misuse, AHashIndexIsScannedByWholeKeysOnly) {
  Bank bank;
  const auto visit = [](const RowHandle&, const Account&) { return ScanStep::kContinue; };
  expect_misuse(
      &bank,
      [&](Transaction& txn) { EXPECT_FALSE(txn.scan(bank.account_pkey, KeyRange(), {}, visit)); },
      "table \"account\": index \"account_pkey\" is a hash index");
}

TEST(Misuse, ABoundOfAScanFitsItsColumn) {
  Bank bank;
  const auto visit = [](const RowHandle&, const Account&) { return ScanStep::kContinue; };
  KeyRange range;
  const std::string text(2 * base::kKeyBytesMax, 'x');
  range.lower.append(std::string_view(text));
  expect_misuse(
      &bank,
      [&](Transaction& txn) { EXPECT_FALSE(txn.scan(bank.account_balance, range, {}, visit)); },
      "a bound of a scan of index \"account_balance\" does not fit its column");
}

TEST(Scan, OfAtMostNoRowsVisitsNone) {
  for (const uint32_t workers : {1u, 2u}) {
    Bank bank(workers);
    ASSERT_TRUE(bank.put(1, 7, "ann", 50));
    EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      const auto visit = [](const RowHandle&, const Account&) {
        ADD_FAILURE();
        return ScanStep::kContinue;
      };
      const auto& ordered = bank.account_balance;
      const auto& by_hash = bank.account_pkey;
      EXPECT_EQ(*txn.scan(ordered, prefix(ordered, 7), {.limit = 0}, visit), 0u);
      EXPECT_EQ(*txn.scan(by_hash, prefix(by_hash, 1), {.limit = 0}, visit), 0u);
      return {};
    }));
  }
}

// Refs that nobody bound must not be taken for those of the first table and the first index.
TEST(Misuse, UnboundRefsAreRefused) {
  for (const uint32_t workers : {1u, 2u}) {
    Bank bank(workers);
    ASSERT_TRUE(bank.put(1, 7, "ann", 50));
    const TableRef<Entry> table;
    const IndexRef<&Account::id> by_number;
    const IndexRef<&Account::name> by_name;
    const auto visit = [](const RowHandle&, const Account&) { return ScanStep::kContinue; };
    const std::function<void(Transaction&)> mistakes[] = {
        [&](Transaction& txn) {
          EXPECT_FALSE(txn.insert(table, Entry{1, 1, {}}));
        },
        [&](Transaction& txn) { EXPECT_FALSE(txn.get(by_number, 1)); },
        [&](Transaction& txn) { EXPECT_FALSE(txn.get(by_name, "ann"sv)); },
        [&](Transaction& txn) { EXPECT_FALSE(txn.get_for_update(by_number, 1)); },
        [&](Transaction& txn) { EXPECT_FALSE(txn.scan(by_number, KeyRange(), {}, visit)); },
        [&](Transaction& txn) {
          EXPECT_FALSE(txn.scan(by_number, KeyRange(), {.limit = 0}, visit));
        },
        [&](Transaction& txn) {
          const std::vector<std::tuple<int64_t>> keys{{1}};
          EXPECT_FALSE(txn.get_each(by_number, keys, [](size_t, const Account&) {}));
        },
    };
    for (const auto& mistake : mistakes) expect_misuse(&bank, mistake, "never bound");
    // A plan only makes things faster.
    EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      AccessPlan plan = txn.make_plan();
      plan.row(by_number, 1);
      plan.range(by_number, 1, 1);
      plan.end(by_number, 1);
      plan.fetch_rows();
      EXPECT_TRUE(txn.get(bank.account_pkey, 1));
      return {};
    }));
  }
}

TEST(GetEach, VisitsTheRowsThatAreThereInTheOrderOfTheKeys) {
  for (const uint32_t workers : {1u, 2u}) {
    Bank bank(workers);
    for (int64_t id = 0; id < 40; id += 2) ASSERT_TRUE(bank.put(id, 0, std::to_string(id), 5 * id));
    EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      auto erased = txn.get_for_update<&Account::id>(bank.account_pkey, int64_t{38});
      txn.erase(*erased);
      auto raised = txn.get_for_update<&Account::id>(bank.account_pkey, int64_t{0});
      txn.update(*raised, set<&Account::balance>(int64_t{7}));
      std::vector<std::tuple<int64_t>> keys;
      for (int64_t id = 0; id < 40; ++id) keys.emplace_back(id);
      std::vector<std::pair<size_t, int64_t>> seen;
      const auto note = [&](size_t i, int64_t balance) { seen.emplace_back(i, balance); };
      EXPECT_TRUE(txn.get_each<&Account::balance>(bank.account_pkey, keys, note));
      EXPECT_EQ(seen.size(), 19u);
      for (size_t i = 0; i < seen.size(); ++i) {
        const int64_t balance = i == 0 ? 7 : 10 * static_cast<int64_t>(i);
        EXPECT_EQ(seen[i], std::pair(2 * i, balance));
      }
      EXPECT_TRUE(txn.get_each<&Account::balance>(bank.account_pkey, {}, note));
      EXPECT_EQ(seen.size(), 19u);
      return {};
    }));
  }
}

TEST(GetEach, FindsRowsByTheKeysOfAnOrderedIndex) {
  for (const uint32_t workers : {1u, 2u}) {
    Bank bank(workers);
    EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      for (int32_t number = 0; number < 3000; number += 3) {
        EXPECT_TRUE(txn.insert(bank.entry, Entry{5, number, int64_t{number} * 2}));
      }
      return {};
    }));
    EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      std::vector<std::tuple<int64_t, int32_t>> keys;
      for (int32_t i = 0; i < 200; ++i) keys.emplace_back(5, i * 773 % 3000);
      size_t seen = 0;
      EXPECT_TRUE(txn.get_each<&Entry::amount>(
          bank.entry_pkey, keys, [&](size_t i, const base::Nullable<int64_t>& amount) {
            EXPECT_EQ(*amount, int64_t{std::get<1>(keys[i])} * 2);
            ++seen;
          }));
      EXPECT_EQ(seen,
                static_cast<size_t>(std::count_if(keys.begin(), keys.end(), [](const auto& key) {
                  return std::get<1>(key) % 3 == 0;
                })));
      return {};
    }));
  }
}

}  // namespace
}  // namespace diptych::oltp::test
