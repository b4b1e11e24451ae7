// What a procedure may do inside a scan, and what it must not do at all: that costs it the
// transaction, with words that name it, and nothing of it stays.

#include <stdexcept>
#include <vector>

#include <gmock/gmock.h>

#include "base/clock.h"
#include "tests/oltp/engine_fixture.h"
#include "tests/oltp/turns.h"

namespace diptych::oltp::test {
namespace {

using base::ErrorCode;
using base::Result;
using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::string_view_literals;

constexpr uint64_t kNoTimeLimit = 10'000'000'000;

struct Title {
  int64_t id;
  base::Varchar<200> head;
  base::Varchar<200> tail;
};
BOOST_DESCRIBE_STRUCT(Title, (), (id, head, tail))

// Of tables whose columns have the same names.
struct Small {
  int64_t id;
  int32_t value;
};
BOOST_DESCRIBE_STRUCT(Small, (), (id, value))
struct Large {
  int64_t id;
  base::Varchar<60> value;
};
BOOST_DESCRIBE_STRUCT(Large, (), (id, value))

void fill(Bank* bank, int64_t count) {
  for (int64_t id = 1; id <= count; ++id) ASSERT_TRUE(bank->put(id, 7, std::to_string(id), id));
}

TEST(ProcedureMisuse, AHandleOfAnotherTransactionIsRefusedThoughItsRowIsThere) {
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers);
    fill(&bank, 3);
    RowHandle kept{};
    const auto scan_and_keep = [&](Transaction& txn) -> Result<void> {
      auto done = txn.scan(bank.account_pkey, prefix(bank.account_pkey, 2), {},
                           [&](const RowHandle& handle, const Account&) {
                             kept = handle;
                             return ScanStep::kContinue;
                           });
      EXPECT_TRUE(txn.claim<Account>(kept).ok());
      return {};
    };
    ASSERT_TRUE(bank.run(scan_and_keep));
    const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
      EXPECT_FALSE(txn.claim<Account>(kept).ok());
      return {};
    });
    EXPECT_EQ(outcome.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(outcome.error().message,
                AllOf(HasSubstr("procedure \"script\""),
                      HasSubstr("a row handle is used in the transaction that got it")));
    EXPECT_FALSE(
        bank.run([](Transaction& txn) -> Result<void> { return txn.claim<Account>({}).error(); }));
  }
}

TEST(ProcedureMisuse, AHandleOfAnotherTableIsRefused) {
  Bank bank;
  fill(&bank, 1);
  const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
    auto handle = txn.insert(bank.account, Account{9, 7, "ix"sv, 5, ""sv});
    EXPECT_FALSE(txn.claim<Entry>(*handle).ok());
    return {};
  });
  EXPECT_EQ(outcome.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(outcome.error().message, AllOf(HasSubstr("procedure \"script\", table \"account\""),
                                             HasSubstr("not another's")));
  EXPECT_EQ(bank.rows(bank.account.table).size(), 1u);
  bank.expect_replica_agrees();
}

// Of a procedure "name" that is run alone, and aborts.
template <class Body>
Result<void> outcome_of(Engine* engine, const Body& body) {
  Request request;
  request.procedure = engine->register_procedure(define_procedure<Nothing, Nothing>("name", body));
  const Nothing nothing;
  request.arguments = std::as_bytes(std::span(&nothing, 1));
  Request* batch[] = {&request};
  EXPECT_EQ(engine->run_batch(batch).aborted, 1U);
  return request.outcome;
}

TEST(ProcedureMisuse, AHandleOfATableWhoseColumnsHaveTheSameNamesIsRefused) {
  base::Catalog catalog;
  base::TableSchema small = schema_of<Small>("small");
  small.indexes = {index("small_pkey", base::IndexKind::kHash, base::Uniqueness::kUnique, {0})};
  ASSERT_TRUE(catalog.add_table(std::move(small)));
  base::TableSchema large = schema_of<Large>("large");
  large.indexes = {index("large_pkey", base::IndexKind::kHash, base::Uniqueness::kUnique, {0})};
  ASSERT_TRUE(catalog.add_table(std::move(large)));
  propagation::UpdateQueue queue;
  EngineOptions options;
  options.placement.threads = 1;
  Engine engine(&catalog, options, &queue);
  const auto table = *bind_table<Small>(catalog, "small");
  const auto body = [&](Transaction& txn, const Nothing&) -> Result<Nothing> {
    auto handle = txn.insert(table, Small{1, 1});
    EXPECT_TRUE(handle.ok());
    EXPECT_TRUE(txn.claim<Small>(*handle).ok());
    EXPECT_FALSE(txn.claim<Large>(*handle).ok());
    return Nothing{};
  };
  const Result<void> outcome = outcome_of(&engine, body);
  EXPECT_EQ(outcome.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(outcome.error().message, HasSubstr("not another's"));
}

// Each string fits its column, and both together are more than a key may have.
TEST(ProcedureMisuse, AKeyThatIsTooLongFailsTheTransactionThoughTheProcedurePaysNoHeed) {
  for (const bool insert : {true, false}) {
    base::Catalog catalog;
    base::TableSchema schema = schema_of<Title>("title");
    schema.indexes = {
        index("title_pkey", base::IndexKind::kHash, base::Uniqueness::kUnique, {0}),
        index("title_text", base::IndexKind::kHash, base::Uniqueness::kUnique, {1, 2})};
    ASSERT_TRUE(catalog.add_table(std::move(schema)));
    propagation::UpdateQueue queue;
    EngineOptions options;
    options.placement.threads = 1;
    Engine engine(&catalog, options, &queue);
    const auto table = *bind_table<Title>(catalog, "title");
    const auto by_id = *bind_index<&Title::id>(catalog, "title_pkey");
    const std::string text(200, 'x');
    const auto body = [&](Transaction& txn, const Nothing&) -> Result<Nothing> {
      EXPECT_TRUE(txn.insert(table, Title{1, ""sv, ""sv}));
      if (insert) {
        EXPECT_FALSE(txn.insert(table, Title{2, {text}, {text}}));
      } else {
        auto row = txn.get_for_update(by_id, 1);
        txn.update(*row, set<&Title::head>({text}), set<&Title::tail>({text}));
      }
      EXPECT_FALSE(txn.get(by_id, 1));
      return Nothing{};
    };
    const Result<void> outcome = outcome_of(&engine, body);
    EXPECT_EQ(outcome.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(outcome.error().message,
              "procedure \"name\": a key of index \"title_text\" is longer than 256 bytes");
    EXPECT_EQ(engine.row_count(table.table), 0u);
  }
}

TEST(ProcedureMisuse, ALoopPastTheLimitEndsThoughTheProcedurePaysNoHeed) {
  constexpr uint64_t kLimit = 100;
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers, 1000, kNoTimeLimit, IsolationLevel::kSnapshot, kParcelGroups, kLimit);
    fill(&bank, 1);
    const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update(bank.account_pkey, 1);
      uint64_t done = 1;
      for (; txn.get(bank.account_pkey, 1).ok(); ++done) {
        txn.update(*row, set<&Account::balance>(static_cast<int64_t>(done)));
      }
      EXPECT_GT(done, kLimit / 4);
      EXPECT_FALSE(txn.insert(bank.account, Account{2, 7, "b"sv, 1, ""sv}).ok());
      return {};
    });
    EXPECT_EQ(outcome.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(outcome.error().message,
                AllOf(HasSubstr("procedure \"script\""), HasSubstr("more than 100 operations"),
                      HasSubstr("operations_max")));
    EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      EXPECT_EQ(txn.get(bank.account_pkey, 1)->balance, 1);
      return {};
    }));
    bank.expect_replica_agrees();
  }
}

TEST(ProcedureMisuse, AMistakeIsReportedWhateverErrorTheProcedureMakesOfIt) {
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers, 1000, kNoTimeLimit, IsolationLevel::kSnapshot, kParcelGroups, 100);
    fill(&bank, 1);
    const auto endless = bank.run([&](Transaction& txn) -> Result<void> {
      while (txn.get(bank.account_pkey, 1)) {
      }
      return txn.abort("no such account");
    });
    EXPECT_EQ(endless.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(endless.error().message, HasSubstr("more than 100 operations"));
    const auto erased = bank.run([&](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update(bank.account_pkey, 1);
      txn.erase(*row);
      txn.update(*row, set<&Account::balance>(5));
      if (!txn.get(bank.account_pkey, 1)) return ErrorCode::kNotFound;
      return {};
    });
    EXPECT_EQ(erased.code(), ErrorCode::kInvalidArgument);
    const auto thrown = bank.run([&](Transaction& txn) -> Result<void> {
      static_cast<void>(txn.claim<Account>({}).ok());
      throw std::runtime_error("no handle");
    });
    EXPECT_EQ(thrown.code(), ErrorCode::kInvalidArgument);
    bank.expect_replica_agrees();
  }
}

TEST(ProcedureMisuse, AConflictIsRunAgainWhateverErrorTheProcedureMakesOfIt) {
  Bank bank(2);
  fill(&bank, 1);
  Turns turns;
  int runs = 0;
  const auto calls = bank.run_all({[&](Transaction& txn) -> Result<void> {
                                     auto row = txn.get_for_update(bank.account_pkey, 1);
                                     if (!row) return row.error();
                                     turns.pass(1);
                                     turns.await(2);
                                     return {};
                                   },
                                   [&](Transaction& txn) -> Result<void> {
                                     turns.await(1);
                                     ++runs;
                                     const bool ok = txn.get_for_update(bank.account_pkey, 1).ok();
                                     turns.pass(2);
                                     if (!ok) return txn.abort("no such account");
                                     return {};
                                   }});
  EXPECT_TRUE(calls[0].outcome());
  EXPECT_TRUE(calls[1].outcome());
  EXPECT_GE(runs, 2);
}

// Compiled only where all members are cells: then their bytes are found, and kept with the reply.
struct ReplyWithLongText {
  int64_t id;
  base::Nullable<base::Varchar<65>> text;
};
BOOST_DESCRIBE_STRUCT(ReplyWithLongText, (), (id, text))
struct ReplyWithShortText {
  int64_t id;
  base::Nullable<base::Varchar<64>> text;
};
BOOST_DESCRIBE_STRUCT(ReplyWithShortText, (), (id, text))
static_assert(oltp::detail::points_elsewhere<ReplyWithLongText>());
static_assert(oltp::detail::points_elsewhere<base::Text>());
static_assert(!oltp::detail::points_elsewhere<ReplyWithShortText>());
static_assert(!oltp::detail::points_elsewhere<Nothing>());

TEST(ProcedureMisuse, AScanThatFeedsItselfEndsAtTheLimit) {
  constexpr int64_t kRows = 300;  // more than a scan looks ahead
  Bank bank(1, 1000, kNoTimeLimit, IsolationLevel::kSnapshot, kParcelGroups, 10'000);
  fill(&bank, kRows);
  int64_t next = kRows + 1;
  const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
    auto done = txn.scan(bank.account_balance, prefix(bank.account_balance, 7), {},
                         [&](const RowHandle&, const Account&) {
                           const std::string name = std::to_string(next);
                           static_cast<void>(txn.insert(
                               bank.account, Account{next, 7, std::string_view(name), next, ""sv}));
                           ++next;
                           return ScanStep::kContinue;
                         });
    EXPECT_FALSE(done.ok());
    return {};
  });
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().message, HasSubstr("more than 10000 operations"));
  EXPECT_EQ(bank.rows(bank.account.table).size(), static_cast<size_t>(kRows));
  bank.expect_replica_agrees();
}

TEST(ProcedureMisuse, RowsThatAScanLooksAtCount) {
  Bank bank(1, 1000, kNoTimeLimit, IsolationLevel::kSnapshot, kParcelGroups, 200);
  fill(&bank, 300);
  for (const uint64_t limit : {uint64_t{300}, uint64_t{100}}) {
    const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
      auto met = txn.scan(bank.account_balance, prefix(bank.account_balance, 7), {.limit = limit},
                          [](const RowHandle&, const Account&) { return ScanStep::kContinue; });
      if (!met) return met.error();
      return {};
    });
    EXPECT_EQ(outcome.ok(), limit == 100) << limit;
  }
}

TEST(ProcedureMisuse, ReadingANullCellAbortsAndNamesTheProcedure) {
  Bank bank;
  fill(&bank, 1);
  const base::Nullable<int64_t> cell;
  const auto outcome = bank.run([&](Transaction&) -> Result<void> {
    if (*cell == 0) return {};
    return {};
  });
  EXPECT_EQ(outcome.code(), ErrorCode::kAborted);
  EXPECT_EQ(outcome.error().message,
            "procedure \"script\" threw: the value of a cell is read that is NULL");
}

TEST(ProcedureMisuse, ThrowingOutOfAScanRollsBackAndNamesTheProcedure) {
  for (const uint32_t workers : {1U, 2U}) {
    for (const bool ordered : {true, false}) {
      Bank bank(workers);
      fill(&bank, 200);
      const TableText before = bank.rows(bank.account.table);
      const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
        const auto visit = [&](const RowHandle& handle, const Account& account) -> ScanStep {
          auto row = txn.claim<Account>(handle);
          txn.update(*row, set<&Account::balance>(-1));
          if (account.id % 100 == 50) throw std::runtime_error("out of ink");
          return ScanStep::kContinue;
        };
        auto done = ordered
                        ? txn.scan(bank.account_balance, prefix(bank.account_balance, 7), {}, visit)
                        : txn.scan(bank.account_pkey, prefix(bank.account_pkey, 50), {}, visit);
        return {};
      });
      EXPECT_EQ(outcome.code(), ErrorCode::kAborted);
      EXPECT_EQ(outcome.error().message, "procedure \"script\" threw: out of ink");
      EXPECT_EQ(bank.rows(bank.account.table), before);
      // The index is whole, and the rows can be claimed again.
      EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
        auto met = txn.scan(bank.account_balance, prefix(bank.account_balance, 7), {},
                            [&](const RowHandle& handle, const Account&) {
                              EXPECT_TRUE(txn.claim<Account>(handle).ok());
                              return ScanStep::kContinue;
                            });
        EXPECT_EQ(*met, 200u);
        return {};
      }));
      bank.expect_replica_agrees();
    }
  }
}

TEST(ProcedureScan, EndingAScanEarlyIsFineAndAnErrorFromInsideIsTheProcedures) {
  Bank bank;
  fill(&bank, 100);
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    auto met = txn.scan(bank.account_balance, prefix(bank.account_balance, 7), {},
                        [](const RowHandle&, const Account& account) {
                          return account.balance == 30 ? ScanStep::kStop : ScanStep::kContinue;
                        });
    EXPECT_EQ(*met, 30u);
    auto row = txn.get_for_update(bank.account_pkey, 1);
    txn.update(*row, set<&Account::balance>(1'000));
    return {};
  }));
  const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
    Result<void> inside;
    auto met = txn.scan(bank.account_balance, prefix(bank.account_balance, 7), {},
                        [&](const RowHandle& handle, const Account&) {
                          auto row = txn.claim<Account>(handle);
                          txn.update(*row, set<&Account::note>("seen"sv));
                          inside = txn.abort("a reason of its own");
                          return ScanStep::kStop;
                        });
    EXPECT_TRUE(met.ok());
    return inside;
  });
  EXPECT_EQ(outcome.code(), ErrorCode::kAborted);
  EXPECT_EQ(outcome.error().message, "a reason of its own");
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    EXPECT_EQ(txn.get(bank.account_pkey, 1)->balance, 1'000);
    EXPECT_EQ(txn.get(bank.account_pkey, 2)->note.view(), "");
    return {};
  }));
  bank.expect_replica_agrees();
}

TEST(ProcedureScan, AVisitorMayWriteWhatItMeets) {
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers);
    fill(&bank, 300);
    uint64_t met = 0;
    ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      // Backward in the index's order, towards lower balances: what moves up is not met again.
      auto done = txn.scan(bank.account_balance, prefix(bank.account_balance, 7),
                           {.direction = Direction::kBackward},
                           [&](const RowHandle& handle, const Account& account) {
                             ++met;
                             auto row = txn.claim<Account>(handle);
                             if (account.id % 3 == 0) {
                               txn.erase(*row);
                             } else if (account.id % 3 == 1) {
                               txn.update(*row, set<&Account::balance>(account.balance + 1'000));
                             } else {
                               auto entry = txn.insert(bank.entry, Entry{account.id, 1, {}});
                               EXPECT_TRUE(entry.ok());
                             }
                             return ScanStep::kContinue;
                           });
      EXPECT_EQ(*done, met);
      return {};
    }));
    EXPECT_EQ(met, 300u);
    EXPECT_EQ(bank.rows(bank.account.table).size(), 200u);
    EXPECT_EQ(bank.rows(bank.entry.table).size(), 100u);
    ASSERT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      auto moved =
          txn.scan(bank.account_balance,
                   between(bank.account_balance, std::tuple(7, 1'000), std::tuple(7, 2'000)), {},
                   [](const RowHandle&, const Account&) { return ScanStep::kContinue; });
      EXPECT_EQ(*moved, 100u);
      return {};
    }));
    bank.expect_replica_agrees();
  }
}

// As an insert of it does.
TEST(TakenKey, AnUpdateToItNamesTheProcedure) {
  for (const uint32_t workers : {1U, 2U}) {
    Bank bank(workers);
    fill(&bank, 2);
    const auto outcome = bank.run([&](Transaction& txn) -> Result<void> {
      auto row = txn.get_for_update(bank.account_pkey, 1);
      if (!row) return row.error();
      txn.update(*row, set<&Account::name>("2"sv));
      return {};
    });
    EXPECT_EQ(outcome.error().to_string(),
              "already exists: in procedure \"script\": key (\"2\") of index \"account_name\" is "
              "taken");
  }
}

TEST(MissedRow, ANotFoundThatTheCallEndsWithNamesTableAndIndex) {
  for (const uint32_t workers : {1U, 2U}) {
    SCOPED_TRACE(workers);
    Bank bank(workers);
    fill(&bank, 2);
    const auto text_of = [&](const Bank::Body& body) { return bank.run(body).error().to_string(); };
    const auto missed = [&](const auto& index, const auto&... key) {
      return text_of([&](Transaction& txn) -> Result<void> {
        auto row = txn.get_for_update(index, key...);
        return row.error();
      });
    };
    const std::string begin = "not found: in procedure \"script\": table \"account\" has no row ";
    EXPECT_EQ(missed(bank.account_pkey, 99), begin + "with the key in index \"account_pkey\"");
    EXPECT_EQ(missed(bank.account_name, "eve"sv), begin + "with the key in index \"account_name\"");
    EXPECT_EQ(missed(bank.account_name, "longer than the column"sv),
              begin + "with the key in index \"account_name\"");
    EXPECT_EQ(missed(bank.entry_pkey, 1, 99),
              "not found: in procedure \"script\": table \"entry\" has no row with the key in "
              "index \"entry_pkey\"");
    // The procedure's own: after a row that came as none was found, and one with a text.
    EXPECT_EQ(text_of([&](Transaction& txn) -> Result<void> {
                EXPECT_FALSE(txn.get(bank.entry_pkey, 1, 1).ok());
                EXPECT_TRUE(txn.insert(bank.entry, Entry{1, 1, {}}).ok());
                return ErrorCode::kNotFound;
              }),
              "not found: in procedure \"script\"");
    EXPECT_EQ(text_of([&](Transaction& txn) -> Result<void> {
                EXPECT_FALSE(txn.get(bank.entry_pkey, 1, 1).ok());
                return base::Error(ErrorCode::kNotFound, "no such guest");
              }),
              "not found: no such guest");
  }
}

}  // namespace
}  // namespace diptych::oltp::test
