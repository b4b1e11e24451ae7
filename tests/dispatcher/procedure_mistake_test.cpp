// What a procedure must not do, and what its caller is told: the database goes on.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <span>
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
            is_refused(database.replace_definition({.name = "bump"})) &&
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

// The body runs on the thread that recovers, which has what the calls would wait for: they are
// refused as in the first run, or the replay would never end.
class ProcedureMistakeReplayed : public DirectoryFixture {
 protected:
  struct Asked {
    std::vector<std::string> answers;
    std::atomic<int> declared = 0;  // that its access function ended
  };

  // A bank with a procedure that asks the database in its body, and in what it declares.
  std::unique_ptr<Bank> open(Asked* asked) const {
    auto bank = Bank::open({.path = path()});
    Database& database = *bank->database;
    const auto note = [asked](const auto& result) {
      asked->answers.push_back(result.ok() ? "done" : result.error().to_string());
    };
    const ProcedureOptions<AccountArguments> options{
        .access = [&database, asked](const AccountArguments&, oltp::AccessPlan&) {
          static_cast<void>(database.row_count(base::TableId(0)));
          ++asked->declared;
        }};
    const auto registered = database.register_procedure<AccountArguments, oltp::Nothing>(
        "asks",
        [&database, note, bump = bank->bump, index = bank->by_id](
            Transaction& txn, const AccountArguments& of) -> base::Result<oltp::Nothing> {
          note(database.query("SELECT 1"));
          note(database.submit_query("SELECT 1", [](const auto&) {}));
          note(database.start_query("SELECT 1"));
          note(database.call(bump, of).get());
          note(database.call_by_name("bump", {}));
          note(database.row_count(base::TableId(0)));
          note(database.recover());
          note(database.checkpoint());
          note(database.procedures());
          note(database.procedures_to_recover());
          note(database.discard());
          auto row = txn.get_for_update<&Account::version>(index, of.id);
          if (!row) return row.error();
          txn.update(*row, set<&Account::version>(row->values + 1));
          return oltp::Nothing{};
        },
        options);
    EXPECT_TRUE(registered.ok());
    return bank;
  }
};

TEST_F(ProcedureMistakeReplayed, CallsOfTheDatabaseAreRefusedAsInTheFirstRun) {
  Bank::open({.path = path()})->fill(3);
  Asked before;
  {
    const auto bank = open(&before);
    const auto asks = *bank->database->bind_procedure<AccountArguments, oltp::Nothing>("asks");
    ASSERT_TRUE(bank->database->call(asks, {.id = 1, .balance = {}}).get().ok());
    static_cast<void>(bank->database->discard());  // as a crash: the call is in the log
  }
  Asked again;
  const auto bank = open(&again);
  const auto recovered = bank->database->recover();
  ASSERT_TRUE(recovered.ok()) << recovered.error().to_string();
  EXPECT_EQ(recovered->transactions, 1U);
  EXPECT_EQ(*bank->number("SELECT sum(version) FROM account"), 1);
  EXPECT_EQ(again.answers, before.answers);
  EXPECT_EQ(again.declared, 1);
  ASSERT_EQ(before.answers.size(), 11U);
  for (const std::string& answer : before.answers) {
    EXPECT_NE(answer.find("called in a procedure"), std::string::npos) << answer;
  }
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
  const std::string longer = ": the string is longer than its type";
  const std::string larger = ": the decimal has more digits than its type";
  EXPECT_EQ(message({"fives", {}}),
            "invalid argument: procedure \"echo\", argument \"text\"" + longer);
  EXPECT_EQ(message({"", {-10'000}}),
            "invalid argument: procedure \"echo\", argument \"amount\"" + larger);
  EXPECT_EQ(message({"long", {}}), "invalid argument: procedure \"echo\", reply \"text\"" + longer);
  EXPECT_EQ(message({"much", {}}),
            "invalid argument: procedure \"echo\", reply \"amount\"" + larger);
}

template <size_t kBytes>
struct Blob {
  std::byte bytes[kBytes];
};

TEST_F(ProcedureMistake, ArgumentsAndRepliesThatNoStackHasRoomForAreRefused) {
  constexpr size_t kMost = oltp::kProcedureStructBytesMax;
  const auto define = [&]<class Arguments, class Reply>(Arguments*, Reply*) {
    return database().register_procedure<Arguments, Reply>(
        "large", [](Transaction&, const Arguments&) -> base::Result<Reply> {
          return base::Error(ErrorCode::kAborted, "the stack had room");
        });
  };
  oltp::Nothing* const nothing = nullptr;
  const auto large = define(static_cast<Blob<kMost + 1>*>(nullptr), nothing);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().to_string(),
            "invalid argument: procedure \"large\" takes arguments of 1048577 bytes, 1048576 are "
            "allowed: use a Text for more");
  const auto replies = define(nothing, static_cast<Blob<kMost + 1>*>(nullptr));
  EXPECT_EQ(replies.code(), ErrorCode::kInvalidArgument);
  const auto most = define(static_cast<Blob<kMost>*>(nullptr), static_cast<Blob<kMost>*>(nullptr));
  ASSERT_TRUE(most.ok()) << most.error().to_string();
  const auto arguments = std::make_unique<Blob<kMost>>();
  EXPECT_EQ(database().call(*most, *arguments).get().error().to_string(),
            "aborted: the stack had room");
}

TEST(ProcedureMistakeDeathTest, ADatabaseThatIsDestroyedInItsOwnCompletionSaysSo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto destroy_in_completion = [] {
    auto database = *Database::open({});
    std::promise<void> never;
    static_cast<void>(
        database->submit_query("SELECT 1", [&](const auto&) { database.reset(); }).ok());
    never.get_future().wait();
  };
  EXPECT_DEATH(destroy_in_completion(),
               "a Database is not destroyed in a procedure or in a completion of its own");
}

struct Whole {
  int64_t number;
};
BOOST_DESCRIBE_STRUCT(Whole, (), (number))
struct Fraction {
  double number;
};
BOOST_DESCRIBE_STRUCT(Fraction, (), (number))

// Its id is that of another procedure here, whose arguments have the same size.
TEST_F(ProcedureMistake, ARefOfAnotherDatabaseDoesNotRunAProcedureOfOtherArguments) {
  const auto other = *Database::open({});
  const auto ids = [](Database& of, auto argument) {
    using Argument = decltype(argument);
    return *of.register_procedure<Argument, Argument>(
        "echo",
        [](Transaction&, const Argument& given) -> base::Result<Argument> { return given; });
  };
  const auto whole = ids(*other, Whole{});
  const auto second = *Database::open({});
  const auto fraction = ids(*second, Fraction{});
  ASSERT_EQ(whole.id, fraction.id);
  const auto called = second->call(whole, {7}).get();
  EXPECT_EQ(
      called.error().to_string(),
      "invalid argument: procedure \"echo\" has other arguments or another reply than the ref "
      "by which it is called: bind the ref in this database");
  EXPECT_EQ(other->call(whole, {7}).get()->number, 7);
  EXPECT_EQ(second->call(fraction, {0.5}).get()->number, 0.5);
}

TEST_F(ProcedureMistake, ARequestWhoseProcedureWasForgottenRunsNone) {
  Request request;
  AccountArguments arguments{.id = 1'234, .balance = {}};  // open_account's, the first one's
  request.arguments = std::as_bytes(std::span(&arguments, 1));
  request.complete = [](Request*) { FAIL(); };
  const auto submitted = database().submit(&request, Admission::kWait);
  ASSERT_FALSE(submitted.ok());
  EXPECT_NE(submitted.error().message.find("never bound"), std::string::npos);
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
