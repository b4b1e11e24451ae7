// BatchOrder against its invariants O1-O3 for random batches, and what it is for in small ones.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "oltp/batch_order.h"
#include "tests/oltp/engine_fixture.h"

namespace diptych::oltp::test {
namespace {

using Hints = std::vector<BatchOrder::Hint>;
using Procedures = std::vector<uint32_t>;
using Shares = std::vector<std::vector<size_t>>;  // places in the batch

// Requests that know their place in the batch.
struct Submitted {
  explicit Submitted(const Procedures& procedures)
      : requests(procedures.size()), pointers(procedures.size()) {
    for (size_t i = 0; i < procedures.size(); ++i) {
      requests[i].procedure = base::ProcedureId(procedures[i]);
      requests[i].submitted_ns = i;
      pointers[i] = &requests[i];
    }
  }
  std::vector<Request> requests;
  std::vector<Request*> pointers;
};

Shares shares_of(BatchOrder* order, const Procedures& procedures, const Hints& hints,
                 size_t workers) {
  const Submitted submitted(procedures);
  order->arrange(submitted.pointers, hints, workers);
  Shares shares;
  for (size_t worker = 0; worker < workers; ++worker) {
    std::vector<size_t>& share = shares.emplace_back();
    for (const Request* request : order->share(worker)) share.push_back(request->submitted_ns);
  }
  return shares;
}
Shares shares_of(BatchOrder* order, const Hints& hints, size_t workers) {
  return shares_of(order, Procedures(hints.size()), hints, workers);
}

// Of places with a key each: those of one key ascend, and lie next to each other.
template <class KeyOf>
void expect_runs(const std::vector<size_t>& share, const KeyOf& key_of) {
  std::map<decltype(key_of(size_t{0})), size_t> last_at;
  for (size_t at = 0; at < share.size(); ++at) {
    const auto [seen, is_new] = last_at.try_emplace(key_of(share[at]), at);
    if (is_new) continue;
    EXPECT_EQ(seen->second + 1, at) << "apart from its like";
    EXPECT_LT(share[seen->second], share[at]) << "not in the order of submission";
    seen->second = at;
  }
}

void expect_invariants(const Procedures& procedures, const Hints& hints, const Shares& shares) {
  std::vector<size_t> all;
  for (const auto& share : shares) {
    EXPECT_LE(share.size(), BatchOrder::share_max(procedures.size(), shares.size()));  // O3
    all.insert(all.end(), share.begin(), share.end());
    expect_runs(share, [&](size_t place) {
      return std::pair(procedures[place], shares.size() == 1 ? BatchOrder::Hint() : hints[place]);
    });
    std::vector<ptrdiff_t> first_requests;  // of procedures, as they come in the share
    for (const size_t place : share) {
      const auto first = std::find(procedures.begin(), procedures.end(), procedures[place]);
      first_requests.push_back(first - procedures.begin());
    }
    EXPECT_TRUE(std::is_sorted(first_requests.begin(), first_requests.end()));
  }
  std::sort(all.begin(), all.end());
  ASSERT_EQ(all.size(), procedures.size());  // O1
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], i);
}

TEST(BatchOrder, LikeGoesToLikeAndTheRestFillsUp) {
  BatchOrder order;
  const Hints hints = {2, 1, 2, std::nullopt, 1, 2};
  EXPECT_EQ(shares_of(&order, hints, 2), (Shares{{0, 2, 5}, {1, 4, 3}}));
}

TEST(BatchOrder, AProceduresRequestsLieTogetherAndItsHintsWithinThem) {
  BatchOrder order;
  const Procedures procedures = {7, 8, 8, 9, 7, 7};
  EXPECT_EQ(shares_of(&order, procedures, {0, 1, 0, std::nullopt, 1, 0}, 2),
            (Shares{{0, 5, 2}, {4, 1, 3}}));
  EXPECT_EQ(shares_of(&order, procedures, {}, 1), (Shares{{0, 4, 5, 1, 2, 3}}));
}

TEST(BatchOrder, WithoutHintsSharesAreEven) {
  BatchOrder order;
  EXPECT_EQ(shares_of(&order, Hints(10), 4), (Shares{{0, 4, 8}, {1, 5, 9}, {2, 6}, {3, 7}}));
}

// What is left over of a batch comes first in the next one: no procedure waits for ever.
TEST(BatchOrder, WhatIsLeftOverComesFirstNextTime) {
  BatchOrder order;
  EXPECT_EQ(shares_of(&order, {1, 0, 0, 0}, {}, 1), (Shares{{0, 1, 2, 3}}));
  EXPECT_EQ(shares_of(&order, {0, 1, 0, 0}, {}, 1), (Shares{{0, 2, 3, 1}}));
  EXPECT_EQ(shares_of(&order, {1, 0, 0, 0}, {}, 1), (Shares{{0, 1, 2, 3}}));
}

TEST(BatchOrder, AHintKeepsItsWorkerFromBatchToBatch) {
  BatchOrder order;
  for (size_t round = 0; round < 4; ++round) {
    Hints hints;
    for (size_t i = 0; i < 80; ++i) hints.push_back((i + round) % 8);
    const auto shares = shares_of(&order, hints, 4);
    for (size_t worker = 0; worker < 4; ++worker) {
      for (const size_t place : shares[worker]) EXPECT_EQ(*hints[place] % 4, worker);
    }
  }
}

TEST(BatchOrder, AHintWithHalfOfTheBatchSpills) {
  BatchOrder order;
  Hints hints;
  for (uint64_t i = 0; i < 400; ++i) hints.push_back(i % 2 == 0 ? 5 : 1'000 + i);
  const auto shares = shares_of(&order, hints, 4);
  expect_invariants(Procedures(hints.size()), hints, shares);
  for (const auto& share : shares) EXPECT_GE(share.size(), 50u);
  const auto hot = std::count_if(shares[1].begin(), shares[1].end(),
                                 [&](size_t place) { return hints[place] == 5; });
  EXPECT_GE(hot, 100);  // its home is full of it
}

TEST(BatchOrderModel, RandomBatchesKeepTheInvariants) {
  const uint32_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  BatchOrder order;
  for (int round = 0; round < 2'000; ++round) {
    const size_t count = 1 + random() % (round % 50 == 0 ? 2'000 : 60);
    const size_t workers = 1 + random() % 9;
    const uint64_t distinct = 1 + random() % (round % 3 == 0 ? 3 : 2 * count);
    const uint64_t stride = round % 5 == 0 ? workers : 1;  // all at home with worker 0
    Hints hints(count);
    for (BatchOrder::Hint& hint : hints) {
      if (random() % 4 != 0) hint = random() % distinct * stride;
    }
    Procedures procedures(count);
    const uint64_t kinds = 1 + random() % 5;
    for (uint32_t& procedure : procedures) procedure = static_cast<uint32_t>(random() % kinds) * 3;
    expect_invariants(procedures, hints, shares_of(&order, procedures, hints, workers));
    if (HasFailure()) return;
  }
}

// The engine's use of it: who runs what shows in the order in which requests of a share commit.
TEST(BatchOrderEngine, RequestsOfAHintRunOnOneWorkerOneAfterTheOther) {
  const base::Catalog catalog = bank_catalog();
  propagation::UpdateQueue queue;
  EngineOptions options;
  options.placement.threads = 2;
  options.batch_time_max_ns = 10'000'000'000;
  Engine engine(&catalog, options, &queue);
  struct Arguments {
    uint64_t hint;
    size_t place;
    bool hinted;
  };
  std::mutex mutex;
  std::map<std::thread::id, std::vector<Arguments>> ran;
  const auto body = [&](Transaction&, const Arguments& arguments) -> base::Result<Nothing> {
    const std::lock_guard guard(mutex);
    ran[std::this_thread::get_id()].push_back(arguments);
    return Nothing{};
  };
  const auto hinted = engine.register_procedure(define_procedure<Arguments, Nothing>(
      "hinted", body, {.partition = [](const Arguments& arguments) {
        if (arguments.hint == 13) throw std::runtime_error("no hint for this one");
        return arguments.hint;
      }}));
  const auto plain = engine.register_procedure(define_procedure<Arguments, Nothing>("plain", body));
  constexpr size_t kCount = 120;
  std::vector<Arguments> arguments(kCount);
  std::vector<Request> requests(kCount);
  std::vector<Request*> batch;
  for (size_t i = 0; i < kCount; ++i) {
    const bool is_plain = i % 10 == 9;
    arguments[i] = {i % 50 == 0 ? 13 : i % 6, i, !is_plain && i % 50 != 0};
    requests[i].procedure = is_plain ? plain : hinted;
    requests[i].arguments = std::as_bytes(std::span(&arguments[i], 1));
    batch.push_back(&requests[i]);
  }
  const BatchReport report = engine.run_batch(batch);
  EXPECT_EQ(report.committed, kCount);
  std::map<uint64_t, std::thread::id> home;
  for (const auto& [thread, calls] : ran) {
    for (size_t i = 0; i < calls.size(); ++i) {
      if (!calls[i].hinted) continue;
      const auto [known, is_new] = home.try_emplace(calls[i].hint, thread);
      EXPECT_EQ(known->second, thread) << "hint " << calls[i].hint;
      if (is_new) continue;
      ASSERT_GT(i, 0u);
      EXPECT_EQ(calls[i - 1].hint, calls[i].hint);
      EXPECT_LT(calls[i - 1].place, calls[i].place);
    }
  }
  EXPECT_EQ(home.size(), 6u);
}

// New calls of one procedure always come while the batch's time lasts for some of them only.
TEST(BatchOrderEngine, AProcedureIsReachedThoughAnothersCallsTakeAllTheTimeThereIs) {
  const base::Catalog catalog = bank_catalog();
  for (const uint32_t workers : {1u, 2u}) {
    propagation::UpdateQueue queue;
    EngineOptions options;
    options.placement.threads = workers;
    options.batch_time_max_ns = 2'000'000;
    Engine engine(&catalog, options, &queue);
    const auto slow = engine.register_procedure(define_procedure<Nothing, Nothing>(
        "slow", [](Transaction&, const Nothing&) -> base::Result<Nothing> {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return Nothing{};
        }));
    std::atomic<size_t> reached = 0;
    const auto quick = engine.register_procedure(define_procedure<Nothing, Nothing>(
        "quick", [&](Transaction&, const Nothing&) -> base::Result<Nothing> {
          // relaxed: read when the batch is over.
          reached.fetch_add(1, std::memory_order_relaxed);
          return Nothing{};
        }));
    const Nothing none;
    std::deque<Request> requests;
    std::vector<Request*> batch;
    const auto call = [&](base::ProcedureId procedure) {
      Request& request = requests.emplace_back();
      request.procedure = procedure;
      request.arguments = std::as_bytes(std::span(&none, 1));
      batch.push_back(&request);
    };
    for (size_t i = 0; i < 20 * workers; ++i) call(slow);
    for (size_t i = 0; i < workers; ++i) call(quick);
    int batches = 0;
    for (; reached < workers && batches < 10; ++batches) {
      batch = engine.run_batch(batch).again;
      while (batch.size() < 20 * workers) call(slow);
    }
    EXPECT_EQ(reached, workers);
    EXPECT_LE(batches, 3);
  }
}

}  // namespace
}  // namespace diptych::oltp::test
