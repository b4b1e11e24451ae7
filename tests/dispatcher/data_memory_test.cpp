// data_memory_bytes_max: once data takes it, what needs more is refused, and nothing else.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"
#include "tests/temporary_directory.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using testing::HasSubstr;

class DataMemory : public testing::Test {
 protected:
  // `more`: than the data of the database takes when it is opened.
  void open(size_t more, DatabaseOptions options = {}) {
    bank_.reset();
    bank_ = Bank::open(options);
    ASSERT_NE(bank_, nullptr);
    ASSERT_TRUE(bank_->database->call(bank_->open_account, {-1, {0}}).get());
    options.data_memory_bytes_max = bank_->database->metrics().data_memory_bytes() + more;
    ASSERT_TRUE(bank_->database->close());
    bank_.reset();
    bank_ = Bank::open(options);
    ASSERT_NE(bank_, nullptr);
    close_account_ = *bank_->database->register_procedure<AccountArguments, oltp::Nothing>(
        "close_account",
        [index = bank_->by_id](Transaction& txn,
                               const AccountArguments& arguments) -> base::Result<oltp::Nothing> {
          auto row = txn.get_for_update(index, arguments.id);
          if (!row) return row.error();
          txn.erase(*row);
          return oltp::Nothing{};
        });
  }
  base::Result<void> put(int32_t id) {
    const auto done = bank_->database->call(bank_->open_account, {id, {100}}).get();
    return done ? base::Result<void>() : base::Result<void>(done.error());
  }
  // Puts accounts from `id` on until one is refused, which is soon; returns its id.
  int32_t fill(int32_t id = 0) {
    const int32_t end = id + 500'000;
    while (id < end && put(id)) ++id;
    return id;
  }

  test::TemporaryDirectory directory_;
  std::string path_ = directory_.path() + "/bank";
  std::unique_ptr<Bank> bank_;
  ProcedureRef<AccountArguments, oltp::Nothing> close_account_;
};

TEST_F(DataMemory, InsertsAreRefusedOnceItIsFullAndGoOnOnceRowsAreErased) {
  open(size_t{3} << 20, {.path = path_, .log = LogMode::kNone});
  Database& database = *bank_->database;
  const int32_t full = fill();
  EXPECT_GT(full, 1000);
  const auto refused = put(full);
  ASSERT_EQ(refused.code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(refused.error().message, HasSubstr("procedure \"open_account\""));
  EXPECT_THAT(refused.error().message, HasSubstr("data_memory_bytes_max"));
  const Metrics metrics = database.metrics();
  EXPECT_GE(metrics.data_memory_bytes(), metrics.data_memory_bytes_max);
  EXPECT_GE(metrics.calls_failed[static_cast<size_t>(ErrorCode::kOutOfMemory)], 2U);
  // Everything else goes on.
  EXPECT_TRUE(database.call(bank_->bump, {0, {0}}).get());
  EXPECT_TRUE(database.call(bank_->transfer, {0, 1, 50}).get());
  EXPECT_EQ(*bank_->number("SELECT count(*) FROM account"), full + 1);
  EXPECT_EQ(*bank_->number("SELECT sum(balance) FROM account"), int64_t{100} * full);
  ASSERT_TRUE(database.checkpoint());
  for (int32_t id = 0; id < 500; ++id) {
    ASSERT_TRUE(database.call(close_account_, {id, {0}}).get());
  }
  for (int32_t id = 0; id < 500; ++id) ASSERT_TRUE(put(full + id)) << id;
  EXPECT_EQ(*bank_->number("SELECT count(*) FROM account"), full + 1);
}

TEST_F(DataMemory, ADroppedTableMakesRoom) {
  open(size_t{3} << 20, {.path = path_, .log = LogMode::kNone});
  Database& database = *bank_->database;
  const int32_t full = fill();
  const auto index = database.execute_ddl("CREATE INDEX by_balance ON account (balance)");
  ASSERT_EQ(index.code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(index.error().message, HasSubstr("index \"by_balance\""));
  EXPECT_EQ(database.catalog().find_table("account")->indexes.size(), 1U);
  ASSERT_TRUE(database.execute_ddl("TRUNCATE account"));
  EXPECT_GE(fill(full), full + 1000);
  ASSERT_GE(database.metrics().data_memory_bytes(), database.metrics().data_memory_bytes_max);
  ASSERT_TRUE(database.execute_ddl("DROP TABLE account"));
  EXPECT_LT(database.metrics().data_memory_bytes(), database.metrics().data_memory_bytes_max);
  ASSERT_TRUE(database.execute_ddl(kBankDdl));
  EXPECT_TRUE(database.load(*database.bind_table<Account>("account"),
                            std::vector<Account>(1, Account{1, {1}, 1})));
}

TEST_F(DataMemory, ALoadThatPassesItIsRefusedAsAWhole) {
  open(size_t{2} << 20, {.path = path_});
  std::vector<Account> rows;
  for (int32_t id = 0; id < 200'000; ++id) rows.push_back({id, {100}, 0});
  const auto refused = bank_->database->load(bank_->accounts, rows);
  ASSERT_EQ(refused.code(), ErrorCode::kOutOfMemory);
  EXPECT_THAT(refused.error().message, HasSubstr("table \"account\""));
  EXPECT_EQ(*bank_->number("SELECT count(*) FROM account"), 1);
  EXPECT_TRUE(put(5));
  EXPECT_TRUE(bank_->database->load(bank_->accounts, std::vector<Account>{{6, {100}, 0}}));
  EXPECT_EQ(*bank_->number("SELECT count(*) FROM account"), 3);
}

TEST_F(DataMemory, ADatabaseWithMoreThanItMayHaveOpensAndReplaysItsLog) {
  bank_ = Bank::open({.path = path_});
  ASSERT_TRUE(bank_->database->close());
  bank_.reset();
  bank_ = Bank::open({.path = path_});
  for (int32_t id = 0; id < 3000; ++id) ASSERT_TRUE(put(id));
  ASSERT_TRUE(bank_->database->discard());
  bank_.reset();
  bank_ = Bank::open({.path = path_, .data_memory_bytes_max = 1});
  Database& database = *bank_->database;
  const auto recovered = database.recover();
  ASSERT_TRUE(recovered.ok()) << recovered.error().to_string();
  EXPECT_EQ(recovered->transactions, 3000U);
  EXPECT_EQ(*bank_->number("SELECT count(*) FROM account"), 3000);
  EXPECT_EQ(put(3000).code(), ErrorCode::kOutOfMemory);
  EXPECT_TRUE(database.call(bank_->bump, {7, {0}}).get());
  ASSERT_TRUE(database.rebuild_primary());
  EXPECT_EQ(put(3000).code(), ErrorCode::kOutOfMemory);
  EXPECT_EQ(*bank_->number("SELECT sum(version) FROM account"), 1);
}

}  // namespace
}  // namespace diptych::dispatcher
