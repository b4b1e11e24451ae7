// Access plans are hints: whatever they name, the same comes out.

#include <atomic>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::Result;

struct Move {
  int64_t from;
  int64_t to;
};

// Moves 1 from each account to the next, a call each, with a plan; gives the plans that were made.
int move_around(Bank* bank, const std::function<void(const Move&, AccessPlan&)>& access) {
  constexpr int64_t kAccounts = 50;
  for (int64_t id = 0; id < kAccounts; ++id) {
    EXPECT_TRUE(bank->put(id, 0, "a" + std::to_string(id), 10));
  }
  std::atomic<int> plans{0};
  const auto body = [bank](Transaction& txn, const Move& move) -> Result<Nothing> {
    auto from = txn.get_for_update<&Account::balance>(bank->account_pkey, move.from);
    if (!from) return from.error();
    auto to = txn.get_for_update<&Account::balance>(bank->account_pkey, move.to);
    if (!to) return to.error();
    txn.update(*from, set<&Account::balance>(from->values - 1));
    txn.update(*to, set<&Account::balance>(to->values + 1));
    return Nothing{};
  };
  const auto procedure = bank->engine->register_procedure(define_procedure<Move, Nothing>(
      "move", body, {.access = [&](const Move& move, AccessPlan& plan) {
        plans.fetch_add(1, std::memory_order_relaxed);  // relaxed: read when the batch is over
        access(move, plan);
      }}));
  std::vector<Move> moves;
  std::vector<Request> requests(kAccounts);
  std::vector<Request*> batch;
  for (int64_t id = 0; id < kAccounts; ++id) moves.push_back({id, (id + 1) % kAccounts});
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].procedure = procedure;
    requests[i].arguments = std::as_bytes(std::span(&moves[i], 1));
    batch.push_back(&requests[i]);
  }
  while (!batch.empty()) batch = bank->engine->run_batch(batch).again;
  for (const Request& request : requests) EXPECT_TRUE(request.outcome);
  bank->replica.apply(&bank->queue);
  bank->expect_replica_agrees();
  for (const auto& [row_id, text] : bank->rows(bank->account.table)) EXPECT_EQ(text[3], "10");
  return plans;
}

TEST(AccessPlanOfARequest, IsMadeAndChangesNothing) {
  for (const uint32_t workers : {1u, 3u}) {
    Bank bank(workers);
    const int plans = move_around(&bank, [&](const Move& move, AccessPlan& plan) {
      plan.row<&Account::balance>(bank.account_pkey, move.from);
      plan.row(bank.account_pkey, move.to);
    });
    // Once for each request; and again for one that goes to the next batch.
    EXPECT_GE(plans, 50);
    EXPECT_TRUE(workers > 1 || plans == 50);
  }
}

TEST(AccessPlanOfARequest, MayNameRowsThatAreNotThereAndTooMany) {
  for (const uint32_t workers : {1u, 3u}) {
    Bank bank(workers);
    move_around(&bank, [&](const Move& move, AccessPlan& plan) {
      for (int64_t id = -20; id < 60; ++id) plan.row(bank.account_pkey, id);
      plan.row(bank.account_name, base::Varchar<16>("longer than any name"));
      plan.row(bank.entry_pkey, move.from, 1);
      for (int branch = -1; branch < 5; ++branch) plan.range(bank.account_balance, 1000, branch);
      plan.range(bank.entry_pkey, 0, move.from);
    });
  }
}

TEST(AccessPlanOfATransaction, OfMoreRowsThanThereCanBeEnds) {
  for (const uint32_t workers : {1u, 2u}) {
    Bank bank(workers);
    for (int64_t id = 0; id < 100; ++id) {
      ASSERT_TRUE(bank.put(id, 7, "a" + std::to_string(id), id));
    }
    EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
      AccessPlan plan = txn.make_plan();
      plan.range(bank.account_balance, ~size_t{0}, 7);
      plan.range(bank.account_balance, ~size_t{0} / 64, 8);
      plan.each(bank.entry_pkey, std::vector<std::tuple<int64_t, int32_t>>(100));
      EXPECT_EQ(plan.rows().size(), AccessPlan::kRowsMax);
      plan.fetch_rows();
      return {};
    }));
  }
}

// Sums the balances of many accounts, some of which are not there, and fetches them beforehand.
TEST(AccessPlanOfATransaction, IsMadeOnTheWayAndChangesNothing) {
  constexpr int64_t kAccounts = 100;
  for (const uint32_t workers : {1u, 3u}) {
    Bank bank(workers);
    for (int64_t id = 0; id < kAccounts; id += 2) {
      ASSERT_TRUE(bank.put(id, 0, "a" + std::to_string(id), 10 + id));
    }
    std::vector<std::tuple<int64_t>> wanted;
    for (int64_t id = kAccounts; id-- > 0;) wanted.emplace_back(id);
    int64_t total = 0;
    const auto ended = bank.run([&](Transaction& txn) -> Result<void> {
      AccessPlan plan = txn.make_plan();
      for (const auto& [id] : wanted) plan.row<&Account::balance>(bank.account_pkey, id);
      for (int branch = 0; branch < 4; ++branch) plan.range(bank.account_balance, 5, branch);
      plan.fetch_rows();
      plan.fetch_rows();
      total = 0;
      auto read = txn.get_each<&Account::balance>(bank.account_pkey, wanted,
                                                  [&](size_t i, int64_t balance) {
                                                    EXPECT_EQ(balance, 10 + std::get<0>(wanted[i]));
                                                    total += balance;
                                                  });
      return read;
    });
    ASSERT_TRUE(ended);
    EXPECT_EQ(total, 50 * 10 + 49 * 50);
  }
}

}  // namespace
}  // namespace diptych::oltp::test
