// A call that loses against shorter ones in each batch runs alone in the end.

#include <atomic>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using base::Result;

bool is_within(uint64_t begin_ns, uint64_t ns) {
  return base::steady_ns() - begin_ns < ns;
}

TEST(LosingCall, RunsAloneInTheEndAndTheOthersComeBackInTheirOrder) {
  constexpr int kBatchesMax = 20;
  Bank bank(2, 1000, 1);  // of each worker's share one call runs
  ASSERT_TRUE(bank.put(1, 7, "a", 0));
  std::atomic<bool> is_long_there{false};
  const auto raise = [&](Transaction& txn) -> Result<Nothing> {
    auto row = txn.get_for_update<&Account::balance>(bank.account_pkey, 1);
    if (!row) return row.error();
    txn.update(*row, set<&Account::balance>(row->values + 1));
    return Nothing{};
  };
  // Until another has committed, if there is one.
  const auto slow = bank.engine->register_procedure(define_procedure<Nothing, Nothing>(
      "slow", [&](Transaction& txn, const Nothing&) -> Result<Nothing> {
        const uint64_t begin_ns = base::steady_ns();
        is_long_there = true;
        while (bank.engine->last_vid() == txn.read_vid() && is_within(begin_ns, 500'000'000)) {
          std::this_thread::yield();
        }
        return raise(txn);
      }));
  const auto quick = bank.engine->register_procedure(define_procedure<Nothing, Nothing>(
      "quick", [&](Transaction& txn, const Nothing&) -> Result<Nothing> {
        const uint64_t begin_ns = base::steady_ns();
        while (!is_long_there && is_within(begin_ns, 500'000'000)) std::this_thread::yield();
        return raise(txn);
      }));
  const Nothing nothing;
  std::vector<Request> requests(2 + 2 * kBatchesMax);
  for (Request& request : requests) {
    request.procedure = quick;
    request.arguments = std::as_bytes(std::span(&nothing, 1));
  }
  Request* const losing = &requests[0];
  losing->procedure = slow;
  size_t submitted = 1;
  std::vector<Request*> batch{losing};
  const auto is_losing_among = [&] {
    return std::find(batch.begin(), batch.end(), losing) != batch.end();
  };
  int batches_alone = 0;
  for (int i = 0; i < kBatchesMax && is_losing_among(); ++i) {
    while (batch.size() < 3) batch.push_back(&requests[submitted++]);
    is_long_there = false;
    std::vector<Request*> others = batch;
    std::erase(others, losing);
    batch = bank.engine->run_batch(batch).again;
    if (losing->conflicts > 1 && batch.size() == 2 && !is_losing_among()) {
      EXPECT_EQ(batch, others);
      ++batches_alone;
    }
  }
  EXPECT_GE(losing->conflicts, 9u) << "it has lost again and again before";
  EXPECT_EQ(batches_alone, 1);
  EXPECT_FALSE(is_losing_among()) << losing->conflicts << " conflicts";
  EXPECT_TRUE(losing->outcome.ok());
  is_long_there = true;
  while (!batch.empty()) batch = bank.engine->run_batch(batch).again;
  bank.replica.apply(&bank.queue);
  EXPECT_TRUE(bank.run([&](Transaction& txn) -> Result<void> {
    EXPECT_EQ(txn.get(bank.account_pkey, 1)->balance, static_cast<int64_t>(submitted));
    return {};
  }));
  bank.expect_replica_agrees();
}

}  // namespace
}  // namespace diptych::oltp::test
