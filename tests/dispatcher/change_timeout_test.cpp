// DDL, loads and new procedures that wait no longer than they are told to for their turn.

#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using base::ErrorCode;
using ::testing::HasSubstr;

constexpr uint64_t kSoonNs = 30'000'000;
constexpr ChangeOptions kSoon{.timeout_ns = kSoonNs};
constexpr const char* kAdded = "CREATE TABLE added (id INT NOT NULL, PRIMARY KEY (id))";
// 27 G pairs: minutes.
constexpr const char* kEndless =
    "SELECT count(*) FROM account a, account b, account c "
    "WHERE a.version + b.version + c.version >= 0";

class ChangeTimeout : public ::testing::Test {
 protected:
  ChangeTimeout() { bank_->fill(3'000); }

  Database& database() { return *bank_->database; }
  void start_endless() {
    const uint64_t batches = database().metrics().query_batches;
    auto started = database().start_query(kEndless);
    ASSERT_TRUE(started.ok());
    endless_.emplace(std::move(*started));
    while (database().metrics().query_batches == batches) std::this_thread::yield();
  }
  template <class Change>
  static void expect_given_up(const Change& change) {
    const uint64_t begin_ns = base::steady_ns();
    const auto outcome = change();
    EXPECT_GE(base::steady_ns() - begin_ns, kSoonNs);
    ASSERT_EQ(outcome.code(), ErrorCode::kDeadlineExceeded);
    EXPECT_THAT(outcome.error().message, HasSubstr("nothing was changed"));
  }
  base::Result<LoadReport> load(const ChangeOptions& options) {
    const std::vector<Account> rows = {{9'000, {1}, 0}};
    return database().load(bank_->accounts, rows, options);
  }

  std::unique_ptr<Bank> bank_ = Bank::open({.partitions = 2});
  std::optional<RunningQuery> endless_;
};

TEST_F(ChangeTimeout, WhatWaitsForAQueryGivesUpAndChangesNothing) {
  start_endless();
  expect_given_up([&] { return database().execute_ddl(kAdded, kSoon); });
  expect_given_up([&] { return load(kSoon); });
  expect_given_up([&] { return database().load_procedures(DIPTYCH_MODULE_VARIANTS, kSoon); });
  expect_given_up([&] {
    return database().replace_procedure<AccountArguments, oltp::Nothing>(
        "bump",
        [](Transaction&, const AccountArguments&) -> base::Result<oltp::Nothing> {
          return base::ErrorCode::kNotFound;
        },
        {}, kSoon);
  });
  EXPECT_TRUE(database().call(bank_->bump, {.id = 3, .balance = {}}).get().ok());
  EXPECT_EQ(database().catalog().find_table("added"), nullptr);
  EXPECT_EQ(*database().row_count(bank_->accounts.table), 3'000u);
  EXPECT_EQ(database().procedures()->size(), 3u);
  endless_->cancel();
  EXPECT_EQ(endless_->get().code(), ErrorCode::kCancelled);
  EXPECT_EQ(*bank_->number("SELECT count(*) FROM account"), 3'000);
  expect_equal_replicas(&database());
}

TEST_F(ChangeTimeout, WhatFindsTheSidesAtRestNeedsNoTime) {
  constexpr ChangeOptions kNow{.timeout_ns = 1};
  // A dispatcher may be between two batches, and apply: then it is not at rest.
  const auto in_the_end = [](const auto& change) {
    auto outcome = change();
    while (!outcome && outcome.code() == ErrorCode::kDeadlineExceeded) outcome = change();
    return outcome;
  };
  EXPECT_TRUE(in_the_end([&] { return database().execute_ddl(kAdded, kNow); }).ok());
  EXPECT_TRUE(in_the_end([&] { return load(kNow); }).ok());
  EXPECT_TRUE(
      in_the_end([&] { return database().load_procedures(DIPTYCH_MODULE_VARIANTS, kNow); }).ok());
  EXPECT_TRUE(load({.timeout_ns = UINT64_MAX}).code() == ErrorCode::kAlreadyExists);
  EXPECT_NE(database().catalog().find_table("added"), nullptr);
}

}  // namespace
}  // namespace diptych::dispatcher
