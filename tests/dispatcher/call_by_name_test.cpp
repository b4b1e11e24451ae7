// Calls by a procedure's name, with SQL values.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using base::Value;
using oltp::Transaction;
using testing::HasSubstr;

class CallsByName : public ::testing::Test {
 protected:
  CallsByName() : bank_(Bank::open({})) { bank_->fill(10); }
  Database& database() { return *bank_->database; }

  std::unique_ptr<Bank> bank_;
};

TEST_F(CallsByName, TakeValuesAndConvertsThem) {
  const Value arguments[] = {int64_t{1}, int64_t{2}, int64_t{2'500}};
  auto reply = database().call_by_name("transfer", arguments);
  ASSERT_TRUE(reply.ok()) << reply.error().to_string();
  ASSERT_EQ(reply->size(), 1u);
  EXPECT_EQ(std::get<int64_t>((*reply)[0]), 7'500);
  const Value account[] = {std::string("77"), std::string("12.50")};
  auto opened = database().call_by_name("open_account", account);
  ASSERT_TRUE(opened.ok()) << opened.error().to_string();
  EXPECT_TRUE(opened->empty());
  EXPECT_EQ(*bank_->number("SELECT balance FROM account WHERE id = 77"), 1'250);
}

TEST_F(CallsByName, SayWhichArgumentIsWrong) {
  const Value good[] = {int64_t{1}, int64_t{2}, int64_t{3}};
  EXPECT_EQ(database().call_by_name("transmogrify", good).code(), ErrorCode::kNotFound);
  auto few = database().call_by_name("transfer", std::span(good).first(2));
  EXPECT_EQ(few.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(few.error().message, HasSubstr("takes 3 arguments, got 2"));
  const Value text[] = {int64_t{1}, std::string("Bob"), int64_t{3}};
  auto wrong = database().call_by_name("transfer", text);
  EXPECT_EQ(wrong.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(wrong.error().message, HasSubstr("argument 2 \"to\""));
  const Value null[] = {int64_t{1}, int64_t{2}, std::monostate{}};
  auto nothing = database().call_by_name("transfer", null);
  EXPECT_EQ(nothing.code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(nothing.error().to_string(),
            "invalid argument: procedure \"transfer\": argument 3 \"cents\" is NULL, but it is a "
            "BIGINT NOT NULL");
  const Value large[] = {int64_t{1} << 40, int64_t{2}, int64_t{3}};
  EXPECT_EQ(database().call_by_name("transfer", large).code(), ErrorCode::kInvalidArgument);
}

// Nobody knows what its bytes mean; an empty one has a byte as well, which says nothing.
struct OneByte {
  bool on;
};

TEST_F(CallsByName, TakeNoStructThatIsNotDescribedHoweverSmall) {
  const auto takes = database().register_procedure<OneByte, Nothing>(
      "takes", [](Transaction&, const OneByte&) -> base::Result<Nothing> { return Nothing{}; });
  const auto gives = database().register_procedure<Nothing, OneByte>(
      "gives", [](Transaction&, const Nothing&) -> base::Result<OneByte> { return OneByte{true}; });
  const auto neither = database().register_procedure<Nothing, Nothing>(
      "neither", [](Transaction&, const Nothing&) -> base::Result<Nothing> { return Nothing{}; });
  ASSERT_TRUE(takes.ok() && gives.ok() && neither.ok());
  EXPECT_EQ(database().call_by_name("takes", {}).error().to_string(),
            "invalid argument: procedure \"takes\": cannot be called by name: its arguments are "
            "not described");
  EXPECT_EQ(database().call_by_name("gives", {}).error().to_string(),
            "invalid argument: procedure \"gives\": cannot be called by name: its reply is not "
            "described");
  EXPECT_TRUE(database().call_by_name("neither", {}).ok());
}

}  // namespace
}  // namespace diptych::dispatcher
