// Who waits, on a thread of the database, for what that thread would have to do is told so.

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

template <class Value>
std::string told(const base::Result<Value>& ended) {
  return ended ? "done" : ended.error().to_string();
}

class ListenerThatWaits : public DirectoryFixture {
 protected:
  // Takes so long that a listener is told behind it.
  static ProcedureRef<oltp::Nothing, oltp::Nothing> define_pause(const Bank& bank) {
    return *bank.database->register_procedure<oltp::Nothing, oltp::Nothing>(
        "pause",
        [table = bank.accounts](Transaction& txn,
                                const oltp::Nothing&) -> base::Result<oltp::Nothing> {
          std::this_thread::sleep_for(std::chrono::milliseconds(110));
          auto row = txn.insert(table, Account{100, {}, 0});
          if (!row) return row.error();
          return oltp::Nothing{};
        });
  }
};

TEST_F(ListenerThatWaits, ForTheRecoveryThatTellsItIsToldSo) {
  Bank::open({.path = path()});  // whoever makes it and discards it, removes it
  {
    auto bank = Bank::open({.path = path()});
    ASSERT_TRUE(bank->database->call(define_pause(*bank), {}).get().ok());
    static_cast<void>(bank->database->discard());
  }
  std::unique_ptr<Bank> bank;
  std::vector<std::string> heard;
  DatabaseOptions options{.path = path()};
  options.recovery_listener = [&](const std::string&, double) {
    if (!heard.empty()) return;
    Database& database = *bank->database;
    heard = {told(database.query("SELECT 1")), told(database.recover()), told(database.close()),
             told(database.procedures_to_recover()),
             told(database.call(bank->bump, {.id = 3, .balance = {}}).get())};
  };
  bank = Bank::open(options);
  ASSERT_NE(bank, nullptr);
  define_pause(*bank);
  EXPECT_TRUE(bank->database->recover().ok());
  EXPECT_THAT(heard, SizeIs(5));
  EXPECT_THAT(heard, Each(HasSubstr("was called in the recovery_listener")));
  EXPECT_EQ(*bank->number("SELECT count(*) FROM account"), 1);
}

}  // namespace
}  // namespace diptych::dispatcher
