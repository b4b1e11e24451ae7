// A small bank for the dispatcher's tests: accounts whose balances sum up to a constant.

#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <boost/describe.hpp>
#include <gtest/gtest.h>

#include "dispatcher/database.h"
#include "storage/file_step.h"
#include "tests/temporary_directory.h"

namespace diptych::dispatcher {

struct Account {
  int32_t id = 0;
  base::Decimal<12, 2> balance;
  int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(Account, (), (id, balance, version))

struct TransferArguments {
  int32_t from = 0;
  int32_t to = 0;
  int64_t cents = 0;
};
BOOST_DESCRIBE_STRUCT(TransferArguments, (), (from, to, cents))

struct TransferReply {
  int64_t left_cents = 0;
};
BOOST_DESCRIBE_STRUCT(TransferReply, (), (left_cents))

struct AccountArguments {
  int32_t id = 0;
  base::Decimal<12, 2> balance;
};
BOOST_DESCRIBE_STRUCT(AccountArguments, (), (id, balance))

inline constexpr const char* kBankDdl =
    "CREATE TABLE account (id INT NOT NULL, balance DECIMAL(12,2) NOT NULL, "
    "version BIGINT NOT NULL, PRIMARY KEY (id))";

// An open bank with its procedures.
struct Bank {
  using ById = IndexRef<&Account::id>;

  std::unique_ptr<Database> database;
  TableRef<Account> accounts;
  ById by_id;
  ProcedureRef<AccountArguments, oltp::Nothing> open_account;
  ProcedureRef<TransferArguments, TransferReply> transfer;
  ProcedureRef<AccountArguments, oltp::Nothing> bump;  // version + 1

  // Opens a database and, where it has none yet, creates the bank's table.
  static std::unique_ptr<Bank> open(const DatabaseOptions& options) {
    auto database = Database::open(options);
    EXPECT_TRUE(database.ok()) << database.error().to_string();
    if (!database) return nullptr;
    auto bank = std::make_unique<Bank>();
    bank->database = std::move(*database);
    if (bank->database->catalog().find_table("account") == nullptr) {
      auto created = bank->database->execute_ddl(kBankDdl);
      EXPECT_TRUE(created.ok()) << created.error().to_string();
    }
    bank->bind();
    return bank;
  }

  void bind() {
    accounts = *database->bind_table<Account>("account");
    by_id = *database->bind_index<&Account::id>("account_pkey");
    open_account = *database->register_procedure<AccountArguments, oltp::Nothing>(
        "open_account",
        [table = accounts](Transaction& txn,
                           const AccountArguments& arguments) -> base::Result<oltp::Nothing> {
          auto row = txn.insert(table, Account{arguments.id, arguments.balance, 0});
          if (!row) return row.error();
          return oltp::Nothing{};
        });
    transfer = *database->register_procedure<TransferArguments, TransferReply>(
        "transfer",
        [index = by_id](Transaction& txn,
                        const TransferArguments& arguments) -> base::Result<TransferReply> {
          auto from = txn.get_for_update<&Account::balance>(index, arguments.from);
          if (!from) return from.error();
          if (from->values.units < arguments.cents) return txn.abort("too little money");
          auto to = txn.get_for_update<&Account::balance>(index, arguments.to);
          if (!to) return to.error();
          const int64_t left = from->values.units - arguments.cents;
          txn.update(*from, set<&Account::balance>(base::Decimal<12, 2>{left}));
          txn.update(*to, set<&Account::balance>(
                              base::Decimal<12, 2>{to->values.units + arguments.cents}));
          return TransferReply{left};
        });
    bump = *database->register_procedure<AccountArguments, oltp::Nothing>(
        "bump",
        [index = by_id](Transaction& txn,
                        const AccountArguments& arguments) -> base::Result<oltp::Nothing> {
          auto row = txn.get_for_update<&Account::version>(index, arguments.id);
          if (!row) return row.error();
          txn.update(*row, set<&Account::version>(row->values + 1));
          return oltp::Nothing{};
        });
  }

  // Loads accounts 0..count-1 with 100.00 each.
  void fill(int32_t count) {
    std::vector<Account> rows;
    for (int32_t id = 0; id < count; ++id) rows.push_back({id, {10'000}, 0});
    load(rows);
  }

  void load(const std::vector<Account>& rows) {
    auto loaded = database->load(accounts, rows);
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    ASSERT_EQ(loaded->rows, rows.size());
  }

  // The one number that a query gives.
  base::Result<int64_t> number(const std::string& sql) {
    auto result = database->query(sql);
    if (!result) return result.error();
    const base::Value& value = result->rows.at(0).at(0);
    if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
    return static_cast<int64_t>(std::get<base::DecimalValue>(value).units);
  }
};

// A disk that refuses this step for as long as the flag is set.
inline storage::BeforeFileStep refuse_while(const std::atomic<bool>& refuses,
                                            storage::FileStep step) {
  return [&refuses, step](storage::FileStep next) -> base::Result<void> {
    if (!refuses || next != step) return {};
    return base::Error(base::ErrorCode::kIo, "the test's disk");
  };
}

inline void expect_equal_replicas(Database* database) {
  auto compared = database->compare_replicas();
  ASSERT_TRUE(compared.ok()) << compared.error().to_string();
  EXPECT_EQ(compared->differences, 0u);
  for (const ReplicaDifference& difference : compared->first) {
    ADD_FAILURE() << difference.table << " row " << difference.row_id.value << ": "
                  << difference.what;
  }
}

// A fresh directory that goes with the test.
class DirectoryFixture : public ::testing::Test {
 protected:
  std::string path(const std::string& name = "bank") const { return directory_ + "/" + name; }

  const diptych::test::TemporaryDirectory made_;
  const std::string directory_ = made_.path();
};

}  // namespace diptych::dispatcher
