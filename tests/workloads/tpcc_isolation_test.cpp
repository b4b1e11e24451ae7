// The isolation tests of TPC-C, clause 3.4.2: two transactions of which one is stopped on its way,
// at both levels. Where the clause lets a transaction wait for the other, this engine runs it
// again.
//
// All requests of a test are in one batch, on two workers: the first and the third on one, the
// second and the fourth on the other. The first waits for the fourth, so the batch has no time
// limit: one that ended before the fourth would never end.

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/workloads/loaded_session.h"
#include "workloads/tpcc/procedures.h"

namespace diptych::workloads::tpcc {
namespace {

using base::ErrorCode;
using base::Result;
using dispatcher::IsolationLevel;
using dispatcher::Nothing;
using dispatcher::RowHandle;
using dispatcher::ScanStep;
using dispatcher::Transaction;

class Event {
 public:
  void tell() {
    const std::lock_guard lock(mutex_);
    told_ = true;
    changed_.notify_all();
  }
  void await() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return told_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool told_ = false;  // guarded by mutex_
};

using Body = std::function<Result<void>(Transaction&)>;
struct Script {
  const Body* body;
};
using ScriptRef = dispatcher::ProcedureRef<Script, Nothing>;

// A loaded warehouse with two workers, for all tests of a level.
struct Site {
  std::unique_ptr<Session> session;
  ScriptRef script;
};

class TpccIsolation : public ::testing::TestWithParam<IsolationLevel> {
 protected:
  static void TearDownTestSuite() { sites_.clear(); }
  void SetUp() override {
    Site& site = sites_[GetParam()];
    if (site.session == nullptr) {
      BenchmarkOptions options = small_options(3);
      options.isolation = GetParam();
      options.placement.oltp_workers = 2;
      options.push_limit_ns = UINT64_MAX;
      site.session = loaded_session(options);
      ASSERT_NE(site.session, nullptr);
      site.script = *site.session->database()->register_procedure<Script, Nothing>(
          "script", [](Transaction& txn, const Script& script) -> Result<Nothing> {
            auto done = (*script.body)(txn);
            if (!done) return done.error();
            return Nothing{};
          });
    }
    session_ = site.session.get();
    script_ = site.script;
  }

  // As one batch: another one is held until all are queued.
  std::vector<Result<void>> run(const std::vector<Body>& bodies) {
    dispatcher::Database& database = *session_->database();
    Event held;
    Event queued;
    const Body hold = [&](Transaction&) -> Result<void> {
      held.tell();
      queued.await();
      return {};
    };
    std::vector<dispatcher::Future<Nothing>> futures;
    futures.push_back(database.call(script_, Script{&hold}));
    held.await();
    for (const Body& body : bodies) futures.push_back(database.call(script_, Script{&body}));
    queued.tell();
    std::vector<Result<void>> outcomes;
    for (auto& future : futures) {
      auto reply = future.get();
      outcomes.push_back(reply ? Result<void>() : Result<void>(reply.error()));
    }
    outcomes.erase(outcomes.begin());
    return outcomes;
  }
  template <class... Parts>
  int64_t ask(fmt::format_string<Parts...> sql, Parts&&... parts) {
    return integer(session_, fmt::format(sql, std::forward<Parts>(parts)...));
  }
  const Tables& tables() const { return session_->tables(); }
  bool serializable() const { return GetParam() == IsolationLevel::kSerializable; }

  // Notes the reply, or gives the error.
  template <class Reply>
  static Result<void> note(const Result<Reply>& from, Reply* to) {
    if (!from) return from.error();
    *to = *from;
    return {};
  }
  Result<void> order(Transaction& txn, int32_t d_id, int32_t c_id, NewOrderReply* reply) {
    NewOrderArguments input{};
    input.w_id = 1;
    input.d_id = d_id;
    input.c_id = c_id;
    for (const int32_t item : {kItemX, kItemY, 30, 40, 50}) {
      input.lines[input.line_count++] = {item, 1, 3};
    }
    return note(new_order(txn, tables(), SizePolicy::kGrowing, input), reply);
  }
  Result<void> status(Transaction& txn, int32_t d_id, int32_t c_id, OrderStatusReply* reply) {
    return note(order_status(txn, tables(), {1, d_id, c_id, {}}), reply);
  }
  Result<void> deliver(Transaction& txn, DeliveryReply* reply) {
    return note(delivery(txn, tables(), SizePolicy::kGrowing, {1, 5}), reply);
  }
  int32_t newest_order(int32_t d_id, int32_t c_id) {
    OrderStatusReply reply{};
    const auto done =
        run({[&](Transaction& txn) { return status(txn, d_id, c_id, &reply); }}).front();
    EXPECT_TRUE(done) << done.error().to_string();
    return reply.o_id;
  }
  int32_t next_order(int32_t d_id) {
    return static_cast<int32_t>(ask("select d_next_o_id from district where d_id = {}", d_id));
  }

  enum class Ends : uint8_t { kCommits, kRollsBack };
  static Result<void> end(Transaction& txn, Ends ends) {
    if (ends == Ends::kCommits) return {};
    return txn.abort("asked for");
  }
  static void expect_end(const Result<void>& outcome, Ends ends) {
    EXPECT_EQ(static_cast<bool>(outcome), ends == Ends::kCommits);
    if (!outcome) {
      EXPECT_EQ(outcome.code(), ErrorCode::kAborted) << outcome.error().to_string();
    }
  }

  // Tests 1 and 2.
  void status_beside_an_order(int32_t d_id, int32_t c_id, Ends ends) {
    const int32_t before = newest_order(d_id, c_id);
    NewOrderReply ordered{};
    OrderStatusReply seen{};
    Event stopped;
    Event read;
    const auto outcomes = run({[&](Transaction& txn) -> Result<void> {
                                 if (auto done = order(txn, d_id, c_id, &ordered); !done) {
                                   return done;
                                 }
                                 stopped.tell();
                                 read.await();
                                 return end(txn, ends);
                               },
                               [&](Transaction& txn) {
                                 stopped.await();
                                 auto done = status(txn, d_id, c_id, &seen);
                                 read.tell();
                                 return done;
                               }});
    expect_end(outcomes[0], ends);
    ASSERT_TRUE(outcomes[1]) << outcomes[1].error().to_string();
    EXPECT_EQ(seen.o_id, before);
    EXPECT_EQ(newest_order(d_id, c_id), ends == Ends::kCommits ? ordered.o_id : before);
  }

  // Tests 3 and 4.
  void order_beside_an_order(int32_t d_id, int32_t c_id, Ends ends) {
    const int32_t next = next_order(d_id);
    NewOrderReply first{};
    NewOrderReply second{};
    Event stopped;
    Event refused;
    const auto outcomes = run({[&](Transaction& txn) -> Result<void> {
                                 if (auto done = order(txn, d_id, c_id, &first); !done) return done;
                                 stopped.tell();
                                 refused.await();
                                 return end(txn, ends);
                               },
                               [&](Transaction& txn) {
                                 stopped.await();
                                 auto done = order(txn, d_id, c_id, &second);
                                 refused.tell();
                                 return done;
                               }});
    expect_end(outcomes[0], ends);
    ASSERT_TRUE(outcomes[1]) << outcomes[1].error().to_string();
    EXPECT_EQ(first.o_id, next);
    EXPECT_EQ(second.o_id, ends == Ends::kCommits ? next + 1 : next);
    EXPECT_EQ(next_order(d_id), second.o_id + 1);
  }

  // Tests 5 and 6.
  void payment_beside_a_delivery(int32_t d_id, Ends ends) {
    constexpr int64_t kPaid = 123'45;
    const auto o_id = ask("select min(no_o_id) from neworder where no_d_id = {}", d_id);
    const auto c_id = static_cast<int32_t>(
        ask("select o_c_id from orders where o_d_id = {} and o_id = {}", d_id, o_id));
    const auto amount =
        ask("select sum(ol_amount) from orderline where ol_d_id = {} and ol_o_id = {}", d_id, o_id);
    const auto balance = [&] {
      return ask("select c_balance from customer where c_d_id = {} and c_id = {}", d_id, c_id);
    };
    const int64_t before = balance();
    DeliveryReply delivered{};
    PaymentReply paid{};
    Event stopped;
    Event refused;
    const auto outcomes = run({[&](Transaction& txn) -> Result<void> {
                                 if (auto done = deliver(txn, &delivered); !done) return done;
                                 stopped.tell();
                                 refused.await();
                                 return end(txn, ends);
                               },
                               [&](Transaction& txn) {
                                 stopped.await();
                                 auto done = note(payment(txn, tables(), SizePolicy::kGrowing,
                                                          {1, d_id, 1, d_id, c_id, {}, {kPaid}}),
                                                  &paid);
                                 refused.tell();
                                 return done;
                               }});
    expect_end(outcomes[0], ends);
    ASSERT_TRUE(outcomes[1]) << outcomes[1].error().to_string();
    EXPECT_EQ(delivered.newest[d_id - 1], o_id);
    EXPECT_EQ(balance(), before - kPaid + (ends == Ends::kCommits ? amount : 0));
    EXPECT_EQ(paid.c_balance.units, balance());
  }

  static constexpr int32_t kItemX = 10;
  static constexpr int32_t kItemY = 20;

  Session* session_ = nullptr;
  ScriptRef script_;

 private:
  static inline std::map<IsolationLevel, Site> sites_;
};

TEST_P(TpccIsolation, Test1AnOrderStatusDoesNotSeeAnOrderThatCommitsLater) {
  status_beside_an_order(1, 11, Ends::kCommits);
}

TEST_P(TpccIsolation, Test2AnOrderStatusDoesNotSeeAnOrderThatIsRolledBack) {
  status_beside_an_order(1, 12, Ends::kRollsBack);
}

TEST_P(TpccIsolation, Test3TwoOrdersOfADistrictGetNumbersInARow) {
  order_beside_an_order(2, 21, Ends::kCommits);
}

TEST_P(TpccIsolation, Test4AnOrderThatIsRolledBackLeavesItsNumberToTheNext) {
  order_beside_an_order(2, 22, Ends::kRollsBack);
}

TEST_P(TpccIsolation, Test5APaymentAndADeliveryBothCount) {
  payment_beside_a_delivery(3, Ends::kCommits);
}

TEST_P(TpccIsolation, Test6ADeliveryThatIsRolledBackDoesNotCount) {
  payment_beside_a_delivery(4, Ends::kRollsBack);
}

TEST_P(TpccIsolation, Test7PricesRepeatWhileTheyAreRaised) {
  const auto prices = [&](Transaction& txn, int64_t(&out)[2]) -> Result<void> {
    const int32_t items[] = {kItemX, kItemY};
    for (size_t i = 0; i < 2; ++i) {
      auto price = txn.get<&Item::i_price>(tables().item_pkey, items[i]);
      if (!price) return price.error();
      out[i] = price->units;
    }
    return {};
  };
  int64_t before[2];
  int64_t raised[2];
  ASSERT_TRUE(run({[&](Transaction& txn) { return prices(txn, before); }}).front());
  NewOrderReply ordered{};
  int runs = 0;
  Event stopped;
  Event changed;
  const auto outcomes =
      run({[&](Transaction& txn) -> Result<void> {
             ++runs;
             int64_t first[2];
             int64_t second[2];
             if (auto read = prices(txn, first); !read) return read;
             stopped.tell();
             changed.await();
             if (auto done = order(txn, 6, 61, &ordered); !done) return done;
             if (auto read = prices(txn, second); !read) return read;
             for (size_t i = 0; i < 2; ++i) {
               EXPECT_EQ(first[i], second[i]);
               EXPECT_EQ(first[i], ordered.lines[i].i_price.units);
             }
             return {};
           },
           [&](Transaction& txn) -> Result<void> {
             stopped.await();
             for (const int32_t item : {kItemX, kItemY}) {
               auto row = txn.get_for_update<&Item::i_price>(tables().item_pkey, item);
               if (!row) return row.error();
               txn.update(*row, dispatcher::set<&Item::i_price>({row->values.units * 11 / 10}));
             }
             return {};
           },
           [](Transaction&) -> Result<void> { return {}; },
           [&](Transaction&) -> Result<void> {
             changed.tell();
             return {};
           }});
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome);
  ASSERT_TRUE(run({[&](Transaction& txn) { return prices(txn, raised); }}).front());
  EXPECT_EQ(raised[0], before[0] * 11 / 10);
  // Snapshot: as of before the change. Serializable: it writes, so it ran again, after the change.
  EXPECT_EQ(runs, serializable() ? 2 : 1);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(ordered.lines[i].i_price.units, serializable() ? raised[i] : before[i]);
  }
}

TEST_P(TpccIsolation, Test8ADeliveryMeetsNoPhantomOrder) {
  constexpr int32_t kDistrict = 7;
  const auto waiting = [&](Transaction& txn, std::vector<RowHandle>* rows) -> Result<void> {
    auto scanned = txn.scan<&NewOrder::no_o_id>(
        tables().neworder_pkey, dispatcher::prefix(tables().neworder_pkey, 1, kDistrict), {},
        [&](const RowHandle& row, int32_t) {
          rows->push_back(row);
          return ScanStep::kContinue;
        });
    if (!scanned) return scanned.error();
    return {};
  };
  const Body remove_all = [&](Transaction& txn) -> Result<void> {
    std::vector<RowHandle> rows;
    if (auto read = waiting(txn, &rows); !read) return read;
    for (const RowHandle& row : rows) {
      auto claimed = txn.claim<NewOrder, &NewOrder::no_o_id>(row);
      if (!claimed) return claimed.error();
      txn.erase(*claimed);
    }
    return {};
  };
  ASSERT_TRUE(run({remove_all}).front());
  NewOrderReply ordered{};
  DeliveryReply delivered{};
  Event stopped;
  Event changed;
  const auto outcomes = run({[&](Transaction& txn) -> Result<void> {
                               std::vector<RowHandle> first;
                               std::vector<RowHandle> second;
                               if (auto read = waiting(txn, &first); !read) return read;
                               stopped.tell();
                               changed.await();
                               if (auto read = waiting(txn, &second); !read) return read;
                               EXPECT_EQ(first.size(), second.size());
                               return deliver(txn, &delivered);
                             },
                             [&](Transaction& txn) {
                               stopped.await();
                               return order(txn, kDistrict, 71, &ordered);
                             },
                             [](Transaction&) -> Result<void> { return {}; },
                             [&](Transaction&) -> Result<void> {
                               changed.tell();
                               return {};
                             }});
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome);
  EXPECT_EQ(delivered.newest[kDistrict - 1], serializable() ? ordered.o_id : 0);
}

TEST_P(TpccIsolation, Test9AnOrderStatusMeetsNoPhantomOrder) {
  constexpr int32_t kDistrict = 8;
  constexpr int32_t kCustomer = 81;
  NewOrderReply ordered{};
  OrderStatusReply first{};
  OrderStatusReply second{};
  int runs = 0;
  Event stopped;
  Event changed;
  const auto outcomes = run({[&](Transaction& txn) -> Result<void> {
                               ++runs;
                               auto read = status(txn, kDistrict, kCustomer, &first);
                               if (!read) return read;
                               stopped.tell();
                               changed.await();
                               return status(txn, kDistrict, kCustomer, &second);
                             },
                             [&](Transaction& txn) {
                               stopped.await();
                               return order(txn, kDistrict, kCustomer, &ordered);
                             },
                             [](Transaction&) -> Result<void> { return {}; },
                             [&](Transaction&) -> Result<void> {
                               changed.tell();
                               return {};
                             }});
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome);
  EXPECT_EQ(runs, 1);  // it writes nothing
  EXPECT_EQ(first.o_id, second.o_id);
  EXPECT_EQ(first.line_count, second.line_count);
  EXPECT_GT(ordered.o_id, first.o_id);
  EXPECT_EQ(newest_order(kDistrict, kCustomer), ordered.o_id);
}

INSTANTIATE_TEST_SUITE_P(Levels, TpccIsolation,
                         ::testing::Values(IsolationLevel::kSnapshot,
                                           IsolationLevel::kSerializable),
                         [](const auto& of) {
                           return of.param == IsolationLevel::kSnapshot ? "Snapshot"
                                                                        : "Serializable";
                         });

}  // namespace
}  // namespace diptych::workloads::tpcc
