// What is left to compress is gone on with, whoever has applied the last updates.

#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/dispatcher/bank_fixture.h"

namespace diptych::dispatcher {
namespace {

using Applies = std::function<base::Result<void>(Database*)>;

// The bank's accounts come in full ranges of blocks, which the first look after that leaves alone,
// since they were just written; then nothing is asked any more.
class CompactionAfter : public DirectoryFixture {
 protected:
  static constexpr int32_t kAccounts = 8 * static_cast<int32_t>(storage::kBlockRowsMin);

  void expect_that_it_goes_on(const Applies& apply) const {
    const auto bank = Bank::open({.path = path(),
                                  .block_rows = storage::kBlockRowsMin,
                                  .partitions = 2,
                                  .apply_interval_ns = 400'000'000,
                                  .log = LogMode::kNone});
    Database& database = *bank->database;
    std::vector<Future<oltp::Nothing>> opened;
    for (int32_t id = 0; id < kAccounts; ++id) {
      opened.push_back(database.call(bank->open_account, {.id = id, .balance = {}}));
    }
    for (auto& open : opened) ASSERT_TRUE(open.get().ok());
    const auto applied = apply(&database);
    ASSERT_TRUE(applied.ok()) << applied.error().to_string();
    const auto blocks = [&] { return database.metrics().memory.replica.blocks_made; };
    for (int i = 0; blocks() < 4 && i < 1'000; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_GE(blocks(), 4U);
  }
};

TEST_F(CompactionAfter, AComparisonGoesOn) {
  expect_that_it_goes_on([](Database* database) -> base::Result<void> {
    auto compared = database->compare_replicas();
    if (!compared) return compared.error();
    return {};
  });
}

TEST_F(CompactionAfter, ACheckpointGoesOn) {
  expect_that_it_goes_on([](Database* database) { return database->checkpoint(); });
}

TEST_F(CompactionAfter, DdlGoesOn) {
  expect_that_it_goes_on([](Database* database) {
    return database->execute_ddl("CREATE TABLE other (id INT NOT NULL PRIMARY KEY)");
  });
}

}  // namespace
}  // namespace diptych::dispatcher
