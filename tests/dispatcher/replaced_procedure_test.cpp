// A program's own procedures that get another body while the database runs, and what the log makes
// of it.

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using testing::HasSubstr;

class ReplacedProcedure : public DirectoryFixture {
 protected:
  using BumpRef = ProcedureRef<AccountArguments, oltp::Nothing>;

  // A version's step is its number.
  static auto body_of(Bank::ById by_id, int64_t step) {
    return
        [by_id, step](Transaction& txn, const AccountArguments& of) -> base::Result<oltp::Nothing> {
          auto row = txn.get_for_update<&Account::version>(by_id, of.id);
          if (!row) return row.error();
          txn.update(*row, set<&Account::version>(row->values + step));
          return oltp::Nothing{};
        };
  }
  static base::Result<BumpRef> replace(Bank* bank, uint64_t version) {
    return bank->database->replace_procedure<AccountArguments, oltp::Nothing>(
        "step", body_of(bank->by_id, static_cast<int64_t>(version)), {.version = version});
  }
  std::unique_ptr<Bank> open(uint64_t version, const DatabaseOptions& options) {
    auto bank = Bank::open(options);
    step_ = *bank->database->register_procedure<AccountArguments, oltp::Nothing>(
        "step", body_of(bank->by_id, static_cast<int64_t>(version)), {.version = version});
    return bank;
  }
  base::Result<oltp::Nothing> step(Bank* bank) {
    auto done = bank->database->call(step_, {.id = 0, .balance = {}}).get();
    if (!done) return done.error();
    return oltp::Nothing{};
  }

  BumpRef step_;
};

TEST_F(ReplacedProcedure, UsesTheTableThatDdlHasMadeAnew) {
  auto bank = Bank::open({});
  const auto ddl = std::string("DROP TABLE account; ") + kBankDdl;
  ASSERT_TRUE(bank->database->execute_ddl(ddl).ok());
  const AccountArguments first{.id = 1, .balance = {}};
  ASSERT_EQ(bank->database->call(bank->open_account, first).get().code(),
            ErrorCode::kInvalidArgument);
  const auto accounts = *bank->database->bind_table<Account>("account");
  const auto replaced = bank->database->replace_procedure<AccountArguments, oltp::Nothing>(
      "open_account",
      [accounts](Transaction& txn, const AccountArguments& of) -> base::Result<oltp::Nothing> {
        auto row = txn.insert(accounts, Account{of.id, of.balance, 0});
        if (!row) return row.error();
        return oltp::Nothing{};
      });
  ASSERT_TRUE(replaced.ok()) << replaced.error().to_string();
  EXPECT_EQ(replaced->id, bank->open_account.id);
  ASSERT_TRUE(bank->database->call(bank->open_account, first).get().ok());
  EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), 1);
  expect_equal_replicas(bank->database.get());
}

TEST_F(ReplacedProcedure, RunsCallsThatWereWaitingAndAllLaterOnes) {
  auto bank = open(1, {});
  bank->fill(1);
  std::vector<Future<oltp::Nothing>> calls;
  for (uint64_t version = 2; version < 20; ++version) {
    for (int i = 0; i < 50; ++i) {
      calls.push_back(bank->database->call(step_, {.id = 0, .balance = {}}));
    }
    ASSERT_TRUE(replace(bank.get(), version).ok());
    const int64_t before = *bank->number("SELECT version FROM account");
    ASSERT_TRUE(step(bank.get()).ok());
    for (auto& call : calls) ASSERT_TRUE(call.get().ok());
    calls.clear();
    EXPECT_EQ(
        (*bank->number("SELECT version FROM account") - before) % static_cast<int64_t>(version), 0);
  }
}

TEST_F(ReplacedProcedure, MustBeTheProgramsOwnAndAsItsCallersKnowIt) {
  auto bank = open(1, {});
  auto unknown = bank->database->replace_definition({.name = "unknown"});
  EXPECT_EQ(unknown.code(), ErrorCode::kNotFound);
  EXPECT_THAT(unknown.error().message, HasSubstr("\"unknown\""));
  const auto other = bank->database->replace_procedure<AccountArguments, TransferReply>(
      "step", [](Transaction&, const AccountArguments&) -> base::Result<TransferReply> {
        return TransferReply{};
      });
  EXPECT_EQ(other.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(other.error().message, HasSubstr("a reply of 1 cells instead of 0"));
  ASSERT_EQ(::setenv("DIPTYCH_TEST_VARIANT", "first", 1), 0);
  const auto loaded = bank->database->load_procedures(DIPTYCH_MODULE_VARIANTS);
  ::unsetenv("DIPTYCH_TEST_VARIANT");
  ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
  const auto modules = bank->database->replace_definition({.name = loaded->defined.front()});
  EXPECT_EQ(modules.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(modules.error().message, HasSubstr("is module \"" + loaded->module + "\"'s"));
  ASSERT_TRUE(bank->database->close().ok());
  EXPECT_EQ(replace(bank.get(), 2).code(), ErrorCode::kClosed);
}

TEST_F(ReplacedProcedure, LeavesTheLogNoCallsOfTheBodyBefore) {
  const DatabaseOptions options{.path = path()};
  Bank::open(options)->fill(1);
  {
    auto bank = open(1, options);
    ASSERT_TRUE(step(bank.get()).ok());
    ASSERT_TRUE(replace(bank.get(), 10).ok());
    ASSERT_TRUE(step(bank.get()).ok());
    ASSERT_TRUE(bank->database->discard().ok());  // as a crash
  }
  auto bank = open(10, options);
  const auto found = bank->number("SELECT version FROM account");
  ASSERT_TRUE(found.ok()) << found.error().to_string();
  EXPECT_EQ(*found, 11);
  EXPECT_EQ(bank->database->metrics().recovered_transactions, 1u);
}

// Its calls were logged with the version that they ran with.
TEST_F(ReplacedProcedure, IsWhatTheLogIsReplayedWithWhereItComesBeforeThat) {
  const DatabaseOptions options{.path = path()};
  Bank::open(options)->fill(1);
  {
    auto bank = open(1, options);
    ASSERT_TRUE(replace(bank.get(), 10).ok());
    ASSERT_TRUE(step(bank.get()).ok());
    ASSERT_TRUE(bank->database->discard().ok());  // as a crash
  }
  auto bank = open(1, options);
  const auto refused = bank->database->recover();
  ASSERT_EQ(refused.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().message, HasSubstr("by version 10 of procedure \"step\""));
  ASSERT_TRUE(replace(bank.get(), 10).ok());
  ASSERT_TRUE(bank->database->recover().ok());
  EXPECT_EQ(*bank->number("SELECT version FROM account"), 10);
}

}  // namespace
}  // namespace diptych::dispatcher
