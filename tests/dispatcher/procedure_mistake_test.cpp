// What a procedure must not do, and what its caller is told: the database goes on.

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;

class ProcedureMistake : public ::testing::Test {
 protected:
  Database& database() { return *bank_->database; }

  std::unique_ptr<Bank> bank_ = Bank::open({});
};

// On each worker, of which the first is the dispatcher's own thread.
TEST(ProcedureMistakes, CallsOfTheDatabaseAreRefusedSinceTheyWouldWaitForIt) {
  DatabaseOptions options;
  options.placement.oltp_workers = 2;
  const auto bank = Bank::open(options);
  bank->fill(3);
  Database& database = *bank->database;
  std::atomic<int> refused = 0;
  const auto asks = *database.register_procedure<AccountArguments, oltp::Nothing>(
      "asks", [&](Transaction&, const AccountArguments&) -> base::Result<oltp::Nothing> {
        const auto is_refused = [](const auto& result) {
          return !result.ok() && result.code() == ErrorCode::kInvalidArgument &&
                 result.error().message.find("called in a procedure") != std::string::npos;
        };
        if (is_refused(database.query("SELECT 1")) &&
            is_refused(database.row_count(bank->accounts.table)) &&
            is_refused(database.call(bank->bump, {.id = 1, .balance = {}}).get())) {
          ++refused;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));  // the other one gets some
        return oltp::Nothing{};
      });
  std::vector<Future<oltp::Nothing>> called;
  for (int i = 0; i < 40; ++i) called.push_back(database.call(asks, {}));
  for (auto& call : called) EXPECT_TRUE(call.get().ok());
  EXPECT_EQ(refused, 40);
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 0);
}

struct Label {
  base::Varchar<4> text;
  base::Decimal<4, 2> amount;
};
BOOST_DESCRIBE_STRUCT(Label, (), (text, amount))

TEST_F(ProcedureMistake, ArgumentsAndRepliesBeyondTheirTypesAreRefused) {
  const auto echo = *database().register_procedure<Label, Label>(
      "echo", [](Transaction&, const Label& label) -> base::Result<Label> {
        if (label.text.view() == "long") return Label{"longer", {}};
        if (label.text.view() == "much") return Label{"", {10'000}};
        return label;
      });
  EXPECT_TRUE(database().call(echo, {"four", {9'999}}).get().ok());
  const auto message = [&](const Label& label) {
    const auto replied = database().call(echo, label).get();
    return replied.ok() ? "none" : replied.error().to_string();
  };
  const std::string tail = ": the string is longer than its type, or the decimal has more digits";
  EXPECT_EQ(message({"fives", {}}),
            "invalid argument: procedure \"echo\", argument \"text\"" + tail);
  EXPECT_EQ(message({"", {-10'000}}),
            "invalid argument: procedure \"echo\", argument \"amount\"" + tail);
  EXPECT_EQ(message({"long", {}}), "invalid argument: procedure \"echo\", reply \"text\"" + tail);
  EXPECT_EQ(message({"much", {}}), "invalid argument: procedure \"echo\", reply \"amount\"" + tail);
}

TEST_F(ProcedureMistake, AValueThatIsReadOfAnErrorAbortsTheCall) {
  const auto careless = *database().register_procedure<AccountArguments, oltp::Nothing>(
      "careless",
      [&](Transaction& txn, const AccountArguments& arguments) -> base::Result<oltp::Nothing> {
        auto row = txn.get_for_update(bank_->by_id, arguments.id);
        txn.update(*row, set<&Account::version>(int64_t{1}));
        return oltp::Nothing{};
      });
  const auto called = database().call(careless, {.id = 999, .balance = {}}).get();
  ASSERT_FALSE(called.ok());
  EXPECT_EQ(
      called.error().to_string(),
      "aborted: procedure \"careless\" threw: the value of a Result is read that is an error: "
      "not found");
}

TEST_F(ProcedureMistake, AConflictOfTheProceduresOwnIsNotRunAgain) {
  int runs = 0;
  const auto own = *database().register_procedure<AccountArguments, oltp::Nothing>(
      "own", [&](Transaction&, const AccountArguments&) -> base::Result<oltp::Nothing> {
        ++runs;
        return base::Error(ErrorCode::kConflict, "the room is taken");
      });
  const auto called = database().call(own, {}).get();
  EXPECT_EQ(called.error().to_string(), "conflict: the room is taken");
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace diptych::dispatcher
