// The bank under load: money is conserved, statements are consistent, and the library can be
// replaced while its procedures run.

#include <atomic>
#include <future>
#include <random>
#include <thread>
#include <vector>

#include "tests/examples/bank_fixture.h"

namespace diptych::examples::bank {
namespace {

using base::ErrorCode;
using dispatcher::Future;

constexpr int64_t kAccounts = 12;

class BankConcurrent : public testing::TestWithParam<uint32_t> {
 protected:
  static std::unique_ptr<OpenBank> open() {
    dispatcher::DatabaseOptions options;
    options.placement.oltp_workers = GetParam();
    auto bank = OpenBank::open(options);
    bank->open_accounts(kAccounts);
    return bank;
  }

  // Ends the clients also where a check ends the test.
  struct Stopping {
    std::atomic<bool>* stop;
    // relaxed: see transfer_until.
    ~Stopping() { stop->store(true, std::memory_order_relaxed); }
  };

  // Transfers of up to 20.00 between random accounts, 16 in flight, until told to stop. Not the
  // bank's own account: it must last for the interest, however long the test takes.
  static uint64_t transfer_until(const OpenBank& bank, const std::atomic<bool>& stop,
                                 uint32_t seed) {
    std::mt19937 random(seed);
    const auto account = [&] { return 1 + static_cast<int64_t>(random() % kAccounts); };
    uint64_t moved = 0;
    // relaxed: nothing depends on when it is seen.
    while (!stop.load(std::memory_order_relaxed)) {
      std::vector<Future<TransferReply>> replies;
      for (int i = 0; i < 16; ++i) {
        const Transfer order{account(), account(), {1 + static_cast<int64_t>(random() % 2'000)}};
        replies.push_back(bank.database->call(bank.transfer, order));
      }
      for (auto& future : replies) {
        const auto reply = future.get();
        if (reply) {
          ++moved;
          EXPECT_GE(reply->left.units, 0);
        } else {
          EXPECT_EQ(reply.code(), ErrorCode::kAborted) << reply.error().to_string();
        }
      }
    }
    return moved;
  }
};

TEST_P(BankConcurrent, MoneyIsConservedAndStatementsAreConsistent) {
  const auto bank = open();
  const int64_t money = bank->sum("balance", "account");
  std::atomic<bool> stop{false};
  std::vector<std::future<uint64_t>> clients;
  const Stopping stopping{&stop};
  for (uint32_t seed = 1; seed <= 2; ++seed) {
    clients.push_back(
        std::async(std::launch::async, [&, seed] { return transfer_until(*bank, stop, seed); }));
  }
  for (int32_t period = 1; period <= 20; ++period) {
    for (int64_t account = 0; account <= kAccounts; ++account) {
      const auto statement = bank->database->call(bank->statement, {account}).get();
      ASSERT_TRUE(statement.ok()) << statement.error().to_string();
      EXPECT_EQ(statement->balance.units, statement->booked.units) << "account " << account;
    }
    // Twice at once: one of them finds that it is done.
    const Interest order{period % 2, period, {50}};
    auto first = bank->database->call(bank->interest, order);
    auto second = bank->database->call(bank->interest, order);
    const auto one = first.get();
    const auto other = second.get();
    ASSERT_NE(one.ok(), other.ok()) << "period " << period;
    const base::Error& refused = one ? other.error() : one.error();
    EXPECT_EQ(refused.code, ErrorCode::kAlreadyExists) << refused.to_string();
  }
  // relaxed: see transfer_until.
  stop.store(true, std::memory_order_relaxed);
  for (auto& client : clients) EXPECT_GT(client.get(), 0u);
  EXPECT_EQ(bank->sum("balance", "account"), money);
  EXPECT_EQ(bank->sum("amount", "entry"), money);
  const auto compared = bank->database->compare_replicas();
  ASSERT_TRUE(compared.ok()) << compared.error().to_string();
  EXPECT_EQ(compared->differences, 0u);
}

TEST_P(BankConcurrent, TheLibraryIsReplacedWhileTransfersRun) {
  const auto bank = open();
  const int64_t money = bank->sum("balance", "account");
  std::atomic<bool> stop{false};
  auto client = std::async(std::launch::async, [&] { return transfer_until(*bank, stop, 3); });
  const Stopping stopping{&stop};
  const Transfer large{1, 2, {5'000'00}};
  for (int round = 0; round < 40; ++round) {
    bank->load(DIPTYCH_BANK_WITH_LIMIT);
    auto refused = bank->database->call(bank->transfer, large).get();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, "over the limit of a transfer");
    bank->load(DIPTYCH_BANK);
    refused = bank->database->call(bank->transfer, large).get();
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().message, "not enough money");
  }
  // relaxed: see transfer_until.
  stop.store(true, std::memory_order_relaxed);
  EXPECT_GT(client.get(), 0u);
  EXPECT_EQ(bank->sum("balance", "account"), money);
}

INSTANTIATE_TEST_SUITE_P(Workers, BankConcurrent, testing::Values(1, 2, 8));

}  // namespace
}  // namespace diptych::examples::bank
