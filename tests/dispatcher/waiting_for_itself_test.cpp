// Who waits, on a thread of the database, for what that thread would have to do is told so.

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::SizeIs;

template <class Value>
std::string told(const base::Result<Value>& ended) {
  return ended ? "done" : ended.error().to_string();
}

TEST(WaitingForItself, AQueryIsNotAwaitedInACompletion) {
  auto bank = Bank::open({});
  bank->fill(3000);
  Database& database = *bank->database;
  // Minutes, so that it cannot have ended.
  auto slow = database.start_query(
      "SELECT count(*) FROM account a, account b, account c "
      "WHERE a.version + b.version + c.version >= 0");
  ASSERT_TRUE(slow.ok()) << slow.error().to_string();
  std::promise<std::string> said;
  const auto submitted =
      database.submit_query("SELECT 1", [&](const auto&) { said.set_value(told(slow->get())); },
                            {.timeout_ns = 50'000'000});
  ASSERT_TRUE(submitted.ok()) << submitted.error().to_string();
  EXPECT_THAT(said.get_future().get(), HasSubstr("RunningQuery::get was called in a completion"));
  slow->cancel();
  EXPECT_EQ(slow->get().code(), ErrorCode::kCancelled) << "it is still to be had";
}

TEST(WaitingForItself, AQueryThatHasEndedIsHadInACompletion) {
  auto bank = Bank::open({});
  bank->fill(10);
  auto ended = bank->database->start_query("SELECT count(*) FROM account");
  ASSERT_TRUE(ended.ok() && ended->wait_for(20'000'000'000));
  std::promise<std::string> said;
  const auto submitted = bank->database->submit_query(
      "SELECT 1", [&](const auto&) { said.set_value(told(ended->get())); });
  ASSERT_TRUE(submitted.ok());
  EXPECT_EQ(said.get_future().get(), "done");
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
