// A database with the bank of examples/bank/ loaded from its library, and its procedures bound.

#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "dispatcher/database.h"
#include "examples/bank/bank.h"

namespace diptych::examples::bank {

struct OpenBank {
  std::unique_ptr<dispatcher::Database> database;
  dispatcher::ProcedureRef<OpenAccount, dispatcher::Nothing> open_account;
  dispatcher::ProcedureRef<Transfer, TransferReply> transfer;
  dispatcher::ProcedureRef<Interest, InterestReply> interest;
  dispatcher::ProcedureRef<Statement, StatementReply> statement;

  static std::unique_ptr<OpenBank> open(const dispatcher::DatabaseOptions& options) {
    auto database = dispatcher::Database::open(options);
    EXPECT_TRUE(database.ok()) << database.error().to_string();
    auto bank = std::make_unique<OpenBank>();
    bank->database = std::move(*database);
    std::ifstream schema(DIPTYCH_SOURCE_DIR "/examples/bank/schema.sql");
    auto created =
        bank->database->execute_ddl(std::string(std::istreambuf_iterator<char>(schema), {}));
    EXPECT_TRUE(created.ok()) << created.error().to_string();
    bank->load(DIPTYCH_BANK);
    bank->open_account =
        *bank->database->bind_procedure<OpenAccount, dispatcher::Nothing>("open_account");
    bank->transfer = *bank->database->bind_procedure<Transfer, TransferReply>("transfer");
    bank->interest = *bank->database->bind_procedure<Interest, InterestReply>("interest");
    bank->statement = *bank->database->bind_procedure<Statement, StatementReply>("statement");
    return bank;
  }

  void load(const std::string& path) const {
    auto loaded = database->load_procedures(path);
    ASSERT_TRUE(loaded.ok()) << loaded.error().to_string();
    EXPECT_EQ(loaded->module, "bank");
    EXPECT_EQ(loaded->defined.size(), 4u);
    EXPECT_EQ(loaded->removed.size(), 0u);
  }

  // Accounts 0 (the bank's) to `count`, in branches 0 and 1, with 1,000.00 each.
  void open_accounts(int64_t count) const {
    for (int64_t id = 0; id <= count; ++id) {
      const OpenAccount order{id, static_cast<int32_t>(id % 2), {"owner"}, {1'000'00}};
      auto opened = database->call(open_account, order).get();
      ASSERT_TRUE(opened.ok()) << opened.error().to_string();
    }
  }

  // In cents, by SQL.
  int64_t sum(const std::string& column, const std::string& table) const {
    auto result = database->query("SELECT sum(" + column + ") FROM " + table);
    EXPECT_TRUE(result.ok()) << result.error().to_string();
    return static_cast<int64_t>(std::get<base::DecimalValue>(result->rows.at(0).at(0)).units);
  }
};

}  // namespace diptych::examples::bank
