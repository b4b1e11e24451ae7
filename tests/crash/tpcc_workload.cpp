// TPC-C: an acknowledged New-Order has its order, an acknowledged Payment its row of history; that
// nothing is half done, the twelve conditions say. Of constant size, old orders and history go: an
// acknowledged New-Order has been counted by its district, an acknowledged Payment by its customer.

#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "tests/crash/workload.h"
#include "workloads/tpcc/consistency.h"
#include "workloads/tpcc/inputs.h"
#include "workloads/tpcc/loader.h"
#include "workloads/tpcc/rows.h"
#include "workloads/tpcc/schema.h"

namespace diptych::crash {
namespace {

using base::ErrorCode;
using base::Result;
using dispatcher::Database;
using workloads::SizePolicy;
using workloads::StopFlag;
using workloads::tpcc::ConsistencyReport;

constexpr int32_t kWarehouses = 1;
constexpr int64_t kOrdersLoaded = 3000;  // of a district
const StopFlag kNever{false};

int64_t order_code(int64_t w_id, int64_t d_id, int64_t o_id) {
  return (w_id * 16 + d_id) << 32 | o_id;
}

class TpccWorkload : public Workload {
 public:
  explicit TpccWorkload(SizePolicy size) : size_(size) {}

  Result<void> create(Database* database) override {
    auto tables = workloads::tpcc::create_tables(database);
    if (!tables) return tables.error();
    return workloads::tpcc::load(database, *tables, 42, kWarehouses, kNever,
                                 [](const std::string&, double) {});
  }

  Result<void> attach(Database* database) override {
    database_ = database;
    auto tables = workloads::tpcc::bind_tables(*database);
    if (!tables) return tables.error();
    auto procedures = workloads::tpcc::register_procedures(database, *tables, size_);
    if (!procedures) return procedures.error();
    procedures_ = *procedures;
    auto consistency = workloads::tpcc::OltpConsistency::attach(database, *tables);
    if (!consistency) return consistency.error();
    consistency_ = *consistency;
    return {};
  }

  Result<void> run_client(size_t client, uint64_t seed, AckBoard* board) override {
    using workloads::tpcc::TransactionType;
    workloads::tpcc::InputGenerator inputs(seed, kWarehouses);
    while (true) {
      Result<void> done;
      std::optional<int64_t> what;
      const uint64_t asked_ns = base::steady_ns();
      switch (inputs.draw_type()) {
        case TransactionType::kNewOrder: {
          const auto order = inputs.new_order();
          auto reply = database_->call(procedures_.new_order, order).get();
          if (reply) what = order_code(order.w_id, order.d_id, reply->o_id);
          if (!reply && reply.code() != ErrorCode::kAborted) done = reply.error();
          break;
        }
        case TransactionType::kPayment: {
          auto reply = database_->call(procedures_.payment, inputs.payment()).get();
          if (reply) what = -reply->h_id;
          if (!reply) done = reply.error();
          break;
        }
        case TransactionType::kDelivery: {
          auto reply = database_->call(procedures_.delivery, inputs.delivery()).get();
          if (!reply) done = reply.error();
          break;
        }
        default: {
          auto reply = database_->call(procedures_.stock_level, inputs.stock_level()).get();
          if (!reply) done = reply.error();
          break;
        }
      }
      if (!done) return done;
      if (what) board->acknowledge(client, *what, asked_ns);
    }
  }

  Result<void> check(const Told& told, Findings* findings) override {
    for (const auto& of_client : told.acks) {
      for (const Ack& ack : of_client) acknowledged_.push_back(ack.what);
    }
    auto checked =
        size_ == SizePolicy::kGrowing ? check_acknowledged(findings) : check_counted(findings);
    if (!checked) return checked;
    auto oltp = consistency_.check(kWarehouses, size_, kNever);
    if (!oltp) return oltp.error();
    auto olap = workloads::tpcc::check_olap_consistency(database_, size_, kNever);
    if (!olap) return olap.error();
    for (const ConsistencyReport* const report : {&*oltp, &*olap}) {
      findings->half_done += report->conditions_violated();
      findings->words.insert(findings->words.end(), report->first.begin(), report->first.end());
    }
    return {};
  }

  dispatcher::DatabaseOptions options() const override {
    dispatcher::DatabaseOptions options;
    options.operations_max = UINT64_MAX;  // the check reads all in one transaction
    return options;
  }
  uint64_t milliseconds_max() const override { return 2500; }

 private:
  Result<void> check_acknowledged(Findings* findings) {
    std::unordered_set<int64_t> there;
    auto orders = database_->query(
        fmt::format("SELECT o_w_id, o_d_id, o_id FROM orders WHERE o_id > {}", kOrdersLoaded));
    if (!orders) return orders.error();
    for (const auto& row : orders->rows) {
      there.insert(order_code(std::get<int64_t>(row[0]), std::get<int64_t>(row[1]),
                              std::get<int64_t>(row[2])));
    }
    auto payments = database_->query("SELECT h_id FROM history");
    if (!payments) return payments.error();
    for (const auto& row : payments->rows) there.insert(-std::get<int64_t>(row[0]));
    for (const int64_t what : acknowledged_) {
      if (there.contains(what)) continue;
      ++findings->lost;
      findings->words.push_back(what < 0 ? fmt::format("payment {} is not there", -what)
                                         : fmt::format("order {:x} is not there", what));
    }
    return {};
  }

  // Who counted it: the district of an order, the customer of a payment.
  static int64_t counter_of(int64_t what) {
    return what < 0 ? -(-what >> workloads::tpcc::kPaymentNumberBits) : what >> 32;
  }

  // Of each counter, the newest that was acknowledged says what all before it say.
  Result<void> check_counted(Findings* findings) {
    auto districts = database_->query("SELECT d_w_id, d_id, d_next_o_id FROM district");
    if (!districts) return districts.error();
    auto customers = database_->query("SELECT c_w_id, c_d_id, c_id, c_payment_cnt FROM customer");
    if (!customers) return customers.error();
    const auto at = [](const auto& row, size_t i) { return std::get<int64_t>(row[i]); };
    std::unordered_map<int64_t, int64_t> counted;
    for (const auto& row : districts->rows) {
      const int64_t last = order_code(at(row, 0), at(row, 1), at(row, 2) - 1);
      counted[counter_of(last)] = last;
    }
    for (const auto& row : customers->rows) {
      const auto number = [&](size_t i) { return static_cast<int32_t>(at(row, i)); };
      const int64_t last = -workloads::tpcc::history_id(number(0), number(1), number(2), number(3));
      counted[counter_of(last)] = last;
    }
    std::unordered_map<int64_t, int64_t> newest;
    for (const int64_t what : acknowledged_) {
      const int64_t counter = counter_of(what);
      int64_t& of_counter = newest.try_emplace(counter, what).first->second;
      if (std::abs(what) > std::abs(of_counter)) of_counter = what;
      if (std::abs(what) <= std::abs(counted[counter])) continue;
      ++findings->lost;
      findings->words.push_back(what < 0 ? fmt::format("payment {} was not counted", -what)
                                         : fmt::format("order {:x} was not counted", what));
    }
    acknowledged_.clear();
    for (const auto& [counter, what] : newest) acknowledged_.push_back(what);
    return {};
  }

  const SizePolicy size_;
  Database* database_ = nullptr;
  workloads::tpcc::Procedures procedures_;
  workloads::tpcc::OltpConsistency consistency_;
  std::vector<int64_t> acknowledged_;
};

}  // namespace

std::unique_ptr<Workload> make_tpcc(SizePolicy size) {
  return std::make_unique<TpccWorkload>(size);
}

}  // namespace diptych::crash
