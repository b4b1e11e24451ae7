// The bank one call at a time: what each procedure does, and what it refuses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/examples/bank_fixture.h"
#include "tests/temporary_directory.h"

namespace diptych::examples::bank {
namespace {

using base::ErrorCode;
using base::Value;

class BankExample : public testing::Test {
 protected:
  void SetUp() override { bank_->open_accounts(3); }

  std::unique_ptr<OpenBank> bank_ = OpenBank::open({});
};

TEST_F(BankExample, ATransferMovesMoneyAndIsBooked) {
  const auto moved = bank_->database->call(bank_->transfer, {1, 2, {250'00}}).get();
  ASSERT_TRUE(moved.ok()) << moved.error().to_string();
  EXPECT_EQ(moved->left.units, 750'00);
  const auto statement = bank_->database->call(bank_->statement, {2}).get();
  ASSERT_TRUE(statement.ok());
  EXPECT_EQ(statement->balance.units, 1'250'00);
  EXPECT_EQ(statement->booked.units, 1'250'00);
  EXPECT_EQ(statement->entries, 2);
  EXPECT_EQ(statement->last_amount.units, 250'00);
  EXPECT_EQ(statement->last_text.view(), "received");
}

TEST_F(BankExample, WhatMustNotBeChangesNothing) {
  const auto error = [&](const Transfer& order) {
    return bank_->database->call(bank_->transfer, order).get().error();
  };
  EXPECT_EQ(error({1, 2, {1'000'01}}).message, "not enough money");
  EXPECT_EQ(error({1, 2, {0}}).code, ErrorCode::kAborted);
  EXPECT_EQ(error({1, 1, {1}}).code, ErrorCode::kAborted);
  EXPECT_EQ(error({1, 99, {1}}).code, ErrorCode::kNotFound);
  const OpenAccount taken{2, 0, {"second"}, {5}};
  EXPECT_EQ(bank_->database->call(bank_->open_account, taken).get().code(),
            ErrorCode::kAlreadyExists);
  EXPECT_EQ(bank_->sum("balance", "account"), 4'000'00);
  EXPECT_EQ(bank_->sum("entries * 1.00", "account"), 4'00);
}

TEST_F(BankExample, InterestIsPaidOnceByTheBank) {
  const auto paid = bank_->database->call(bank_->interest, {1, 2026, {2'50}}).get();
  ASSERT_TRUE(paid.ok()) << paid.error().to_string();
  EXPECT_EQ(paid->accounts, 2);  // 1 and 3
  EXPECT_EQ(paid->paid.units, 50'00);
  EXPECT_EQ(bank_->database->call(bank_->interest, {1, 2026, {2'50}}).get().code(),
            ErrorCode::kAlreadyExists);
  EXPECT_EQ(bank_->database->call(bank_->statement, {0}).get()->balance.units, 950'00);
  EXPECT_EQ(bank_->sum("balance", "account"), 4'000'00);
}

TEST_F(BankExample, ByNameWithSqlValues) {
  const Value order[] = {int64_t{1}, int64_t{2}, std::string("12.50")};
  const auto reply = bank_->database->call_by_name("transfer", order);
  ASSERT_TRUE(reply.ok()) << reply.error().to_string();
  ASSERT_EQ(reply->size(), 1u);
  EXPECT_EQ(base::to_string((*reply)[0]), "987.50");
  const Value rounded[] = {int64_t{1}, int64_t{2}, std::string("12.505")};
  EXPECT_EQ(bank_->database->call_by_name("transfer", rounded).code(), ErrorCode::kInvalidArgument);
}

TEST_F(BankExample, AFileThatWasOverwrittenInPlaceIsLoadedAnew) {
  const diptych::test::TemporaryDirectory folder;
  const std::string file = folder.path() + "/bank.so";
  const auto put = [&](const char* library) {
    std::ofstream(file, std::ios::binary) << std::ifstream(library, std::ios::binary).rdbuf();
  };
  const auto refusal = [&] {
    return bank_->database->call(bank_->transfer, {1, 2, {5'000'00}}).get().error().message;
  };
  put(DIPTYCH_BANK);
  bank_->load(file);
  put(DIPTYCH_BANK_WITH_LIMIT);
  EXPECT_EQ(refusal(), "not enough money");
  bank_->load(file);
  EXPECT_EQ(refusal(), "over the limit of a transfer");
}

TEST_F(BankExample, ARefWithOtherTypesIsRefused) {
  const auto wrong = bank_->database->bind_procedure<Transfer, StatementReply>("transfer");
  EXPECT_EQ(wrong.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(wrong.error().message, testing::HasSubstr("a reply of 6 cells instead of 1"));
  const auto other = bank_->database->bind_procedure<Interest, TransferReply>("transfer");
  EXPECT_EQ(other.code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(other.error().message, testing::HasSubstr("branch"));
  EXPECT_EQ((bank_->database->bind_procedure<Transfer, TransferReply>("transfor").code()),
            ErrorCode::kNotFound);
}

}  // namespace
}  // namespace diptych::examples::bank
