// Which TPC-C transactions conflict: on one district, two on two workers, step by step.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dispatcher/database.h"
#include "oltp/engine.h"
#include "tests/oltp/turns.h"
#include "workloads/tpcc/procedures.h"
#include "workloads/tpcc/schema.h"

namespace diptych::workloads::tpcc {
namespace {

using base::ErrorCode;
using base::Result;
using dispatcher::Database;
using dispatcher::Nothing;
using dispatcher::Transaction;
using oltp::test::Turns;

enum class Groups : uint8_t { kAsDeclared, kNone };

std::string script_with(Groups groups) {
  std::string script(schema_script());
  if (groups == Groups::kAsDeclared) return script;
  for (size_t at = script.find(" WITH (column_groups"); at != std::string::npos;
       at = script.find(" WITH (column_groups")) {
    script.erase(at, script.find(';', at) - at);
  }
  return script;
}

// An engine of two workers with one warehouse, one district and what two transactions need of the
// rest. The database is there for its catalog.
class SmallTpcc {
 public:
  explicit SmallTpcc(Groups groups) : database_(*Database::open({})) {
    auto created = database_->execute_ddl(script_with(groups));
    EXPECT_TRUE(created.ok()) << created.error().to_string();
    auto bound = bind_tables(*database_);
    EXPECT_TRUE(bound.ok());
    tables_ = *bound;
    oltp::EngineOptions options;
    options.placement.threads = 2;
    options.export_updates = false;
    options.conflicts_max = 0;
    options.batch_time_max_ns = 10'000'000'000;
    engine_ = std::make_unique<oltp::Engine>(&database_->catalog(), options, nullptr);
    script_ = engine_->register_procedure(oltp::define_procedure<Script, Nothing>(
        "script", [](Transaction& txn, const Script& script) -> Result<Nothing> {
          return (*script.body)(txn);
        }));
    const auto outcomes = run({[&](Transaction& txn) { return load(txn); }});
    EXPECT_TRUE(outcomes[0].ok()) << outcomes[0].error().to_string();
  }

  // The second one runs while the first one has done all but commit.
  using Body = std::function<Result<Nothing>(Transaction&)>;
  std::vector<Result<void>> run_both(const Body& first, const Body& second) {
    Turns turns;
    return run({[&](Transaction& txn) {
                  auto done = first(txn);
                  turns.pass(1);
                  turns.await(2);
                  return done;
                },
                [&](Transaction& txn) {
                  turns.await(1);
                  auto done = second(txn);
                  turns.pass(2);
                  return done;
                }});
  }

  Body pays(int32_t c_id) {
    return [this, c_id](Transaction& txn) -> Result<Nothing> {
      PaymentArguments input{};
      input.w_id = input.d_id = input.c_w_id = input.c_d_id = 1;
      input.c_id = c_id;
      input.h_amount = {100};
      auto paid = payment(txn, tables_, SizePolicy::kGrowing, input);
      if (!paid) return paid.error();
      return Nothing{};
    };
  }
  Body orders(int32_t c_id, int32_t i_id) {
    return [this, c_id, i_id](Transaction& txn) -> Result<Nothing> {
      NewOrderArguments input{};
      input.w_id = input.d_id = 1;
      input.c_id = c_id;
      input.line_count = 1;
      input.lines[0] = {i_id, 1, 5};
      auto ordered = new_order(txn, tables_, SizePolicy::kGrowing, input);
      if (!ordered) return ordered.error();
      return Nothing{};
    };
  }

  // d_ytd in cents, and d_next_o_id.
  std::pair<int64_t, int32_t> district() {
    std::pair<int64_t, int32_t> found;
    const auto outcomes = run({[&](Transaction& txn) -> Result<Nothing> {
      auto row = txn.get<&District::d_ytd, &District::d_next_o_id>(tables_.district_pkey, 1, 1);
      if (!row) return row.error();
      found = {std::get<0>(*row).units, std::get<1>(*row)};
      return Nothing{};
    }});
    EXPECT_TRUE(outcomes[0].ok());
    return found;
  }

 private:
  struct Script {
    const Body* body;
  };

  std::vector<Result<void>> run(const std::vector<Body>& bodies) {
    std::vector<Script> scripts;
    for (const Body& body : bodies) scripts.push_back({&body});
    std::vector<oltp::Request> requests(bodies.size());
    std::vector<oltp::Request*> batch;
    for (size_t i = 0; i < bodies.size(); ++i) {
      requests[i].procedure = script_;
      requests[i].arguments = std::as_bytes(std::span(&scripts[i], 1));
      batch.push_back(&requests[i]);
    }
    EXPECT_TRUE(engine_->run_batch(batch).again.empty());
    std::vector<Result<void>> outcomes;
    for (const oltp::Request& request : requests) outcomes.push_back(request.outcome);
    return outcomes;
  }

  Result<Nothing> load(Transaction& txn) {
    Warehouse warehouse{};
    warehouse.w_id = 1;
    EXPECT_TRUE(txn.insert(tables_.warehouse, warehouse));
    District district{};
    district.d_id = district.d_w_id = 1;
    district.d_next_o_id = 3001;
    EXPECT_TRUE(txn.insert(tables_.district, district));
    for (int32_t id = 1; id <= 2; ++id) {
      Customer customer{};
      customer.c_id = id;
      customer.c_d_id = customer.c_w_id = 1;
      EXPECT_TRUE(txn.insert(tables_.customer, customer));
      Item item{};
      item.i_id = id;
      EXPECT_TRUE(txn.insert(tables_.item, item));
      Stock stock{};
      stock.s_i_id = id;
      stock.s_w_id = 1;
      stock.s_quantity = 50;
      EXPECT_TRUE(txn.insert(tables_.stock, stock));
    }
    return Nothing{};
  }

  std::unique_ptr<Database> database_;
  Tables tables_;
  std::unique_ptr<oltp::Engine> engine_;
  base::ProcedureId script_;
};

TEST(TpccConflictStress, NewOrderAndPaymentOfOneDistrictDoNotConflict) {
  SmallTpcc tpcc(Groups::kAsDeclared);
  for (const auto& outcome : tpcc.run_both(tpcc.pays(1), tpcc.orders(2, 1))) {
    EXPECT_TRUE(outcome.ok()) << outcome.error().to_string();
  }
  for (const auto& outcome : tpcc.run_both(tpcc.orders(1, 1), tpcc.pays(2))) {
    EXPECT_TRUE(outcome.ok()) << outcome.error().to_string();
  }
  EXPECT_EQ(tpcc.district(), std::pair(int64_t{200}, 3003));
}

TEST(TpccConflictStress, WithoutColumnGroupsTheyWould) {
  SmallTpcc tpcc(Groups::kNone);
  const auto outcomes = tpcc.run_both(tpcc.pays(1), tpcc.orders(2, 1));
  EXPECT_TRUE(outcomes[0].ok());
  EXPECT_EQ(outcomes[1].code(), ErrorCode::kConflict);
}

TEST(TpccConflictStress, TwoNewOrdersOrTwoPaymentsOfOneDistrictConflict) {
  SmallTpcc tpcc(Groups::kAsDeclared);
  EXPECT_EQ(tpcc.run_both(tpcc.orders(1, 1), tpcc.orders(2, 2))[1].code(), ErrorCode::kConflict);
  EXPECT_EQ(tpcc.run_both(tpcc.pays(1), tpcc.pays(2))[1].code(), ErrorCode::kConflict);
  EXPECT_EQ(tpcc.district(), std::pair(int64_t{100}, 3002));
}

}  // namespace
}  // namespace diptych::workloads::tpcc
