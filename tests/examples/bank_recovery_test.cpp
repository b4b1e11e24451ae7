// A crash of a bank whose library was replaced while it ran: each call meets the code that it met.

#include <string>

#include <gtest/gtest.h>

#include "tests/examples/bank_fixture.h"
#include "tests/temporary_directory.h"

namespace diptych::examples::bank {
namespace {

class BankRecovery : public ::testing::Test {
 protected:
  dispatcher::DatabaseOptions options() const { return {.path = directory_.path() + "/bank"}; }

  const diptych::test::TemporaryDirectory directory_;
};

TEST_F(BankRecovery, CallsOfALibraryThatWasReplacedAreNotReplayedWithTheNewOne) {
  {
    const auto bank = OpenBank::open(options());
    bank->open_accounts(3);
    ASSERT_TRUE(bank->database->close());
  }
  {
    auto database = *dispatcher::Database::open(options());
    ASSERT_TRUE(database->load_procedures(DIPTYCH_BANK));
    const auto open = *database->bind_procedure<OpenAccount, dispatcher::Nothing>("open_account");
    const auto transfer = *database->bind_procedure<Transfer, TransferReply>("transfer");
    ASSERT_TRUE(database->call(open, {9, 0, {"rich"}, {5'000'00}}).get());
    // More than the next library allows.
    ASSERT_TRUE(database->call(transfer, {9, 1, {2'000'00}}).get());
    ASSERT_TRUE(database->load_procedures(DIPTYCH_BANK_WITH_LIMIT));
    EXPECT_FALSE(database->call(transfer, {9, 1, {2'000'00}}).get());
    ASSERT_TRUE(database->call(transfer, {9, 2, {1'00}}).get());
    static_cast<void>(database->discard());
  }
  auto database = *dispatcher::Database::open(options());
  ASSERT_TRUE(database->load_procedures(DIPTYCH_BANK_WITH_LIMIT));
  const auto recovered = database->recover();
  ASSERT_TRUE(recovered.ok()) << recovered.error().to_string();
  EXPECT_EQ(recovered->transactions, 1u);
  const auto statement = *database->bind_procedure<Statement, StatementReply>("statement");
  EXPECT_EQ(database->call(statement, {9}).get()->balance.units, 2'999'00);
  EXPECT_EQ(database->call(statement, {1}).get()->balance.units, 3'000'00);
}

}  // namespace
}  // namespace diptych::examples::bank
